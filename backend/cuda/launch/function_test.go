package launch

import (
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
	"github.com/sinter-go/sinter/tests/patience"
)

// leased is a source that is dropped one day.
type leased struct {
	fstest.MapFS
	lease *code.Lease
}

func (s *leased) Lease() *code.Lease { return s.lease }

// TestDropped: tables of device code hold no operator that nobody else does, and have nothing
// of it then; what is held stays.
func TestDropped(t *testing.T) {
	_, d := newFake(t)
	fresh := func() *ir.Kernel {
		op := &ir.Op{Name: "fresh", Kind: ir.Elementwise, Switch: -1, Out: []ir.Result{{Name: "out"}}, Bodies: []ir.Body{{Exprs: []string{"0"}}}}
		op.Code = []ir.Code{{For: Kind, Of: &code.Kernels{Module: "m", Symbol: "s", Source: &leased{fstest.MapFS{}, code.NewLease()}}}}
		return op.Kernel(0, ir.Float32)
	}
	use := func(k *ir.Kernel) {
		t.Helper()
		_, err := d.loopsOf(k).function(d, contiguousLoop)
		must(t, err)
		_, err = d.kernel(names.Of(k), "m", "s")
		must(t, err)
	}
	held := fresh()
	use(held)
	for range brief.Times(1000) {
		use(fresh())
	}
	entries := func() []int { return []int{len(*d.loops.now.Load()), len(*d.kernels.now.Load())} }
	patience.Until(t, func() bool {
		runtime.GC()
		return cmp.Equal([]int{1, 1}, entries())
	})
	if diff := cmp.Diff([]int{1, 1}, entries()); diff != "" {
		t.Errorf("entries of the tables (-want +got):\n%s", diff)
	}
	loops := d.loopsOf(held)
	use(held)
	if d.loopsOf(held) != loops {
		t.Error("what is held has other loops than before")
	}
}
