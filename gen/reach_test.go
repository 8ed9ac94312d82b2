package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/gen/emit"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// TestReachable: of what is emitted for a kind of devices nothing is left out by the descriptors: no
// entry of the standard schema, and none of those in testdata, has code that no call can reach.
func TestReachable(t *testing.T) {
	base := baseSpec(t)
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, name := range archives {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, files := sections(data)
		spec, err := schema.Parse("ops.yaml", files[0].data, base)
		if err != nil {
			t.Fatal(err)
		}
		emitted, err := emit.Files(spec, userTarget)
		if err != nil { // the archive is of an error
			continue
		}
		looked += unreachable(t, name, emitted)
	}
	if !testing.Short() {
		tree, err := loaded()
		if err != nil {
			t.Fatal(err)
		}
		looked += unreachable(t, "ops.yaml", tree.files)
	}
	if looked < 10 {
		t.Errorf("%d pieces of code were looked for", looked)
	}
}

// TestReachableFinds: what a descriptor does not name is found, and what it names in some way is not.
func TestReachableFinds(t *testing.T) {
	files := []unit.File{
		{Path: "cpu/a.go", Data: []byte("package cpu\nfunc used() {}\nfunc unused() {}\nfunc init() { atInit() }\nfunc atInit() {}\nvar A, B = used, 1\nvar C = B\n")},
		{Path: "ops/a.go", Data: []byte("package ops\nvar a = x{Of: &cpu.A}\nvar k = y{Module: \"a\", Symbol: \"add\", Enum: []string{\"floor\"}}\n")},
		{Path: "kernels/a.cu", Data: []byte("SINTER_REDUCE(add_float32, AddFn<float32>)\nSINTER_REDUCE(add_floor_int64, AddFn<float32>)\nSINTER_SCAN(sub_float32, SubFn<float32>)\ntemplate <class T> struct AddFn {\nstruct SubFn {\nstruct MulFn {\n")},
	}
	got, _ := leftOut(files)
	want := []string{"cpu/a.go: unused", "cpu/a.go: C", "kernels/a.cu: sub_float32", "kernels/a.cu: MulFn"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

func unreachable(t *testing.T, of string, files []unit.File) int {
	t.Helper()
	left, looked := leftOut(files)
	for _, name := range left {
		t.Errorf("%s: %s is emitted, and no descriptor leads to it", of, name)
	}
	return looked
}

// deviceCode is a line that makes kernels: their name, then the dtypes that it ends with.
var deviceCode = regexp.MustCompile(`(?m)^SINTER_\w+\((\w+?)((?:_(?:bool|u?int\d+|b?float\d+|complex\d+))+),`)

// leftOut returns what is emitted of the CPU's package and of CUDA sources that descriptors do not lead
// to, and how much there is.
func leftOut(files []unit.File) (left []string, looked int) {
	var cpu codeGraph
	named, enums := map[string]bool{}, []string{""}
	for _, f := range files {
		switch {
		case path.Ext(f.Path) != ".go":
		case path.Base(path.Dir(f.Path)) == "cpu":
			cpu.add(f)
		default:
			cpu.lead(f)
			for _, m := range regexp.MustCompile(`Module: +"(\w+)", Symbol: +"(\w+)"`).FindAllSubmatch(f.Data, -1) {
				named[string(m[1])+" "+string(m[2])] = true
			}
			for _, m := range regexp.MustCompile(`Enum: +\[\]string\{([^}]*)\}`).FindAllSubmatch(f.Data, -1) {
				for _, word := range regexp.MustCompile(`\w+`).FindAll(m[1], -1) {
					enums = append(enums, "_"+string(word))
				}
			}
		}
	}
	left, looked = cpu.left(), len(cpu.uses)
	for _, f := range files {
		if path.Ext(f.Path) != ".cu" {
			continue
		}
		module := strings.TrimSuffix(path.Base(f.Path), ".cu")
		for _, m := range deviceCode.FindAllSubmatch(f.Data, -1) {
			looked++
			if !slices.ContainsFunc(enums, func(e string) bool {
				symbol, ok := strings.CutSuffix(string(m[1]), e)
				return ok && named[module+" "+symbol]
			}) {
				left = append(left, f.Path+": "+string(m[1])+string(m[2]))
			}
		}
		for _, m := range regexp.MustCompile(`struct (\w+Fn)\b`).FindAllSubmatch(f.Data, -1) {
			if looked++; len(regexp.MustCompile(`\b`+string(m[1])+`\b`).FindAll(f.Data, 2)) < 2 {
				left = append(left, f.Path+": "+string(m[1]))
			}
		}
	}
	return left, looked
}

// A codeGraph is the declarations of a package by name, what each names, and what is named outside.
type codeGraph struct {
	uses  map[string][]string
	at    map[string]string // the file
	roots []string
}

// parsed returns the tree of an emitted file.
func parsed(f unit.File) *ast.File {
	tree, err := parser.ParseFile(token.NewFileSet(), f.Path, f.Data, parser.SkipObjectResolution)
	if err != nil {
		panic(fmt.Errorf("what is emitted is no Go: %w", err)) // TestFresh and TestGolden say so
	}
	return tree
}

// idents returns the names in a part of a file.
func idents(n ast.Node) (names []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// add adds a file of the package.
func (g *codeGraph) add(f unit.File) {
	if g.uses == nil {
		g.uses, g.at = map[string][]string{}, map[string]string{}
	}
	declare := func(name string, n ast.Node) {
		if name == "init" || name == "_" {
			g.roots = append(g.roots, idents(n)...)
			return
		}
		g.uses[name], g.at[name] = append(g.uses[name], idents(n)...), f.Path // a name may be of a build tag
	}
	for _, d := range parsed(f).Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declare(d.Name.Name, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						declare(name.Name, spec)
					}
				case *ast.TypeSpec:
					declare(spec.Name.Name, spec)
				}
			}
		}
	}
}

// lead adds what a file of another package names of it.
func (g *codeGraph) lead(f unit.File) {
	ast.Inspect(parsed(f), func(n ast.Node) bool {
		if at, ok := n.(*ast.SelectorExpr); ok {
			if pkg, ok := at.X.(*ast.Ident); ok && pkg.Name == "cpu" {
				g.roots = append(g.roots, at.Sel.Name)
			}
		}
		return true
	})
}

// left returns the declarations that nothing leads to.
func (g *codeGraph) left() (names []string) {
	reached, next := map[string]bool{}, slices.Clone(g.roots)
	for len(next) > 0 {
		name := next[len(next)-1]
		if next = next[:len(next)-1]; !reached[name] {
			reached[name] = true
			next = append(next, g.uses[name]...)
		}
	}
	for name, file := range g.at {
		if !reached[name] {
			names = append(names, file+": "+name)
		}
	}
	return names
}
