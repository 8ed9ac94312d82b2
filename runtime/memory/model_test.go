package memory

import (
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/tests/brief"
)

// model is section 3 of the specification, done with lists that are searched from
// end to end and figures that are summed up anew.
type model struct {
	capacity int64
	next     uint64
	segments []*modelSegment
	allocs   int64
	frees    int64
	retries  int64
	ooms     int64
	busy     map[device.StreamID]bool
}

type modelSegment struct {
	small  bool
	stream device.StreamID
	addr   uint64
	size   int64
	blocks []*modelBlock // by address, without gaps
}

type modelBlock struct {
	addr            uint64
	size, requested int64
	state           string                   // "free", "held", "awaiting"
	streams         map[device.StreamID]bool // recorded; while awaiting: true until done
}

func (m *model) reserved() (sum int64) {
	for _, s := range m.segments {
		sum += s.size
	}
	return sum
}

// settle makes blocks free whose streams are done, and one of free neighbours.
func (m *model) settle() {
	for _, s := range m.segments {
		var blocks []*modelBlock
		for _, b := range s.blocks {
			if b.state == "awaiting" && !slices.Contains(values(b.streams), true) {
				b.state = "free"
			}
			if n := len(blocks); n > 0 && b.state == "free" && blocks[n-1].state == "free" {
				blocks[n-1].size += b.size
			} else {
				blocks = append(blocks, b)
			}
		}
		s.blocks = blocks
	}
}

func values(set map[device.StreamID]bool) (out []bool) {
	for _, v := range set {
		out = append(out, v)
	}
	return out
}

func (m *model) idle(s device.StreamID) {
	m.busy[s] = false
	for _, g := range m.segments {
		for _, b := range g.blocks {
			if b.state == "awaiting" && b.streams[s] {
				b.streams[s] = false
			}
		}
	}
}

// find takes the best free block of a pool and stream.
func (m *model) find(small bool, stream device.StreamID, size, bytes int64) *modelBlock {
	var in *modelSegment
	at := -1
	for _, s := range m.segments {
		if s.small != small || s.stream != stream {
			continue
		}
		for i, b := range s.blocks {
			if b.state != "free" || b.size < size {
				continue
			}
			if in == nil || b.size < in.blocks[at].size || b.size == in.blocks[at].size && b.addr < in.blocks[at].addr {
				in, at = s, i
			}
		}
	}
	if in == nil {
		return nil
	}
	b := in.blocks[at]
	if rest := b.size - size; small && rest >= 512 || !small && rest > 1048576 {
		in.blocks = slices.Insert(in.blocks, at+1, &modelBlock{addr: b.addr + uint64(size), size: rest, state: "free"})
		b.size = size
	}
	b.state, b.requested, b.streams = "held", bytes, map[device.StreamID]bool{}
	return b
}

func (m *model) alloc(stream device.StreamID, bytes int64) *modelBlock {
	size := max((bytes+511)/512*512, 512)
	small := size <= 1048576
	m.settle()
	if b := m.find(small, stream, size, bytes); b != nil {
		return b
	}
	segment := int64(20971520)
	if small {
		segment = 2097152
	} else if size >= 10485760 {
		segment = (size + 2097151) / 2097152 * 2097152
	}
	if m.reserved()+segment > m.capacity {
		m.retries++
		for _, g := range m.segments {
			for _, b := range g.blocks {
				for s, waits := range b.streams {
					if b.state == "awaiting" && waits {
						m.idle(s)
					}
				}
			}
		}
		m.settle()
		before := len(m.segments)
		m.segments = slices.DeleteFunc(m.segments, func(s *modelSegment) bool {
			return len(s.blocks) == 1 && s.blocks[0].state == "free"
		})
		m.frees += int64(before - len(m.segments))
		if b := m.find(small, stream, size, bytes); b != nil {
			return b
		}
		if m.reserved()+segment > m.capacity {
			m.ooms++
			return nil
		}
	}
	m.allocs++
	m.segments = append(m.segments, &modelSegment{small, stream, m.next, segment, []*modelBlock{{addr: m.next, size: segment, state: "free"}}})
	m.next += uint64(segment) + 2*mib
	return m.find(small, stream, size, bytes)
}

// release frees b; its streams that are busy are waited for.
func (m *model) release(b *modelBlock) {
	b.state = "awaiting"
	recorded := len(b.streams) > 0
	for s := range b.streams {
		b.streams[s] = m.busy[s]
	}
	if !recorded {
		m.settleOne(b)
	}
}

// settleOne frees one block at once, without looking at others that await.
func (m *model) settleOne(b *modelBlock) {
	var held []*modelBlock
	for _, s := range m.segments {
		for _, c := range s.blocks {
			if c != b && c.state == "awaiting" {
				c.state = "held"
				held = append(held, c)
			}
		}
	}
	m.settle()
	for _, c := range held {
		c.state = "awaiting"
	}
}

// sums are the figures that both sides state.
type sums struct {
	Allocation, Allocated, Requested, Active, ActiveBytes, Segments, Reserved, Split, SplitBytes [3]int64
	Allocs, Frees, Retries, OutOfMemory                                                          int64
}

func (m *model) sums() (s sums) {
	s.Allocs, s.Frees, s.Retries, s.OutOfMemory = m.allocs, m.frees, m.retries, m.ooms
	for _, g := range m.segments {
		add := func(to *[3]int64, n int64) {
			to[0] += n
			if g.small {
				to[1] += n
			} else {
				to[2] += n
			}
		}
		add(&s.Segments, 1)
		add(&s.Reserved, g.size)
		for _, b := range g.blocks {
			if b.state == "held" {
				add(&s.Allocation, 1)
				add(&s.Allocated, b.size)
			}
			if b.state != "free" {
				add(&s.Active, 1)
				add(&s.ActiveBytes, b.size)
				add(&s.Requested, b.requested)
			} else if len(g.blocks) > 1 {
				add(&s.Split, 1)
				add(&s.SplitBytes, b.size)
			}
		}
	}
	return s
}

func sumsOf(s figures.Stats) sums {
	current := func(m figures.Metric) [3]int64 { return [3]int64{m.All.Current, m.Small.Current, m.Large.Current} }
	return sums{
		current(s.Allocation), current(s.AllocatedBytes), current(s.RequestedBytes), current(s.Active), current(s.ActiveBytes),
		current(s.Segment), current(s.ReservedBytes), current(s.InactiveSplit), current(s.InactiveSplitBytes),
		s.DeviceAllocs, s.DeviceFrees, s.AllocRetries, s.OutOfMemory,
	}
}

var firstSeed = flag.Uint64("seed", 0, "the first of the four seeds of TestModel's steps")

// TestModel does thousands of random steps on the allocator and on the model, and
// compares every address and figure.
func TestModel(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+4; seed++ {
		if testing.Short() && seed > *firstSeed {
			break
		}
		r := rand.New(rand.NewPCG(seed, 7))
		drv := newFake(150 * mib)
		start(t, drv)
		m := &model{capacity: drv.capacity, next: drv.next, busy: map[device.StreamID]bool{}}
		type pair struct {
			b     Block
			m     *modelBlock
			of    device.StreamID
			bytes int64
		}
		var held []pair
		for step := range brief.Times(3000) {
			switch n := r.IntN(100); {
			case n < 45 || len(held) == 0:
				bytes := []int64{1 + r.Int64N(2000), 1 + r.Int64N(mib), mib + r.Int64N(9*mib), 10*mib - 600 + r.Int64N(1200), 10*mib + r.Int64N(30*mib)}[min(r.IntN(8), r.IntN(8), 4)]
				s := device.StreamID(r.IntN(3))
				want := m.alloc(s, bytes)
				b, err := Alloc(cuda0, drv, s, bytes)
				switch {
				case want == nil && errors.Is(err, device.ErrOutOfMemory):
					for _, p := range held[len(held)/2:] { // else most steps would end so
						free(t, p.b)
						m.release(p.m)
					}
					held = held[:len(held)/2]
				case want == nil || err != nil:
					t.Fatalf("seed %d, step %d: %d bytes: %v, want %+v", seed, step, bytes, err, want)
				case b.Addr != want.addr || b.Bytes != want.size:
					t.Fatalf("seed %d, step %d: %d bytes: %d at %#x, want %d at %#x", seed, step, bytes, b.Bytes, b.Addr, want.size, want.addr)
				default:
					held = append(held, pair{b, want, s, bytes})
				}
			case n < 80:
				i := r.IntN(len(held))
				free(t, held[i].b)
				m.release(held[i].m)
				held = slices.Delete(held, i, i+1)
			case n < 90:
				p, s := held[r.IntN(len(held))], device.StreamID(r.IntN(4))
				p.b.RecordStream(s)
				if s != p.of {
					p.m.streams[s] = true
				}
			default:
				s := device.StreamID(r.IntN(4))
				if m.busy[s] {
					m.idle(s)
				} else {
					m.busy[s] = true
				}
				drv.setBusy(s, m.busy[s])
			}
			got := StatsOf(cuda0)
			if diff := cmp.Diff(m.sums(), sumsOf(got)); diff != "" {
				t.Fatalf("seed %d, step %d: %s", seed, step, diff)
			}
			got.Each(func(name string, v *figures.Metric) {
				if v.All.Current != v.All.Allocated-v.All.Freed || v.All.Peak < v.All.Current || v.All.Allocated != v.Small.Allocated+v.Large.Allocated {
					t.Fatalf("seed %d, step %d: %s is %+v", seed, step, name, *v)
				}
			})
		}
		if m.ooms == 0 || m.retries == m.ooms || m.frees == 0 {
			t.Errorf("seed %d: %d errors, %d retries, %d segments freed: too few to test", seed, m.ooms, m.retries, m.frees)
		}
	}
}
