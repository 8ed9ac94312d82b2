package wide

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestComplexValues holds both parts of the complex functions against mpmath's, rounded.
func TestComplexValues(t *testing.T) {
	text, err := os.ReadFile("../../../tests/vectors/complex_values.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		var v [4]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(words[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		if got := ComplexFuncs[words[0]](FromComplex(complex(v[0], v[1]))).Complex128(); got != complex(v[2], v[3]) {
			t.Errorf("%s: %v", strings.TrimSpace(line), got)
		}
	}
}
