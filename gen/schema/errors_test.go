package schema

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
)

var update = flag.Bool("update", false, "rewrite the expected messages in testdata/errors")

const wantMark = "-- want --\n"

// fewRules keeps messages that list rules apart from the growth of package ir.
var fewRules = vocabulary{
	shape: map[string]any{"same": shapes.SameShape, "sort": shapes.SortShape},
	view:  map[string]any{"same": ir.SameView, "permute": ir.PermuteView},
	host:  map[string]any{"size": shapes.Size, "neg_ints": shapes.NegInts},
}

// TestErrors checks the messages for wrong schemas. Each file of
// testdata/errors is a schema with one class of mistake, and what is expected
// after the line "-- want --".
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 40 {
		t.Errorf("%d files in testdata/errors, want 40 or more", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			src, want, ok := strings.Cut(string(data), wantMark)
			if !ok {
				t.Fatalf("no line %q", wantMark)
			}
			spec, err := parse("ops.yaml", []byte(src), nil, fewRules)
			if err == nil {
				t.Fatal("no mistake found")
			}
			if spec != nil {
				t.Error("a wrong schema gave a Spec besides the error")
			}
			var list Errors
			if !errors.As(err, &list) {
				t.Fatalf("error is a %T, want Errors", err)
			}
			got := strings.ReplaceAll(err.Error()+"\n", strings.Join(tagNames(), ", "), "{tags}")
			if *update {
				if err := os.WriteFile(file, []byte(src+wantMark+got), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}
