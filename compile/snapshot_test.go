package compile

import (
	"fmt"
	"strings"
	"testing"
)

// An odd is a part of a model that calls change.
type odd struct{ Calls int }

// TestSnapshotNames: what has changed is named, in whatever order a map's parts are visited.
func TestSnapshotNames(t *testing.T) {
	for i := range 20 {
		model := struct{ Parts map[string]*odd }{map[string]*odd{}}
		for k := range 10 {
			model.Parts[fmt.Sprint("part", k)] = new(odd)
		}
		s := take([]any{&model})
		if what := s.changed(); what != "" {
			t.Fatalf("%q changed before anything did", what)
		}
		name := fmt.Sprint("part", i%10)
		model.Parts[name].Calls++
		if what := s.changed(); !strings.Contains(what, "Parts."+name+".Calls") {
			t.Errorf("what changed is %q, want it of %s", what, name)
		}
	}
}
