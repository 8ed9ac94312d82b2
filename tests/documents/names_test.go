package documents_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exported returns what a package of this module exports: names, and methods behind a dot.
func exported(t *testing.T, path string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, strings.TrimPrefix(path, module), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			declared(d, names)
		}
	}
	return names
}

// declared adds the names of a declaration.
func declared(d ast.Decl, names map[string]bool) {
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv == nil {
			names[f.Name.Name] = true
		} else {
			names["."+f.Name.Name] = true
		}
		return
	}
	for _, s := range d.(*ast.GenDecl).Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			names[s.Name.Name] = true
		case *ast.ValueSpec:
			for _, n := range s.Names {
				names[n.Name] = true
			}
		}
	}
}

var (
	qualified = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	table     = regexp.MustCompile(`(?m)^\|.*\|$`)
)

// TestNames looks for every name of a package that the README and the guide write in
// quotes, and for every method of x, y and t there. What PyTorch, NumPy and gonum have
// is in the first column of a table.
func TestNames(t *testing.T) {
	have := map[string]map[string]bool{}
	for name, path := range packages {
		if strings.HasPrefix(path, module) {
			have[name] = exported(t, path)
		}
	}
	found := 0
	for _, document := range running(t) {
		text := outsideFences(read(t, document))
		if strings.HasSuffix(document, "pytorch.md") || strings.HasSuffix(document, "numpy.md") {
			text = table.ReplaceAllStringFunc(text, func(row string) string { return row[strings.Index(row, " | ")+1:] })
		}
		for _, code := range quoted.FindAllStringSubmatch(text, -1) {
			for _, m := range qualified.FindAllStringSubmatch(code[1], -1) {
				names, known := have[m[1]]
				switch {
				case known && names[m[2]], known && m[1] == "cuda" && names["."+m[2]]:
					found++
				case known:
					t.Errorf("%s: package %s has no %s", document, m[1], m[2])
				case len(m[1]) == 1 && !have["tensor"]["."+m[2]] && !have["nn"]["."+m[2]]:
					t.Errorf("%s: %s: no tensor has a method %s", document, code[1], m[2])
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("found %d names", found)
	}
}
