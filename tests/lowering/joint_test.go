package lowering_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// TestJoint holds the loops that write several arrays over what was in them to the
// portable ones, to the bit: their bodies call no functions.
func TestJoint(t *testing.T) {
	ran := 0
	eachVector(func(op *ir.Op, l *vector.Loop, portable vector.Func) {
		if op.Kind != ir.Joint {
			return
		}
		ran++
		for _, level := range simd.UsableVectors()[1:] {
			loop := l.AVX2
			if level == simd.AVX512 {
				loop = l.AVX512
			}
			if loop == nil {
				t.Errorf("%s %s has no loop for %s", op.Name, l.DType, level)
				continue
			}
			for n := 0; n < 200; n += 1 + n/40 {
				for _, flag := range []bool{false, true} {
					got := jointly(op, l.DType, loop, n, flag)
					if want := jointly(op, l.DType, portable, n, flag); !bytes.Equal(got, want) {
						t.Fatalf("%s %s %s: %d elements differ from the portable loop's", op.Name, l.DType, level, n)
					}
				}
			}
		}
	})
	if ran < 6 && runtime.GOARCH == "amd64" {
		t.Errorf("%d loops, want those of three steps in two dtypes", ran)
	}
}

// jointly returns what a loop makes of n elements of all lists, with some around them.
func jointly(op *ir.Op, d ir.DType, loop vector.Func, n int, flag bool) []byte {
	const around = 16
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	lists, size := len(op.Out)+len(op.In), d.Size()
	each := (n + 2*around) * size
	data := make([]byte, lists*each)
	var p []unsafe.Pointer
	for i := range lists {
		for k := range n + 2*around {
			x := rng.Float64() + 0.25
			if at := data[i*each+k*size:]; d == ir.Float32 {
				binary.NativeEndian.PutUint32(at, math.Float32bits(float32(x)))
			} else {
				binary.NativeEndian.PutUint64(at, math.Float64bits(x))
			}
		}
		p = append(p, unsafe.Pointer(&data[i*each+around*size]))
	}
	var s []ir.Scalar
	for i, a := range op.Attrs {
		switch a.Kind {
		case ir.AttrBool:
			s = append(s, ir.BoolScalar(flag))
		case ir.AttrFloat:
			s = append(s, ir.FloatScalar(0.1+0.2*float64(i)))
		default:
			panic(fmt.Sprintf("%s has an attribute of kind %d", op.Name, a.Kind))
		}
	}
	loop(n, append(append([]unsafe.Pointer(nil), p[:len(op.Out)]...), p...), s, 0)
	return data
}
