package launch

import (
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A store notes what memory is asked for, and what had been launched before.
type store struct {
	*fake
	asked, launched int
}

func (s *store) Scratch(dev int, q driver.Stream, bytes int64) (memory.Block, error) {
	s.asked++
	s.launched = len(s.launches)
	return s.fake.Scratch(dev, q, bytes)
}

// TestOneBlock: a call of any kind gets what it needs as one block before anything of it is
// enqueued.
func TestOneBlock(t *testing.T) {
	long := []int{1 << 20}
	one := func(dt ir.DType) []ir.View { return []ir.View{deviceView(1<<40, dt, []int{1}, []int{0})} }
	all := func(addr uint64, dt ir.DType) ir.View { return deviceView(addr<<40, dt, long, nil) }
	for name, tt := range map[string]struct {
		c        ir.Call
		launches int
	}{
		"a fold in slices": {ir.Call{Kernel: folder(ir.Reduction).Kernel(0, ir.Float32), Axes: []int{0}, Out: one(ir.Float32),
			In: []ir.View{all(2, ir.Float32)}}, 2},
		"and of another dtype": {ir.Call{Kernel: folder(ir.Reduction).Kernel(0, ir.Float32), Axes: []int{0}, Out: one(ir.Float64),
			In: []ir.View{all(2, ir.Int32)}}, 4},
		"a scan in slices": {ir.Call{Kernel: folder(ir.Scan).Kernel(0, ir.Float32), Axes: []int{0}, Out: []ir.View{all(1, ir.Float32)},
			In: []ir.View{all(2, ir.Int32)}}, 4},
		"element-wise": {ir.Call{Kernel: operator(2, "x + y").Kernel(0, ir.Float32), Out: []ir.View{all(1, ir.Float64)},
			In: []ir.View{all(2, ir.Int32), all(3, ir.Int64)}}, 4},
	} {
		f, d := newFake(t)
		s := &store{fake: f}
		d.memory = s
		tt.c.Space = long
		must(t, d.Run(0, &tt.c))
		if s.asked != 1 || s.launched != 0 || len(f.launches) != tt.launches {
			t.Errorf("%s: memory was asked for %d times, the last time behind %d kernels; %d kernels, want %d",
				name, s.asked, s.launched, len(f.launches), tt.launches)
		}
	}
}
