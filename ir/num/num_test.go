package num

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	inf     = math.Inf(1)
	nan     = math.NaN()
	negZero = math.Copysign(0, -1)
)

// TestSpecialValues holds results from mpmath at 40 digits, and from C99's annex F
// where they are not finite.
func TestSpecialValues(t *testing.T) {
	for _, f := range []struct {
		name  string
		of    func(float64) float64
		cases [][2]float64
	}{
		{"log", Log[float64], [][2]float64{
			{0, -inf}, {negZero, -inf}, {-1, nan}, {inf, inf}, {nan, nan}, {1, 0},
			{0x1p-1074, -744.4400719213812}, {0x1p-1024, -709.782712893384}, {0x1.8p-1023, -708.6841006047158},
			{0x1p-1022, -708.3964185322641}, {1 + 0x1p-52, 2.220446049250313e-16}}},
		{"log2", Log2[float64], [][2]float64{
			{0, -inf}, {-1, nan}, {inf, inf}, {nan, nan}, {1, 0}, {8, 3}, {0.125, -3}, {0x1p-1074, -1074}, {0x1p1023, 1023},
			{1 + 0x1p-52, 3.203426503814917e-16}, {1 - 0x1p-53, -1.6017132519074588e-16}, {3, 1.584962500721156}}},
		{"log10", Log10[float64], [][2]float64{
			{0, -inf}, {-1, nan}, {inf, inf}, {nan, nan}, {1, 0}, {10, 1}, {1000, 3}, {1e15, 15}, {1e22, 22},
			{1 + 0x1p-52, 9.643274665532872e-17}, {0x1p-1074, -323.3062153431158}, {0.5, -0.3010299956639812}}},
		{"lgamma", Lgamma[float64], [][2]float64{
			{inf, inf}, {-inf, inf}, {nan, nan}, {0, inf}, {negZero, inf}, {-2, inf}, {1, 0}, {2, 0},
			{0x1p-1074, 744.4400719213812}, {-0x1p-1024, 709.782712893384}, {0.5, 0.5723649429247001},
			{0.2, 1.5240638224307845}, {1.2, -0.08537409000331584}, {-0.2, 1.7614975908339379}, {-1.2, 1.5791760340399836}}},
		{"digamma", Digamma[float64], [][2]float64{
			{0, -inf}, {negZero, inf}, {inf, inf}, {-inf, nan}, {nan, nan}, {-3, nan}, {1, -0.5772156649015329},
			{0x1p-1000, -0x1p1000}, {-0x1p-1000, 0x1p1000}, {-0x1p-30, 1073741823.4227843}, {1e300, 690.7755278982137},
			{-2.5, 1.103156640645243}}},
		{"sinh", Sinh[float64], [][2]float64{
			{negZero, negZero}, {inf, inf}, {-inf, -inf}, {nan, nan}, {1, 1.1752011936438014}, {700, 5.0711602736750225e+303}, {709.75, 8.699184366320803e+307},
			{709.79, 9.054204815152345e+307}, {-710.25, -1.4342530302495124e+308}, {710.47, 1.7871893267684048e+308}, {711, inf}, {-711, -inf}}},
		{"cosh", Cosh[float64], [][2]float64{
			{negZero, 1}, {inf, inf}, {-inf, inf}, {nan, nan}, {1, 1.5430806348152437}, {700, 5.0711602736750225e+303}, {709.75, 8.699184366320803e+307},
			{709.79, 9.054204815152345e+307}, {-710.25, 1.4342530302495124e+308}, {710.47, 1.7871893267684048e+308}, {711, inf}, {-711, inf}}},
	} {
		for _, c := range f.cases {
			if d := cmp.Diff(c[1], f.of(c[0]), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-15, 0)); d != "" {
				t.Errorf("%s(%g) (-want +got):\n%s", f.name, c[0], d)
			}
		}
	}
}

func TestAtan2(t *testing.T) {
	for _, c := range []struct{ y, x, want float64 }{
		{0, 1, 0}, {negZero, 1, negZero}, {0, -1, math.Pi}, {negZero, -1, -math.Pi}, {0, negZero, math.Pi}, {negZero, 0, negZero},
		{1, 0, math.Pi / 2}, {-1, negZero, -math.Pi / 2}, {inf, inf, math.Pi / 4}, {-inf, -inf, -3 * math.Pi / 4},
		{-0x1p-1022, -math.MaxFloat64, -math.Pi}, {0x1p-1022, -math.MaxFloat64, math.Pi}, {-0x1p-1022, math.MaxFloat64, negZero},
		{nan, 1, nan}, {1, nan, nan},
	} {
		got := Atan2(c.y, c.x)
		if d := cmp.Diff(c.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(3e-16, 0)); d != "" {
			t.Errorf("Atan2(%g, %g) (-want +got):\n%s", c.y, c.x, d)
		}
		if c.want == c.want && math.Signbit(got) != math.Signbit(c.want) {
			t.Errorf("Atan2(%g, %g) = %g has the wrong sign", c.y, c.x, got)
		}
	}
}

// TestFloorDiv holds PyTorch's results.
func TestFloorDiv(t *testing.T) {
	for _, c := range []struct{ a, b, want float64 }{
		{7, 2, 3}, {-7, 2, -4}, {7, -2, -4}, {-7, -2, 3}, {1, 0, inf}, {-1, 0, -inf}, {1, negZero, -inf}, {0, 0, nan},
		{inf, 0, inf}, {-inf, 0, -inf}, {inf, 2, nan}, {inf, inf, nan}, {1, inf, 0}, {-1, inf, -1}, {1, -inf, -1},
		{nan, 1, nan}, {1, nan, nan}, {1, 0.1, 9},
	} {
		if d := cmp.Diff(c.want, FloorDiv(c.a, c.b), cmpopts.EquateNaNs()); d != "" {
			t.Errorf("FloorDiv(%g, %g) (-want +got):\n%s", c.a, c.b, d)
		}
	}
}

// TestPhilox holds the known answers of the Random123 distribution.
func TestPhilox(t *testing.T) {
	const ones = 0xffffffff
	for _, c := range []struct {
		counter [4]uint32
		key     [2]uint32
		want    [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, [2]uint32{ones, ones}, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if d := cmp.Diff(c.want, PhiloxBlock(c.counter, c.key)); d != "" {
			t.Errorf("PhiloxBlock(%x, %x) (-want +got):\n%s", c.counter, c.key, d)
		}
	}
}

// TestComplexTangents holds them against mpmath, near the poles and where the
// hyperbolic functions overflow: a few units in the last place everywhere.
func TestComplexTangents(t *testing.T) {
	for _, c := range []struct{ z, want complex128 }{
		{complex(0.5, 1), complex(1.0428307283443612, 0.806877412163085)},
		{complex(0.001, 1.5717963267948967), complex(500.00033333335244, -499.9996666667111)},
		{complex(-0.0068, -1.5651), complex(-86.41935685303584, -72.38927569691727)},
		{complex(1e-09, 1.5707963267948966), complex(999999999.9999962, 61.23233995736742)},
		{complex(30, 2), complex(1, -1.3253898390798914e-26)},
		{complex(-400, 1), complex(-1, 0)},
		{complex(1e-20, 3), complex(1.0203195169424269e-20, -0.1425465430742778)},
		{complex(-2, 4.71238898038469), complex(-1.0373147207275482, 1.3964983586477777e-17)},
		{complex(inf, inf), complex(1, 0)},
		{complex(-inf, 1), complex(-1, 0)},
		{complex(1, inf), complex(nan, nan)},
		{complex(400, nan), complex(nan, nan)},
		{complex(nan, 0), complex(nan, 0)},
	} {
		near := cmp.Comparer(func(x, y float64) bool {
			return x == y || x != x && y != y || math.Abs(x-y) <= 8*0x1p-53*math.Hypot(real(c.want), imag(c.want))
		})
		parts := func(z complex128) [2]float64 { return [2]float64{real(z), imag(z)} }
		if d := cmp.Diff(parts(c.want), parts(CTanh(c.z)), near); d != "" {
			t.Errorf("CTanh(%v): %s", c.z, d)
		}
		tan := CTan(complex(imag(c.z), -real(c.z))) // -i tanh(iz)
		if d := cmp.Diff([2]float64{imag(c.want), -real(c.want)}, parts(tan), near); d != "" {
			t.Errorf("CTan of -i times %v: %s", c.z, d)
		}
	}
}
