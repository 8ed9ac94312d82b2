package tests_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/gen/schema"
)

const root = ".."

// written are the documents that people write.
var written = []string{
	"README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/schema.md", "docs/environment.md", "docs/benchmarks.md", "docs/gpu-tests.md",
	"data/digits/README.md", "examples/README.md",
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

// outdented returns text without the white space that lines begin with.
func outdented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimLeft(line, " \t"))
	}
	return b.String()
}

// TestReadmeCode finds every Go block of the README in example_test.go, which is
// compiled and run.
func TestReadmeCode(t *testing.T) {
	examples := outdented(read(t, "tests/example_test.go"))
	found := blocks(read(t, "README.md"), "go")
	if len(found) < 5 {
		t.Fatalf("found %d blocks of Go", len(found))
	}
	for _, b := range found {
		if !strings.Contains(examples, outdented(b)) {
			t.Errorf("not in tests/example_test.go:\n%s", b)
		}
	}
}

// TestReadmeOutput finds every block of output of the README among the outputs
// that the examples are held to.
func TestReadmeOutput(t *testing.T) {
	var wanted strings.Builder
	for line := range strings.Lines(read(t, "tests/example_test.go")) {
		line = strings.TrimLeft(line, "\t")
		line = strings.TrimPrefix(line, "// Output: ")
		wanted.WriteString(strings.TrimPrefix(line, "// "))
	}
	for _, b := range blocks(read(t, "README.md"), "text") {
		if !strings.Contains(wanted.String(), b) {
			t.Errorf("not among the outputs of tests/example_test.go:\n%s", b)
		}
	}
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
	link     = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	command  = regexp.MustCompile(`go (?:run|test|doc|generate|vet|build)((?: +-[a-z0-9=-]+| +\./[a-zA-Z0-9_./]+)+)`)
	quoted   = regexp.MustCompile("`([^`\n]+)`")
	pathLike = regexp.MustCompile(`^[a-zA-Z0-9_.*-]+(/[a-zA-Z0-9_.*-]+)+/?$|^[a-zA-Z0-9_-]+\.(go|md|mod|yaml|py|cuh?)$`)
	flagLike = regexp.MustCompile("`-([a-z]+)(?: [a-z0-9]+)?`")
)

// ours reports whether quoted text is a path in this module, rather than a path
// outside it, an import path (a host's name has a dot) or a standard package.
func ours(text string) bool {
	if !pathLike.MatchString(text) || text == "go/parser" {
		return false
	}
	first, _, below := strings.Cut(text, "/")
	return !below || first == ".ci" || !strings.Contains(first, ".")
}

// TestDocumentPaths looks for every file that a document links to, names in
// quotes or gives to a command. The statements of semantics.md are written, too.
func TestDocumentPaths(t *testing.T) {
	for _, name := range append(written, "docs/semantics.md") {
		text := read(t, name)
		exists := func(path, from string) {
			if found, err := filepath.Glob(filepath.Join(root, from, path)); err != nil || len(found) == 0 {
				t.Errorf("%s: %s does not exist", name, path)
			}
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(m[1], "//") {
				exists(m[1], filepath.Dir(name))
			}
		}
		for _, m := range command.FindAllStringSubmatch(text, -1) {
			for _, arg := range strings.Fields(m[1]) {
				if !strings.HasPrefix(arg, "-") {
					exists(strings.TrimSuffix(arg, "..."), ".")
				}
			}
		}
		if name == "data/digits/README.md" || name == "docs/schema.md" {
			continue // they quote names of other things
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			if ours(m[1]) {
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
	reasons := read(t, "docs/architecture.md")
	for line := range strings.Lines(read(t, "go.mod")) {
		if required, ok := strings.CutPrefix(line, "\t"); ok && !strings.Contains(line, "// indirect") {
			name, _, _ := strings.Cut(required, " ")
			if !strings.Contains(reasons, "| `"+name+"` |") {
				t.Errorf("docs/architecture.md gives no reason for the dependency %s", name)
			}
		}
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
