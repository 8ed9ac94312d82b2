package cuda_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
)

// borrowed are the types of other packages that have a name here, but for Option.
var borrowed = map[string]reflect.Type{
	"Graph":            reflect.TypeFor[*cuda.Graph](),
	"Stream":           reflect.TypeFor[cuda.Stream](),
	"Event":            reflect.TypeFor[*cuda.Event](),
	"MemPool":          reflect.TypeFor[*cuda.MemPool](),
	"MemorySnapshot":   reflect.TypeFor[cuda.MemorySnapshot](),
	"OutOfMemoryError": reflect.TypeFor[*cuda.OutOfMemoryError](),
	"HostMemory":       reflect.TypeFor[cuda.HostMemory](),
	"FFTPlans":         reflect.TypeFor[cuda.FFTPlans](),
	"FP32Precision":    reflect.TypeFor[cuda.FP32Precision](),
	"FP32Level":        reflect.TypeFor[cuda.FP32Level](),
	"SyncDebugMode":    reflect.TypeFor[cuda.SyncDebugMode](),
	"TraceAction":      reflect.TypeFor[cuda.TraceAction](),
}

// known are packages of this module whose types may be in signatures: programs that use
// this package have them before them.
var known = map[string]bool{"device": true}

// TestBorrowedTypes holds that a user of this package finds in its documentation what a
// type can do that has a name here but is another package's, and that signatures have no
// others.
func TestBorrowedTypes(t *testing.T) {
	found := map[string]string{}
	for _, file := range sources(t) {
		own := map[string]bool{} // packages of this module that the file imports
		for _, i := range file.Imports {
			if path := strings.Trim(i.Path.Value, `"`); strings.HasPrefix(path, "github.com/sinter-go/sinter/") {
				own[path[strings.LastIndex(path, "/")+1:]] = true
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, is := s.(*ast.TypeSpec); is && s.Assign.IsValid() && s.Name.Name != "Option" {
						found[s.Name.Name] = d.Doc.Text()
					}
				}
			case *ast.FuncDecl:
				if !d.Name.IsExported() {
					continue
				}
				ast.Inspect(d.Type, func(n ast.Node) bool {
					if s, is := n.(*ast.SelectorExpr); is {
						if p := s.X.(*ast.Ident).Name; own[p] && !known[p] {
							t.Errorf("%s has %s.%s in its signature; give the type a name here", d.Name.Name, p, s.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
	for name, text := range found {
		b, listed := borrowed[name]
		if !listed {
			t.Errorf("type %s is not in this test", name)
			continue
		}
		for _, member := range members(b) {
			if !regexp.MustCompile(`\b` + member + `\b`).MatchString(text) {
				t.Errorf("the comment of %s does not mention %s", name, member)
			}
		}
	}
	if len(found) != len(borrowed) {
		t.Errorf("%d types are borrowed, this test has %d", len(found), len(borrowed))
	}
}

// members returns the names of a type's exported methods and fields.
func members(b reflect.Type) (names []string) {
	for i := range b.NumMethod() {
		names = append(names, b.Method(i).Name)
	}
	if b.Kind() == reflect.Pointer {
		b = b.Elem()
	}
	if b.Kind() != reflect.Struct {
		return names
	}
	for i := range b.NumField() {
		if f := b.Field(i); f.IsExported() {
			names = append(names, f.Name)
		}
	}
	return names
}

// sources returns the files of this package without its tests.
func sources(t *testing.T) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}
