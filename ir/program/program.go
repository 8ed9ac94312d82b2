// Package program is a recorded function as a value: steps over buffers, in the order in
// which they were given to devices. It says what a program is, checks it, prints it and
// places its memory. It knows nothing of how programs are recorded or run.
//
// A buffer is the memory of one storage. Every write makes a version of it, so a buffer
// and a version are one value, written once: the program is in static single assignment
// form. A view is a layout in a buffer.
package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// A Kind says whose a buffer's memory is.
type Kind uint8

// The kinds of buffers.
const (
	Temporary Kind = iota // the program's, gone after a run
	Result                // made by a run and given to the caller
	Argument              // given by the caller
	State                 // a declared tensor: a parameter, statistics, moments
	Gradient              // the gradient that a declared tensor has when a run begins
	Constant              // values that were there when the program was recorded
)

// String returns the kind's name.
func (k Kind) String() string {
	return [...]string{"temporary", "result", "argument", "state", "gradient", "constant"}[k]
}

// A Buffer is the memory of one storage.
type Buffer struct {
	Kind   Kind
	Name   string // of arguments and state; "" for others
	Device string
	Bytes  int64
	// First and Last are the steps that use it first and last; -1 where none does.
	First, Last int
	// Made and Released are the steps before which an eager run allocates the memory and
	// lets it go; Released is the number of steps where it does not.
	Made, Released int
}

// A Ref is a place in a version of a buffer.
type Ref struct {
	Buffer, Version int
	Offset          int64 // bytes; a Buffer below 0 stands for an operand that was not given
}

// An Action is what a step does.
type Action uint8

// The actions of steps.
const (
	Launch   Action = iota // runs a kernel
	Zero                   // clears Out[0]
	Copy                   // moves bytes of In[0] to Out[0], on another device
	Effect                 // changes what the program keeps on the host
	Exchange               // gives work that is no operator's and goes on until it is awaited
	Await                  // has Out, which an exchange before it writes, be there
)

// A Step is one thing that a program does. Call's views have no memory: Out and In say
// where they are.
type Step struct {
	Action  Action
	Call    ir.Call
	Out, In []Ref
	Bytes   int64  // of Zero and Copy
	Line    string // of the Go program that gave it; "" where that is not known
	Beside  bool   // it runs at the same time as the step before it
	Again   bool   // it gives what a step before it gave, for the step that reads it first: it runs no sooner than it must
}

// Name returns what the step does in a word.
func (s *Step) Name() string {
	switch s.Action {
	case Zero:
		return "zero"
	case Copy:
		return "move"
	case Effect:
		return "effect"
	case Await:
		return "await " + s.Call.Op.Name
	}
	return s.Call.Op.Name
}

// A Program is a recorded function.
type Program struct {
	Buffers []Buffer
	Steps   []Step
	Results []Ref
}

// New returns a program of buffers and steps, whose versions and uses it fills in.
func New(buffers []Buffer, steps []Step, results []Ref) *Program {
	p := &Program{buffers, steps, results}
	version := make([]int, len(buffers))
	for i := range buffers {
		buffers[i].First, buffers[i].Last = -1, -1
	}
	use := func(r Ref, at int) {
		b := &buffers[r.Buffer]
		if b.First < 0 {
			b.First = at
		}
		b.Last = at
	}
	for i := range steps {
		s := &steps[i]
		for j := range s.In {
			if r := &s.In[j]; r.Buffer >= 0 {
				r.Version = version[r.Buffer]
				use(*r, i)
			}
		}
		for j := range s.Out {
			if r := &s.Out[j]; r.Buffer >= 0 {
				if !slices.ContainsFunc(s.Out[:j], func(o Ref) bool { return o.Buffer == r.Buffer }) {
					version[r.Buffer]++
				}
				r.Version = version[r.Buffer]
				use(*r, i)
			}
		}
	}
	for i := range results {
		results[i].Version = version[results[i].Buffer]
	}
	return p
}

// Verify reports what is wrong with a program: a place that is not in its buffer, a
// temporary or a result that is read before it was written, a version out of order, or a
// call whose views and places do not agree.
func (p *Program) Verify() error {
	version := make([]int, len(p.Buffers))
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Action == Launch {
			if s.Call.Kernel == nil {
				return fmt.Errorf("step %d: a launch without a kernel", i)
			}
			if len(s.Call.Out) != len(s.Out) || len(s.Call.In) != len(s.In) {
				return fmt.Errorf("step %d, %s: %d and %d places for %d results and %d operands", i, s.Name(), len(s.Out), len(s.In), len(s.Call.Out), len(s.Call.In))
			}
		}
		for j, r := range s.In {
			if r.Buffer < 0 {
				continue
			}
			if err := p.within(s, r, s.Call.In, j); err != nil {
				return fmt.Errorf("step %d, %s: operand %d: %w", i, s.Name(), j, err)
			}
			if r.Version != version[r.Buffer] {
				return fmt.Errorf("step %d, %s: operand %d reads version %d of buffer %d, which is at %d", i, s.Name(), j, r.Version, r.Buffer, version[r.Buffer])
			}
		}
		for j, r := range s.Out {
			if err := p.within(s, r, s.Call.Out, j); err != nil {
				return fmt.Errorf("step %d, %s: result %d: %w", i, s.Name(), j, err)
			}
			if b := &p.Buffers[r.Buffer]; b.Kind == Constant && b.Bytes > 0 {
				return fmt.Errorf("step %d, %s: result %d is written over a constant", i, s.Name(), j)
			}
			if r.Version != version[r.Buffer] && r.Version != version[r.Buffer]+1 {
				return fmt.Errorf("step %d, %s: result %d writes version %d of buffer %d, which is at %d", i, s.Name(), j, r.Version, r.Buffer, version[r.Buffer])
			}
		}
		for _, r := range s.Out {
			version[r.Buffer] = r.Version
		}
	}
	for i, r := range p.Results {
		if r.Buffer < 0 || r.Buffer >= len(p.Buffers) {
			return fmt.Errorf("result %d is buffer %d of %d", i, r.Buffer, len(p.Buffers))
		}
	}
	return nil
}

// ReadsEarlier returns a temporary or result that the program reads before it writes it, and
// another one, which it was made of, does not; below 0 where there is none.
func (p *Program) ReadsEarlier(than *Program) int {
	old := than.unwritten()
	for b, reads := range p.unwritten() {
		if reads && (b >= len(old) || !old[b]) {
			return b
		}
	}
	return -1
}

// unwritten returns by buffer whether it is read before it is written.
func (p *Program) unwritten() []bool {
	list := make([]bool, len(p.Buffers))
	for i := range p.Steps {
		for _, r := range p.Steps[i].In {
			if r.Buffer >= 0 && r.Version == 0 && p.Buffers[r.Buffer].Kind <= Result {
				list[r.Buffer] = true
			}
		}
	}
	return list
}

// within reports a place whose elements do not lie in its buffer.
func (p *Program) within(s *Step, r Ref, views []ir.View, j int) error {
	if r.Buffer < 0 || r.Buffer >= len(p.Buffers) {
		return fmt.Errorf("buffer %d of %d", r.Buffer, len(p.Buffers))
	}
	low, high := int64(0), s.Bytes
	if j < len(views) {
		low, high = span(views[j])
	}
	if low == high {
		return nil
	}
	if b := &p.Buffers[r.Buffer]; r.Offset+low < 0 || r.Offset+high > b.Bytes {
		return fmt.Errorf("bytes %d to %d of buffer %d, which has %d", r.Offset+low, r.Offset+high, r.Buffer, b.Bytes)
	}
	return nil
}

// span returns the bytes that a view's elements take, from its first element.
func span(v ir.View) (low, high int64) {
	if v.NumElements() == 0 {
		return 0, 0
	}
	size := int64(v.DType.Size())
	for i, d := range v.Shape {
		reach := int64(d-1) * int64(v.Strides[i]) * size
		low, high = low+min(reach, 0), high+max(reach, 0)
	}
	return low, high + size
}

// String returns the program as text: a line a buffer that is not temporary, and a line a
// step.
func (p *Program) String() string {
	var out strings.Builder
	for i, b := range p.Buffers {
		if b.Kind != Temporary {
			fmt.Fprintf(&out, "%%%d %s", i, b.Kind)
			if b.Name != "" {
				fmt.Fprintf(&out, " %s", b.Name)
			}
			fmt.Fprintf(&out, ": %d bytes on %s\n", b.Bytes, b.Device)
		}
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		out.WriteString(p.refs(s.Out, s.Call.Out))
		if len(s.Out) > 0 {
			out.WriteString(" = ")
		}
		out.WriteString(s.Name())
		if len(s.In) > 0 {
			out.WriteString(" " + p.refs(s.In, s.Call.In))
		}
		out.WriteByte('\n')
	}
	if len(p.Results) > 0 {
		out.WriteString("return " + p.refs(p.Results, nil) + "\n")
	}
	return out.String()
}

func (p *Program) refs(list []Ref, views []ir.View) string {
	var parts []string
	for i, r := range list {
		if r.Buffer < 0 {
			parts = append(parts, "_")
			continue
		}
		text := fmt.Sprintf("%%%d.%d", r.Buffer, r.Version)
		if i < len(views) {
			text += fmt.Sprintf(" %s%v", views[i].DType, views[i].Shape)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// DOT returns the program as a graph for Graphviz: steps, and the values between them.
func (p *Program) DOT() string {
	var out strings.Builder
	out.WriteString("digraph program {\n\tnode [shape=box, fontname=\"Helvetica\"];\n")
	writer := map[[2]int]string{}
	from := func(r Ref) string {
		at := [2]int{r.Buffer, r.Version}
		if w, ok := writer[at]; ok {
			return w
		}
		b := &p.Buffers[r.Buffer]
		name := b.Name
		if name == "" {
			name = b.Kind.String()
		}
		writer[at] = fmt.Sprintf("b%d_%d", r.Buffer, r.Version)
		fmt.Fprintf(&out, "\t%s [label=%q, shape=ellipse];\n", writer[at], name)
		return writer[at]
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		fmt.Fprintf(&out, "\ts%d [label=%q];\n", i, s.Name())
		for j, r := range s.In {
			if r.Buffer < 0 {
				continue
			}
			label := ""
			if j < len(s.Call.In) {
				label = fmt.Sprintf("%s%v", s.Call.In[j].DType, s.Call.In[j].Shape)
			}
			fmt.Fprintf(&out, "\t%s -> s%d [label=%q];\n", from(r), i, label)
		}
		for _, r := range s.Out {
			writer[[2]int{r.Buffer, r.Version}] = fmt.Sprintf("s%d", i)
		}
	}
	for i, r := range p.Results {
		fmt.Fprintf(&out, "\tr%d [label=\"return\", shape=ellipse];\n\t%s -> r%d;\n", i, from(r), i)
	}
	out.WriteString("}\n")
	return out.String()
}
