package vector

import (
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// named returns a loop that adds its number to n's.
func named(number int, ran *int) Func {
	return func(n int, _ []unsafe.Pointer, _ []ir.Scalar, _ int64) { *ran = 10*n + number }
}

func TestSet(t *testing.T) {
	var ran int
	pair := func(n int) Loops { return Loops{AVX2: named(n, &ran), AVX512: named(n+1, &ran)} }
	op, code := &ir.Op{Bodies: make([]ir.Body, 2)}, Code{
		Loops: []*[ir.NumDTypes]Func{{}, {ir.Float32: named(1, &ran), ir.Int8: named(4, &ran), ir.Int16: named(6, &ran)}},
		Vectors: []Loop{
			{Variant: 1, DType: ir.Float32, AVX2: named(2, &ran), AVX512: named(3, &ran), Past: pair(10), Float16: pair(20), BFloat16: pair(30)},
			{Variant: 1, DType: ir.Int8, AVX2: named(5, &ran)},
		},
	}
	// Of each dtype the loops main, past the caches, of float16 and of bfloat16; 0 for none.
	for dt, want := range map[ir.DType]map[simd.Level][4]int{
		ir.Float32: {simd.Portable: {1}, simd.AVX2: {2, 10, 20, 30}, simd.AVX512: {3, 11, 21, 31}},
		ir.Float16: {simd.Portable: {1}, simd.AVX2: {2, 10, 20, 30}, simd.AVX512: {3, 11, 21, 31}}, // computes in float32
		ir.Int8:    {simd.Portable: {4}, simd.AVX2: {5}, simd.AVX512: {5}},
		ir.Int16:   {simd.Portable: {6}, simd.AVX2: {6}, simd.AVX512: {6}},
		ir.Bool:    {simd.Portable: {}, simd.AVX2: {}, simd.AVX512: {}},
	} {
		for level, numbers := range want {
			s := code.Set(op.Kernel(1, dt), level)
			for i, loop := range []Func{s.Main, s.PastCaches(), s.Stored(ir.Float16), s.Stored(ir.BFloat16)} {
				ran = 1000
				if loop != nil {
					loop(100, nil, nil, 0)
				}
				if ran-1000 != numbers[i] {
					t.Errorf("%s at %s: loop %d of kind %d, want %d", dt, level, ran-1000, i, numbers[i])
				}
			}
			if s.Stored(ir.Float32) != nil {
				t.Errorf("%s at %s: a loop over float32 stored", dt, level)
			}
		}
	}
	if s := code.Set(op.Kernel(0, ir.Float32), simd.Portable); s.Main != nil {
		t.Error("a loop of a variant that has none")
	}
	made := Set{Main: named(7, &ran)}
	code.Make = func(k *ir.Kernel, portable Func) Set {
		if k.DType != ir.Float32 {
			t.Errorf("asked to make %v", k)
		}
		return made
	}
	if s := code.Set(op.Kernel(1, ir.BFloat16), simd.AVX2); s.Main == nil || s.Past != nil {
		t.Error("not what was made")
	}
}

func TestScalars(t *testing.T) {
	for _, test := range []struct {
		name      string
		got, want uint64
	}{
		{"Float32", Float32(ir.FloatScalar(0.1)), uint64(math.Float32bits(0.1))},
		{"Float32 of an integer", Float32(ir.IntScalar(-3)), uint64(math.Float32bits(-3))},
		{"Float64", Float64(ir.FloatScalar(0.1)), math.Float64bits(0.1)},
		{"Int", Int(ir.IntScalar(-2)), ^uint64(1)},
		{"Int of a fraction", Int(ir.FloatScalar(-2.5)), ^uint64(1)},
		{"true", Bool(ir.FloatScalar(0.5)), 1},
		{"false", Bool(ir.BoolScalar(false)), 0},
	} {
		if test.got != test.want {
			t.Errorf("%s: %#x, want %#x", test.name, test.got, test.want)
		}
	}
}
