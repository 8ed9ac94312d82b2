package conformance_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/self"
)

// What a process of its own does: the environment is read when it starts, and what
// makes a GPU useless does so for the whole process. Each prints what it found.
var children = map[string]func(t *testing.T){
	"devices":   visible,
	"libraries": libraries,
	"hide":      hide,
	"asked":     asked,
	"blocking":  blockingFromTheStart,
	"lost":      loseGPU,
	"sum":       sum,
	"seen":      seen,
}

const childVariable = "SINTER_CONFORMANCE_CHILD"

// TestChild is what child runs.
func TestChild(t *testing.T) {
	if do := children[os.Getenv(childVariable)]; do != nil {
		do(t)
	}
}

// child runs one of children in a process of its own, for the kind under test and
// with more environment, and returns what it printed.
func child(t testing.TB, name string, env ...string) string {
	t.Helper()
	watch(t)
	cmd := self.Command(t, append([]string{childVariable + "=" + name}, env...), "-test.run=^TestChild$", "-kind="+*kindName, fmt.Sprintf("-stand-in=%t", *standIn))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("process %q: %v\n%s%s", name, err, out.String(), errs.String())
	}
	text, found := strings.CutSuffix(strings.TrimSpace(out.String()), "PASS")
	if !found {
		t.Fatalf("process %q did not end well:\n%s%s", name, out.String(), errs.String())
	}
	return strings.TrimSpace(text)
}
