package launch

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

func copyOperator() *ir.Op {
	return &ir.Op{Name: "copy", Kind: ir.Elementwise, Switch: -1, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
		Bodies: []ir.Body{{Exprs: []string{"x"}, Identity: true}}, Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Module: "copy", Symbol: "copy"}}}}
}

// TestCopyCoverage follows every byte of random copies through the launches.
func TestCopyCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	seen := map[string]int{}
	for range brief.Times(brief.Times(1600)) {
		shape := randomShape(rng, rng.IntN(5), 6)
		dt := ir.ClassAll.List()[rng.IntN(12)]
		dst := deviceView(1<<30, dt, shape, randomStrides(rng, shape))
		src := deviceView(2<<30, dt, shape, repeatAxes(rng, randomStrides(rng, shape)))
		src.Addr += uint64(rng.IntN(3) * dt.Size())
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Kernel: copyOperator().Kernel(0, dt), Space: shape, Out: []ir.View{dst}, In: []ir.View{src}}))
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
			for _, m := range deviceMoves(&reader{t: t, data: l.params}, l.grid, kind, size) {
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
	for _, kind := range []string{"copy", "copy_strided", "transpose", "narrow", "spread"} {
		if seen[kind] < brief.Times(brief.Times(10)) {
			t.Errorf("only %d launches of %s", seen[kind], kind)
		}
	}
}

// deviceMoves returns base and element offset of every element that a kernel of
// copy.cu for elements of size bytes writes and reads: dst, src, dst's offset,
// src's offset.
func deviceMoves(r *reader, grid driver.Dim3, kind string, size int) (out [][4]uint64) {
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
	case "spread":
		// A vector's elements follow one another in the result from where the first is, as they do in
		// the plane of axes 0 and 1.
		s := r.space(2)
		dst, src := uint64(r.i64()), uint64(r.i64())
		n := int64(16 / size)
		for first := int64(0); first < s.count; first += n {
			to := s.locate(uint32(first), 0)[0]
			if s.count%n != 0 || (dst+uint64(to)*uint64(size))%16 != 0 {
				return nil // no vector
			}
			for i := range n {
				out = append(out, [4]uint64{dst, src, uint64(to + i), uint64(s.locate(uint32(first+i), 0)[1])})
			}
		}
	case "narrow":
		s := r.space(2)
		rows, columns, outStep, xStep := r.i64(), r.i64(), r.i64(), r.i64()
		dst, src := uint64(r.i64()), uint64(r.i64())
		few, many := min(rows, columns), max(rows, columns)
		most := 16384 / int64(size) / few
		for block := range int64(grid.X) {
			for y := range int64(grid.Y) {
				for i := y; i < s.count; i += int64(grid.Y) {
					at := s.locate(uint32(i), 0)
					for k := block * most; k < min(many, (block+1)*most); k++ {
						for e := range few {
							to, from := e*outStep+k, k*few+e
							if rows < columns {
								to, from = k*few+e, e*xStep+k
							}
							out = append(out, [4]uint64{dst, src, uint64(at[0] + to), uint64(at[1] + from)})
						}
					}
				}
			}
		}
	case "transpose":
		s := r.space(2)
		rows, columns, outStep, xStep := r.i64(), r.i64(), r.i64(), r.i64()
		dst, src := uint64(r.i64()), uint64(r.i64())
		side := map[int]int64{1: 128, 2: 128, 4: 64, 8: 32, 16: 32}[size]
		down := (rows + side - 1) / side
		for block := range int64(grid.X) {
			firstRow, firstColumn := block%down*side, block/down*side
			for y := range int64(grid.Y) {
				for i := y; i < s.count; i += int64(grid.Y) {
					at := s.locate(uint32(i), 0)
					for row := firstRow; row < min(rows, firstRow+side); row++ {
						for column := firstColumn; column < min(columns, firstColumn+side); column++ {
							out = append(out, [4]uint64{dst, src, uint64(at[0] + column*outStep + row), uint64(at[1] + row*xStep + column)})
						}
					}
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
		{"weights", deviceView(1<<30, h, []int{5, 9, 64}, nil), deviceView(2<<30, h, []int{5, 9, 64}, []int{9 * 64, 1, 9}), []string{"narrow_b2"}},
		{"weights back", deviceView(1<<30, h, []int{5, 64, 9}, nil), deviceView(2<<30, h, []int{5, 64, 9}, []int{9 * 64, 1, 64}), []string{"narrow_b2"}},
		{"weights with gaps", deviceView(1<<30, h, []int{5, 9, 64}, nil), deviceView(2<<30, h, []int{5, 9, 64}, []int{10 * 64, 1, 10}), []string{"transpose_b2"}},
		{"transposed pairs", deviceView(1<<30, f, []int{64, 96, 2}, nil), deviceView(2<<30, f, []int{64, 96, 2}, []int{2, 128, 1}), []string{"transpose_b8"}},
		{"repeated row", deviceView(1<<30, f, shape, nil), deviceView(2<<30, f, shape, []int{0, 1}), []string{"copy_b16_strided"}},
		{"repeated column", deviceView(1<<30, f, shape, nil), deviceView(2<<30, f, shape, []int{1, 0}), []string{"spread_b4"}},
		{"each twice", deviceView(1<<30, h, []int{6, 32, 2}, nil), deviceView(2<<30, h, []int{6, 32, 2}, []int{32, 1, 0}), []string{"spread_b2"}},
		{"each thrice", deviceView(1<<30, f, []int{6, 32, 3}, nil), deviceView(2<<30, f, []int{6, 32, 3}, []int{32, 1, 0}), []string{"spread_b4"}},
		{"each thrice of a few", deviceView(1<<30, f, []int{6, 5, 3}, nil), deviceView(2<<30, f, []int{6, 5, 3}, []int{20, 2, 0}), []string{"copy_b4_strided"}},
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
		must(t, d.Run(0, &ir.Call{Kernel: copyOperator().Kernel(0, tt.src.DType), Space: tt.dst.Shape, Out: []ir.View{tt.dst}, In: []ir.View{tt.src}}))
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

// TestTransposeTiles transposes planes of several tiles, edges and more planes than
// a grid has rows.
func TestTransposeTiles(t *testing.T) {
	tests := []struct {
		dt              ir.DType
		planes, rows, c int
		grid            driver.Dim3
	}{
		{ir.Uint8, 3, 129, 300, driver.Dim3{X: 6, Y: 3, Z: 1}},
		{ir.Float16, 1, 255, 129, driver.Dim3{X: 4, Y: 1, Z: 1}},
		{ir.Float32, 2, 65, 191, driver.Dim3{X: 6, Y: 2, Z: 1}},
		{ir.Float64, 1, 33, 97, driver.Dim3{X: 8, Y: 1, Z: 1}},
		{ir.Complex128, 1, 33, 31, driver.Dim3{X: 2, Y: 1, Z: 1}},
		{ir.Int8, 70000, 8, 8, driver.Dim3{X: 1, Y: 65535, Z: 1}},
	}
	for _, tt := range tests {
		// Steps that leave gaps, so that no elements are moved two at a time.
		outStep, xStep := tt.rows+1, tt.c+1
		shape := []int{tt.planes, tt.c, tt.rows}
		dst := deviceView(1<<40, tt.dt, shape, []int{tt.c * outStep, outStep, 1})
		src := deviceView(2<<40, tt.dt, shape, []int{tt.rows * xStep, 1, xStep})
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Kernel: copyOperator().Kernel(0, tt.dt), Space: shape, Out: []ir.View{dst}, In: []ir.View{src}}))
		name, size := fmt.Sprintf("transpose_b%d", tt.dt.Size()), tt.dt.Size()
		if len(f.launches) != 1 || f.launches[0].name != name || f.launches[0].grid != tt.grid {
			t.Errorf("%s, %v: launches %v, want one of %s with grid %v", tt.dt, shape, f.launches, name, tt.grid)
			continue
		}
		if tt.planes > gridRows {
			continue // the grid is what is different about these
		}
		source := make(map[uint64]uint64, dst.NumElements())
		for _, m := range deviceMoves(&reader{t: t, data: f.launches[0].params}, f.launches[0].grid, "transpose", size) {
			to := m[0] + m[2]*uint64(size)
			if _, twice := source[to]; twice {
				t.Fatalf("%s, %v: element at %#x written twice", tt.dt, shape, to)
			}
			source[to] = m[1] + m[3]*uint64(size)
		}
		if len(source) != dst.NumElements() {
			t.Errorf("%s, %v: %d elements written, want %d", tt.dt, shape, len(source), dst.NumElements())
		}
		enumerate(shape, func(_ int, at []int) {
			if got, want := source[address(dst, at)], address(src, at); got != want {
				t.Fatalf("%s: element %v of %v is from %#x, want %#x", tt.dt, at, shape, got, want)
			}
		})
	}
}
