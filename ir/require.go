package ir

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Comparison is what an attribute must be to a number.
type Comparison uint8

// The comparisons. NaN meets none but Differs.
const (
	Below Comparison = iota
	AtMost
	Above
	AtLeast
	Equals
	Differs
)

var comparisons = [...]string{Below: "<", AtMost: "<=", Above: ">", AtLeast: ">=", Equals: "==", Differs: "!="}

// String returns the comparison as a schema writes it.
func (c Comparison) String() string { return comparisons[c] }

func holds[T int64 | float64](c Comparison, a, b T) bool {
	switch c {
	case Below:
		return a < b
	case AtMost:
		return a <= b
	case Above:
		return a > b
	case AtLeast:
		return a >= b
	case Equals:
		return a == b
	}
	return a != b
}

// A Relation says what an attribute, each number of one that is a list, must be to Value or
// to another attribute.
type Relation struct {
	Attr  int // index in Op.Attrs of one of AttrInt, AttrInts, AttrFloat, AttrScalar or AttrEnum
	Is    Comparison
	Value float64 // of an AttrEnum: the index of a name
	Other int     // not 0: index plus one of the attribute that stands for Value, which is no list
}

// A Requirement is met where one of its relations holds.
type Requirement []Relation

// Accepts returns an error if attrs, every attribute in the order of op.Attrs, do not meet
// what op requires. It names the attributes with their values and says what is accepted.
func (op *Op) Accepts(attrs ...Value) error {
	if len(op.Require) == 0 {
		return nil
	}
	return op.require(attrs)
}

// require is Accepts where something is required.
func (op *Op) require(attrs []Value) error {
	for _, r := range op.Require {
		if err := op.unmet(r, attrs); err != nil {
			return err
		}
	}
	return nil
}

// unmet returns the error for attrs that do not meet r.
func (op *Op) unmet(r Requirement, attrs []Value) error {
	for i := range r {
		if op.holds(&r[i], attrs) {
			return nil
		}
	}
	return op.refusal(r, attrs)
}

func (op *Op) holds(r *Relation, attrs []Value) bool {
	to, of := r.Value, op.Attrs[r.Attr].Kind
	if r.Other != 0 {
		if of == AttrInt && op.Attrs[r.Other-1].Kind == AttrInt { // which floats do not hold beyond 2^53
			return holds(r.Is, attrs[r.Attr].Int, attrs[r.Other-1].Int)
		}
		to = op.number(r.Other-1, attrs)
	}
	if of != AttrInts {
		return holds(r.Is, op.number(r.Attr, attrs), to)
	}
	for _, n := range attrs[r.Attr].Ints {
		if !holds(r.Is, float64(n), to) {
			return false
		}
	}
	return true
}

// number returns what a relation reads of attribute i.
func (op *Op) number(i int, attrs []Value) float64 {
	switch op.Attrs[i].Kind {
	case AttrFloat, AttrScalar:
		return attrs[i].Scalar.Float()
	}
	return float64(attrs[i].Int)
}

// refusal says that attrs do not meet r.
func (op *Op) refusal(r Requirement, attrs []Value) error {
	var have []string
	for _, i := range r.Attrs() {
		have = append(have, op.Attrs[i].Name+" is "+op.text(i, attrs[i]))
	}
	return fmt.Errorf("%s, want %s", strings.Join(have, " and "), r.In(op))
}

// Attrs returns the attributes that r reads, in its order.
func (r Requirement) Attrs() (list []int) {
	for _, x := range r {
		for _, i := range []int{x.Attr, x.Other - 1} {
			if i >= 0 && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
	}
	return list
}

// text writes the value of attribute i.
func (op *Op) text(i int, v Value) string {
	switch at := &op.Attrs[i]; at.Kind {
	case AttrInts:
		return fmt.Sprint(slices.Clone(v.Ints))
	case AttrFloat, AttrScalar:
		return v.Scalar.String()
	case AttrEnum:
		if v.Int >= 0 && v.Int < int64(len(at.Enum)) {
			return at.Enum[v.Int]
		}
	}
	return strconv.FormatInt(v.Int, 10)
}

// In writes the requirement, of attributes of op, as a schema does.
func (r Requirement) In(op *Op) string {
	var parts []string
	for _, x := range r {
		at, to := &op.Attrs[x.Attr], ""
		switch {
		case x.Other != 0:
			to = op.Attrs[x.Other-1].Name
		case at.Kind == AttrEnum:
			to = at.Enum[int(x.Value)]
		case math.IsInf(x.Value, 1):
			to = "inf"
		case math.IsInf(x.Value, -1):
			to = "-inf"
		default:
			to = strconv.FormatFloat(x.Value, 'g', -1, 64)
		}
		parts = append(parts, fmt.Sprintf("%s %s %s", at.Name, x.Is, to))
	}
	return strings.Join(parts, " || ")
}
