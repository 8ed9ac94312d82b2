package source_test

import (
	"regexp"
	"strings"
	"testing"
)

// embeddedAssembler is a field of a struct that is avo's context, without a name.
var embeddedAssembler = regexp.MustCompile(`(?m)^\s*\*?build\.Context\s*(//.*)?$`)

// TestEmbedded: no struct embeds avo's context. It has a method for each of some thousand
// instructions, and the compiler makes each of them again for every type that embeds it, and
// for every type that embeds that one: gen/simd took a minute of compiling, and takes seconds.
func TestEmbedded(t *testing.T) {
	seen := 0
	goFiles(t, func(name string, text []byte) {
		if !strings.Contains(string(text), `"github.com/mmcloughlin/avo/build"`) {
			return
		}
		seen++
		if at := embeddedAssembler.FindIndex(text); at != nil {
			t.Errorf("%s:%d: avo's context is embedded: give the field a name", name, 1+strings.Count(string(text[:at[0]]), "\n"))
		}
	})
	if seen < 10 {
		t.Errorf("%d files import avo's builder: this test looks for another path", seen)
	}
}
