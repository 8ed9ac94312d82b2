package source_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A variables is the environment variables that source reads, each with a file or a
// package that does, and the calls of which nobody can tell what they read.
type variables struct {
	read   map[string]string
	hidden []string
}

// variableForm is the form of names that are told from other text, with torchrun's one
// that is a word; functions that
// read the environment without naming a variable read what implied has.
var (
	variableForm = regexp.MustCompile(`^([A-Z][A-Z0-9]*(_[A-Z0-9]+)+|RANK)$`)
	implied      = map[string][]string{"UserCacheDir": {"XDG_CACHE_HOME", "HOME"}, "UserHomeDir": {"HOME"}}
)

// environment returns the variables that programs built with the module read: the
// text in calls of os.Getenv and os.LookupEnv, and since names come from tables and
// constants too every text of the form of a name in a package with such a call.
func environment(t *testing.T) variables {
	t.Helper()
	v := variables{read: map[string]string{}}
	texts, asks := map[string][]string{}, map[string]bool{}
	trees(t, func(file string, tree *ast.File) {
		top, _, _ := strings.Cut(file, "/")
		if emitted(file) || slices.Contains([]string{"tests", "cmd", "gen"}, top) {
			return
		}
		dir := path.Dir(file)
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if name, err := strconv.Unquote(n.Value); err == nil && variableForm.MatchString(name) && !strings.HasPrefix(name, "CUDA_ERROR_") {
					texts[dir] = append(texts[dir], name)
				}
			case *ast.SelectorExpr:
				if v.selects(file, n) {
					asks[dir] = true
				}
			case *ast.CallExpr:
				v.calls(file, n)
			}
			return true
		})
	})
	for dir := range asks {
		for _, name := range texts[dir] {
			v.read[name] = dir
		}
	}
	return v
}

// selects notes what a use of package os or syscall reads, and reports whether it is
// of a function that is given the name.
func (v *variables) selects(file string, n *ast.SelectorExpr) bool {
	from, ok := n.X.(*ast.Ident)
	if !ok || from.Name != "os" && from.Name != "syscall" {
		return false
	}
	for _, name := range implied[n.Sel.Name] {
		v.read[name] = file
	}
	if slices.Contains([]string{"Environ", "ExpandEnv"}, n.Sel.Name) {
		v.hidden = append(v.hidden, file+": "+from.Name+"."+n.Sel.Name)
	}
	return n.Sel.Name == "Getenv" || n.Sel.Name == "LookupEnv"
}

// calls notes the name that a call gives as text, whatever its form.
func (v *variables) calls(file string, n *ast.CallExpr) {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || len(n.Args) != 1 || f.Sel.Name != "Getenv" && f.Sel.Name != "LookupEnv" {
		return
	}
	if text, ok := n.Args[0].(*ast.BasicLit); ok {
		name, _ := strconv.Unquote(text.Value)
		v.read[name] = file
	}
}

// TestEnvironment compares the variables that the source reads with those that the
// document about them names.
func TestEnvironment(t *testing.T) {
	const document = "docs/environment.md"
	v := environment(t)
	for _, call := range v.hidden {
		t.Errorf("%s: nobody can tell which variables it reads", call)
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("`([A-Z][A-Z0-9_]*[A-Z0-9])`").FindAllStringSubmatch(read(t, document), -1) {
		told[m[1]] = true
		if v.read[m[1]] == "" {
			t.Errorf("%s names %s, which nothing reads", document, m[1])
		}
	}
	for name, where := range v.read {
		if !told[name] {
			t.Errorf("%s reads %s, which %s does not name", where, name, document)
		}
	}
	if len(v.read) < 20 {
		t.Errorf("the source reads %d variables", len(v.read))
	}
}
