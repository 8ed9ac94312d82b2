package peer

import (
	"errors"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// An end is a communicator that only knows its device.
type end struct {
	collective.Communicator
	on     device.Device
	closed int
}

func (e *end) Device() device.Device { return e.on }

func (e *end) Close() error {
	e.closed++
	return errors.New("closing")
}

// TestNewFails has a device of a group not be there: all ends are closed.
func TestNewFails(t *testing.T) {
	ends := []*end{{on: device.CPU}, {on: device.Sim(1000)}}
	out, err := New([]collective.Communicator{ends[0], ends[1]}, Settings{})
	if err == nil || out != nil {
		t.Errorf("New gave %v, %v; want an error", out, err)
	}
	for rank, e := range ends {
		if e.closed != 1 {
			t.Errorf("the end of rank %d was closed %d times", rank, e.closed)
		}
	}
}

// A replayer is an engine that hears of replays.
type replayer struct {
	end
	told []string
}

func (r *replayer) Replayed(calls []string) { r.told = append(r.told, calls...) }

// TestReplayed: the engine under it hears of replays, if it wants to.
func TestReplayed(t *testing.T) {
	under := &replayer{}
	(&Communicator{inner: under}).Replayed([]string{"a", "b"})
	if !slices.Equal(under.told, []string{"a", "b"}) {
		t.Errorf("it heard of %v", under.told)
	}
	(&Communicator{inner: &end{}}).Replayed([]string{"a"})
}

// TestPieces cuts batches: every element travels once, spans lie apart in a slot that has room for
// them, and begin where vectors do. Small calls are no pieces of their own.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		elements     []int // of calls, float32 and, where odd in number, bfloat16 by turns
		bytes, ranks int
		want         int // pieces; 0: not said
	}{
		{[]int{4096, 4096 * 4096}, 32 << 20, 2, 2},
		{[]int{4096 * 4096, 4096}, 32 << 20, 2, 2},
		{[]int{4096, 4096 * 4096}, 32 << 20, 3, 2},
		{[]int{8 << 20}, 32 << 20, 2, 1},
		{[]int{8 << 20, 3, 1, 7}, 32 << 20, 8, 1},
		{[]int{16 << 20}, 32 << 20, 2, 2},
		{[]int{1}, 512, 2, 1},
		{[]int{}, 512, 2, 0},
		{[]int{0, 5, 0}, 512, 3, 1},
		{[]int{1, 2, 3, 1000, 5, 77, 100000, 1, 1}, 512, 3, 0},
		{[]int{13, 100001, 17, 5}, 4096, 2, 0},
		{slices.Repeat([]int{1}, 300), 1024, 4, 0},
	} {
		var calls []*collective.Call
		for i, n := range c.elements {
			d := ir.Float32
			if len(c.elements)%2 == 1 && i%2 == 1 {
				d = ir.BFloat16
			}
			v := flat(d, n, 0)
			calls = append(calls, &collective.Call{Kind: collective.AllReduce, In: v, Out: v})
		}
		list := pieces(calls, c.bytes, c.ranks)
		if c.want > 0 && len(list) != c.want {
			t.Errorf("%v in pieces of %d: there are %d, want %d", c.elements, c.bytes, len(list), c.want)
		}
		next := make([]int, len(calls)) // by call: the first element that has not travelled
		for _, p := range list {
			free := 0 // bytes of a slot before this are taken
			for _, s := range p {
				size := calls[s.call].In.DType.Size()
				if s.from != next[s.call] || s.from*size%256 != 0 || s.at%256 != 0 || s.at < free || s.n == 0 {
					t.Fatalf("%v in pieces of %d: a span is %+v; the call went on at %d, the slot at %d", c.elements, c.bytes, s, next[s.call], free)
				}
				free = s.at + s.part*size
				for rank := range c.ranks {
					from, n := s.of(rank)
					if n > 0 && from != next[s.call] {
						t.Fatalf("%v in pieces of %d: rank %d adds up elements from %d on, want %d", c.elements, c.bytes, rank, from, next[s.call])
					}
					next[s.call] += max(n, 0)
				}
			}
			if room := slotBytes(c.bytes, c.ranks); free > room || free == 0 {
				t.Errorf("%v in pieces of %d: a piece has %d bytes for a rank, a slot %d", c.elements, c.bytes, free, room)
			}
		}
		if !slices.Equal(next, c.elements) {
			t.Errorf("%v in pieces of %d: %v elements travel", c.elements, c.bytes, next)
		}
	}
}
