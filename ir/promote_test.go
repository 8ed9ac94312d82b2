package ir

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestPromotionMatchesPyTorch compares with the answers that PyTorch gave to
// tests/vectors/promotion.py.
func TestPromotionMatchesPyTorch(t *testing.T) {
	f, err := os.Open("../tests/vectors/promotion.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pairs, casts := 0, 0
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) != 3 || fields[0] == "#" {
			continue
		}
		if want := fields[2]; want == "true" || want == "false" {
			from, to := parseDType(t, fields[0]), parseDType(t, fields[1])
			if got := CanCast(from, to); got != (want == "true") {
				t.Errorf("CanCast(%v, %v) = %v, PyTorch says %s", from, to, got, want)
			}
			casts++
			continue
		}
		got := Promote(parseTypeOperand(t, fields[0]), parseTypeOperand(t, fields[1]))
		if got != parseDType(t, fields[2]) {
			t.Errorf("Promote(%s, %s) = %v, PyTorch says %s", fields[0], fields[1], got, fields[2])
		}
		pairs++
	}
	if pairs != 28*28 || casts != 12*12 {
		t.Errorf("read %d pairs and %d casts, want %d and %d", pairs, casts, 28*28, 12*12)
	}
}

func parseTypeOperand(t *testing.T, s string) TypeOperand {
	t.Helper()
	if name, ok := strings.CutSuffix(s, "[2]"); ok {
		return TypeOperand{DType: parseDType(t, name), Rank: 1}
	}
	if name, ok := strings.CutSuffix(s, "[]"); ok {
		return TypeOperand{DType: parseDType(t, name)}
	}
	numbers := map[string]DType{"bool": Bool, "int": Int64, "float": Float32, "complex": Complex64}
	return TypeOperand{DType: numbers[s], Wrapped: true}
}

func parseDType(t *testing.T, s string) DType {
	t.Helper()
	d, err := ParseDType(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPromoteThree covers what pairs cannot: all three groups together.
func TestPromoteThree(t *testing.T) {
	tensor := func(d DType) TypeOperand { return TypeOperand{DType: d, Rank: 2} }
	scalar := func(d DType) TypeOperand { return TypeOperand{DType: d} }
	number := func(d DType) TypeOperand { return TypeOperand{DType: d, Wrapped: true} }
	tests := []struct {
		in   []TypeOperand
		want DType
	}{
		{nil, Invalid},
		{[]TypeOperand{tensor(Int8), scalar(Int64), number(Int64)}, Int8},
		{[]TypeOperand{tensor(Int8), scalar(Float64), number(Float32)}, Float64},
		{[]TypeOperand{tensor(Int8), scalar(Int64), number(Float32)}, Float32},
		{[]TypeOperand{tensor(Float16), scalar(Float64), number(Complex64)}, Complex64},
		{[]TypeOperand{tensor(Float16), tensor(BFloat16), number(Float32)}, Float32},
		{[]TypeOperand{tensor(Bool), scalar(Uint8), scalar(Int8)}, Int16},
	}
	for _, tt := range tests {
		if got := Promote(tt.in...); got != tt.want {
			t.Errorf("Promote(%v) = %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestOpTypes(t *testing.T) {
	of := func(ds ...DType) []TypeOperand {
		var in []TypeOperand
		for _, d := range ds {
			in = append(in, TypeOperand{DType: d, Rank: 1})
		}
		return in
	}
	number := TypeOperand{DType: Float32, Wrapped: true}
	tests := []struct {
		name            string
		op              Op
		in              []TypeOperand
		option          DType
		compute, result DType
		err             string
	}{
		{"none", Op{DTypes: ClassFloat}, of(Float16), 0, Float16, Float16, ""},
		{"none with number", Op{DTypes: ClassFloat}, append(of(BFloat16), number), 0, BFloat16, BFloat16, ""},
		{"none, number does not fit", Op{DTypes: ClassReal}, append(of(Int32), number), 0, 0, 0, "a number of dtype float32 does not fit a tensor of dtype int32"},
		{"none, two dtypes", Op{DTypes: ClassReal}, of(Int32, Float32), 0, 0, 0, "operands must have one dtype, have int32 and float32; convert one with ToType"},
		{"refused", Op{DTypes: ClassFloat}, of(Int64), 0, 0, 0, "not implemented for int64 (have float16, bfloat16, float32, float64)"},
		{"arith", Op{DTypes: ClassNum, Promote: PromoteArith}, of(Int32, Float16), 0, Float16, Float16, ""},
		{"arith refuses bool", Op{DTypes: ClassNum, Promote: PromoteArith}, of(Bool, Bool), 0, 0, 0, "not implemented for bool (have uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)"},
		{"arith_float of ints", Op{DTypes: ClassFloat, Promote: PromoteArithFloat}, of(Int64, Bool), 0, Float32, Float32, ""},
		{"arith_float of halves", Op{DTypes: ClassFloat, Promote: PromoteArithFloat}, of(Float16), 0, Float16, Float16, ""},
		{"compare", Op{DTypes: ClassAll, Promote: PromoteCompare}, of(Uint8, Int8), 0, Int16, Bool, ""},
		{"sum of bools", Op{DTypes: ClassNum, Promote: PromoteSumAcc}, of(Bool), 0, Int64, Int64, ""},
		{"sum of floats", Op{DTypes: ClassNum, Promote: PromoteSumAcc}, of(Float16), 0, Float16, Float16, ""},
		{"sum with option", Op{DTypes: ClassNum, Promote: PromoteSumAcc}, of(Int8), Int16, Int16, Int16, ""},
		{"to_real", Op{DTypes: ClassNum, Promote: PromoteToReal}, of(Complex128), 0, Complex128, Float64, ""},
		{"to_complex", Op{DTypes: ClassNum, Promote: PromoteToComplex}, of(Float64), 0, Float64, Complex128, ""},
		{"to_complex of floats", Op{DTypes: ClassNum, Promote: PromoteToComplex}, of(Float32), 0, Float32, Complex64, ""},
		{"to_complex of complex numbers", Op{DTypes: ClassNum, Promote: PromoteToComplex}, of(Complex128), 0, Complex128, Complex128, ""},
		{"fixed", Op{DTypes: ClassAll, Promote: PromoteFixed, Fixed: Int64}, of(Float32), 0, Int64, Int64, ""},
		{"option", Op{DTypes: ClassAll, Promote: PromoteOption}, of(Int64), Float16, Int64, Float16, ""},
		{"factory default", Op{DTypes: ClassAll}, nil, 0, Float32, Float32, ""},
		{"factory of dtype", Op{DTypes: ClassAll}, nil, Int8, Int8, Int8, ""},
		{"factory of one dtype", Op{DTypes: SetOf(Int64)}, nil, 0, Int64, Int64, ""},
		{"factory refused", Op{DTypes: ClassFloat}, nil, Bool, 0, 0, "not implemented for bool (have float16, bfloat16, float32, float64)"},
	}
	for i := range tests {
		tt := &tests[i]
		compute, result, err := tt.op.Types(tt.in, tt.option, Float32)
		if got := message(err); compute != tt.compute || result != tt.result || got != tt.err {
			t.Errorf("%s: %v, %v, %q, want %v, %v, %q", tt.name, compute, result, got, tt.compute, tt.result, tt.err)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
