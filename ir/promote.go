package ir

import "fmt"

// A TypeOperand is an operand as promotion sees it.
type TypeOperand struct {
	DType   DType
	Rank    int
	Wrapped bool // a host number given in place of a tensor
}

// Promote returns the dtype that operands of the given types are computed in,
// by PyTorch's rules. Tensors with axes decide, then scalar tensors, then host
// numbers: a later group only counts where its category is higher, and then
// gives no more than that category needs. Values are never looked at. Without
// operands the answer is Invalid.
func Promote(in ...TypeOperand) DType {
	var group [3]DType
	for _, o := range in {
		i := 0
		switch {
		case o.Wrapped:
			i = 2
		case o.Rank == 0:
			i = 1
		}
		group[i] = PromotePair(group[i], o.DType)
	}
	return joinGroups(group[0], joinGroups(group[1], group[2]))
}

// joinGroups joins the dtypes of two groups, of which high decides.
func joinGroups(high, low DType) DType {
	switch {
	case high == Invalid:
		return low
	case low.Category() <= high.Category():
		return high
	case high.IsFloat(): // low is complex
		return high.Complex()
	}
	return PromotePair(high, low)
}

// PromotePair returns the smallest dtype that two dtypes of equal standing
// convert to: bool < integers < floats < complex. An integer and a float give
// the float whatever their sizes. Invalid gives way to anything.
func PromotePair(a, b DType) DType {
	if a.Category() < b.Category() || (a.Category() == b.Category() && a.Size() < b.Size()) {
		a, b = b, a
	}
	switch {
	case a == b || b == Invalid:
		return a
	case a.IsComplex() && b == Float64:
		return Complex128
	case a.Category() != b.Category():
		return a
	case a.IsFloat() && a.Size() == b.Size(): // float16 and bfloat16
		return Float32
	case a == Uint64 && b.signed() || b == Uint64 && a.signed(): // as NumPy: nothing holds both
		return Float64
	case a.IsInt() && a.Size() == b.Size() || a.Carried() && b.signed():
		return twice(a)
	}
	return a
}

// signed reports whether d is an integer dtype with negative numbers.
func (d DType) signed() bool { return d.IsInt() && !d.Unsigned() }

// twice returns the signed integers of twice d's size.
func twice(d DType) DType {
	switch d.Size() {
	case 1:
		return Int16
	case 2:
		return Int32
	}
	return Int64
}

// CanCast reports whether results of dtype from may be stored in a tensor of
// dtype to: to a lower category only an integer of another size is left.
func CanCast(from, to DType) bool {
	switch {
	case from == Invalid || to == Invalid:
		return false
	case from == to:
		return true
	case to == Bool:
		return false
	case from.IsComplex():
		return to.IsComplex()
	case from.IsFloat():
		return to.Category() >= CategoryFloat
	}
	return true
}

// Types returns the dtype that o is computed in for operands of the given
// types, before Compute widens it, and the dtype that results have which declare none. In has an entry for each operand that takes part in promotion;
// option is the dtype option, or Invalid; def is the default float.
func (o *Op) Types(in []TypeOperand, option, def DType) (compute, result DType, err error) {
	if compute, err = o.computeType(in, option, def); err != nil {
		return Invalid, Invalid, err
	}
	if err = o.computes(compute); err != nil {
		return Invalid, Invalid, err
	}
	if option != Invalid && !ClassStored.Has(option) {
		return Invalid, Invalid, fmt.Errorf("%v is no dtype (have %s)", option, dtypeNames(ClassStored))
	}
	if o.Promote == PromoteOption && option != Invalid {
		return compute, option, nil
	}
	return compute, o.Promote.Result(compute), nil
}

// computes returns why o does not compute in dtype t: nil where it does.
func (o *Op) computes(t DType) error {
	if !o.DTypes.Takes(t) {
		return fmt.Errorf("not implemented for %v (have %s)", t, dtypeNames(o.DTypes))
	}
	return nil
}

// Takes reports whether a class of operands has dtype t, or the one that carries it.
func (s DTypeSet) Takes(t DType) bool { return s.Has(t) || t.Carried() && s.Has(t.Holder()) }

// Result returns the dtype that results have where operands have dtype t, or are stored
// or computed in it, by the rule alone: no option and no declared dtype.
func (p Promotion) Result(t DType) DType {
	switch p {
	case PromoteCompare:
		return Bool
	case PromoteToReal:
		return t.Real()
	case PromoteToComplex:
		return t.Complex()
	}
	return t
}

// Of returns the dtype of the result, where the operator's rule gives t.
func (r *Result) Of(t DType) DType {
	switch {
	case r.DType != Invalid:
		return r.DType
	case r.Acc:
		return t.Compute()
	}
	return t
}

// ResultDType returns the dtype of result i where operands have dtype t, or are stored
// or computed in it. It is the one rule, for what is checked, stored and emitted.
func (o *Op) ResultDType(i int, t DType) DType { return o.Out[i].Of(o.Promote.Result(t)) }

// ComputeIn returns the dtype that bodies compute in for operands that promote to t.
func (o *Op) ComputeIn(t DType) DType {
	if o.Tags&TagWide != 0 && t.IsFloat() {
		return Float64
	}
	return t.Compute()
}

func (o *Op) computeType(in []TypeOperand, option, def DType) (DType, error) {
	if o.Promote == PromoteFixed {
		return o.Fixed, nil
	}
	if len(in) == 0 {
		return o.freeType(option, def), nil
	}
	switch o.Promote {
	case PromoteNone:
		if option != Invalid {
			return option, nil
		}
		return agreedType(in)
	case PromoteToReal, PromoteToComplex, PromoteOption:
		return agreedType(in)
	case PromoteFirst:
		return firstType(in)
	}
	t := Promote(in...)
	exact := t.Category() <= CategoryInt
	switch {
	case o.Promote == PromoteArithFloat && option != Invalid:
		return option, nil
	case o.Promote == PromoteArithFloat && exact:
		return def, nil
	case o.Promote == PromoteSumAcc && option != Invalid:
		return option, nil
	case o.Promote == PromoteSumAcc && exact:
		return Int64, nil
	}
	return t, nil
}

// freeType returns the compute dtype where no operand decides it: that of a
// factory, or of an operator whose operands all have fixed dtypes.
func (o *Op) freeType(option, def DType) DType {
	switch only := o.DTypes.List(); {
	case option != Invalid:
		return option
	case len(only) == 1:
		return only[0]
	case !o.DTypes.Has(def) && len(only) > 0:
		return only[0]
	}
	return def
}

// agreedType returns the one dtype of all tensors. A host number takes it if it
// is of no higher category.
func agreedType(in []TypeOperand) (DType, error) {
	t := Invalid
	for _, o := range in {
		switch {
		case o.Wrapped:
		case t == Invalid:
			t = o.DType
		case t != o.DType:
			return Invalid, fmt.Errorf("operands must have one dtype, have %v and %v; convert one with ToType", t, o.DType)
		}
	}
	if t == Invalid {
		return Promote(in...), nil
	}
	for _, o := range in {
		if o.Wrapped && o.DType.Category() > t.Category() {
			return Invalid, fmt.Errorf("a number of dtype %v does not fit a tensor of dtype %v", o.DType, t)
		}
	}
	return t, nil
}

// firstType returns the dtype of the first operand. Others have it, or have no axes
// and are of no higher category.
func firstType(in []TypeOperand) (DType, error) {
	t := in[0].DType
	for _, o := range in[1:] {
		switch {
		case o.DType == t:
		case o.Rank > 0:
			return Invalid, fmt.Errorf("operands must have one dtype unless they have no axes, have %v and %v; convert one with ToType", t, o.DType)
		case o.DType.Category() > t.Category():
			return Invalid, fmt.Errorf("a number of dtype %v does not fit a tensor of dtype %v", o.DType, t)
		}
	}
	return t, nil
}

// dtypeNames lists a set for messages.
func dtypeNames(s DTypeSet) string {
	names := ""
	for i, d := range s.List() {
		if i > 0 {
			names += ", "
		}
		names += d.String()
	}
	return names
}
