package model

import "slices"

// mapped returns the bytes that the segment has memory for.
func (s *Segment) mapped() (bytes int64) {
	for _, b := range s.Blocks {
		if b.State != Unmapped {
			bytes += b.Size
		}
	}
	return bytes
}

func (m *Model) reserved() (bytes int64) {
	for _, s := range m.segments {
		bytes += s.mapped()
	}
	return bytes
}

// obtain returns a free block of the driver's memory for r; nil when it has none
// or the limit forbids it (A17 step 5, A18, A19).
func (m *Model) obtain(r request) *Block {
	bytes := segmentFor(r.size)
	if m.Expandable {
		return m.extend(r)
	}
	if m.reserved()+bytes > m.Limit {
		return nil
	}
	s := &Segment{Small: r.small, Stream: r.stream, Pool: r.pool}
	b := &Block{Segment: s, Size: bytes, searches: m.searches[s.key()]}
	s.Blocks = []*Block{b}
	m.segments = append(m.segments, s)
	m.Sums.DeviceAllocs++
	m.count()
	return b
}

// giveBack returns a segment to the driver, which waits for the device.
func (m *Model) giveBack(s *Segment) {
	m.segments = slices.DeleteFunc(m.segments, func(t *Segment) bool { return s == t })
	m.Sums.DeviceFrees++
	for stream := range m.busy {
		m.Done(stream)
	}
	m.count()
}

// whole returns the block of a segment that is free as a whole; nil if it is not.
func (s *Segment) whole() *Block {
	if len(s.Blocks) == 1 && s.Blocks[0].State == Free && !s.Expandable {
		return s.Blocks[0]
	}
	return nil
}

// collect gives back large blocks that have not been of use for long, when more
// than the threshold is taken (A20). What is averaged are the blocks that are left
// after the rounds before.
func (m *Model) collect() {
	if m.Collect == 0 || m.Limit == m.Total {
		return
	}
	allowed := int64(m.Collect * float64(m.Limit))
	excess := m.reserved() - allowed
	age := func(b *Block) int { return m.searches[b.Segment.key()] - b.searches }
	for freed := int64(0); freed < excess; {
		var old []*Block
		sum := 0
		for _, s := range m.segments {
			if b := s.whole(); b != nil && !s.Small && s.Pool == 0 {
				old = append(old, b)
				sum += age(b)
			}
		}
		n := len(old)
		old = slices.DeleteFunc(old, func(b *Block) bool { return age(b)*n < sum })
		if len(old) == 0 {
			return
		}
		for _, b := range old {
			freed += b.Size
			m.giveBack(b.Segment)
		}
	}
}

// releaseOversize gives back cached blocks that are not for smaller requests, and
// reports whether they are enough for r (A17 step 7).
func (m *Model) releaseOversize(r request) bool {
	if m.MaxSplit == 0 {
		return false
	}
	need := max(r.size, m.MaxSplit)
	var over []*Block
	for _, s := range m.segments {
		if b := s.whole(); b != nil && s.Pool == r.pool && s.Small == r.small && s.Stream == r.stream && b.Size >= m.MaxSplit {
			over = append(over, b)
		}
	}
	slices.SortFunc(over, bySize)
	for _, b := range over {
		if b.Size >= need {
			m.giveBack(b.Segment)
			return true
		}
	}
	freed := int64(0)
	for i := len(over) - 1; i >= 0 && freed < need; i-- {
		freed += over[i].Size
		m.giveBack(over[i].Segment)
	}
	return freed >= need
}

// Empty waits for what is awaited and gives back every segment that is free as a
// whole, of the default pool and of private ones that nobody refers to, and the
// free pages of expandable ones (A17 step 8, A21).
func (m *Model) Empty() {
	m.Sums.Syncs++
	for _, q := range m.queues {
		if len(q.events) > 0 {
			m.Done(q.stream)
		}
	}
	m.poll()
	m.giveBackFree(func(s *Segment) bool { return s.Pool == 0 || m.released[s.Pool] })
}

func (m *Model) giveBackFree(which func(*Segment) bool) {
	for _, s := range slices.Clone(m.segments) {
		switch {
		case !which(s):
		case s.Expandable:
			m.unmap(s)
		case s.whole() != nil:
			m.giveBack(s)
		}
	}
}

func (s *Segment) page() int64 {
	if s.Small {
		return smallPage
	}
	return largePage
}

// extend maps memory at the lowest address of the range of r's pool and stream
// from which on r fits, and returns the block there (A22).
func (m *Model) extend(r request) *Block {
	i := slices.IndexFunc(m.segments, func(s *Segment) bool {
		return s.Pool == r.pool && s.Small == r.small && s.Stream == r.stream
	})
	if i < 0 {
		s := &Segment{Small: r.small, Stream: r.stream, Pool: r.pool, Expandable: true}
		s.Blocks = []*Block{{Segment: s, Size: roundUp(m.Total+m.Total/8, s.page()), State: Unmapped}}
		m.segments = append(m.segments, s)
		i = len(m.segments) - 1
	}
	s := m.segments[i]
	at := s.room(r.size)
	if at < 0 {
		return nil
	}
	for {
		b := s.Blocks[at]
		if b.State == Free && b.Size >= r.size {
			return b
		}
		gap := at // the unmapped block to fill
		if b.State == Free {
			gap++
		}
		have := s.Blocks[gap].Offset - b.Offset
		bytes := roundUp(min(r.size-have, s.Blocks[gap].Size), s.page())
		if m.reserved()+bytes > m.Limit {
			m.prune(s)
			return nil
		}
		m.mapFront(s, gap, bytes)
	}
}

// room returns the index of the first block from which on size bytes are free or
// can be mapped, some of them not mapped yet; -1 for none.
func (s *Segment) room(size int64) int {
	usable := func(i int) bool { return s.Blocks[i].State == Free || s.Blocks[i].State == Unmapped }
	for i, b := range s.Blocks {
		if b.State != Unmapped {
			continue
		}
		from := i
		if i > 0 && usable(i-1) {
			from--
		}
		bytes := int64(0)
		for j := from; j < len(s.Blocks) && usable(j); j++ {
			bytes += s.Blocks[j].Size
		}
		if bytes >= size {
			return from
		}
	}
	return -1
}

// mapFront gives the first bytes of an unmapped block memory.
func (m *Model) mapFront(s *Segment, i int, bytes int64) {
	b := s.Blocks[i]
	if b.Size > bytes {
		s.Blocks = slices.Insert(s.Blocks, i+1, &Block{Segment: s, Offset: b.Offset + bytes, Size: b.Size - bytes, State: Unmapped})
		b.Size = bytes
	}
	m.Sums.DeviceAllocs++
	m.complete(b)
}

// unmap takes the memory of whole free pages away.
func (m *Model) unmap(s *Segment) {
	for _, b := range slices.Clone(s.Blocks) {
		from, to := roundUp(b.Offset, s.page()), (b.Offset+b.Size)/s.page()*s.page()
		if b.State != Free || from >= to {
			continue
		}
		i := slices.Index(s.Blocks, b)
		parts := []*Block{
			{Segment: s, Offset: b.Offset, Size: from - b.Offset, searches: b.searches},
			{Segment: s, Offset: from, Size: to - from, State: Unmapped},
			{Segment: s, Offset: to, Size: b.Offset + b.Size - to, searches: b.searches},
		}
		s.Blocks = slices.Replace(s.Blocks, i, i+1, slices.DeleteFunc(parts, func(b *Block) bool { return b.Size == 0 })...)
		m.Sums.DeviceFrees++
		m.Done(s.Stream)
		m.count()
	}
	for i := 1; i < len(s.Blocks); { // addresses without memory are one block
		if s.Blocks[i-1].State == Unmapped && s.Blocks[i].State == Unmapped {
			s.Blocks[i-1].Size += s.Blocks[i].Size
			s.Blocks = slices.Delete(s.Blocks, i, i+1)
			continue
		}
		i++
	}
	m.prune(s)
}

// prune forgets a range without memory.
func (m *Model) prune(s *Segment) {
	if len(s.Blocks) == 1 && s.Blocks[0].State == Unmapped {
		m.segments = slices.DeleteFunc(m.segments, func(t *Segment) bool { return s == t })
	}
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
