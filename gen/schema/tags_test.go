package schema

import (
	"os"
	"strings"
	"testing"
)

// TestTagsAreDocumented: docs/schema.md names every tag that an entry may have.
func TestTagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tagNames() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/schema.md does not name tag %s", name)
		}
	}
}
