// Package optest checks operators against the reference interpreter, against
// literal cases and against central differences. It is handed a table that the
// generator emits from a schema; it knows no operator by name.
//
// Its own tests, beside those of what it finds, do to all standard operators what few
// programs do: values that are lost on the way where an operator is not careful, calls that
// nobody thought of, faults of memory and devices, operation by operation. They hold shapes
// to the documentation.
package optest

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// An Operator is one operator with everything its test needs.
type Operator struct {
	Op *ir.Op

	Schema string // name of the file that describes it, for messages

	// Call applies the operator. It returns one tensor for each result; the
	// members of a list result follow one another.
	Call func(a Args) []*core.Tensor
	// Out applies the form that writes to dst; nil where there is none.
	Out func(dst *core.Tensor, a Args) error
	// InPlace applies the form that changes the first operand; nil where there is none.
	InPlace func(a Args) error

	Defaults []ir.Value   // default attributes in the order of Op.Attrs; arguments without a default are zero
	Domain   [2]float64   // range of floating operands; both 0 where the schema names none
	Domains  [][2]float64 // by operand, both 0 where Domain holds; nil when no operand has its own
	ULP      float64      // bound in units of the last place of the result's dtype
	Avoid    []float64    // gradients are not checked near these values
	Cases    []Case
	Samples  []Sample // nil: any shapes that broadcast together
	Grad     []bool   // by operand: it has a gradient
	Bench    []Bench  // rows of the bench; nil for a hidden operator
	Rounded  bool     // gradients are made of results as they were rounded
}

// RunsOn reports whether the operator has what devices of a kind run, as its
// descriptor says: all have but for opaque ones, which name their own. The reference has all.
func (o *Operator) RunsOn(kind device.Kind) bool {
	if o.Op.Parts || o.Op.Kind != ir.Opaque && o.Op.Code == nil {
		return true
	}
	return kind == oracle.Kind || o.Op.Runs(kind.String())
}

// Args is one application: the operands in order, nil for an absent one, the
// members of a list last; every attribute; and for a factory where to create.
type Args struct {
	In    []*core.Tensor
	Attrs []ir.Value
	Place *core.Placement
}

// A Case is literal results: the operator applied to 0-dimensional operands.
type Case struct {
	In    []ir.Scalar
	Attrs []ir.Value  // every attribute, defaults filled in
	Want  []ir.Scalar // by result
}

// A Sample is a set of operand shapes and attributes to test with.
type Sample struct {
	Shapes [][]int    // by operand; a list operand takes the rest
	Attrs  []ir.Value // every attribute, defaults filled in
	Values []string   // by operand: "", "index(n)", "perm" or "domain(lo, hi)"; nil when all are ""
}

// Results makes one list of several results.
func Results(ts ...*core.Tensor) []*core.Tensor { return ts }
