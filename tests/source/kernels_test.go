package source_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestKernelsStay: kernels are shared by all calls, which hold pointers to them, so that
// nothing but package ir may assign to a part of one, by a call's promoted fields either.
func TestKernelsStay(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the types of every package")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[ir.Kernel]()) {
		names = append(names, f.Name)
	}
	near := regexp.MustCompile(`\.(` + strings.Join(names, "|") + `)\b[^=\n]*[^=!<>:\n]?=[^=]`) // files worth a look
	exports, packages := compiled(t)
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no export data")
		}
		return os.Open(exports[path])
	})
	from, err := imports.Import(module + "/ir")
	must(t, err)
	kernel := from.Scope().Lookup("Kernel").Type().Underlying().(*types.Struct)
	owned := map[types.Object]bool{}
	for f := range kernel.Fields() {
		owned[f] = true
	}
	looked := 0
	for _, p := range packages {
		var files []*ast.File
		worth := false
		for _, name := range append(p.GoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			must(t, err)
			worth = worth || near.Match(text)
		}
		if !worth || p.ImportPath == module+"/ir" {
			continue
		}
		looked++
		for _, group := range [][]string{append(p.GoFiles, p.TestGoFiles...), p.XTestGoFiles} {
			files = files[:0]
			for _, name := range group {
				f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
				must(t, err)
				files = append(files, f)
			}
			info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
			conf := types.Config{Importer: imports, Error: func(error) {}} // tests may import what was not compiled
			_, _ = conf.Check(p.ImportPath, fset, files, &info)
			for _, f := range files {
				for _, at := range assigned(f) {
					if s := info.Selections[at]; s != nil && owned[s.Obj()] {
						t.Errorf("%s: %s of a kernel is assigned to; calls share it", fset.Position(at.Pos()), at.Sel.Name)
					}
				}
			}
		}
	}
	if looked == 0 || len(owned) < 5 {
		t.Errorf("%d packages were looked at, for %d fields", looked, len(owned))
	}
	bad, err := parser.ParseFile(fset, "bad.go", "package bad\nimport \""+module+"/ir\"\nfunc f(c *ir.Call) { c.Op = nil; c.Kernel.Out[0].Name = \"\"; c.Variant++ }", 0)
	must(t, err)
	info := types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	_, err = (&types.Config{Importer: imports}).Check("bad", fset, []*ast.File{bad}, &info)
	must(t, err)
	found := 0
	for _, at := range assigned(bad) {
		if s := info.Selections[at]; s != nil && owned[s.Obj()] {
			found++
		}
	}
	if found != 3 {
		t.Errorf("%d assignments to a kernel were found, want 3", found)
	}
}

// assigned returns the selectors that a file assigns to, or to parts of.
func assigned(f *ast.File) (list []*ast.SelectorExpr) {
	target := func(x ast.Expr) {
		for {
			switch at := x.(type) {
			case *ast.SelectorExpr:
				list = append(list, at)
				x = at.X
			case *ast.IndexExpr:
				x = at.X
			case *ast.ParenExpr:
				x = at.X
			default:
				return
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			for _, x := range s.Lhs {
				target(x)
			}
		case *ast.IncDecStmt:
			target(s.X)
		}
		return true
	})
	return list
}

// A listed package is what go list says of one.
type listed struct {
	ImportPath, Dir, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	DepOnly                            bool
}

// compiled returns the files of export data of all packages, and the packages of the
// module.
func compiled(t *testing.T) (exports map[string]string, packages []listed) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,TestGoFiles,XTestGoFiles,DepOnly", "./...")
	cmd.Dir = root
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	exports = map[string]string{}
	for d := json.NewDecoder(out); ; {
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
	must(t, cmd.Wait())
	return exports, packages
}
