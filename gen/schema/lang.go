package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// A lang checks one piece of the tensor language: a body or a gradient, or the
// call of a shape or view rule.
type lang struct {
	*document
	spec  *Spec
	vocab vocabulary
	src   source
	fset  *token.FileSet
	skew  int // bytes put before the source for the Go parser

	names  map[string]*binding
	first  *firstArg // set while a call's function is chosen
	failed bool      // a mistake was reported

	results int  // values a return gives
	list    bool // the one value is a []Tensor
}

// A binding is what a name stands for.
type binding struct {
	typ   Type
	param *Param // or nil
	op    *Op    // typ == Several: the operator whose results these are
	local bool   // defined in the block
	grad  bool   // the gradient of one of several results, which may not have reached it
	used  bool
	pos   Pos
}

// bind makes a name visible, also over one of the same name: newName refuses that where
// a schema would do it.
func (l *lang) bind(name string, b binding) { l.names[name] = &b }

// bindParams makes an operator's parameters visible.
func (l *lang) bindParams(op *Op) {
	for _, p := range op.Params {
		l.bind(p.Name, binding{typ: p.Type, param: p})
	}
}

// at returns where in the schema's file a position in the parsed text is.
func (l *lang) at(p token.Pos) Pos {
	return l.src.at(l.fset.Position(p).Offset - l.skew)
}

// mistake reports and returns the value that stands for one: it has no type, and what is
// made of it is not reported again.
func (l *lang) mistake(p token.Pos, format string, args ...any) Value {
	l.failed = true
	l.errorf(l.at(p), format, args...)
	return Value{}
}

const blockHead = "package p; func _() {\n"

// block checks a body: one expression, or statements that end in a return. It
// returns nil after a mistake of syntax.
func (l *lang) block() *Block {
	l.fset, l.skew = token.NewFileSet(), 0
	b := &Block{Pos: l.src.at(0)}
	text := callable(l.src.text)
	e, err := parser.ParseExprFrom(l.fset, "", text, parser.SkipObjectResolution)
	if err == nil {
		b.Stmts = []Stmt{l.returned(e.Pos(), []ast.Expr{e})}
		return b
	}
	if !strings.Contains(l.src.text, "return") && !strings.Contains(l.src.text, ":=") {
		l.syntax(err)
		return nil
	}
	l.fset, l.skew = token.NewFileSet(), len(blockHead)
	f, err := parser.ParseFile(l.fset, "", blockHead+text+"\n}", parser.SkipObjectResolution)
	if err != nil {
		l.syntax(err)
		return nil
	}
	if len(f.Decls) != 1 {
		l.errorf(l.src.at(0), "want statements, have more than one function body")
		return nil
	}
	body := f.Decls[0].(*ast.FuncDecl).Body
	for i, s := range body.List {
		b.Stmts = append(b.Stmts, l.stmt(s, i == len(body.List)-1)...)
	}
	if len(body.List) == 0 {
		l.errorf(b.Pos, "the body is empty")
	}
	l.leave(nil)
	return b
}

// leave ends the scope of the names defined since outer was taken.
func (l *lang) leave(outer map[string]*binding) {
	for name, b := range l.names {
		if outer[name] == nil && b.local {
			if !b.used && !l.failed {
				l.errorf(b.pos, "%q is defined and not used", name)
			}
			delete(l.names, name)
		}
	}
}

// statementWords are the keywords that the tensor language itself uses, or that
// Go allows before a parenthesis.
var statementWords = []string{"if", "else", "return", "for", "func", "switch", "case"}

// callable returns src with calls of operators that have a keyword's name, such
// as var(x), in the form that Go's parser accepts: with a capital, which no
// operator's name has. Offsets stay the same.
func callable(src string) string {
	var sc scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(src))
	sc.Init(file, []byte(src), func(token.Position, string) {}, 0)
	out := []byte(src)
	word := -1 // offset of the keyword just read
	for {
		pos, tok, lit := sc.Scan()
		switch {
		case tok == token.EOF:
			return string(out)
		case tok == token.LPAREN && word >= 0:
			out[word] -= 'a' - 'A'
			word = -1
		case tok.IsKeyword() && !slices.Contains(statementWords, lit):
			word = file.Offset(pos)
		default:
			word = -1
		}
	}
}

// operatorName returns the operator's name that callable may have changed.
func operatorName(name string) string {
	if low := strings.ToLower(name); isKeyword(low) {
		return low
	}
	return name
}

// syntax reports the mistakes of the Go parser.
func (l *lang) syntax(err error) {
	list, ok := err.(scanner.ErrorList)
	if !ok {
		l.errorf(l.src.at(0), "%v", err)
		return
	}
	e := list[0] // the rest tend to follow from the first
	l.errorf(l.src.at(e.Pos.Offset-l.skew), "%s", e.Msg)
}

// stmt checks one statement of a block. A block is definitions and early returns, and ends
// with its only unconditional return, so that every way through it is straight: emitters
// and the analysis of rounding go over the ways one by one.
func (l *lang) stmt(s ast.Stmt, last bool) []Stmt {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		if !last {
			l.mistake(s.Pos(), "statements after a return never run")
		}
		return []Stmt{l.returned(s.Pos(), s.Results)}
	case *ast.AssignStmt:
		if last {
			l.mistake(s.Pos(), "the last statement must be a return")
		}
		return l.define(s)
	case *ast.IfStmt:
		if last {
			l.mistake(s.Pos(), "the last statement must be a return")
		}
		return l.early(s)
	}
	l.mistake(s.Pos(), "want name := value, if condition { return value }, or return value")
	return nil
}

// early checks if condition { definitions; return value }.
func (l *lang) early(s *ast.IfStmt) []Stmt {
	body := s.Body.List
	if s.Init != nil || s.Else != nil || len(body) == 0 {
		l.mistake(s.Pos(), "want if condition { return value }, without else")
		return nil
	}
	cond := l.value(s.Cond, nil)
	if cond.Type == Tensor {
		l.mistake(s.Cond.Pos(), "a condition is decided on the host; this is a tensor")
	} else {
		cond = l.convert(s.Cond, cond, Bool, "the condition")
	}
	outer := maps.Clone(l.names)
	var defs []Stmt
	for _, d := range body[:len(body)-1] {
		if a, ok := d.(*ast.AssignStmt); ok {
			defs = append(defs, l.define(a)...)
		} else {
			l.mistake(d.Pos(), "want name := value here")
		}
	}
	r, ok := body[len(body)-1].(*ast.ReturnStmt)
	if !ok {
		l.mistake(body[len(body)-1].Pos(), "an if ends in a return")
		return nil
	}
	out := l.returned(r.Pos(), r.Results)
	out.If, out.Body = &cond, defs
	l.leave(outer)
	return []Stmt{out}
}

// define checks names := value.
func (l *lang) define(s *ast.AssignStmt) []Stmt {
	if s.Tok != token.DEFINE {
		l.mistake(s.Pos(), "want :=, have %s; names are defined once", s.Tok)
		return nil
	}
	if len(s.Rhs) != 1 {
		l.mistake(s.Pos(), "define one value a statement")
		return nil
	}
	v := l.value(s.Rhs[0], nil)
	out := Stmt{Values: []Value{v}, Pos: l.at(s.Pos())}
	types := []Type{v.Type}
	if len(s.Lhs) > 1 {
		if v.Type != Several || len(v.Op.Results) != len(s.Lhs) {
			if v.Type != NoType {
				l.mistake(s.Pos(), "%d names for %s", len(s.Lhs), l.describe(v))
			}
			v.Type = NoType
		}
		types = make([]Type, len(s.Lhs)) // NoType after a mistake
		for i := range types {
			if v.Type != NoType {
				types[i] = Tensor
			}
		}
	}
	for i, e := range s.Lhs {
		id, ok := e.(*ast.Ident)
		if !ok {
			l.mistake(e.Pos(), "want a name left of :=")
			return nil
		}
		out.Names = append(out.Names, id.Name)
		if id.Name == "_" && len(s.Lhs) > 1 {
			continue
		}
		l.newName(id, types[i], v.Op)
	}
	out.Define = strings.Join(out.Names, ",")
	return []Stmt{out}
}

// newName defines a name. One that is visible is not defined again, not even in a branch,
// so a name stands for one value wherever it is read.
func (l *lang) newName(id *ast.Ident, t Type, op *Op) {
	if old := l.names[id.Name]; old != nil {
		l.mistake(id.Pos(), "%q is already defined", id.Name)
		return
	}
	if why := reservedParam(id.Name); why != "" {
		l.mistake(id.Pos(), "%q %s", id.Name, why)
	}
	l.bind(id.Name, binding{typ: t, op: op, local: true, pos: l.at(id.Pos())})
}

// returned checks the values of a return.
func (l *lang) returned(pos token.Pos, exprs []ast.Expr) Stmt {
	out := Stmt{Return: true, Pos: l.at(pos)}
	for _, e := range exprs {
		v := l.value(e, nil)
		switch {
		case v.Type == Several && len(exprs) == 1 && len(v.Op.Results) == l.results && l.results > 1:
			out.Values = []Value{v}
			return out
		case l.list && len(exprs) == 1:
			v = l.convert(e, v, TensorList, "the result")
		default:
			v = l.convert(e, v, Tensor, "the result")
		}
		out.Values = append(out.Values, v)
	}
	if len(exprs) != l.results {
		l.mistake(pos, "return gives %s, want %s", count(len(exprs), "value"), count(l.results, "value"))
	}
	return out
}

// describe names a value in messages.
func (l *lang) describe(v Value) string {
	switch {
	case v.Type == Several:
		return fmt.Sprintf("the %d results of %s", len(v.Op.Results), v.Op.Name)
	case v.Kind == LiteralValue && v.Literal.Nil:
		return "nil"
	case v.Type == Tensor || v.Type == TensorList:
		return "a " + v.Type.String()
	}
	return fmt.Sprintf("a value of type %v", v.Type)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
