package cudnn

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestFakeAdd: the library is told to add to what is there, in every direction, and only
// then.
func TestFakeAdd(t *testing.T) {
	g, d, lib := newFake(t)
	for direction := range directions {
		for _, add := range []bool{true, false, true} {
			v := problems[2].convolution(ir.BFloat16)
			v.Add = add
			k, _ := keyOf(direction, &v)
			must(t, d.run(g, &k, 1, 2, 3, extras{}))
			if got := ask(t, lib, "fake_beta") == 1; got != add {
				t.Errorf("direction %d: adds %t, want %t", direction, got, add)
			}
		}
	}
}
