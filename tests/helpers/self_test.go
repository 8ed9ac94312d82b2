// Package helpers_test tests what tests have in common, the packages beside it.
package helpers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/self"
)

// TestCommand: the process runs this test with the variables that it was given and with those
// that there were.
func TestCommand(t *testing.T) {
	const given, inherited = "SINTER_TEST_GIVEN", "SINTER_TEST_INHERITED"
	if os.Getenv(given) != "" {
		fmt.Printf("%s %s\n", os.Getenv(given), os.Getenv(inherited))
		return
	}
	t.Setenv(inherited, "b")
	out, err := self.Command(t, []string{given + "=a"}, "-test.run=^TestCommand$").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "a b\n") {
		t.Errorf("%q, error %v", out, err)
	}
}
