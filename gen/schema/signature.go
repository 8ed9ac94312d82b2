package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sinter-go/sinter/ir"
)

// A signature is what an `op:` line says.
type signature struct {
	name    string
	params  []*Param
	results []Result
}

// A sigError is a mistake at a byte offset of a signature.
type sigError struct {
	offset int
	msg    string
}

// parseSignature reads "name(operands and arguments, *, options) -> results".
// The first mistake of syntax ends the reading; mistakes of meaning are all
// reported. at turns an offset into a position.
func parseSignature(src string, at func(offset int) Pos) (sig *signature, errs []sigError) {
	p := &sigParser{src: src, at: at, sig: &signature{}}
	// A sigError ends the reading from any depth; any other panic is a fault of the parser.
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(sigError)
			if !ok {
				panic(r)
			}
			sig, errs = p.sig, append(p.errs, e)
		}
	}()
	p.next()
	p.signature()
	return p.sig, p.errs
}

// A sigParser reads the signature, which has a grammar of its own: Go's has no defaults, no
// options after a star and no enums. Mistakes of meaning are collected; one of syntax ends
// the reading, since what follows cannot be told.
type sigParser struct {
	src  string
	at   func(int) Pos
	sig  *signature
	errs []sigError

	tok      string // current token; "" at the end
	from, to int    // its bytes

	options  bool // after *
	operands int
	attrs    int
}

// fail ends the reading at the current token.
func (p *sigParser) fail(format string, args ...any) {
	panic(sigError{p.from, fmt.Sprintf(format, args...)})
}

// mistake reports a mistake of meaning and lets the reading go on.
func (p *sigParser) mistake(offset int, format string, args ...any) {
	p.errs = append(p.errs, sigError{offset, fmt.Sprintf(format, args...)})
}

// next reads a token: a name or number, a string, "->", "[]", or one character.
func (p *sigParser) next() {
	rest := strings.TrimLeftFunc(p.src[p.to:], unicode.IsSpace)
	p.from = len(p.src) - len(rest)
	n := 0
	switch {
	case rest == "":
	case strings.HasPrefix(rest, "->"), strings.HasPrefix(rest, "[]"):
		n = 2
	case rest[0] == '"':
		n = strings.IndexByte(rest[1:], '"') + 2
		if n == 1 {
			p.fail("string is not closed")
		}
	default:
		for n < len(rest) && wordByte(rest, n) {
			n++
		}
		if n == 0 {
			_, n = utf8.DecodeRuneInString(rest)
		}
	}
	p.tok, p.to = rest[:n], p.from+n
}

// wordByte reports whether byte i of s continues a name or a number.
func wordByte(s string, i int) bool {
	c := s[i]
	switch {
	case c == '_' || c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		return true
	case c == '-' || c == '+': // a sign, or the sign of an exponent
		if i == 0 {
			return len(s) > 1 && s[1] != '>'
		}
		return (s[i-1] == 'e' || s[i-1] == 'E') && strings.ContainsAny(s[:1], "+-.0123456789")
	}
	return false
}

func (p *sigParser) got(tok string) bool {
	if p.tok != tok {
		return false
	}
	p.next()
	return true
}

func (p *sigParser) want(tok, where string) {
	if !p.got(tok) {
		p.fail("want %q %s, have %s", tok, where, p.found())
	}
}

func (p *sigParser) found() string {
	if p.tok == "" {
		return "the end"
	}
	return strconv.Quote(p.tok)
}

// name reads a snake_case name.
func (p *sigParser) name(what string) string {
	if p.tok == "" || !unicode.IsLetter(rune(p.tok[0])) && p.tok[0] != '_' {
		p.fail("want %s, have %s", what, p.found())
	}
	if !snakeCase(p.tok) {
		p.mistake(p.from, "%q is not a snake_case name", p.tok)
	}
	name := p.tok
	p.next()
	return name
}

// signature reads name(parameters) -> results.
func (p *sigParser) signature() {
	from := p.from
	p.sig.name = p.name("an operator's name")
	if slices.Contains(statementWords, p.sig.name) {
		p.mistake(from, "%q is a word of the tensor language; choose another name, and the Go name with the key go", p.sig.name)
	}
	p.want("(", "after the operator's name")
	for p.tok != ")" {
		p.param()
		if p.tok != ")" {
			p.want(",", "or \")\" after a parameter")
		}
	}
	p.next()
	if len(p.sig.params) > 0 && p.tok != "->" && (&Op{Params: p.sig.params}).Parallel() {
		p.sig.results = []Result{{Name: "out"}} // until the kernel says what it writes
	} else {
		p.arrow()
	}
	if p.tok != "" {
		p.fail("unexpected %s after the results", p.found())
	}
	p.checkParams()
}

// arrow reads "->" and the results.
func (p *sigParser) arrow() {
	from := p.from
	p.want("->", "after the parameters")
	p.results()
	if (&Op{Params: p.sig.params}).Parallel() {
		p.mistake(from, "an operator on lists of tensors (Tensor...) has no results; its kernel says what it writes")
	}
}

// param reads a parameter, or the star before options. Operands and attributes are numbered
// apart, in the order of the signature: these are the orders in descriptors and calls.
func (p *sigParser) param() {
	if p.tok == "*" {
		if p.options {
			p.mistake(p.from, "second * in the parameters")
		}
		p.options = true
		p.next()
		if p.tok == ")" {
			p.fail("no option after *")
		}
		return
	}
	from := p.from
	q := &Param{Pos: p.at(from), Option: p.options, Operand: -1, Attr: -1}
	q.Name = p.name("a parameter's name")
	if why := reservedParam(q.Name); why != "" {
		p.mistake(from, "parameter %q %s", q.Name, why)
	}
	for _, other := range p.sig.params {
		if other.Name == q.Name {
			p.mistake(from, "parameter %q is already declared", q.Name)
		} else if why := clash(q.Name, other.Name); why != "" {
			p.mistake(from, "parameter %q %s", q.Name, why)
		}
	}
	typeAt := p.from
	p.paramType(q)
	switch {
	case q.Optional && !q.Option:
		p.mistake(typeAt, "an optional operand %q must stand after *", q.Name)
	case q.Option && q.Type == Tensor && !q.Optional, q.Option && q.Type == TensorList:
		p.mistake(typeAt, "operand %q must stand before *, or be a Tensor?", q.Name)
	}
	p.paramDefault(q)
	if q.Type == Tensor || q.Type == TensorList {
		q.Operand = p.operands
		p.operands++
	} else {
		q.Attr = p.attrs
		p.attrs++
	}
	p.sig.params = append(p.sig.params, q)
}

// paramTypes are the types that are one word.
var paramTypes = map[string]Type{
	"Tensor": Tensor, "Tensor...": TensorList, "int": Int, "float": Float, "bool": Bool, "string": String,
	"Scalar": Scalar, "dtype": DType, "enum": Enum,
}

// paramType reads a type and what belongs to it: a mark, or the names of an enum.
func (p *sigParser) paramType(q *Param) {
	if p.got("[]") {
		switch {
		case p.got("int"):
			q.Type = Ints
		case p.got("Tensor"):
			q.Type = TensorList
		default:
			p.fail("want \"int\" or \"Tensor\" after \"[]\", have %s", p.found())
		}
		return
	}
	t, ok := paramTypes[p.tok]
	if !ok {
		p.fail("unknown type %s of parameter %q (have Tensor, Tensor?, []Tensor, Tensor..., Tensor|Scalar, int, float, bool, string, []int, Scalar, dtype, enum)", p.found(), q.Name)
	}
	q.Type = t
	p.next()
	switch t {
	case TensorList:
		q.Parallel = true
	case Tensor:
		if p.got("?") {
			q.Optional = true
		} else if p.got("|") {
			p.want("Scalar", "after \"Tensor|\"")
			q.OrScalar = true
		}
	case Enum:
		p.want("(", "after \"enum\"")
		for {
			from := p.from
			name := p.name("a name of the enum")
			if slices.Contains(q.Enum, name) {
				p.mistake(from, "enum %q has %q twice", q.Name, name)
			}
			q.Enum = append(q.Enum, name)
			if p.got(")") {
				return
			}
			p.want(",", "or \")\" in the enum")
		}
	}
}

// paramDefault reads a default. Options need one, others must have none: what stands before
// the star is given in every call.
func (p *sigParser) paramDefault(q *Param) {
	from := p.from
	if !p.got("=") {
		switch {
		case q.Optional:
			q.Default = Literal{Nil: true}
		case q.Option && q.Type != Tensor && q.Type != TensorList:
			p.mistake(from, "option %q needs a default", q.Name)
		}
		return
	}
	if !q.Option {
		p.mistake(from, "parameter %q has a default; only options (after *) have one", q.Name)
	}
	at := p.from
	lit, msg := p.literal(q)
	if msg != "" {
		p.mistake(at, "default of %q: %s", q.Name, msg)
	}
	q.Default = lit
}

// literal reads a default value. Msg tells what is wrong with it for q's type.
func (p *sigParser) literal(q *Param) (lit Literal, msg string) {
	if p.tok == "[" || p.tok == "[]" {
		return p.listLiteral(q)
	}
	tok := p.tok
	if tok == "" || strings.ContainsAny(tok, ",()*=|?]") {
		p.fail("want a default for %q, have %s", q.Name, p.found())
	}
	p.next()
	return parseLiteral(q, tok)
}

func (p *sigParser) listLiteral(q *Param) (lit Literal, msg string) {
	lit.Ints = []int{}
	if p.got("[]") {
		return lit, wantType(q, Ints)
	}
	p.next()
	for {
		i, err := strconv.Atoi(p.tok)
		if err != nil {
			p.fail("want an integer in the list, have %s", p.found())
		}
		lit.Ints = append(lit.Ints, i)
		p.next()
		if p.got("]") {
			return lit, wantType(q, Ints)
		}
		p.want(",", "or \"]\" in the list")
	}
}

func wantType(q *Param, t Type) string {
	if q.Type != t {
		return fmt.Sprintf("want %s, have a list", literalOf(q))
	}
	return ""
}

// parseLiteral reads one word as a value of q's type. Msg tells what is wrong.
func parseLiteral(q *Param, tok string) (lit Literal, msg string) {
	bad := fmt.Sprintf("want %s, have %q", literalOf(q), tok)
	if tok == "nil" {
		if q.Type == Ints || q.Type == DType || q.Optional {
			return Literal{Nil: true}, ""
		}
		return lit, bad
	}
	s, isNumber := parseNumber(tok)
	switch q.Type {
	case Int:
		isNumber = isNumber && s.Category() == ir.CategoryInt
	case Float:
		isNumber = isNumber && (s.Category() == ir.CategoryInt || s.Category() == ir.CategoryFloat)
		s = ir.FloatScalar(s.Float())
	case Bool:
		isNumber = isNumber && s.Category() == ir.CategoryBool
	case Scalar:
	case String:
		str, err := strconv.Unquote(tok)
		if err != nil {
			return lit, bad
		}
		return Literal{Str: str}, ""
	case Enum:
		if !slices.Contains(q.Enum, tok) {
			return lit, bad
		}
		return Literal{Str: tok}, ""
	case DType:
		dt, err := ir.ParseDType(tok)
		if err != nil {
			return lit, bad
		}
		return Literal{DType: dt}, ""
	default:
		return lit, bad
	}
	if !isNumber {
		return lit, bad
	}
	return Literal{Scalar: s}, ""
}

// literalOf describes the defaults that a parameter may have.
func literalOf(q *Param) string {
	switch q.Type {
	case Int:
		return "an integer"
	case Float:
		return "a real number"
	case Bool:
		return "true or false"
	case Scalar:
		return "a number"
	case String:
		return "a quoted string"
	case Enum:
		return "one of " + strings.Join(q.Enum, ", ")
	case DType:
		return "nil or a dtype"
	case Ints:
		return "nil or a list such as [1, 1]"
	}
	return "nil"
}

func (p *sigParser) results() {
	if !p.got("(") {
		p.sig.results = []Result{p.result("out")}
		return
	}
	for {
		from := p.from
		name := p.name("a result's name")
		if why := reservedParam(name); why != "" && name != "out" {
			p.mistake(from, "result %q %s", name, why)
		}
		for _, r := range p.sig.results {
			if r.Name == name {
				p.mistake(from, "result %q is already declared", name)
			} else if why := clash(name, r.Name); why != "" {
				p.mistake(from, "result %q %s", name, why)
			}
		}
		for _, q := range p.sig.params {
			if q.Name == name {
				p.mistake(from, "result %q has the name of a parameter", name)
			} else if why := clash(name, q.Name); why != "" {
				p.mistake(from, "result %q %s", name, why)
			}
		}
		at := p.from
		r := p.result(name)
		if r.List {
			p.mistake(at, "a []Tensor must be the only result, without a name")
		}
		p.sig.results = append(p.sig.results, r)
		if p.got(")") {
			return
		}
		p.want(",", "or \")\" in the results")
	}
}

// result reads "Tensor" or "[]Tensor" with an optional dtype, or acc.
func (p *sigParser) result(name string) Result {
	r := Result{Name: name}
	r.List = p.got("[]")
	p.want("Tensor", "as a result")
	if r.Acc = p.got("acc"); !r.Acc && p.tok != "" && p.tok != "," && p.tok != ")" {
		dt, err := codeDType(p.tok)
		if err != nil {
			p.fail("result %q: %v", name, err)
		}
		r.DType = dt
		p.next()
	}
	return r
}

// checkParams reports what only the whole list shows.
func (p *sigParser) checkParams() {
	var list *Param
	parallel := (&Op{Params: p.sig.params}).Parallel()
	for _, q := range p.sig.params {
		switch {
		case q.Operand < 0 || q.Parallel:
		case parallel:
			p.mistake(0, "operand %q must be a Tensor... as others are", q.Name)
		case list != nil && q.Type == TensorList:
			p.mistake(0, "a second list of operands, %q; one at most", q.Name)
		case list != nil:
			p.mistake(0, "operand %q stands after the list of operands %q, which must be last", q.Name, list.Name)
		case q.Type == TensorList:
			list = q
		}
	}
}
