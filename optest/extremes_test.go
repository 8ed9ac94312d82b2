package optest_test

import (
	"os"
	"strings"
	"testing"

	_ "github.com/sinter-go/sinter/backend/all"
	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/optest"
)

// TestExtremes holds every operator on the CPU against the reference in wide arithmetic, with
// NaN, infinities, zeros of both signs, subnormal and largest numbers, and such as have squares
// that the dtype does not hold.
// Where they differ for a reason it stands in differs.txt, "operator [dtype]: reason",
// and is no longer there when they agree.
func TestExtremes(t *testing.T) {
	text, err := os.ReadFile("differs.txt")
	if err != nil {
		t.Fatal(err)
	}
	reasons, met := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		key, reason, _ := strings.Cut(line, ":")
		if reasons[key] = strings.TrimSpace(reason); reasons[key] == "" {
			t.Fatalf("%q has no reason", line)
		}
	}
	for i := range opcases.Cases {
		o := &opcases.Cases[i]
		if testing.Short() && i%67 != 0 {
			continue
		}
		for _, miss := range optest.Extremes(o) {
			key := o.Op.Name + " " + miss.DType.String()
			switch {
			case reasons[key] != "":
				met[key] = true
			case reasons[o.Op.Name] != "":
				met[o.Op.Name] = true
			default:
				t.Errorf("%s: %v", key, miss.Err)
			}
		}
	}
	for key := range reasons {
		if !met[key] && !testing.Short() {
			t.Errorf("%s: nothing differs any more", key)
		}
	}
}
