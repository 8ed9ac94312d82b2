package num

import (
	"bufio"
	"math"
	"math/cmplx"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var complexFunctions = map[string]func(complex128) complex128{
	"sqrt": CSqrt[complex128], "rsqrt": CRsqrt[complex128], "exp": CExp[complex128], "exp2": CExp2[complex128],
	"expm1": CExpm1[complex128], "log": CLog[complex128], "log2": CLog2[complex128], "log10": CLog10[complex128],
	"log1p": CLog1p[complex128], "sigmoid": CSigmoid[complex128],
	"sin": CSin[complex128], "cos": CCos[complex128], "tan": CTan[complex128],
	"asin": CAsin[complex128], "acos": CAcos[complex128], "atan": CAtan[complex128],
	"sinh": CSinh[complex128], "cosh": CCosh[complex128], "tanh": CTanh[complex128],
	"asinh": CAsinh[complex128], "acosh": CAcosh[complex128], "atanh": CAtanh[complex128],
}

// complexVectors calls f with each line of a file of tests/vectors.
func complexVectors(t *testing.T, file string, f func(line, name string, z, want complex128)) {
	t.Helper()
	text, err := os.ReadFile("../../tests/vectors/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(strings.NewReader(string(text))); sc.Scan(); {
		words := strings.Fields(sc.Text())
		var v [4]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(words[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		f(sc.Text(), words[0], complex(v[0], v[1]), complex(v[2], v[3]))
	}
}

// TestComplexValues holds both parts of the functions against mpmath's, also near branch
// cuts and where they cancel.
func TestComplexValues(t *testing.T) {
	complexVectors(t, "complex_values.txt", func(line, name string, z, want complex128) {
		got := complexFunctions[name](z)
		// A part that cancels is as good as the larger one, but for the functions that
		// are made so that none does.
		most := 8 * math.Max(1, cmplx.Abs(want)/math.Min(math.Abs(real(want)), math.Abs(imag(want))))
		switch name {
		case "asin", "acos", "atan", "asinh", "acosh", "atanh", "sqrt", "log1p", "log":
			most = 8
		}
		if ulps(real(got), real(want)) > most || ulps(imag(got), imag(want)) > most {
			t.Errorf("%s: %v, off by %.3g and %.3g units in the last place", line, got, ulps(real(got), real(want)), ulps(imag(got), imag(want)))
		}
	})
}

// openSigns are the functions of which C99 leaves the sign of a zero open at some limits,
// or where PyTorch's acos and sigmoid of a number and of its conjugate are not conjugates.
var openSigns = map[string]bool{"acos": true, "cos": true, "sigmoid": true, "tan": true, "tanh": true}

// TestComplexLimits holds zeros, infinities and NaN against PyTorch's, where it does not
// give NaN for what has a limit.
func TestComplexLimits(t *testing.T) {
	complexVectors(t, "complex_limits.txt", func(line, name string, z, want complex128) {
		got := complexFunctions[name](z)
		if !sameLimit(real(got), real(want), openSigns[name]) || !sameLimit(imag(got), imag(want), openSigns[name]) {
			t.Errorf("%s: %v", line, got)
		}
	})
}

func sameLimit(got, want float64, openSign bool) bool {
	switch {
	case want != want:
		return true
	case got == 0 && want == 0:
		return openSign || math.Signbit(got) == math.Signbit(want)
	}
	return got == want || math.Abs(got-want) <= 1e-12*math.Abs(want)
}

// TestPowersOfZero: a power of 0 has a limit or is NaN. cmplx.Pow panics for the last ones.
func TestPowersOfZero(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	parts := cmp.Transformer("parts", func(c complex128) [2]float64 { return [2]float64{real(c), imag(c)} })
	for _, c := range []struct{ b, want complex128 }{
		{0, 1}, {1, 0}, {2 - 3i, 0}, {complex(inf, 1), 0},
		{-1, complex(inf, 0)}, {-1 + 1i, complex(inf, inf)},
		{1i, complex(nan, nan)}, {-1i, complex(nan, nan)}, {complex(0, nan), complex(nan, nan)}, {complex(1, inf), complex(nan, nan)},
		{complex(1, nan), 0}, {complex(inf, inf), 0}, {complex(inf, nan), 0}, {complex(-1, nan), complex(inf, nan)}, {complex(-inf, inf), complex(inf, inf)},
		{complex(nan, 0), complex(nan, nan)}, {complex(nan, inf), complex(nan, nan)}, {complex(nan, -inf), complex(nan, nan)},
	} {
		for _, zero := range []complex128{0, complex(math.Copysign(0, -1), 0)} {
			if diff := cmp.Diff(c.want, CPow(zero, c.b), parts, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("%v^%v (-want +got):\n%s", zero, c.b, diff)
			}
		}
	}
}

// TestPowersOfSubnormals: a modulus below the normal numbers has a logarithm like others.
func TestPowersOfSubnormals(t *testing.T) {
	for _, tt := range []struct{ a, b, want complex128 }{
		{0x1p-1024, 0.97 + 1.3i, 6.032367730377851e-300 + 7.771831246866947e-300i},
		{0x1p-1024, -0.96 - 2.7i, 8.397307906703953e+295 + 3.515482514619565e+294i},
	} {
		if got := CPow(tt.a, complex128(complex64(tt.b))); cmplx.Abs(got/tt.want-1) > 1e-12 {
			t.Errorf("CPow(%v, %v) = %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
