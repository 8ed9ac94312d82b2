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
	for _, o := range table().operators[[2]string{domain, name}] {
		known = true
		if o.Since <= opset {
			op = o
		}
	}
	return op, known
}

// Newest returns the newest version of a domain, 0 where the standard has no such one.
func Newest(domain string) int { return table().newest[domain] }

// Names returns the operators of a domain.
func Names(domain string) []string {
	var names []string
	for key := range table().operators {
		if key[0] == domain {
			names = append(names, key[1])
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

type contents struct {
	operators map[[2]string][]*Operator // versions in ascending order
	newest    map[string]int
}

// table parses the text when it is first asked for. The text is a part of the program,
// so a mistake in it is one of the program's.
var table = sync.OnceValue(func() contents {
	c := contents{operators: map[[2]string][]*Operator{}, newest: map[string]int{}}
	var now *Operator
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch f[0] {
		case "opset":
			c.newest[f[1]] = number(f[2])
		case "op":
			now = &Operator{Domain: f[1], Name: f[2], Since: number(f[3]), Deprecated: len(f) > 4, Types: map[string][]string{}}
			key := [2]string{now.Domain, now.Name}
			c.operators[key] = append(c.operators[key], now)
		case "type":
			now.Types[f[1]] = strings.Split(f[2], ",")
		case "in":
			now.Inputs = append(now.Inputs, formal(f))
		case "out":
			now.Outputs = append(now.Outputs, formal(f))
		case "attr":
			now.Attributes = append(now.Attributes, Attribute{f[1], f[2], f[3] == "1", f[4], f[4] != ""})
		case "body":
			now.bodies = append(now.bodies, body{number(f[1]), f[2]})
		}
	}
	return c
})

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
