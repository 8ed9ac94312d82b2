package schema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"go.yaml.in/yaml/v4"
)

// A document is one YAML file: its tree and its text, for exact positions.
type document struct {
	*reporter
	file  string
	lines []string
}

// read parses the one document in data. It returns nil after a mistake in the
// YAML itself, which hides what follows.
func (d *document) read(data []byte) *yaml.Node {
	d.lines = strings.Split(string(data), "\n")
	dec, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		d.errorf(Pos{d.file, 1, 1}, "%v", err)
		return nil
	}
	var root, second yaml.Node
	if err := dec.Load(&root); err != nil {
		d.yamlError(err)
		return nil
	}
	if err := dec.Load(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			d.yamlError(err)
		} else {
			d.errorf(d.pos(&second), "a schema is one YAML document, and this is a second one")
		}
		return nil
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		d.errorf(Pos{d.file, 1, 1}, "the schema is empty")
		return nil
	}
	before := len(d.errs)
	d.plain(root.Content[0])
	if len(d.errs) > before {
		return nil
	}
	return root.Content[0]
}

func (d *document) yamlError(err error) {
	pos, msg := Pos{d.file, 1, 1}, err.Error()
	var le *yaml.LoadError
	switch {
	case errors.Is(err, io.EOF):
		msg = "the schema is empty"
	case errors.As(err, &le):
		msg = "YAML: " + le.Message
		if strings.Contains(le.Message, "unknown anchor") {
			msg = aliasMessage
		}
		if le.ContextMsg != "" {
			msg = fmt.Sprintf("YAML: %s: %s", le.ContextMsg, le.Message)
		}
		if le.Mark.Line > 0 {
			pos.Line, pos.Col = le.Mark.Line, max(le.Mark.Column, 1)
		}
	}
	d.errorf(pos, "%s", msg)
}

const aliasMessage = "aliases are not part of a schema; quote a text that begins with *"

// plain reports the parts of YAML that a schema does without.
func (d *document) plain(n *yaml.Node) {
	switch {
	case n.Kind == yaml.AliasNode:
		d.errorf(d.pos(n), aliasMessage)
		return
	case n.Anchor != "":
		d.errorf(d.pos(n), "anchors are not part of a schema; quote a text that begins with &")
	case n.Tag == "!!merge":
		d.errorf(d.pos(n), "merge keys are not part of a schema")
	case n.Style&yaml.TaggedStyle != 0:
		d.errorf(d.pos(n), "YAML tags are not part of a schema; quote a text that begins with !")
	}
	for _, c := range n.Content {
		d.plain(c)
	}
}

func (d *document) pos(n *yaml.Node) Pos {
	return Pos{d.file, max(n.Line, 1), max(n.Column, 1)}
}

// A field is one key of a mapping with its value.
type field struct {
	name string
	key  *yaml.Node
	val  *yaml.Node
}

// fields returns the entries of a mapping; what is the mapping's name in
// messages. Duplicates and keys that are not plain names are mistakes.
func (d *document) fields(n *yaml.Node, what string) []field {
	if n.Kind != yaml.MappingNode {
		d.errorf(d.pos(n), "%s: want a mapping, have %s", what, kindName(n))
		return nil
	}
	var out []field
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.errorf(d.pos(k), "%s: a key must be a name, have %s", what, kindName(k))
			continue
		}
		if first := seen[k.Value]; first != nil {
			d.errorf(d.pos(k), "%s: key %q is already at line %d", what, k.Value, first.Line)
			continue
		}
		seen[k.Value] = k
		out = append(out, field{k.Value, k, v})
	}
	return out
}

// known returns the entries of a mapping by name; keys not listed are mistakes.
func (d *document) known(n *yaml.Node, what string, keys ...string) map[string]field {
	out := map[string]field{}
	for _, f := range d.fields(n, what) {
		if !slices.Contains(keys, f.name) {
			if n.Style&yaml.FlowStyle != 0 && strings.ContainsAny(f.name, "()") {
				d.errorf(d.pos(f.key), "%s: unknown key %q: a comma ends a text between braces; quote the text that has it", what, f.name)
				continue
			}
			d.errorf(d.pos(f.key), "%s: unknown key %q (have %s)%s", what, f.name, strings.Join(keys, ", "), expr.DidYouMean(f.name, keys))
			continue
		}
		out[f.name] = f
	}
	return out
}

// list returns the items of a sequence.
func (d *document) list(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		d.errorf(d.pos(n), "%s: want a list, have %s", what, kindName(n))
		return nil
	}
	return n.Content
}

// text returns a scalar's text. Ok is false, and the mistake reported, where
// there is none.
func (d *document) text(n *yaml.Node, what string) (s string, ok bool) {
	if n.Kind != yaml.ScalarNode {
		d.errorf(d.pos(n), "%s: want a text, have %s", what, kindName(n))
		return "", false
	}
	if n.Tag == "!!null" || strings.TrimSpace(n.Value) == "" {
		d.errorf(d.pos(n), "%s is empty", what)
		return "", false
	}
	return n.Value, true
}

// number returns a scalar as a host number: bool, int, float or complex.
func (d *document) number(n *yaml.Node, what string) (ir.Scalar, bool) {
	if n.Kind == yaml.ScalarNode {
		if s, ok := parseNumber(n.Value); ok {
			return s, true
		}
	}
	d.errorf(d.pos(n), "%s: want a number or a bool, have %s", what, kindName(n))
	return ir.Scalar{}, false
}

// float returns a scalar as a real number.
func (d *document) float(n *yaml.Node, what string) (float64, bool) {
	if n.Kind == yaml.ScalarNode {
		s, ok := parseNumber(n.Value)
		if ok && (s.Category() == ir.CategoryInt || s.Category() == ir.CategoryFloat) {
			return s.Float(), true
		}
	}
	d.errorf(d.pos(n), "%s: want a real number, have %s", what, kindName(n))
	return 0, false
}

// ints returns a list of integers.
func (d *document) ints(n *yaml.Node, what string) ([]int, bool) {
	if n.Kind != yaml.SequenceNode {
		d.errorf(d.pos(n), "%s: want a list of integers, have %s", what, kindName(n))
		return nil, false
	}
	out := make([]int, 0, len(n.Content))
	for _, c := range n.Content {
		i, err := strconv.Atoi(c.Value)
		if c.Kind != yaml.ScalarNode || err != nil {
			d.errorf(d.pos(c), "%s: want an integer, have %s", what, kindName(c))
			return nil, false
		}
		out = append(out, i)
	}
	return out, true
}

// parseNumber reads a bool, an integer, a real or a complex number as Go and
// YAML write them.
func parseNumber(s string) (ir.Scalar, bool) {
	switch strings.ToLower(s) {
	case "true", "false":
		return ir.BoolScalar(strings.ToLower(s) == "true"), true
	case "nan", ".nan":
		return ir.FloatScalar(math.NaN()), true
	case "inf", "+inf", ".inf", "+.inf":
		return ir.FloatScalar(math.Inf(1)), true
	case "-inf", "-.inf":
		return ir.FloatScalar(math.Inf(-1)), true
	}
	if i, err := strconv.ParseInt(s, 0, 64); err == nil {
		return ir.IntScalar(i), true
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return ir.FloatScalar(f), true
	}
	if strings.HasSuffix(s, "i") {
		if c, err := strconv.ParseComplex(s, 128); err == nil {
			return ir.ComplexScalar(c), true
		}
	}
	return ir.Scalar{}, false
}

func kindName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

// A source is the text of one scalar, which knows where its characters stand.
type source struct {
	text string
	doc  *document
	node *yaml.Node
}

func (d *document) source(n *yaml.Node) source { return source{n.Value, d, n} }

// at returns the position of the byte at offset in the text. Folding and
// indentation change only white space, so the offset is found again in the
// file by counting the other characters.
func (s source) at(offset int) Pos {
	start := s.doc.pos(s.node)
	offset = min(max(offset, 0), len(s.text))
	line, col := start.Line, start.Col
	switch {
	case s.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		line, col = line+1, 1
	case s.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		col++
		if strings.ContainsAny(s.text, "'\"\\\n\t") {
			return start // escapes: the characters do not correspond
		}
	}
	skip := 0 // visible characters before offset
	for _, r := range s.text[:offset] {
		if visible(r) {
			skip++
		}
	}
	for ; line <= len(s.doc.lines); line, col = line+1, 1 {
		at := 0 // the character's column
		for _, r := range s.doc.lines[line-1] {
			at++
			switch {
			case at < col || !visible(r):
			case skip == 0:
				return Pos{start.File, line, at}
			default:
				skip--
				if skip == 0 && strings.TrimSpace(s.text[offset:]) == "" {
					return Pos{start.File, line, at + 1} // just past the end
				}
			}
		}
	}
	return start
}

// visible reports whether r is no white space. Nearly all of a schema is ASCII.
func visible(r rune) bool {
	return '!' <= r && r <= '~' || !unicode.IsSpace(r)
}

// runes counts the characters of s, the unit of columns.
func runes(s string) int { return utf8.RuneCountInString(s) }
