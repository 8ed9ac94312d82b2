package exec

import (
	"math"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// TestCollectorIsNotHeldUp: the collector cannot stop a goroutine inside a loop, so
// no call of one is over more elements than take it microseconds, however many the
// operator has, and each is in one call.
func TestCollectorIsNotHeldUp(t *testing.T) {
	const n, most = 4<<20 + 321, 64 << 10
	x, y := cputest.NewView(ir.Float32, "contiguous", n), cputest.NewView(ir.Float32, "contiguous", n)
	for _, from := range []int{1, math.MaxInt} { // past the caches, and not
		bypassFrom(t, from)
		var mu sync.Mutex
		longest, total := 0, 0
		op := ir.Op{Name: "noted", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Code: []ir.Code{{For: "cpu", Of: &vector.Code{
			Loops: []*[ir.NumDTypes]vector.Func{{ir.Float32: func(n int, _ []unsafe.Pointer, _ []ir.Scalar, _ int64) {
				mu.Lock()
				defer mu.Unlock()
				longest, total = max(longest, n), total+n
			}}},
		}}}}
		if err := Run(&ir.Call{Kernel: op.Kernel(0, ir.Float32), Space: []int{n}, Flat: true, Out: []ir.View{y}, In: []ir.View{x}}); err != nil {
			t.Fatal(err)
		}
		if longest > most || total != n {
			t.Errorf("past the caches from %d bytes on: %d elements in calls of up to %d, want %d in calls of %d at most", from, total, longest, n, most)
		}
	}
}
