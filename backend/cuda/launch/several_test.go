package launch

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// pairs is an operator of two results over two operands.
func pairs() *ir.Op {
	return &ir.Op{Name: "pair", Kind: ir.Elementwise, Switch: -1, In: []ir.Operand{{Name: "x"}, {Name: "y"}},
		Out: []ir.Result{{Name: "sum"}, {Name: "product"}}, DTypes: ir.ClassAll, Promote: ir.PromoteArith,
		Bodies: []ir.Body{{Exprs: []string{"x + y", "x*y"}}}, Code: []ir.Code{{For: "cuda", Of: &code.Kernels{Module: "m", Symbol: "pair"}}}}
}

// a quad is the addresses that meet at one position: two results' and two operands'.
type quad [4]uint64

// TestSeveralCoverage follows the addresses that element-wise operators of several results
// read and write.
func TestSeveralCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	seen := map[string]int{}
	for range brief.Times(300) {
		shape := randomShape(rng, rng.IntN(5), 7)
		views := make([]ir.View, 4)
		plain := rng.IntN(3) == 0
		for i := range views {
			strides := ir.ContiguousStrides(shape)
			if !plain {
				strides = randomStrides(rng, shape)
				if i > 1 {
					strides = repeatAxes(rng, strides)
				}
			}
			views[i] = deviceView(uint64(i+1)<<40, ir.Float32, shape, strides)
		}
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Kernel: pairs().Kernel(0, ir.Float32), Space: shape, Out: views[:2], In: views[2:]}))
		want, got := map[quad]int{}, map[quad]int{}
		enumerate(shape, func(_ int, at []int) {
			var q quad
			for i, v := range views {
				q[i] = address(v, at)
			}
			want[q]++
		})
		for _, l := range f.launches {
			seen[l.name]++
			if l.block.X != severalThreads || l.grid.Y != 1 {
				t.Fatalf("%s: grid %v of blocks %v", l.name, l.grid, l.block)
			}
			deviceQuads(&reader{t: t, data: l.params}, strings.HasSuffix(l.name, "_strided"), int64(l.grid.X), got)
		}
		if !maps.Equal(want, got) {
			t.Fatalf("shape %v, strides %v, %v from %v, %v: -want +got\n%s", shape, views[0].Strides, views[1].Strides,
				views[2].Strides, views[3].Strides, cmp.Diff(want, got))
		}
	}
	for _, name := range []string{"pair_float32", "pair_float32_strided"} {
		if seen[name] == 0 {
			t.Errorf("no launch of %s: %v", name, seen)
		}
	}
}

// deviceQuads counts the addresses of each position of a launch of so many blocks.
func deviceQuads(r *reader, strided bool, blocks int64, got map[quad]int) {
	var s deviceSpace
	if strided {
		s = r.space(4)
	} else {
		s.count = r.i64()
	}
	var base quad
	for i := range base {
		base[i] = uint64(r.i64())
	}
	for i := range s.count {
		at := []int64{i, i, i, i}
		if strided {
			at = s.locate(uint32(s.first+i), 0)
		}
		q := base
		for k := range q {
			q[k] += uint64(at[k] * 4)
		}
		got[q]++
	}
	if blocks < (s.count+severalThreads*severalEach-1)/(severalThreads*severalEach) {
		r.t.Errorf("%d blocks for %d positions", blocks, s.count)
	}
}

// TestSeveralNumbers: an operand in host memory is passed by value, and the kernel is told.
func TestSeveralNumbers(t *testing.T) {
	shape, number := []int{3, 5}, float32(2.5)
	x := deviceView(3<<40, ir.Float32, shape, nil)
	f, d := newFake(t)
	must(t, d.Run(0, &ir.Call{Kernel: pairs().Kernel(0, ir.Float32), Space: shape,
		Out: []ir.View{deviceView(1<<40, ir.Float32, shape, nil), deviceView(2<<40, ir.Float32, shape, nil)},
		In:  []ir.View{x, hostNumber(&number, ir.Float32, shape)}}))
	if len(f.launches) != 1 || f.launches[0].name != "pair_float32" {
		t.Fatalf("launches %v", f.launches)
	}
	r := reader{t: t, data: f.launches[0].params}
	got := []int64{r.i64(), r.i64(), r.i64(), r.i64(), r.i64()}
	if diff := cmp.Diff([]int64{15, 1 << 40, 2 << 40, 3 << 40, int64(math.Float32bits(number))}, got); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if mask := r.take(4, 4)[0]; mask != 1<<3 {
		t.Errorf("numbers are %b, want the second operand, behind two results", mask)
	}
}

// TestSeveralInto lists the conversions around operators of several results.
func TestSeveralInto(t *testing.T) {
	shape := []int{4, 5}
	for _, tt := range []struct {
		dtype, in, out ir.DType
		want           []string
	}{
		{ir.Float32, ir.Float32, ir.Float32, []string{"pair_float32"}},
		{ir.Float16, ir.Float16, ir.Float16, []string{"pair_float16"}},
		{ir.Float32, ir.Float16, ir.Float32, []string{"convert_float16_float32", "pair_float32"}},
		{ir.Float64, ir.Float64, ir.Float32, []string{"pair_float64", "convert_float64_float32"}},
	} {
		f, d := newFake(t)
		c := &ir.Call{Space: shape, Out: []ir.View{deviceView(1<<40, tt.dtype, shape, nil), deviceView(2<<40, tt.out, shape, nil)},
			In: []ir.View{deviceView(3<<40, tt.dtype, shape, nil), deviceView(4<<40, tt.in, shape, nil)}}
		c.Kernel = pairs().Kernel(0, tt.dtype)
		must(t, d.Run(0, c))
		var got []string
		for _, l := range f.launches {
			got = append(got, l.name)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s and %s of %s and %s: -want +got\n%s", tt.dtype, tt.out, tt.dtype, tt.in, diff)
		}
	}
}

// foldPairs is a reduction of two operands to two results.
func foldPairs() *ir.Op {
	state := func(name, of string) ir.State {
		return ir.State{Name: name, Init: "0", Map: of, Combine: "a." + name + " + b." + name}
	}
	return &ir.Op{Name: "folds", Kind: ir.Reduction, Switch: -1, In: []ir.Operand{{Name: "x"}, {Name: "y"}},
		Out: []ir.Result{{Name: "total"}, {Name: "product"}}, DTypes: ir.ClassAll, Promote: ir.PromoteNone,
		Bodies: []ir.Body{{States: []ir.State{state("s", "x"), state("p", "x*y")}, Exprs: []string{"a.s", "a.p"}}},
		Code:   []ir.Code{{For: "cuda", Of: &code.Kernels{Module: "m", Symbol: "folds"}}}}
}

// TestFoldSeveralCoverage follows the addresses that reductions of several operands and
// results read and write.
func TestFoldSeveralCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	seen := map[string]int{}
	for range brief.Times(300) {
		shape := randomShape(rng, 1+rng.IntN(4), 7)
		if rng.IntN(8) == 0 {
			shape[rng.IntN(len(shape))] = 20000
		}
		if ir.NumElements(shape) > 40_000 || ir.NumElements(shape) == 0 {
			continue
		}
		axes := randomAxes(rng, len(shape))
		kept := slices.Clone(shape)
		for _, a := range axes {
			kept[a] = 1
		}
		views := make([]ir.View, 4)
		for i := range views {
			if i > 1 {
				views[i] = deviceView(uint64(i+1)<<40, ir.Float32, shape, repeatAxes(rng, randomStrides(rng, shape)))
				continue
			}
			views[i] = deviceView(uint64(i+1)<<40, ir.Float32, kept, ir.ContiguousStrides(kept))
			for _, a := range axes {
				views[i].Strides[a] = 0
			}
		}
		f, d := newFake(t)
		must(t, d.Run(0, &ir.Call{Kernel: foldPairs().Kernel(0, ir.Float32), Space: shape, Axes: axes, Out: views[:2], In: views[2:]}))
		want, got := map[quad]int{}, map[quad]int{}
		enumerate(shape, func(_ int, at []int) {
			to := slices.Clone(at)
			for _, a := range axes {
				to[a] = 0
			}
			want[quad{address(views[0], to), address(views[1], to), address(views[2], at), address(views[3], at)}]++
		})
		for _, l := range f.launches {
			seen[l.name]++
			if !strings.HasSuffix(l.name, "_merge") {
				deviceSeveralFolds(&reader{t: t, data: l.params}, got)
			}
		}
		if !maps.Equal(want, got) {
			t.Fatalf("shape %v, axes %v, strides %v and %v: -want +got\n%s", shape, axes, views[2].Strides, views[3].Strides, cmp.Diff(want, got))
		}
	}
	for _, name := range []string{"folds_float32_inner", "folds_float32_outer", "folds_float32_merge"} {
		if seen[name] == 0 {
			t.Errorf("no launch of %s: %v", name, seen)
		}
	}
}

// deviceSeveralFolds counts for each element that is folded where it comes from and which
// results it goes to.
func deviceSeveralFolds(r *reader, got map[quad]int) {
	kept, folded := r.space(4), r.space(2)
	var base quad
	for i := range base {
		base[i] = uint64(r.i64())
	}
	for i := range kept.count {
		to := kept.locate(uint32(i), 0)
		for j := range folded.count {
			at := []int64{j, j}
			if folded.rank > 0 {
				at = folded.locate(uint32(j), 0)
			}
			q := base
			for k := range q {
				q[k] += uint64(to[k] * 4)
			}
			q[2], q[3] = q[2]+uint64(at[0]*4), q[3]+uint64(at[1]*4)
			got[q]++
		}
	}
}
