package launch

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

func folder(kind ir.BodyKind) *ir.Op {
	return &ir.Op{Name: "fold", Kind: kind, Switch: -1, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
		DTypes: ir.ClassAll, Promote: ir.PromoteNone, Bodies: []ir.Body{{}}, Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Module: "m", Symbol: "fold"}}}}
}

func randomAxes(rng *rand.Rand, rank int) (axes []int) {
	for a := range rank {
		if rng.IntN(2) == 0 {
			axes = append(axes, a)
		}
	}
	return axes
}

// TestReduceCoverage follows the addresses that reductions read and write.
func TestReduceCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	seen := map[string]int{}
	for range brief.Times(300) {
		shape := randomShape(rng, 1+rng.IntN(4), 7)
		if rng.IntN(8) == 0 {
			shape[rng.IntN(len(shape))] = 20000
		}
		if rng.IntN(16) == 0 {
			shape[rng.IntN(len(shape))] = 0
		}
		if ir.NumElements(shape) > 40_000 {
			continue
		}
		axes := randomAxes(rng, len(shape))
		kept := slices.Clone(shape)
		for _, a := range axes {
			kept[a] = 1
		}
		out := deviceView(1<<40, ir.Float32, kept, ir.ContiguousStrides(kept))
		for _, a := range axes {
			out.Strides[a] = 0
		}
		in := deviceView(2<<40, ir.Float32, shape, repeatAxes(rng, randomStrides(rng, shape)))
		c := &ir.Call{Kernel: folder(ir.Reduction).Kernel(0, ir.Float32), Space: shape, Axes: axes, Out: []ir.View{out}, In: []ir.View{in}}
		f, d := newFake(t)
		must(t, d.Run(0, c))
		want := map[uint64]map[uint64]int{}
		enumerate(kept, func(_ int, at []int) { want[address(out, at)] = map[uint64]int{} })
		enumerate(shape, func(_ int, at []int) { want[address(out, at)][address(in, at)]++ })
		got := map[uint64]map[uint64]int{}
		for _, l := range f.launches {
			seen[l.name]++
			if !strings.HasSuffix(l.name, "_merge") {
				deviceFolds(&reader{t: t, data: l.params}, got)
			}
			checkFoldShape(t, l)
		}
		if maps.EqualFunc(want, got, maps.Equal) {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("shape %v, axes %v, strides %v: -want +got\n%s", shape, axes, in.Strides, diff)
		}
	}
	for _, name := range []string{"fold_float32_inner", "fold_float32_outer", "fold_float32_merge"} {
		if seen[name] == 0 {
			t.Errorf("no launch of %s", name)
		}
	}
}

// deviceFolds notes for each result's address what is folded into it.
func deviceFolds(r *reader, got map[uint64]map[uint64]int) {
	kept, folded := r.space(2), r.space(1)
	out, x := uint64(r.i64()), uint64(r.i64())
	for i := range kept.count {
		to := kept.locate(uint32(i), 0)
		from := map[uint64]int{}
		for j := range folded.count {
			at := folded.locate(uint32(j), 0)[0]
			if folded.rank == 0 {
				at = j
			}
			from[x+uint64(to[1]+at)*4]++
		}
		got[out+uint64(to[0])*4] = from
	}
}

// checkFoldShape holds a launch against what reduce.cuh says of its blocks.
func checkFoldShape(t *testing.T, l launched) {
	t.Helper()
	pow2 := func(n uint32) bool { return n > 0 && n&(n-1) == 0 }
	threads := l.block.X * l.block.Y
	ok := l.grid.X > 0 && l.grid.Y > 0 && l.grid.Y <= 65535 && threads >= 32 && l.block.Z == 1
	switch {
	case strings.HasSuffix(l.name, "_inner"):
		ok = ok && pow2(l.block.X) && pow2(l.block.Y) && threads <= 128
	case strings.HasSuffix(l.name, "_outer"):
		ok = ok && l.block.X%32 == 0 && threads <= 256
	default:
		ok = ok && threads == 256 && l.block.Y == 1 && l.grid.Y == 1
	}
	if !ok {
		t.Fatalf("%s: grid %v of blocks %v", l.name, l.grid, l.block)
	}
}

// TestInnerShape lists the blocks of sums along the last axis.
func TestInnerShape(t *testing.T) {
	tests := []struct {
		name        string
		dt          ir.DType
		shape       []int
		grid, block driver.Dim3
	}{
		{"a block a row", ir.Float32, []int{8192, 8192}, driver.Dim3{X: 8192, Y: 1, Z: 1}, driver.Dim3{X: 128, Y: 1, Z: 1}},
		{"the shortest row of a block", ir.Float32, []int{8192, 1025}, driver.Dim3{X: 8192, Y: 1, Z: 1}, driver.Dim3{X: 128, Y: 1, Z: 1}},
		{"a row of a warp", ir.Float32, []int{8192, 512}, driver.Dim3{X: 2048, Y: 1, Z: 1}, driver.Dim3{X: 32, Y: 4, Z: 1}},
		{"vectors of 8", ir.Float16, []int{8192, 512}, driver.Dim3{X: 1024, Y: 1, Z: 1}, driver.Dim3{X: 16, Y: 8, Z: 1}},
		{"short rows", ir.Float32, []int{1 << 20, 16}, driver.Dim3{X: 1 << 13, Y: 1, Z: 1}, driver.Dim3{X: 1, Y: 128, Z: 1}},
		{"one row", ir.Float32, []int{1, 1 << 26}, driver.Dim3{X: 1, Y: 528, Z: 1}, driver.Dim3{X: 128, Y: 1, Z: 1}},
		{"few rows", ir.Float32, []int{100, 1 << 16}, driver.Dim3{X: 100, Y: 5, Z: 1}, driver.Dim3{X: 128, Y: 1, Z: 1}},
		{"few rows too short to slice", ir.Float32, []int{100, 4096}, driver.Dim3{X: 100, Y: 1, Z: 1}, driver.Dim3{X: 128, Y: 1, Z: 1}},
	}
	for _, tt := range tests {
		f, d := newFake(t)
		kept := []int{tt.shape[0], 1}
		must(t, d.Run(0, &ir.Call{Kernel: folder(ir.Reduction).Kernel(0, tt.dt), Space: tt.shape, Axes: []int{1},
			Out: []ir.View{deviceView(1<<20, tt.dt, kept, []int{1, 0})}, In: []ir.View{deviceView(1<<40, tt.dt, tt.shape, nil)}}))
		got := [2]driver.Dim3{f.launches[0].grid, f.launches[0].block}
		if diff := cmp.Diff([2]driver.Dim3{tt.grid, tt.block}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.name, diff)
		}
	}
}

// TestScanCoverage follows the lines of scans.
func TestScanCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	seen := map[string]int{}
	for range brief.Times(300) {
		shape := randomShape(rng, 1+rng.IntN(3), 40)
		if rng.IntN(3) == 0 {
			shape[rng.IntN(len(shape))] = []int{100, 40_000}[rng.IntN(2)]
		}
		if ir.NumElements(shape) > 100_000 {
			continue
		}
		axis := rng.IntN(len(shape))
		out := deviceView(1<<40, ir.Float32, shape, randomStrides(rng, shape))
		in := deviceView(2<<40, ir.Float32, shape, repeatAxes(rng, randomStrides(rng, shape)))
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Kernel: folder(ir.Scan).Kernel(0, ir.Float32), Space: shape, Axes: []int{axis}, Out: []ir.View{out}, In: []ir.View{in}}))
		if strings.HasPrefix(f.launches[0].name, "copy") || strings.HasPrefix(f.launches[0].name, "transpose") || len(f.copies) > 0 {
			seen["scratch"]++
			continue // through scratch: the copies have a test of their own
		}
		want := map[[2]uint64]bool{}
		enumerate(shape, func(_ int, at []int) { want[[2]uint64{address(out, at), address(in, at)}] = true })
		got := map[[2]uint64]bool{}
		for _, l := range f.launches {
			seen[strings.TrimPrefix(l.name, "fold_float32")]++
			if strings.HasSuffix(l.name, "_carry") || strings.HasSuffix(l.name, "_totals") {
				continue
			}
			r := reader{t: t, data: l.params}
			s := r.space(2)
			extent, outStep, step := r.i64(), r.i64(), r.i64()
			to, from := uint64(r.i64()), uint64(r.i64())
			for i := range s.count {
				at := s.locate(uint32(i), 0)
				for k := range extent {
					got[[2]uint64{to + uint64(at[0]+k*outStep)*4, from + uint64(at[1]+k*step)*4}] = true
				}
			}
		}
		if maps.Equal(want, got) {
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("shape %v, axis %d, strides %v from %v: -want +got\n%s", shape, axis, out.Strides, in.Strides, diff)
		}
	}
	for _, loop := range []string{"_rows", "_columns", "_totals", "_column_totals", "_carry"} {
		if seen[loop] == 0 {
			t.Errorf("no launch of the loop %s", loop)
		}
	}
}

// TestFoldsInto lists the conversions around folds.
func TestFoldsInto(t *testing.T) {
	shape, kept := []int{4, 5}, []int{1, 5}
	tests := []struct {
		dtype, in, out ir.DType
		want           []string
	}{
		{ir.Float16, ir.Float16, ir.Float16, []string{"fold_float16_inner"}},
		{ir.Int64, ir.Int32, ir.Int64, []string{"convert_int32_int64", "fold_int64_inner"}},
		{ir.Float32, ir.Float16, ir.Float32, []string{"convert_float16_float32", "fold_float32_inner"}},
		{ir.Float64, ir.Float64, ir.Float32, []string{"fold_float64_inner", "convert_float64_float32"}},
	}
	for _, tt := range tests {
		f, d := newFake(t)
		c := &ir.Call{Space: shape, Axes: []int{0},
			Out: []ir.View{deviceView(1<<20, tt.out, kept, []int{0, 1})}, In: []ir.View{deviceView(2<<20, tt.in, shape, nil)}}
		c.Kernel = folder(ir.Reduction).Stored(0, tt.dtype, c.Out, c.In)
		must(t, d.Run(0, c))
		var got []string
		for _, l := range f.launches {
			got = append(got, l.name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s of %s: -want +got\n%s", tt.out, tt.in, diff)
		}
	}
}
