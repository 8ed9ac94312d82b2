// Package standard is the table of the operators that the ONNX standard defines: every
// version of each with its inputs, outputs, attributes and types, and the function that
// stands for it where the standard gives one. operators.py writes it from the standard's
// own definitions. The package knows nothing of how an operator is computed.
package standard

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed operators.txt
var text string

// An Operator is one version of an operator.
type Operator struct {
	Domain, Name string
	Since        int // the version of the domain that brought it
	Deprecated   bool
	Inputs       []Formal
	Outputs      []Formal
	Attributes   []Attribute
	Types        map[string][]string // the types that each variable stands for
	bodies       []body
}

// A Formal is an input or an output. Its type is a variable of Types or a type.
type Formal struct {
	Name     string
	Optional bool
	Variadic bool // the last one stands for any number of values
	Alike    bool // those are all of one type
	Type     string
}

// An Attribute is what a node may say, and what holds where it does not.
type Attribute struct {
	Name       string
	Kind       string
	Required   bool
	Default    string // a list is separated by commas
	HasDefault bool
}

// A body is the function for models of an opset from that version on.
type body struct {
	opset int
	text  string
}

// Find returns the version of an operator that holds in a version of its domain. Known
// says whether there is the operator in any version.
func Find(domain, name string, opset int) (op *Operator, known bool) {
	var text string
	for rest := places().operators[key{domain, name}]; rest != ""; {
		var version string
		version, rest = section(rest)
		known = true
		if since(version) > opset {
			break
		}
		text = version
	}
	if text == "" {
		return nil, known
	}
	return read(text), known
}

// Newest returns the newest version of a domain, 0 where the standard has no such one.
func Newest(domain string) int { return places().newest[domain] }

// Names returns the operators of a domain.
func Names(domain string) []string {
	var names []string
	for k := range places().operators {
		if k.domain == domain {
			names = append(names, k.name)
		}
	}
	return names
}

// Attribute returns the attribute called name.
func (o *Operator) Attribute(name string) (Attribute, bool) {
	for _, a := range o.Attributes {
		if a.Name == name {
			return a, true
		}
	}
	return Attribute{}, false
}

// Body returns the function that stands for the operator in models of an opset, as the
// bytes of its message, and the opset that its nodes are of; none where there is none.
func (o *Operator) Body(opset int) (message []byte, of int, err error) {
	found := body{}
	for _, b := range o.bodies {
		if b.opset <= opset {
			found = b
		}
	}
	if found.text == "" {
		return nil, 0, nil
	}
	message, err = base64.StdEncoding.DecodeString(found.text)
	return message, found.opset, err
}

type key struct{ domain, name string }

// An index says where the text has what. Models use few operators, which are read when they
// are asked for: all of them would take a megabyte.
type index struct {
	operators map[key]string // versions in ascending order, one section after the other
	newest    map[string]int
}

// places finds the sections of the text when it is first asked for. The text is a part of the
// program, so a mistake in it is one of the program's.
var places = sync.OnceValue(func() index {
	at := index{operators: map[key]string{}, newest: map[string]int{}}
	for rest := text; rest != ""; {
		var now string
		if !strings.HasPrefix(rest, "op\t") {
			if now, rest, _ = strings.Cut(rest, "\n"); strings.HasPrefix(now, "opset\t") {
				f := strings.Split(now, "\t")
				at.newest[f[1]] = number(f[2])
			}
			continue
		}
		start, name := rest, header(rest)
		for strings.HasPrefix(rest, "op\t") && header(rest) == name {
			_, rest = section(rest)
		}
		at.operators[name] = start[:len(start)-len(rest)]
	}
	return at
})

// header returns the operator that a section is of.
func header(section string) key {
	domain, rest, _ := strings.Cut(section[len("op\t"):], "\t")
	name, _, _ := strings.Cut(rest, "\t")
	return key{domain, name}
}

// since returns the version of the domain that brought what a section is of.
func since(section string) int {
	line, _, _ := strings.Cut(section, "\n")
	return number(strings.Split(line, "\t")[3])
}

// section splits the first version of an operator from a text that begins with one.
func section(text string) (first, rest string) {
	for rest = text; rest != ""; {
		if _, rest, _ = strings.Cut(rest, "\n"); strings.HasPrefix(rest, "op") || strings.HasPrefix(rest, "#") { // of an operator or an opset
			break
		}
	}
	return text[:len(text)-len(rest)], rest
}

// The operators that were read, by their sections.
var kept sync.Map

// read returns the operator that a section has.
func read(section string) *Operator {
	if o, ok := kept.Load(section); ok {
		return o.(*Operator)
	}
	o := &Operator{Types: map[string][]string{}}
	for line := range strings.Lines(section) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "op":
			o.Domain, o.Name, o.Since, o.Deprecated = f[1], f[2], number(f[3]), len(f) > 4
		case "type":
			o.Types[f[1]] = strings.Split(f[2], ",")
		case "in":
			o.Inputs = append(o.Inputs, formal(f))
		case "out":
			o.Outputs = append(o.Outputs, formal(f))
		case "attr":
			o.Attributes = append(o.Attributes, Attribute{f[1], f[2], f[3] == "1", f[4], f[4] != ""})
		case "body":
			o.bodies = append(o.bodies, body{number(f[1]), f[2]})
		}
	}
	got, _ := kept.LoadOrStore(section, o)
	return got.(*Operator)
}

func formal(f []string) Formal {
	return Formal{Name: f[1], Optional: f[2] == "optional", Variadic: f[2] == "variadic" || f[2] == "alike", Alike: f[2] == "alike", Type: f[3]}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("operators.txt: %q is no number", s))
	}
	return n
}
