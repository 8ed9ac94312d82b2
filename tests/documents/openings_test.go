package documents_test

import (
	"encoding/json"
	"go/ast"
	"go/build/constraint"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/public"
)

// stands is what openings name without making it: the program that they are part of.
const stands = `
var (
	ctx            = context.Background()
	x, y           tensor.Tensor
	images, labels tensor.Tensor
	model          *nn.Sequential
	adam           optim.Optimizer
	devices        []device.Device
)

func step(x, y tensor.Tensor) error                    { return nil }
func newModel(d device.Device) *nn.Sequential          { return nil }
func train(m nn.Module, g *dist.Group) error           { return nil }

var _ = fmt.Sprint
`

// TestOpenings: the code that the documentation of a package shows first compiles, as
// part of a function that returns an error and of a program that has what stands says.
func TestOpenings(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles")
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	base, err := filepath.Abs(filepath.Join(root, "openings"))
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	list, err := public.Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range list {
		code := opening(t, filepath.Join(root, pkg))
		if code == "" {
			t.Errorf("%s: its documentation shows no code before the first heading", pkg)
			continue
		}
		name := strings.ReplaceAll(pkg, "/", "_")
		body := "package " + name + "\n" + stands + "func opening() error {\n" + code + "\nreturn nil\n}\n"
		imports, err := imported(body)
		if err != nil {
			t.Errorf("%s: %v\n%s", pkg, err, code)
			continue
		}
		first, rest, _ := strings.Cut(body, "\n")
		file := filepath.Join(dir, name+".go")
		if err := os.WriteFile(file, []byte(first+"\n"+imports+rest), 0o666); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(base, name, "opening.go")] = file
		args = append(args, module+"/openings/"+name)
	}
	files, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, files, 0o666); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("go", append([]string{"build", "-overlay", file}, args...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// opening returns the code before the first heading of a package's documentation. A line
// of three dots is what the reader knows, and stands for the check of an error.
func opening(t *testing.T, dir string) string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no files, %v", dir, err)
	}
	var code strings.Builder
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range packageComment(file) {
			if _, ok := block.(*comment.Heading); ok {
				break
			}
			if c, ok := block.(*comment.Code); ok {
				for line := range strings.Lines(c.Text) {
					if strings.TrimSpace(line) == "..." {
						line = "if err != nil {\nreturn err\n}\n"
					}
					code.WriteString(line)
				}
			}
		}
	}
	return code.String()
}

// packageComment returns the blocks of a file's package comment.
func packageComment(file *ast.File) []comment.Block {
	if file.Doc == nil || constraint.IsGoBuild(file.Doc.Text()) {
		return nil
	}
	return new(comment.Parser).Parse(file.Doc.Text()).Content
}
