package documents_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/public"
)

// stiff finds constructions that plain English does without: "which it has not", "has but
// one", "but for the first", "and such as have none", "nor is it", "are not had here", "sizes
// that cannot be", "of no schedule it makes none", "has an optimizer go up", "be told by", "so it is in
// PyTorch", "of false of these alone".
//
// Each is looked for in the sentences that hold one of its words alone: most hold none.
var stiff = []struct {
	words []string
	is    *regexp.Regexp
}{
	{[]string{"has not", "have not", "had not"}, regexp.MustCompile(`(?i)\b(has|have|had) not(\b[^\s\w]|$| (a|an|the|any|what|to|in|for|or|and)\b)`)},
	{[]string{"has but", "have but", "but such", "but for"}, regexp.MustCompile(`(?i)\b(has|have) but\b|\bbut (such|for)\b`)},
	{[]string{"such as "}, regexp.MustCompile(`(?i)\bsuch as (have|are|is|has)\b`)},
	{[]string{"nor "}, regexp.MustCompile(`(?i)\bnor (is|are|do|does|has|have|can|was|were)\b`)},
	{[]string{" want of"}, regexp.MustCompile(`(?i)\b(for|in) want of\b`)},
	{[]string{" not had"}, regexp.MustCompile(`(?i)\b(is|are) not had\b`)},
	{[]string{"that cannot be"}, regexp.MustCompile(`(?i)\bthat cannot be\b[^\s\w]*( (carr|is|are|has|have)|$)`)},
	{[]string{"of no "}, regexp.MustCompile(`(?i)\bof no \w+ it makes\b`)},
	{[]string{"has a", "have a", "has e", "have e", "has the ", "have the "}, regexp.MustCompile(`(?i)\b(has|have) (a|an|each|every|the) \w+( \w+)? (go|look|be|step|make|take)\b`)},
	{[]string{"be told by", "so it is in", ", as that of", "where it has it"}, regexp.MustCompile(`(?i)\b(be told by|so it is in|where it has it)\b|, as that of\b`)},
	{[]string{"comes of a", "of true of", "of false of"}, regexp.MustCompile(`(?i)\bcomes of an?\b|\bof (true|false) of\b`)},
}

// TestPlain looks for stiff sentences in documents, in what the schema says of operators,
// and in the documentation of the packages that programs import.
func TestPlain(t *testing.T) {
	look := func(where, text string) {
		text = strings.Join(strings.Fields(text), " ")
		for sentence := range strings.SplitAfterSeq(text, ". ") {
			lower := strings.ToLower(sentence)
			for _, s := range stiff {
				if !slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(lower, w) }) {
					continue
				}
				for _, at := range s.is.FindAllStringIndex(sentence, -1) {
					t.Errorf("%s: %q", where, sentence[max(at[0]-60, 0):min(at[1]+30, len(sentence))])
				}
			}
		}
	}
	for _, name := range documents(t) {
		look(name, outsideFences(read(t, name)))
	}
	look("ops.yaml", read(t, "ops.yaml"))
	list, err := public.Packages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range list {
		look(dir, documentation(t, dir))
	}
}

// documentation returns the comments that godoc shows of a package.
func documentation(t *testing.T, dir string) string {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	d, err := doc.NewFromFiles(set, files, module+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	add := func(text string) { b.WriteString(text + "\n") }
	values := func(list []*doc.Value) {
		for _, v := range list {
			add(v.Doc)
		}
	}
	functions := func(list []*doc.Func) {
		for _, f := range list {
			add(f.Doc)
		}
	}
	add(d.Doc)
	values(d.Consts)
	values(d.Vars)
	functions(d.Funcs)
	for _, tp := range d.Types {
		add(tp.Doc)
		values(tp.Consts)
		values(tp.Vars)
		functions(tp.Funcs)
		functions(tp.Methods)
		ast.Inspect(tp.Decl, func(n ast.Node) bool { // fields and methods of interfaces
			if f, ok := n.(*ast.Field); ok && f.Doc != nil {
				add(f.Doc.Text())
			}
			return true
		})
	}
	if b.Len() == 0 {
		t.Fatalf("%s has no documentation", dir)
	}
	return b.String()
}

// snake finds words joined by underscores.
var snake = regexp.MustCompile(`\b[A-Za-z][a-z0-9]*(_[a-z0-9]+)+\b`)

// foreign are the names with underscores that the documentation of package tensor may have:
// PyTorch's, where this package has another.
var foreign = map[string]bool{"min_val": true, "max_val": true, "rounding_mode": true}

// TestGoNames looks in the documentation of operators for names that Go does not have.
func TestGoNames(t *testing.T) {
	for _, dir := range []string{"generated/tensor", "generated/tensor/out"} {
		text := documentation(t, dir)
		for _, at := range snake.FindAllStringIndex(text, -1) {
			if word := text[at[0]:at[1]]; !foreign[word] {
				t.Errorf("%s: %s in %q", dir, word, text[max(at[0]-60, 0):min(at[1]+30, len(text))])
			}
		}
	}
}

// TestOptionsLine asks each function that takes options to say which.
func TestOptionsLine(t *testing.T) {
	for _, dir := range []string{"generated/tensor", "generated/tensor/out"} {
		names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || !f.Name.IsExported() || len(f.Type.Params.List) == 0 {
					continue
				}
				last := f.Type.Params.List[len(f.Type.Params.List)-1]
				if len(last.Names) != 1 || last.Names[0].Name != "opts" {
					continue
				}
				found++
				if !strings.Contains(strings.Join(strings.Fields(f.Doc.Text()), " "), "Options: ") {
					t.Errorf("%s: the documentation of %s names no option", dir, f.Name.Name)
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no function takes options", dir)
		}
	}
}
