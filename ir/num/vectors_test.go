package num

import (
	"bufio"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// bounds are the errors allowed in float64 against testdata/vectors.txt, in units
// in the last place; half of one is the rounding of the vectors.
var bounds = map[string]float64{
	"sqrt": 0.5, "fmod": 0, "remainder": 1.5, "tan": 2, "erfinv": 2, "digamma": 8, "lgamma": 4,
}

// assembly are the errors of functions that the standard library has in assembly of
// its own on s390x, which is less accurate than its Go.
var assembly = map[string]float64{"sinh": 2.5, "erfc": 24}

// limit returns the error allowed of a function.
func limit(name string) float64 {
	if b, ok := assembly[name]; ok && runtime.GOARCH == "s390x" {
		return b
	}
	if b, ok := bounds[name]; ok {
		return b
	}
	return 1.5
}

var functions1 = map[string]func(float64) float64{
	"sqrt": Sqrt[float64], "rsqrt": Rsqrt[float64], "cbrt": Cbrt[float64],
	"exp": Exp[float64], "exp2": Exp2[float64], "expm1": Expm1[float64], "sigmoid": Sigmoid[float64],
	"log": Log[float64], "log1p": Log1p[float64], "log2": Log2[float64], "log10": Log10[float64],
	"sin": Sin[float64], "cos": Cos[float64], "tan": Tan[float64], "asin": Asin[float64], "acos": Acos[float64], "atan": Atan[float64],
	"sinh": Sinh[float64], "cosh": Cosh[float64], "tanh": Tanh[float64],
	"asinh": Asinh[float64], "acosh": Acosh[float64], "atanh": Atanh[float64],
	"erf": Erf[float64], "erfc": Erfc[float64], "erfinv": Erfinv[float64], "lgamma": Lgamma[float64], "digamma": Digamma[float64],
}

var functions2 = map[string]func(x, y float64) float64{
	"pow": Pow[float64], "atan2": Atan2[float64], "hypot": Hypot[float64], "fmod": FMod[float64], "remainder": Remainder[float64],
}

// TestVectors holds the functions against values that mpmath computed.
func TestVectors(t *testing.T) {
	f, err := os.Open("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		words := strings.Fields(sc.Text())
		var v []float64
		for _, s := range words[1:] {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			v = append(v, x)
		}
		var got float64
		if len(v) == 2 {
			got = functions1[words[0]](v[0])
		} else {
			got = functions2[words[0]](v[0], v[1])
		}
		if u := ulps(got, v[len(v)-1]); !(u <= limit(words[0])) {
			t.Errorf("%s = %x, off by %.3g units in the last place", sc.Text(), got, u)
		}
	}
}

// ulps returns the distance of got from want in units of want's last place.
func ulps(got, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(got-want) / math.Ldexp(1, max(e-53, -1074))
}
