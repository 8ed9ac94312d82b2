package another_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/tests/extend"
)

// chapter is the one that TestGuide builds.
const chapter = "docs/guide/operators.md"

// fenced finds the blocks of a chapter that say which file of the reader's module they are
// (file=), stand at the end of (append=) or below the package of (head=).
var fenced = regexp.MustCompile("(?ms)^```\\w+ (file|append|head)=(\\S+)\n(.*?)^```")

// TestGuide makes the module of the guide's chapter on operators as a reader would, and
// compares what its program prints with the chapter.
func TestGuide(t *testing.T) {
	extend.Compiles(t)
	tree, err := filepath.Abs(extend.Root)
	extend.Must(t, err)
	text, err := os.ReadFile(filepath.Join(tree, chapter))
	extend.Must(t, err)
	files := map[string]string{"go.mod": "module hello\n\ngo 1.26.0\n\nrequire " + extend.Module + " v0.0.0\n\nreplace " + extend.Module + " => " + tree + "\n\ntool " + extend.Module + "/gen\n"}
	for _, m := range fenced.FindAllStringSubmatch(string(text), -1) {
		switch name := m[2]; m[1] {
		case "file":
			files[name] = m[3]
		case "append":
			files[name] += "\n" + m[3]
		case "head":
			files[name] = strings.Replace(files[name], "package: mine\n", "package: mine\n"+m[3], 1)
		}
	}
	sums, err := os.ReadFile(filepath.Join(tree, "go.sum"))
	extend.Must(t, err)
	files["go.sum"] = string(sums)
	mod := t.TempDir()
	write := func(name string) {
		extend.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(mod, name)), 0o777))
		extend.Must(t, os.WriteFile(filepath.Join(mod, name), []byte(files[name]), 0o666))
	}
	for _, name := range []string{"go.mod", "go.sum", "gen.go", "ops.yaml", "native/collatz.go", "kernels/collatz.cu"} {
		write(name)
	}
	// There is no network here: -e goes on without what tests of dependencies import.
	extend.Run(t, mod, "-mod=mod", "mod", "tidy", "-e")
	extend.Run(t, mod, "-mod=mod", "generate", "./...")
	programs := []string{"main.go", "point/main.go"}
	for _, name := range programs {
		write(name)
	}
	extend.Run(t, mod, "-mod=mod", "mod", "tidy", "-e")
	extend.Run(t, mod, "-mod=mod", "vet", "./...")
	out := extend.Run(t, mod, "-mod=mod", "test", "-v", "./opcases")
	for _, op := range []string{"snake", "sum_squares", "center", "polar", "collatz"} {
		if !strings.Contains(out, "--- PASS: TestOperators/"+op) {
			t.Errorf("the tests of %s did not run:\n%s", op, out)
		}
	}
	for _, name := range programs {
		_, after, _ := strings.Cut(string(text), files[name])
		_, after, _ = strings.Cut(after, "```text\n")
		want, _, _ := strings.Cut(after, "```")
		if diff := cmp.Diff(want, extend.Run(t, mod, "-mod=mod", "run", "./"+path.Dir(name))); want == "" || diff != "" {
			t.Errorf("%s prints (-want +got):\n%s", name, diff)
		}
	}
}
