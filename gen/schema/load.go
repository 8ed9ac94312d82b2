package schema

import (
	"fmt"
	"go/token"
	"os"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"
)

// Version is the version of the grammar that this package reads.
const Version = "1"

// Load reads and checks the schema file at path. Base is the schema whose
// operators it may refer to besides its own, or nil. The error is an Errors
// when the schema is wrong.
func Load(path string, base *Spec) (*Spec, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return Parse(path, data, base)
}

// Parse checks the schema in data, which is called name in errors. Base is as
// for Load. Every mistake is found in one run: the error is an Errors.
func Parse(name string, data []byte, base *Spec) (*Spec, error) {
	return parse(name, data, base, irVocabulary())
}

// parse is Parse with a vocabulary to be given, for tests. A mistake leaves no Spec: what
// comes after this package relies on every field being as the checks say.
func parse(name string, data []byte, base *Spec, vocab vocabulary) (*Spec, error) {
	d := &document{reporter: &reporter{}, file: name}
	root := d.read(data)
	if root == nil {
		return nil, d.err()
	}
	l := &loader{document: d, spec: &Spec{Base: base, Imports: map[string]string{}}, vocab: vocab}
	l.schema(root)
	l.reporter.op = ""
	if err := d.err(); err != nil {
		return nil, err
	}
	return l.spec, nil
}

// A loader turns the tree of one file into a Spec.
type loader struct {
	*document
	spec    *Spec
	vocab   vocabulary
	entries []*entry

	imports     map[string]field
	usedImports map[string]bool
	byName      map[string]*entry
}

// An entry is an operator while it is read.
type entry struct {
	op     *Op
	at     Pos // of the entry
	keys   map[string]field
	sig    source
	parsed bool // the signature has no mistake of syntax
	bodied bool // the body is there and has no mistake that hides its gradient

	unused   []*Param // parameters that nothing read so far names
	unusedIn string   // the body
}

// schema reads the whole file. It goes on after mistakes, so that one run tells all of
// them; what depends on a part that failed is left out rather than reported again.
func (l *loader) schema(root *yaml.Node) {
	keys := l.known(root, "schema", "schema", "package", "imports", "options", "groups")
	if f, ok := keys["schema"]; !ok {
		l.errorf(l.pos(root), "key schema is missing: want schema: %s", Version)
	} else if f.val.Value != Version {
		l.errorf(l.pos(f.val), "schema: this generator reads version %s, have %s", Version, kindName(f.val))
	}
	if f, ok := keys["package"]; !ok {
		l.errorf(l.pos(root), "key package is missing: want the name of the package to emit")
	} else if s, ok := l.text(f.val, "package"); ok {
		if !token.IsIdentifier(s) || s != strings.ToLower(s) {
			l.errorf(l.pos(f.val), "package: want a lower-case Go package name, have %q", s)
		}
		l.spec.Package = s
	}
	l.usedImports = map[string]bool{}
	if f, ok := keys["imports"]; ok {
		l.readImports(f.val)
	}
	f, ok := keys["groups"]
	if !ok {
		l.errorf(l.pos(root), "key groups is missing: want a list of groups")
		return
	}
	l.groups(f.val)
	l.operators()
	if f, ok := keys["options"]; ok {
		l.options(f.val)
	}
	for name, f := range l.imports {
		if !l.usedImports[name] {
			l.errorf(l.pos(f.key), "import %q is not used", name)
		}
	}
}

// readImports notes the Go packages that entries may name. They are not looked at: a
// schema is checked without building Go, and the compiler checks what is emitted.
func (l *loader) readImports(n *yaml.Node) {
	l.imports = map[string]field{}
	for _, f := range l.fields(n, "imports") {
		path, ok := l.text(f.val, "import")
		switch {
		case !ok:
		case !token.IsIdentifier(f.name):
			l.errorf(l.pos(f.key), "import %q: want a Go name for the package", f.name)
		case strings.ContainsAny(path, " \t\n\"`\\") || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "."):
			l.errorf(l.pos(f.val), "import %s: %q is not an import path", f.name, path)
		default:
			l.spec.Imports[f.name] = path
			l.imports[f.name] = f
		}
	}
}

// options reads what the schema's options are: of each name some operator has one.
func (l *loader) options(n *yaml.Node) {
	l.spec.Options = map[string]string{}
	for _, f := range l.fields(n, "options") {
		text, ok := l.text(f.val, "option")
		switch {
		case !ok:
		case !slices.ContainsFunc(l.spec.Ops, func(op *Op) bool {
			return slices.ContainsFunc(op.Params, func(p *Param) bool { return p.Option && p.Name == f.name })
		}):
			l.errorf(l.pos(f.key), "option %q is none of any operator's", f.name)
		default:
			l.spec.Options[f.name] = text
		}
	}
}

func (l *loader) groups(n *yaml.Node) {
	l.byName = map[string]*entry{}
	seen := map[string]Pos{}
	for _, item := range l.list(n, "groups") {
		keys := l.known(item, "group", "group", "doc", "cuda", "ops")
		g := &Group{}
		for _, k := range []struct {
			key string
			to  *string
		}{{"group", &g.Name}, {"doc", &g.Doc}} {
			if f, ok := keys[k.key]; ok {
				*k.to, _ = l.text(f.val, k.key)
			} else if item.Kind == yaml.MappingNode {
				l.errorf(l.pos(item), "group: key %s is missing", k.key)
			}
		}
		if first, ok := seen[g.Name]; ok && g.Name != "" {
			l.errorf(l.pos(item), "group %q is already at line %d", g.Name, first.Line)
		}
		seen[g.Name] = l.pos(item)
		if f, ok := keys["cuda"]; ok {
			g.Cuts = l.cuts(f.val)
		}
		l.spec.Groups = append(l.spec.Groups, g)
		if f, ok := keys["ops"]; ok {
			for _, e := range l.list(f.val, "ops") {
				l.declare(g, e)
			}
		} else if item.Kind == yaml.MappingNode {
			l.errorf(l.pos(item), "group: key ops is missing")
		}
	}
}

// cuts reads the names before which a group's device code goes to the next file.
func (l *loader) cuts(n *yaml.Node) (names []string) {
	for _, item := range l.list(n, "cuda") {
		name, ok := l.text(item, "cuda")
		switch {
		case !ok:
		case !snakeCase(name):
			l.errorf(l.pos(item), "cuda: want the name of an operator, have %q", name)
		case len(names) > 0 && name <= names[len(names)-1]:
			l.errorf(l.pos(item), "cuda: %s does not come after %s in the alphabet", name, names[len(names)-1])
		default:
			names = append(names, name)
		}
	}
	return names
}

// entryKeys are the keys of an operator's entry.
var entryKeys = []string{"op", "go", "doc", "result", "dtypes", "differs", "promote", "shape", "expr", "reduce", "scan", "view", "compose", "kernel", "parts", "code", "require", "special", "grad", "tags", "test", "bench"}

// declare reads the signature of an entry, so that others can refer to it.
func (l *loader) declare(g *Group, n *yaml.Node) {
	if n.Kind == yaml.MappingNode { // the name, for messages about its keys
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "op" {
				name := strings.IndexFunc(n.Content[i+1].Value+"(", func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
				l.reporter.op = n.Content[i+1].Value[:name]
			}
		}
	}
	defer func() { l.reporter.op = "" }()
	e := &entry{at: l.pos(n), keys: l.known(n, "entry", entryKeys...)}
	f, ok := e.keys["op"]
	if !ok {
		if n.Kind == yaml.MappingNode {
			l.errorf(e.at, "entry: key op is missing")
		}
		return
	}
	text, ok := l.text(f.val, "op")
	if !ok {
		return
	}
	e.sig = l.source(f.val)
	sig, errs := parseSignature(text, e.sig.at)
	for _, err := range errs {
		l.errorf(e.sig.at(err.offset), "%s", err.msg)
	}
	if sig.name == "" {
		return
	}
	e.parsed = len(errs) == 0
	e.op = &Op{Name: sig.name, GoName: GoName(sig.name), Group: g.Name, Pos: l.pos(f.val), Params: sig.params, Results: sig.results}
	l.reporter.op = sig.name
	if first := l.byName[sig.name]; first != nil {
		l.errorf(e.op.Pos, "already defined at line %d", first.op.Pos.Line)
		return
	}
	if l.spec.Base != nil && l.spec.Base.Lookup(sig.name) != nil {
		l.errorf(e.op.Pos, "already defined by the standard schema; choose another name")
		return
	}
	l.byName[sig.name] = e
	l.entries = append(l.entries, e)
	g.Ops = append(g.Ops, e.op)
}

// operators checks every entry, now that all of them are declared. The steps' order is that
// of what they ask: describe settles the dtypes that bodies are typed for, a body says
// which gradients can be derived, and tests and benchmarks call what is complete.
func (l *loader) operators() {
	for _, e := range l.entries {
		l.spec.Ops = append(l.spec.Ops, e.op)
	}
	slices.SortFunc(l.spec.Ops, func(a, b *Op) int { return strings.Compare(a.Name, b.Name) })
	for _, step := range []func(*entry){l.describe, l.require, l.body, l.parts, l.special, l.grad, l.test, l.bench} {
		for _, e := range l.entries {
			l.reporter.op = e.op.Name
			step(e)
		}
	}
	l.recursion()
	l.stranded()
	l.reporter.op = ""
	l.collisions()
}

// lang returns a checker of the tensor language for one text of e's entry. What the text
// must give is what the operator gives, unless the caller says otherwise.
func (l *loader) lang(e *entry, n *yaml.Node) *lang {
	x := &lang{
		document: l.document, spec: l.spec, vocab: l.vocab, src: l.source(n),
		names: map[string]*binding{},
	}
	x.results = len(e.op.Results)
	x.list = x.results == 1 && e.op.Results[0].List
	return x
}

// goRef reads pkg.Func, where pkg is imported.
func (l *loader) goRef(n *yaml.Node, what string) (GoRef, bool) {
	s, ok := l.text(n, what)
	if !ok {
		return GoRef{}, false
	}
	return l.goFuncRef(n, s, what)
}

// goFuncRef checks pkg.Func, which n holds.
func (l *loader) goFuncRef(n *yaml.Node, s, what string) (GoRef, bool) {
	pkg, fn, dot := strings.Cut(s, ".")
	if !dot || !token.IsIdentifier(pkg) || !token.IsIdentifier(fn) || !token.IsExported(fn) {
		l.errorf(l.pos(n), "%s: want an exported Go function as pkg.Func, have %q", what, s)
		return GoRef{}, false
	}
	return GoRef{Pkg: pkg, Func: fn, Pos: l.pos(n)}, l.imported(l.pos(n), pkg)
}

// imported reports whether the schema imports a package, and a mistake if it does not.
func (l *loader) imported(pos Pos, pkg string) bool {
	l.usedImports[pkg] = true
	_, ok := l.imports[pkg]
	if !ok {
		l.errorf(pos, "package %q is not among the schema's imports", pkg)
	}
	return ok
}
