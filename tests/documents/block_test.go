package documents_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/tests/public"
)

// A block is a fenced block of Go.
type block struct {
	line   int // of the first line of code, from 1
	code   string
	idle   bool    // compiled, not run: ```go norun
	output *string // what the ```text block behind it says that it prints
}

// A section is what stands below one heading. Its statements are one function, so
// that a block goes on with the variables of those before it.
type section struct {
	title  string
	blocks []block
}

// sections returns the parts of a document that have Go.
func sections(text string) []section {
	var (
		out   []section
		now   section
		fence string // the words behind ```, while in a block
		body  strings.Builder
		start int
		bare  bool // nothing but empty lines since the last block of Go
	)
	flush := func() {
		if len(now.blocks) > 0 {
			out = append(out, now)
		}
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		mark, fenced := strings.CutPrefix(strings.TrimRight(line, "\n"), "```")
		switch {
		case fenced && fence == "":
			fence, start = mark+" ", number+1
			body.Reset()
		case fenced:
			switch words := strings.Fields(fence); {
			case words[0] == "go" && !slices.ContainsFunc(words, isFile): // tests/extend builds the module of those
				now.blocks = append(now.blocks, block{line: start, code: body.String(), idle: slices.Contains(words, "norun")})
				bare = true
			case words[0] == "text" && bare:
				text := body.String()
				now.blocks[len(now.blocks)-1].output = &text
				bare = false
			default:
				bare = false
			}
			fence = ""
		case fence != "":
			body.WriteString(line)
		case heading.MatchString(strings.TrimRight(line, "\n")):
			flush()
			now, bare = section{title: strings.TrimSpace(strings.TrimLeft(line, "#"))}, false
		case strings.TrimSpace(line) != "":
			bare = false
		}
	}
	flush()
	return out
}

// isFile reports whether a word behind ``` says which file of a module the block is.
func isFile(word string) bool { return strings.HasPrefix(word, "file=") }

// packages are those that blocks name without importing them, by name.
var packages = func() map[string]string {
	list := map[string]string{
		"bytes": "bytes", "context": "context", "embed": "embed", "errors": "errors", "fmt": "fmt", "io": "io", "maps": "maps", "math": "math", "os": "os",
		"rand": "math/rand/v2", "slices": "slices", "strings": "strings", "time": "time", "log": "log", "slog": "log/slog", "filepath": "path/filepath",
	}
	ours, err := public.Packages(root)
	if err != nil {
		panic(err)
	}
	for _, p := range ours {
		list[path.Base(p)] = module + "/" + p
	}
	return list
}()

const module = "github.com/sinter-go/sinter"

// mark begins a line that says which block prints what follows.
const mark = "\x01block "

// declares reports whether a block holds declarations rather than statements.
func declares(code string) bool {
	for line := range strings.Lines(code) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" && word != "//" {
			return word == "type" || word == "func" || word == "import"
		}
	}
	return false
}

// program reports whether a block is a whole program.
func program(code string) bool { return strings.HasPrefix(code, "package main\n") }

// compiled returns a Go package that runs the blocks of a document when its function
// Run is called, as files by name. Compilers' messages name the document.
func compiled(name, document string, parts []section) (map[string][]byte, error) {
	var declarations, functions, run bytes.Buffer
	files := map[string][]byte{}
	at := func(b *bytes.Buffer, line int) { fmt.Fprintf(b, "//line %s:%d\n", document, line) }
	for s, part := range parts {
		fmt.Fprintf(&functions, "func section%d() error {\n", s)
		for i, blk := range part.blocks {
			show := fmt.Sprintf("fmt.Printf(\"\\n%%s\\n\", %q)\n", fmt.Sprintf("%s%s %d %d", mark, name, s, i))
			switch {
			case program(blk.code):
				entry := fmt.Sprintf("program%d_%d", s, i)
				code := strings.Replace(blk.code, "package main\n", "package "+name+"\n", 1)
				files[entry+".go"] = []byte(strings.Replace(code, "\nfunc main() {", "\nfunc "+entry+"() {", 1))
				fmt.Fprintf(&functions, "%s%s()\n", show, entry)
			case declares(blk.code):
				at(&declarations, blk.line)
				declarations.WriteString(blk.code)
			case blk.idle:
				functions.WriteString("_ = func() error {\n")
				at(&functions, blk.line)
				functions.WriteString(blk.code + "return nil\n}\n")
			default:
				functions.WriteString(show)
				at(&functions, blk.line)
				functions.WriteString(blk.code)
			}
		}
		functions.WriteString("return nil\n}\n")
		fmt.Fprintf(&run, "if err := section%d(); err != nil {\nfmt.Printf(\"\\n%%s\\n%%v\\n\", %q, err)\n}\n", s, fmt.Sprintf("%serror %s %d", mark, name, s))
	}
	source := declarations.String() + functions.String() + "func Run() {\n" + run.String() + "}\n"
	imports, err := imported("package " + name + "\n" + source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", document, err)
	}
	files["blocks.go"] = []byte("package " + name + "\n" + imports + source)
	return files, nil
}

// imported returns declarations of the imports that a file without any needs.
func imported(source string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
	if err != nil {
		return "", err
	}
	free := map[*ast.Ident]bool{}
	for _, id := range file.Unresolved {
		free[id] = true
	}
	used := map[string]bool{"fmt": true}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && free[id] && packages[id.Name] != "" {
				used[id.Name] = true
			}
		}
		return true
	})
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(used)) {
		fmt.Fprintf(&b, "import %s %q\n", name, packages[name])
	}
	return b.String(), nil
}

// TestBlocks holds the reading of documents to an example.
func TestBlocks(t *testing.T) {
	fence := "```"
	got := sections("# A\n\n" + fence + "go\nx := 1\n" + fence + "\n\n" + fence + "text\n1\n" + fence + "\n\n## B\n\n" + fence + "sh\nls\n" + fence +
		"\n\n## C\n\n" + fence + "go norun\ny()\n" + fence + "\nwords\n\n" + fence + "text\nno output\n" + fence + "\n")
	if len(got) != 2 || len(got[0].blocks) != 1 || len(got[1].blocks) != 1 {
		t.Fatalf("sections: %+v", got)
	}
	a, c := got[0].blocks[0], got[1].blocks[0]
	if a.line != 4 || a.code != "x := 1\n" || a.idle || a.output == nil || *a.output != "1\n" {
		t.Errorf("first block: %+v", a)
	}
	if c.code != "y()\n" || !c.idle || c.output != nil || got[1].title != "C" {
		t.Errorf("last block: %+v", c)
	}
}

// TestBlocksFormatted holds the Go of documents to gofmt's form.
func TestBlocksFormatted(t *testing.T) {
	for _, document := range running(t) {
		for _, part := range sections(read(t, document)) {
			for _, blk := range part.blocks {
				formatted, err := format.Source([]byte(blk.code))
				if err != nil {
					t.Errorf("%s:%d: %v", document, blk.line, err)
				} else if string(formatted) != blk.code {
					t.Errorf("%s:%d: not formatted; gofmt writes\n%s", document, blk.line, formatted)
				}
			}
		}
	}
}
