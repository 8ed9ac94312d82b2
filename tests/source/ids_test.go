package source_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// imported are the packages whose documentation programs' authors read.
var imported = []string{
	"backend/cuda", "backend/sim", "data", "data/npy", "data/safetensors", "generated/tensor", "generated/tensor/out", "nn", "optim", "optim/checkpoint",
	"runtime/device", "runtime/graph", "runtime/memory", "runtime/memory/figures", "runtime/option", "runtime/fftplans", "runtime/precision", "runtime/random", "runtime/stream",
}

// statement is an id of docs/semantics.md.
var statement = regexp.MustCompile(`\b[SPAG][0-9]{1,3}\b`)

// TestStatementIDs holds that the documentation of packages that programs import says
// what holds, and not the number under which it is tested.
func TestStatementIDs(t *testing.T) {
	for _, pkg := range imported {
		t.Run(pkg, func(t *testing.T) {
			names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
			must(t, err)
			fset := token.NewFileSet()
			var files []*ast.File
			for _, name := range names {
				if strings.HasSuffix(name, "_test.go") {
					continue
				}
				f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
				must(t, err)
				files = append(files, f)
			}
			p, err := doc.NewFromFiles(fset, files, pkg)
			must(t, err)
			says := func(name, text string, decl ast.Decl) {
				var b bytes.Buffer
				if decl != nil { // the comments of fields, of methods of interfaces and of constants
					must(t, printer.Fprint(&b, fset, decl))
				}
				if ids := statement.FindAllString(text+b.String(), -1); ids != nil {
					t.Errorf("%s names the statements %v", name, ids)
				}
			}
			values := func(list []*doc.Value) {
				for _, v := range list {
					says(strings.Join(v.Names, ", "), v.Doc, v.Decl)
				}
			}
			funcs := func(list []*doc.Func) {
				for _, f := range list {
					says(f.Name, f.Doc, nil)
				}
			}
			says("package "+pkg, p.Doc, nil)
			values(p.Consts)
			values(p.Vars)
			funcs(p.Funcs)
			for _, typ := range p.Types {
				says(typ.Name, typ.Doc, typ.Decl)
				values(typ.Consts)
				values(typ.Vars)
				funcs(typ.Funcs)
				funcs(typ.Methods)
			}
		})
	}
}
