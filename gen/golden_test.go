package main

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/gen/emit"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

var update = flag.Bool("update", false, "rewrite the wanted files of testdata")

// A section is one file inside a txtar archive.
type section struct {
	name string
	data []byte
}

// sections reads an archive: a comment, then files that begin with "-- name --".
func sections(data []byte) (comment []byte, out []section) {
	for line := range bytes.Lines(data) {
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("-- ")); ok {
			if name, ok := bytes.CutSuffix(name, []byte(" --")); ok {
				out = append(out, section{name: string(name)})
				continue
			}
		}
		if len(out) == 0 {
			comment = append(comment, line...)
		} else {
			last := &out[len(out)-1]
			last.data = append(last.data, line...)
		}
	}
	return comment, out
}

func baseSpec(t *testing.T) *schema.Spec {
	t.Helper()
	base, err := standard()
	if err != nil {
		t.Fatal(err)
	}
	return base
}

var userTarget = unit.Target{Module: "example.com/user", Dir: ".", Source: "ops.yaml"}

// TestGolden emits the schemas in testdata and compares the files that each
// names, or the error.
func TestGolden(t *testing.T) {
	base := baseSpec(t)
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			comment, files := sections(data)
			got := golden(t, base, files)
			if *update {
				var b bytes.Buffer
				b.Write(comment)
				for _, f := range got {
					b.WriteString("-- " + f.name + " --\n")
					b.Write(f.data)
				}
				if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, f := range files {
				if diff := cmp.Diff(string(f.data), string(got[i].data)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.name, diff)
				}
			}
		})
	}
}

// golden returns the archive's files with what is emitted now.
func golden(t *testing.T, base *schema.Spec, files []section) []section {
	spec, err := schema.Parse("ops.yaml", files[0].data, base)
	if err != nil {
		t.Fatal(err)
	}
	emitted, err := emit.Files(spec, userTarget)
	got := slices.Clone(files)
	for i, f := range files[1:] {
		g := &got[i+1]
		if f.name == "want/error" {
			if err == nil {
				t.Fatal("no error")
			}
			g.data = []byte(err.Error() + "\n")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		k := slices.IndexFunc(emitted, func(e unit.File) bool { return "want/"+e.Path == f.name })
		if k < 0 {
			t.Fatalf("%s was not emitted", f.name)
		}
		g.data = emitted[k].Data
		if strings.HasSuffix(f.name, ".go") {
			generated(t, emitted[k])
		}
	}
	return got
}

// generated checks that tools will see a Go file as generated.
func generated(t *testing.T, f unit.File) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Data, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if !ast.IsGenerated(tree) {
		t.Errorf("%s: not recognised as generated", f.Path)
	}
}

// TestEntryOrder emits the standard schema with groups and entries shuffled:
// the files must be the same.
func TestEntryOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("emits everything once more")
	}
	tree, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	spec := baseSpec(t)
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(spec.Groups), func(i, j int) { spec.Groups[i], spec.Groups[j] = spec.Groups[j], spec.Groups[i] })
	for _, g := range spec.Groups {
		r.Shuffle(len(g.Ops), func(i, j int) { g.Ops[i], g.Ops[j] = g.Ops[j], g.Ops[i] })
	}
	got, err := emit.Files(spec, unit.Target{Module: unit.Module, Dir: "generated", Source: "ops.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for _, f := range tree.files {
		want[f.Path] = f.Data
	}
	for _, f := range got {
		if !bytes.Equal(f.Data, want[f.Path]) {
			t.Errorf("%s depends on the order of entries", f.Path)
		}
		delete(want, f.Path)
	}
	for name := range want {
		if strings.HasPrefix(name, "generated/") { // the tree has more, of what is written by hand
			t.Errorf("%s is not emitted in another order of entries", name)
		}
	}
}

// loaded is what the schema of the tree describes, emitted once.
var loaded = sync.OnceValues(func() (*project, error) { return load("../ops.yaml", "../generated", true, io.Discard) })

// TestFresh compares the tree with what the schema describes now: nothing is
// stale, missing or left over, and every Go file says that it is generated.
func TestFresh(t *testing.T) {
	if testing.Short() {
		t.Skip("makes every generated file")
	}
	p, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	changes, err := p.compare()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		t.Errorf("%v; run go generate", c)
	}
	for _, f := range p.files {
		if strings.HasSuffix(f.Path, ".go") {
			generated(t, f)
		}
	}
}

// TestNoAssembly: the standard operators are not emitted without assembly.
func TestNoAssembly(t *testing.T) {
	target := unit.Target{Module: unit.Module, Dir: "generated", Source: "ops.yaml", NoAssembly: true}
	if _, err := emit.Files(baseSpec(t), target); err == nil || !strings.Contains(err.Error(), "not made without assembly") {
		t.Errorf("error is %v", err)
	}
}
