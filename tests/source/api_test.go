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
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/public"
)

// documented is a package as its documentation shows it.
type documented struct {
	*doc.Package
	path  string
	fset  *token.FileSet
	files []*ast.File
}

// documents are the packages that parsed was asked for, by path.
var documents = map[string]*documented{}

// parsed reads a package of this module, without its tests, once for all tests, which change nothing of it.
func parsed(t *testing.T, path string) *documented {
	t.Helper()
	if d := documents[path]; d != nil {
		return d
	}
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(path), "*.go"))
	must(t, err)
	d := &documented{path: path, fset: token.NewFileSet()}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(d.fset, name, nil, parser.ParseComments)
		must(t, err)
		d.files = append(d.files, f)
	}
	if len(d.files) == 0 {
		t.Fatalf("%s has no files", path)
	}
	d.Package, err = doc.NewFromFiles(d.fset, d.files, path, doc.PreserveAST)
	must(t, err)
	documents[path] = d
	return d
}

// eachPublic calls f with every package that programs import.
func eachPublic(t *testing.T, f func(t *testing.T, d *documented)) {
	list, err := public.Packages(root)
	must(t, err)
	for _, path := range list {
		t.Run(path, func(t *testing.T) { f(t, parsed(t, path)) })
	}
}

// each calls f with every name that d's documentation shows, its text, and its declaration
// where that has comments of its own: of fields, methods of interfaces and constants.
func (d *documented) each(f func(name, text string, decl ast.Decl)) {
	values := func(list []*doc.Value) {
		for _, v := range list {
			f(strings.Join(v.Names, ", "), v.Doc, v.Decl)
		}
	}
	funcs := func(list []*doc.Func) {
		for _, fn := range list {
			f(fn.Name, fn.Doc, nil)
		}
	}
	f("the package", d.Doc, nil)
	values(d.Consts)
	values(d.Vars)
	funcs(d.Funcs)
	for _, typ := range d.Types {
		f(typ.Name, typ.Doc, typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
}

// inward finds what only those who work on this module know: ids of docs/semantics.md,
// and what is on its way out before the first version is.
var inward = regexp.MustCompile(`\b[SPAG][0-9]{1,3}\b|\bDeprecated:`)

// TestInward holds that the documentation of packages that programs import says what
// holds, not the number under which it is tested, and that nothing in it is deprecated.
func TestInward(t *testing.T) {
	eachPublic(t, func(t *testing.T, d *documented) {
		d.each(func(name, text string, decl ast.Decl) {
			var b bytes.Buffer
			if decl != nil {
				must(t, printer.Fprint(&b, d.fset, decl))
			}
			if found := inward.FindAllString(text+b.String(), -1); found != nil {
				t.Errorf("%s: %v", name, found)
			}
		})
	})
}

// later are the functions that programs give, to be called at another time.
var later = []string{"graph.Capture.Keep"}

// TestScopes: what calls a function of the program's and returns after it takes one that
// returns an error, which would be lost otherwise, and returns that error. What returns a
// value as well is the second form of such a function.
func TestScopes(t *testing.T) {
	found := 0
	eachPublic(t, func(t *testing.T, d *documented) {
		look := func(name string, f *ast.FuncType) {
			for _, p := range f.Params.List {
				given, ok := p.Type.(*ast.FuncType)
				switch {
				case !ok || given.Params.NumFields() > 0 || slices.Contains(later, d.Name+"."+name):
				case given.Results.NumFields() == 0:
					t.Errorf("%s takes a function that returns no error", name)
				case isError(given.Results) && !isError(f.Results):
					t.Errorf("%s takes a function that returns an error, and returns none", name)
				default:
					found++
				}
			}
		}
		for _, f := range d.Funcs {
			look(f.Name, f.Decl.Type)
		}
		for _, typ := range d.Types {
			for _, f := range slices.Concat(typ.Funcs, typ.Methods) {
				look(strings.TrimPrefix(typ.Name+"."+f.Name, "."), f.Decl.Type)
			}
		}
	})
	if found < 10 {
		t.Errorf("%d scopes found", found)
	}
}

// isError reports results of which the last is an error.
func isError(results *ast.FieldList) bool {
	if results.NumFields() == 0 {
		return false
	}
	id, ok := results.List[len(results.List)-1].Type.(*ast.Ident)
	return ok && id.Name == "error"
}

// TestAliases: a type that a package borrows has no fields and no methods where the
// package's documentation is read, so that its comment names each.
func TestAliases(t *testing.T) {
	found := 0
	eachPublic(t, func(t *testing.T, d *documented) {
		for _, typ := range d.Types {
			for _, s := range typ.Decl.Specs {
				spec := s.(*ast.TypeSpec)
				from, name := d.borrowed(spec)
				if !spec.Name.IsExported() || from == "" {
					continue
				}
				found++
				for _, member := range members(t, from, name) {
					if member == "OptionName" {
						continue // of an option a program sees the functions that make it
					}
					if !regexp.MustCompile(`\b` + member + `\b`).MatchString(typ.Doc) {
						t.Errorf("%s is %s.%s, and its documentation does not name %s", spec.Name.Name, from, name, member)
					}
				}
			}
		}
	})
	if found < 10 {
		t.Errorf("%d aliases found", found)
	}
}

// borrowed returns the package of this module and the name there that an alias stands for;
// nothing for other types.
func (d *documented) borrowed(spec *ast.TypeSpec) (from, name string) {
	target, ok := spec.Type.(*ast.SelectorExpr)
	if !spec.Assign.IsValid() || !ok {
		return "", ""
	}
	for _, file := range d.files {
		if file.Pos() > spec.Pos() || spec.Pos() > file.End() {
			continue
		}
		for _, imported := range file.Imports {
			path, _ := strconv.Unquote(imported.Path.Value)
			below, ours := strings.CutPrefix(path, module+"/")
			if ours && target.X.(*ast.Ident).Name == below[strings.LastIndexByte(below, '/')+1:] {
				return below, target.Sel.Name
			}
		}
	}
	return "", ""
}

// members returns the exported fields and methods of a type.
func members(t *testing.T, pkg, name string) (list []string) {
	d := parsed(t, pkg)
	for _, typ := range d.Types {
		if typ.Name != name {
			continue
		}
		for _, m := range typ.Methods {
			list = append(list, m.Name)
		}
		for _, s := range typ.Decl.Specs {
			spec := s.(*ast.TypeSpec)
			if from, of := d.borrowed(spec); from != "" {
				return members(t, from, of)
			}
			var fields *ast.FieldList
			switch of := spec.Type.(type) {
			case *ast.StructType:
				fields = of.Fields
			case *ast.InterfaceType:
				fields = of.Methods
			default:
				continue
			}
			for _, f := range fields.List {
				for _, id := range f.Names {
					if id.IsExported() {
						list = append(list, id.Name)
					}
				}
			}
		}
		return list
	}
	t.Fatalf("%s has no type %s", pkg, name)
	return nil
}
