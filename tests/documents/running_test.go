package documents_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// running are the documents whose Go is compiled and run: the README and the guide.
func running(t *testing.T) []string {
	out := []string{"README.md"}
	for _, name := range documents(t) {
		if strings.HasPrefix(name, "docs/guide/") {
			out = append(out, name)
		}
	}
	return out
}

// TestGo compiles the Go blocks of the README and of the guide to one program, runs
// it for each document, and compares what each block prints with the block of text
// behind it. The program exists in the compiler's overlay alone, below this module, so
// that it has the module's dependencies. It runs in a folder that has the guide's files.
func TestGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	base, err := filepath.Abs(filepath.Join(root, "blocks"))
	if err != nil {
		t.Fatal(err)
	}
	add := func(name string, text []byte) {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(base, filepath.FromSlash(name))] = file
	}
	var imports, calls bytes.Buffer
	parts := map[string][]section{}
	for _, document := range running(t) {
		parts[document] = sections(read(t, document))
		if len(parts[document]) == 0 {
			continue
		}
		name := packageOf(document)
		files, err := compiled(name, filepath.Join(root, document), parts[document])
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			add(name+"/"+file, text)
		}
		fmt.Fprintf(&imports, "import %q\n", module+"/blocks/"+name)
		fmt.Fprintf(&calls, "case %q:\n%s.Run()\n", name, name)
	}
	add("main.go", []byte("package main\nimport \"os\"\n"+imports.String()+"func main() {\nswitch os.Args[1] {\n"+calls.String()+"}\n}\n"))
	list, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, list, 0o666); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "blocks.exe")
	if text, err := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", file, "-o", binary, module+"/blocks").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for document, list := range parts {
		if len(list) > 0 {
			t.Run(document, func(t *testing.T) { compare(t, document, list, printed(t, binary, packageOf(document))) })
		}
	}
}

// packageOf returns the name of a document's Go package.
func packageOf(document string) string {
	name := strings.TrimSuffix(filepath.Base(document), ".md")
	return "doc" + strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name))
}

// printed runs the blocks of one document in a copy of the guide's files, and returns
// what they printed by block: by package, section and place in it, or after an error.
func printed(t *testing.T, binary, name string) map[string]string {
	work := t.TempDir()
	if err := os.CopyFS(work, os.DirFS(filepath.Join(root, "docs/guide/files"))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, name)
	cmd.Dir = work
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out.Bytes(), log.Bytes())
	}
	found := map[string]string{}
	for _, piece := range strings.Split(out.String(), "\n"+mark)[1:] {
		key, text, _ := strings.Cut(piece, "\n")
		found[key] = text
	}
	return found
}

// compare holds what blocks printed against what the document says.
func compare(t *testing.T, document string, list []section, found map[string]string) {
	for s, part := range list {
		if text, bad := found[fmt.Sprintf("error %s %d", packageOf(document), s)]; bad {
			t.Errorf("%s, %s: %s", document, part.title, text)
		}
		for i, blk := range part.blocks {
			text, ran := found[fmt.Sprintf("%s %d %d", packageOf(document), s, i)]
			switch {
			case blk.idle || declares(blk.code):
			case !ran:
				t.Errorf("%s:%d did not run", document, blk.line)
			case blk.output == nil:
				t.Logf("%s:%d prints\n%s", document, blk.line, text)
			default:
				if diff := cmp.Diff(trimmed(*blk.output), trimmed(text)); diff != "" {
					t.Errorf("%s:%d prints (-want +got):\n%s", document, blk.line, diff)
				}
			}
		}
	}
}

// trimmed drops white space at the ends of lines and empty lines at the end.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
