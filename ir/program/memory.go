package program

import (
	"cmp"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// align returns what the places of buffers in a device's block are multiples of, in bytes.
func align(device string) int64 {
	if device == "cpu" {
		return 64
	}
	return 512
}

// A Layout says where a program's temporaries lie: at offsets of one block a device.
type Layout struct {
	Offsets []int64          // by buffer, in its device's block; -1 for buffers that are in none
	Blocks  map[string]int64 // bytes, by device
	Shared  int              // buffers that are written over an operand of the step that makes them
}

// lifetime is the steps in which a place in a block is taken, by one buffer or by several
// of which each is written over the one before it.
type lifetime struct {
	first, last int
	bytes       int64
	device      string
	members     []int
	offset      int64
}

// A timing says when steps run, for temporaries that share memory.
type timing struct {
	p      *Program
	behind [][]uint64 // nil: in their order
	users  [][]int    // by buffer: the steps that use it, ascending
}

// small reports whether a temporary's memory never has a step wait.
func (t *timing) small(bytes int64) bool { return t.behind != nil && bytes < fills }

// after reports whether step i comes behind step j.
func (t *timing) after(i, j int) bool { return t.behind[i][j/64]>>(j%64)&1 == 1 }

// apart reports whether two lifetimes can have the same place.
func (t *timing) apart(a, b *lifetime) bool {
	if a.first > b.first {
		a, b = b, a
	}
	switch {
	case a.last >= b.first:
		return false
	case !t.small(a.bytes) && !t.small(b.bytes):
		return true
	}
	first := t.users[b.members[0]][0]
	for _, m := range a.members {
		for _, i := range t.users[m] {
			if !t.after(first, i) {
				return false
			}
		}
	}
	return true
}

// lastUser reports whether step i, which is the last to use a temporary, comes behind the
// others that do, so that it can write over it.
func (t *timing) lastUser(buffer, i int) bool {
	if !t.small(t.p.Buffers[buffer].Bytes) {
		return true
	}
	for _, j := range t.users[buffer] {
		if j != i && !t.after(i, j) {
			return false
		}
	}
	return true
}

// users returns by buffer the steps that use it.
func (p *Program) users() [][]int {
	touched, count := p.touched()
	total := 0
	for _, n := range count {
		total += n
	}
	out, all := make([][]int, len(p.Buffers)), make([]int, total)
	for b, n := range count {
		out[b], all = all[:0:n], all[n:]
	}
	for i, list := range touched {
		for _, b := range list {
			out[b] = append(out[b], i)
		}
	}
	return out
}

// Place gives every temporary of the program a place in its device's block, such that two
// that are alive in one step lie apart, unless the step writes the one over the other,
// element by element. It goes by decreasing size and takes the tightest gap that fits.
func (p *Program) Place() *Layout { return p.place(nil) }

// place is Place. Behind says by step which steps it comes behind, as a bit each; where it is
// nil, these are the steps before it. Of temporaries of which one is small, the steps of one
// come behind those of the other where they share memory.
func (p *Program) place(behind [][]uint64) *Layout {
	l := &Layout{Offsets: make([]int64, len(p.Buffers)), Blocks: map[string]int64{}}
	for i := range l.Offsets {
		l.Offsets[i] = -1
	}
	t := timing{p: p, behind: behind}
	if behind != nil {
		t.users = p.users()
	}
	lives := p.lifetimes(l, &t)
	slices.SortStableFunc(lives, func(a, b *lifetime) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.first, b.first))
	})
	var placed []*lifetime // by offset
	for _, life := range lives {
		life.offset = t.gap(placed, life)
		at, _ := slices.BinarySearchFunc(placed, life.offset, func(x *lifetime, o int64) int { return cmp.Compare(x.offset, o) })
		placed = slices.Insert(placed, at, life)
		for _, b := range life.members {
			l.Offsets[b] = life.offset
		}
		l.Blocks[life.device] = max(l.Blocks[life.device], life.offset+life.bytes)
	}
	return l
}

// gap returns the offset of the tightest gap between the lifetimes that are placed and
// alive together with life.
func (t *timing) gap(placed []*lifetime, life *lifetime) int64 {
	best, room, end := int64(-1), int64(0), int64(0)
	for _, x := range placed {
		if x.device != life.device || t.apart(x, life) {
			continue
		}
		if free := x.offset - end; free >= life.bytes && (best < 0 || free < room) {
			best, room = end, free
		}
		end = max(end, x.offset+x.bytes)
	}
	if best < 0 {
		return end
	}
	return best
}

// lifetimes returns those of the temporaries that are used.
func (p *Program) lifetimes(l *Layout, t *timing) []*lifetime {
	of := make([]*lifetime, len(p.Buffers))
	var lives []*lifetime
	room, alone := make([]lifetime, len(p.Buffers)), make([]int, len(p.Buffers)) // by buffer: its lifetime, and the member that it begins with
	live := func(buffer int) {
		b, life := &p.Buffers[buffer], &room[buffer]
		bytes := (b.Bytes + align(b.Device) - 1) / align(b.Device) * align(b.Device)
		alone[buffer] = buffer
		first, _ := p.together(b.First)
		*life = lifetime{first: first, last: p.until(b.Last), bytes: bytes, device: b.Device, members: alone[buffer : buffer+1 : buffer+1]}
		of[buffer], lives = life, append(lives, life)
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		for j, r := range s.Out {
			b := &p.Buffers[r.Buffer]
			if b.Kind != Temporary || b.First != i || of[r.Buffer] != nil {
				continue
			}
			if k := p.overwritten(i, j); k >= 0 && of[k] != nil && t.lastUser(k, i) {
				of[r.Buffer] = of[k]
				of[k].last = p.until(b.Last)
				of[k].members = append(of[k].members, r.Buffer)
				l.Shared++
				continue
			}
			live(r.Buffer)
		}
		for _, r := range s.In { // read, and never written: its elements have no defined value
			if r.Buffer >= 0 && p.Buffers[r.Buffer].Kind == Temporary && of[r.Buffer] == nil {
				live(r.Buffer)
			}
		}
	}
	return lives
}

// overwritten returns the temporary that result j of step i can be written over: one that
// nothing reads later, of which the step's kernel reads each element before it writes the
// same one; -1 where there is none.
func (p *Program) overwritten(i, j int) int {
	s := &p.Steps[i]
	if s.Action != Launch || s.Call.Op.Kind != ir.Elementwise || !s.Call.Flat || len(s.Out) != 1 {
		return -1
	}
	out := s.Out[j]
	made := &p.Buffers[out.Buffer]
	for k, r := range s.In {
		elsewhere := func(o Ref) bool { return o.Buffer == r.Buffer && o.Offset != r.Offset }
		if r.Buffer < 0 || r.Buffer == out.Buffer || slices.ContainsFunc(s.In, elsewhere) {
			continue
		}
		b := &p.Buffers[r.Buffer]
		if b.Kind == Temporary && b.Last == i && b.Device == made.Device && b.Bytes == made.Bytes && r.Offset == out.Offset &&
			s.Call.In[k].DType.Size() == s.Call.Out[j].DType.Size() && s.Call.In[k].DType.Compute() == s.Call.Out[j].DType.Compute() {
			return r.Buffer
		}
	}
	return -1
}

// EagerPeak returns the most bytes that an eager run of the same calls holds at a time,
// besides arguments, state and constants: memory is taken when a call makes a storage and
// goes back where the function released it. It is that of a program as it was recorded:
// where steps became others, nothing says when an eager run would have done what is gone.
func (p *Program) EagerPeak() int64 {
	change := make([]int64, len(p.Steps)+2)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Kind != Temporary && b.Kind != Result {
			continue
		}
		change[min(b.Made, len(p.Steps))] += b.Bytes
		change[min(b.Released, len(p.Steps))+1] -= b.Bytes
	}
	var now, peak int64
	for _, c := range change {
		now += c
		peak = max(peak, now)
	}
	return peak
}

// Peak returns the most bytes that a run of the program with the layout holds at a time,
// besides arguments, state and constants.
func (p *Program) Peak(l *Layout) int64 {
	var n int64
	for _, b := range l.Blocks {
		n += b
	}
	for i := range p.Buffers {
		if p.Buffers[i].Kind == Result {
			n += p.Buffers[i].Bytes
		}
	}
	return n
}
