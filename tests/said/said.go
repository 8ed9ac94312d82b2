// Package said reads what the documentation of a package of operators says of each of
// them, for tests that compare it with what operators do.
package said

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Operators returns the documentation of what the package in dir, a path below root,
// exports in the files of groups of operators, methods behind the type and a point. root is
// the directory of the module.
func Operators(root, dir string) (map[string]string, error) {
	groups, err := groups(root)
	if err != nil {
		return nil, err
	}
	names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return nil, err
	}
	says := map[string]string{}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".go")
		if !groups[base] && !groups[further.ReplaceAllString(base, "")] {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() {
				continue
			}
			key := f.Name.Name
			if f.Recv != nil {
				key = "Tensor." + key
			}
			says[key] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
	if len(says) == 0 {
		return nil, fmt.Errorf("%s has no file of a group of operators", dir)
	}
	return says, nil
}

var (
	heading = regexp.MustCompile(`(?m)^## (.+)$`)
	further = regexp.MustCompile(`_[b-z]$`) // the further files of a large group
)

// groups returns the names of the files that groups of operators are in.
func groups(root string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "operators.md"))
	if err != nil {
		return nil, err
	}
	list := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		list[strings.ReplaceAll(m[1], " ", "_")] = true
	}
	return list, nil
}
