package num

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPow(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{
		{2, 3, 8}, {-2, 3, -8}, {-3, 4, 81}, {7, -2, 1.0 / 49}, {2, -1074, 0x1p-1074}, {2, 1023, 0x1p1023}, {10, 22, 1e22}, {9, 0.5, 3},
		{1e300, 2, inf}, {-1e300, 3, -inf}, {1e-300, 2, 0}, {1e-200, -2, inf}, {1e300, 1.5, inf}, {-2, 0.5, nan}, {-2, 65, -0x1p65},
		{0, 0, 1}, {nan, 0, 1}, {1, nan, 1}, {0, -1, inf}, {negZero, -1, -inf}, {negZero, 3, negZero}, {-1, inf, 1}, {2, -inf, 0},
		{nan, 1, nan}, {2, nan, nan}, {1.5, 1e300, inf}, {1.5, -1e300, 0}, {-1.5, 1e300, inf}, {-1, 1e15 + 1, -1},
	} {
		if d := cmp.Diff(c.want, Pow(c.a, c.b), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("Pow(%g, %g) (-want +got):\n%s", c.a, c.b, d)
		}
	}
}

// TestFMA32 holds FMA against exact arithmetic, at sums that lie close to the
// middle between two float32.
func TestFMA32(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	exact := func(x float32) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(float64(x)) }
	for range 20000 {
		a := float32(1+r.IntN(1<<12)) * 0x1p-11
		b := float32(1+r.IntN(1<<12)) * 0x1p-11
		c := float32(math.Ldexp(1+r.Float64(), r.IntN(60)-30))
		if r.IntN(2) == 0 {
			c = -c
		}
		sum := exact(a)
		sum.Mul(sum, exact(b)).Add(sum, exact(c))
		want, _ := sum.Float32()
		if got := FMA(a, b, c); got != want {
			t.Fatalf("FMA(%x, %x, %x) = %x, want %x", a, b, c, got, want)
		}
	}
	if got := FMA(float32(inf), 0, 1); got == got {
		t.Errorf("FMA(Inf, 0, 1) = %g, want NaN", got)
	}
}

func TestMinMax(t *testing.T) {
	for _, c := range []struct{ a, b, least, largest, fleast, flargest float64 }{
		{1, 2, 1, 2, 1, 2}, {negZero, 0, negZero, 0, negZero, 0}, {0, negZero, negZero, 0, negZero, 0},
		{nan, 1, nan, nan, 1, 1}, {1, nan, nan, nan, 1, 1}, {nan, nan, nan, nan, nan, nan}, {-inf, nan, nan, nan, -inf, -inf},
	} {
		got := []float64{Min(c.a, c.b), Max(c.a, c.b), FMin(c.a, c.b), FMax(c.a, c.b)}
		for i, want := range []float64{c.least, c.largest, c.fleast, c.flargest} {
			same := got[i] == want && math.Signbit(got[i]) == math.Signbit(want) || got[i] != got[i] && want != want
			if !same {
				t.Errorf("function %d of %g and %g: got %g, want %g", i, c.a, c.b, got[i], want)
			}
		}
	}
}

// TestInt8 holds integer arithmetic over every pair of int8 against big integers.
func TestInt8(t *testing.T) {
	wrap := func(x *big.Int) int8 { return int8(x.Int64()) }
	for i := -128; i < 128; i++ {
		for j := -128; j < 128; j++ {
			a, b := int8(i), int8(j)
			x, y := big.NewInt(int64(i)), big.NewInt(int64(j))
			want := [4]int8{0, a, 0, a}
			if j != 0 {
				q, r := new(big.Int).QuoRem(x, y, new(big.Int))
				f, m := new(big.Int).DivMod(x, y, new(big.Int)) // Euclidean: 0 <= m < |y|
				if j < 0 && m.Sign() != 0 {
					f.Sub(f, big.NewInt(1))
					m.Add(m, y)
				}
				want = [4]int8{wrap(q), wrap(r), wrap(f), wrap(m)}
			}
			got := [4]int8{IDiv(a, b), ITruncRem(a, b), IFloorDiv(a, b), IRemainder(a, b)}
			if got != want {
				t.Fatalf("%d and %d: quotient, remainder, floored, modulus %v, want %v", i, j, got, want)
			}
			power := int8(0)
			switch {
			case j >= 0:
				power = wrap(new(big.Int).Exp(x, y, nil).And(new(big.Int).Exp(x, y, nil), big.NewInt(255)))
			case i == 1, i == -1 && j%2 == 0:
				power = 1
			case i == -1:
				power = -1
			}
			if got := IPow(a, b); got != power {
				t.Fatalf("IPow(%d, %d) = %d, want %d", i, j, got, power)
			}
			shl, shr := new(big.Int), new(big.Int)
			if n := uint(min(max(j, 0), 8)); j >= 0 {
				shl.Lsh(x, n).And(shl, big.NewInt(255))
				shr.Rsh(x, n)
			} else {
				shr.Rsh(x, 8)
			}
			if IShl(a, b) != wrap(shl) || IShr(a, b) != wrap(shr) {
				t.Fatalf("%d shifted by %d: %d and %d, want %s and %s", i, j, IShl(a, b), IShr(a, b), shl, shr)
			}
		}
	}
}

func TestToInt(t *testing.T) {
	for _, c := range []struct {
		x      float64
		u8     uint8
		i8     int8
		i32    int32
		i64    int64
		single int64
	}{
		{1.9, 1, 1, 1, 1, 1}, {-1.9, 0, -1, -1, -1, -1}, {nan, 0, 0, 0, 0, 0},
		{inf, 255, 127, math.MaxInt32, math.MaxInt64, math.MaxInt64}, {-inf, 0, -128, math.MinInt32, math.MinInt64, math.MinInt64},
		{300, 255, 127, 300, 300, 300}, {1e18, 255, 127, math.MaxInt32, 1e18, int64(float32(1e18))},
	} {
		got := []any{ToInt[uint8](c.x), ToInt[int8](c.x), ToInt[int32](c.x), ToInt[int64](c.x), ToInt[int64](float32(c.x))}
		if d := cmp.Diff([]any{c.u8, c.i8, c.i32, c.i64, c.single}, got); d != "" {
			t.Errorf("ToInt(%g) (-want +got):\n%s", c.x, d)
		}
	}
}

// TestUniform holds the mapping from words to numbers, and the mean and variance
// of both distributions.
func TestUniform(t *testing.T) {
	const n = 1 << 15
	var sum, squares, normals, normalSquares float64
	for i := range int64(n) {
		four := PhiloxBlock([4]uint32{uint32(i / 4), 0, 7, 0}, [2]uint32{5, 0})
		if got, want := Uniform[float32](5, 7, i), float32(four[i%4]/256)/(1<<24); got != want {
			t.Fatalf("Uniform[float32](5, 7, %d) = %g, want %g", i, got, want)
		}
		two := PhiloxBlock([4]uint32{uint32(i / 2), 0, 7, 0}, [2]uint32{5, 0})
		w := two[i%2*2:]
		u := Uniform[float64](5, 7, i)
		if want := float64((uint64(w[0])<<32+uint64(w[1]))/(1<<11)) / (1 << 53); u != want {
			t.Fatalf("Uniform[float64](5, 7, %d) = %g, want %g", i, u, want)
		}
		if got, want := RandomBits(5, 7, i), int64(uint64(w[0])<<32+uint64(w[1])); got != want {
			t.Fatalf("RandomBits(5, 7, %d) = %d, want %d", i, got, want)
		}
		z := Normal[float64](5, 7, i)
		sum, squares = sum+u, squares+u*u
		normals, normalSquares = normals+z, normalSquares+z*z
	}
	got := []float64{sum / n, squares/n - sum*sum/n/n, normals / n, normalSquares / n}
	if d := cmp.Diff([]float64{0.5, 1.0 / 12, 0, 1}, got, cmpopts.EquateApprox(0.02, 0.02)); d != "" {
		t.Errorf("mean and variance of uniforms and normals (-want +got):\n%s", d)
	}
	if a, b := RandomBits(1, 2, 3), RandomBits(1<<32|1, 2, 3); a == b {
		t.Error("the high half of the seed is ignored")
	}
	if a, b := RandomBits(1, 2, 3), RandomBits(1, 2, 1<<32|3); a == b {
		t.Error("the high half of the index is ignored")
	}
}
