package launch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
)

func copyOperator() *ir.Op {
	return &ir.Op{Name: "copy", Kind: ir.Elementwise, Switch: -1, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
		Bodies: []ir.Body{{Expr: "x"}}, CUDA: ir.CUDAKernels{Module: "copy", Symbol: "copy"}}
}

// TestCopyCoverage follows every byte of random copies through the launches.
func TestCopyCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for range 400 {
		shape := randomShape(rng, rng.IntN(5), 6)
		dt := ir.AllDTypes()[rng.IntN(12)]
		dst := deviceView(1<<30, dt, shape, randomStrides(rng, shape))
		src := deviceView(2<<30, dt, shape, repeatAxes(rng, randomStrides(rng, shape)))
		src.Addr += uint64(rng.IntN(3) * dt.Size())
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Op: copyOperator(), Compute: dt.Compute(), Space: shape, Out: []ir.View{dst}, In: []ir.View{src}}))
		got := map[[2]uint64]int{}
		for _, l := range f.launches {
			kind, size := l.name[:strings.Index(l.name, "_")], 0
			if _, err := fmt.Sscanf(l.name[strings.Index(l.name, "_")+1:], "b%d", &size); err != nil {
				t.Fatal(l.name, err)
			}
			if strings.HasSuffix(l.name, "_strided") {
				kind += "_strided"
			}
			seen[kind]++
			for _, m := range deviceMoves(&reader{t: t, data: l.params}, kind) {
				for b := range uint64(size) {
					got[[2]uint64{m[0] + uint64(m[2])*uint64(size) + b, m[1] + uint64(m[3])*uint64(size) + b}]++
				}
			}
		}
		want := map[[2]uint64]int{}
		enumerate(shape, func(_ int, at []int) {
			for b := range uint64(dt.Size()) {
				want[[2]uint64{address(dst, at) + b, address(src, at) + b}]++
			}
		})
		if maps.Equal(want, got) {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("shape %v, %s, strides %v from %v: -want +got\n%s", shape, dt, dst.Strides, src.Strides, diff)
		}
	}
	for _, kind := range []string{"copy", "copy_strided", "transpose"} {
		if seen[kind] < 10 {
			t.Errorf("only %d launches of %s", seen[kind], kind)
		}
	}
}

// deviceMoves returns base and element offset of every element that a kernel of
// copy.cu writes and reads: dst, src, dst's offset, src's offset.
func deviceMoves(r *reader, kind string) (out [][4]uint64) {
	switch kind {
	case "copy":
		count, dst, src := r.i64(), r.i64(), r.i64()
		for i := range uint64(count) {
			out = append(out, [4]uint64{uint64(dst), uint64(src), i, i})
		}
	case "copy_strided":
		s := r.space(2)
		dst, src := uint64(r.i64()), uint64(r.i64())
		for i := range s.count {
			at := s.locate(uint32(i), 0)
			out = append(out, [4]uint64{dst, src, uint64(at[0]), uint64(at[1])})
		}
	case "transpose":
		s := r.space(2)
		rows, columns, outStep, xStep := r.i64(), r.i64(), r.i64(), r.i64()
		dst, src := uint64(r.i64()), uint64(r.i64())
		for i := range s.count {
			at := s.locate(uint32(i), 0)
			for row := range rows {
				for column := range columns {
					out = append(out, [4]uint64{dst, src, uint64(at[0] + column*outStep + row), uint64(at[1] + row*xStep + column)})
				}
			}
		}
	}
	return out
}

// TestCopyKernels lists what copies are made of.
func TestCopyKernels(t *testing.T) {
	one, f, h := 1.5, ir.Float32, ir.Float16
	shape, large := []int{64, 96}, []int{1024, 1024}
	transposed := []int{1, 64}
	tests := []struct {
		name     string
		dst, src ir.View
		want     []string
	}{
		{"small", deviceView(1<<30, f, shape, nil), deviceView(2<<30, f, shape, nil), []string{"copy_b16"}},
		{"small and odd", deviceView(1<<30+2, h, []int{7}, nil), deviceView(2<<30, h, []int{7}, nil), []string{"copy_b2"}},
		{"large", deviceView(1<<30, f, large, nil), deviceView(2<<30, f, large, nil), []string{"memcpy"}},
		{"onto itself", deviceView(1<<30, f, large, nil), deviceView(1<<30, f, large, nil), nil},
		{"transposed", deviceView(1<<30, f, shape, nil), deviceView(2<<30, f, shape, transposed), []string{"transpose_b4"}},
		{"transposed pairs", deviceView(1<<30, f, []int{64, 96, 2}, nil), deviceView(2<<30, f, []int{64, 96, 2}, []int{2, 128, 1}), []string{"transpose_b8"}},
		{"repeated row", deviceView(1<<30, f, shape, nil), deviceView(2<<30, f, shape, []int{0, 1}), []string{"copy_b16_strided"}},
		{"both transposed", deviceView(1<<30, f, shape, transposed), deviceView(2<<30, f, shape, transposed), []string{"copy_b16"}},
		{"filled with a number", deviceView(1<<30, f, shape, nil), hostNumber(&one, ir.Float64, shape), []string{"fill_b4"}},
		{"a column filled", deviceView(1<<30, f, []int{64}, []int{96}), hostNumber(&one, ir.Float64, []int{64}), []string{"fill_b4", "copy_b4_strided"}},
		{"converted", deviceView(1<<30, h, large, nil), deviceView(2<<30, f, large, nil), []string{"convert_float32_float16"}},
		{"bool to bytes", deviceView(1<<30, ir.Uint8, shape, nil), deviceView(2<<30, ir.Bool, shape, nil), []string{"copy_b16"}},
		{"bytes to bool", deviceView(1<<30, ir.Bool, shape, nil), deviceView(2<<30, ir.Uint8, shape, nil), []string{"convert_uint8_bool"}},
		{"converted columns", deviceView(1<<30, h, shape, nil), deviceView(2<<30, f, shape, transposed), []string{"convert_float32_float16_strided"}},
		{"many converted columns", deviceView(1<<30, h, large, nil), deviceView(2<<30, f, large, []int{1, 1024}), []string{"transpose_b4", "convert_float32_float16"}},
		{"nothing", deviceView(0, f, []int{0, 3}, nil), deviceView(0, f, []int{0, 3}, nil), nil},
	}
	for _, tt := range tests {
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Op: copyOperator(), Compute: tt.src.DType.Compute(), Space: tt.dst.Shape, Out: []ir.View{tt.dst}, In: []ir.View{tt.src}}))
		var got []string
		for range f.copies {
			got = append(got, "memcpy")
		}
		for _, l := range f.launches {
			got = append(got, l.name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}
