package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A statement is what one test shows.
type statement struct {
	id      string // as S11
	text    string // of the test's comment
	differs string // how the project differs from PyTorch there, and why; "" where it does not
	file    string // of the test
}

// A part is a run of ids with one letter.
type part struct {
	letter string
	last   int // ids go from 1 to it
	title  string
}

var parts = []part{
	{"S", 78, "Devices, streams and memory as the CUDA semantics notes have them"},
	{"P", 96, "What later versions of PyTorch add"},
	{"A", 36, "The caching allocator"},
}

// ids returns all ids in order.
func ids() []string {
	var list []string
	for _, p := range parts {
		for i := 1; i <= p.last; i++ {
			list = append(list, p.letter+strconv.Itoa(i))
		}
	}
	return list
}

var testName = regexp.MustCompile(`^Test([SPA][0-9]+)$`)

// read returns the statements that the tests in a directory show, by id.
func read(directory string) (map[string]statement, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	if err != nil {
		return nil, err
	}
	found := map[string]statement{}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := readFile(found, filepath.Base(name), source); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// readFile adds the statements of one file.
func readFile(found map[string]statement, name string, source []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		m := testName.FindStringSubmatch(f.Name.Name)
		if m == nil {
			continue
		}
		s := statement{id: m[1], file: name}
		for paragraph := range strings.SplitSeq(f.Doc.Text(), "\n\n") {
			paragraph = strings.Join(strings.Fields(paragraph), " ")
			if rest, ok := strings.CutPrefix(paragraph, "Differs: "); ok {
				s.differs = strings.TrimSpace(s.differs + " " + rest)
			} else {
				s.text = strings.TrimSpace(s.text + " " + paragraph)
			}
		}
		if s.text == "" {
			return fmt.Errorf("%s: %s has no comment that says its statement", name, f.Name.Name)
		}
		if !slices.Contains(ids(), s.id) {
			return fmt.Errorf("%s: there is no statement %s", name, s.id)
		}
		if other, twice := found[s.id]; twice {
			return fmt.Errorf("%s is in %s and in %s", f.Name.Name, other.file, name)
		}
		found[s.id] = s
	}
	return nil
}

// inOrder sorts ids as ids returns them.
func inOrder(list []string) []string {
	all := ids()
	return slices.SortedFunc(slices.Values(list), func(a, b string) int {
		return cmp.Compare(slices.Index(all, a), slices.Index(all, b))
	})
}
