package vector

import (
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// named returns a loop that adds its number to n's.
func named(number int, ran *int) ir.Loop {
	return func(n int, _ []unsafe.Pointer, _ []ir.Scalar, _ int64) { *ran = 10*n + number }
}

func TestInstall(t *testing.T) {
	var ran int
	table := Table{{}, {ir.Float32: named(1, &ran), ir.Int8: named(4, &ran)}}
	list := []Loop{
		{Op: "both", Table: &table, Variant: 1, DType: ir.Float32, AVX2: named(2, &ran), AVX512: named(3, &ran)},
		{Op: "less", Table: &table, Variant: 1, DType: ir.Int8, AVX2: named(5, &ran)},
	}
	Install(list)
	for i, want := range []map[simd.Level]int{
		{simd.Portable: 1, simd.AVX2: 2, simd.AVX512: 3},
		{simd.Portable: 4, simd.AVX2: 5, simd.AVX512: 5},
	} {
		for _, level := range simd.Levels() {
			list[i].At(level)(7, nil, nil, 0)
			if number := want[level.Vectors()]; ran != 70+number {
				t.Errorf("%s at %s: loop %d ran, want %d", list[i].Op, level, ran-70, number)
			}
		}
		table[1][list[i].DType](7, nil, nil, 0)
		if number := want[simd.Active().Vectors()]; ran != 70+number {
			t.Errorf("%s: the table runs loop %d, want %d", list[i].Op, ran-70, number)
		}
	}
}

// TestBeside looks up what stands beside an entry of a table, and beside others.
func TestBeside(t *testing.T) {
	var ran int
	table := Table{{ir.Float32: named(1, &ran), ir.Float64: named(1, &ran)}}
	pair := func(n int) Loops { return Loops{AVX2: named(n, &ran), AVX512: named(n+1, &ran)} }
	Install([]Loop{
		{Table: &table, DType: ir.Float32, Past: pair(2), Float16: pair(4), BFloat16: pair(6)},
		{Table: &table, DType: ir.Float64},
	})
	at := map[simd.Level]int{simd.AVX512: 1}[simd.Active().Vectors()]
	for i, test := range []struct {
		got  func(entry *ir.Loop) ir.Loop
		want int
	}{
		{Past, 2 + at},
		{func(e *ir.Loop) ir.Loop { return Stored(e, ir.Float16) }, 4 + at},
		{func(e *ir.Loop) ir.Loop { return Stored(e, ir.BFloat16) }, 6 + at},
		{func(e *ir.Loop) ir.Loop { return Stored(e, ir.Float32) }, 0},
	} {
		if test.got(&table[0][ir.Float64]) != nil || test.got(new(ir.Loop)) != nil {
			t.Errorf("%d: a loop beside one that has none", i)
		}
		loop := test.got(&table[0][ir.Float32])
		if loop == nil {
			if test.want != 0 && simd.Active() > simd.Portable {
				t.Errorf("%d: none", i)
			}
			continue
		}
		if loop(7, nil, nil, 0); ran != 70+test.want {
			t.Errorf("%d: loop %d, want %d", i, ran-70, test.want)
		}
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
