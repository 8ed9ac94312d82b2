// Package documents_test holds the documents to the truth: their Go is compiled and
// run, their links, paths, commands and schemas are looked up.
package documents_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/gen/schema"
)

const root = "../.."

// documents returns the paths below root of all Markdown files.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == ".git" || d.Name() == "out" || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md"):
			rel, err := filepath.Rel(root, name)
			out = append(out, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 10 {
		t.Fatalf("found %d documents", len(out))
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks returns the fenced blocks of a document in one language.
func blocks(text, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestDocumentSchemas parses every complete schema that a document shows, as a
// schema of another module, which may use what the standard one defines.
func TestDocumentSchemas(t *testing.T) {
	base, err := schema.Parse("ops.yaml", sinter.Schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		for _, b := range blocks(read(t, name), "yaml") {
			if !strings.HasPrefix(b, "schema:") { // a part of one
				b = "schema: 1\npackage: mine\ngroups:\n- group: mine\n  doc: Mine.\n  ops:\n" + b
			}
			n++
			if _, err := schema.Parse(name, []byte(b), base); err != nil {
				t.Errorf("%s: %v\n%s", name, err, b)
			}
		}
	}
	if n == 0 {
		t.Error("found no schema")
	}
}

var (
	command   = regexp.MustCompile(`go (?:run|test|doc|generate|vet|build)((?: +-[a-z0-9=-]+| +\./[a-zA-Z0-9_./]+)+)`)
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	pathLike  = regexp.MustCompile(`^[a-zA-Z0-9_.*-]+(/[a-zA-Z0-9_.*-]+)+/?$|^[a-zA-Z0-9_-]+\.(go|md|mod|yaml|py|cuh?)$`)
	standsFor = regexp.MustCompile(`/[A-Z]+$|^_`) // any of several, as backend/KIND and _test.go
	flagLike  = regexp.MustCompile("`-([a-z]+)(?: [a-z0-9]+)?`")
)

// ours reports whether quoted text is a path in this module, rather than a path
// outside it, an import path (a host's name has a dot) or a standard package.
func ours(text string) bool {
	if !pathLike.MatchString(text) || text == "go/parser" || standsFor.MatchString(text) {
		return false
	}
	first, _, below := strings.Cut(text, "/")
	return !below || first == ".ci" || !strings.Contains(first, ".")
}

// readers reports whether a chapter of the guide has its reader write the file.
func readers(chapter, file string) bool {
	return file == "main.go" || strings.Contains(chapter, "file="+file+"\n")
}

// TestDocumentPaths looks for every file that a document names in quotes or gives to
// a command.
func TestDocumentPaths(t *testing.T) {
	for _, name := range documents(t) {
		text := read(t, name)
		exists := func(path, from string) {
			if found, err := filepath.Glob(filepath.Join(root, from, path)); err != nil || len(found) == 0 {
				t.Errorf("%s: %s does not exist", name, path)
			}
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			for _, arg := range strings.Fields(m[1]) {
				if !strings.HasPrefix(arg, "-") {
					exists(strings.TrimSuffix(arg, "..."), ".")
				}
			}
		}
		if name == "data/digits/README.md" || name == "docs/schema.md" || name == "docs/operators.md" {
			continue // they quote names of other things
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			if ours(m[1]) && !(strings.HasPrefix(name, "docs/guide/") && readers(text, m[1])) {
				exists(strings.TrimSuffix(m[1], "..."), ".")
			}
		}
	}
}

// TestReadmeFlags looks for every flag that the README names in the command it
// speaks of.
func TestReadmeFlags(t *testing.T) {
	defined := read(t, "examples/digits/main.go") + read(t, "gen/main.go") + `"tags" "timeout"` // of the go command
	text := read(t, "README.md")
	for _, m := range flagLike.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(defined, `"`+m[1]+`"`) {
			t.Errorf("README.md: no command has the flag -%s", m[1])
		}
	}
	for _, flag := range []string{"device", "epochs", "batch", "rate", "seed", "out"} {
		if !strings.Contains(text, "`-"+flag) {
			t.Errorf("README.md does not name the flag -%s of the digits example", flag)
		}
	}
}

// TestDependencies looks for the reason of every module that go.mod requires for
// itself.
func TestDependencies(t *testing.T) {
	reasons := read(t, "docs/RATIONALE.md")
	for line := range strings.Lines(read(t, "go.mod")) {
		if required, ok := strings.CutPrefix(line, "\t"); ok && !strings.Contains(line, "// indirect") {
			name, _, _ := strings.Cut(required, " ")
			if !strings.Contains(reasons, "| `"+name+"` |") {
				t.Errorf("docs/RATIONALE.md gives no reason for the dependency %s", name)
			}
		}
	}
}

// TestExport holds that the Python in chapters of the guide is the program that made the
// file which their Go loads.
func TestExport(t *testing.T) {
	for chapter, program := range map[string]string{"weights.md": "export.py", "onnx.md": "classifier.py"} {
		shown := blocks(read(t, "docs/guide/"+chapter), "python")
		if len(shown) != 1 || shown[0] != read(t, "docs/guide/files/"+program) {
			t.Errorf("docs/guide/%s shows %q, which is not docs/guide/files/%s", chapter, shown, program)
		}
	}
}

// TestChangelog holds that the newest version in CHANGELOG.md is the module's.
func TestChangelog(t *testing.T) {
	m := regexp.MustCompile(`(?m)^## (\S+?)(?:,.*)?$`).FindStringSubmatch(read(t, "CHANGELOG.md"))
	if m == nil || m[1] != sinter.Version {
		t.Errorf("CHANGELOG.md begins with %q, the module's version is %s", m, sinter.Version)
	}
}

// TestContinuousIntegration sees to it that .ci/run runs the README's tests.
func TestContinuousIntegration(t *testing.T) {
	run := read(t, ".ci/run")
	for _, want := range []string{"go test ./...", "go run ./examples/digits", "go run ./gen -check"} {
		if !strings.Contains(run, want) {
			t.Errorf(".ci/run does not run %q", want)
		}
	}
}
