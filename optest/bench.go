package optest

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// A Bench is a row of the bench that an operator's entry asks for.
type Bench struct {
	Name    string   // what tells it from the operator's other rows, or ""
	None    string   // why there is no row, or ""; then nothing else is set
	Only    string   // "forward", "gradients", or "" for a row of each
	Without []string // operands and results that the row with gradients has none for
	DType   ir.DType
	PyTorch string // a Python expression over operands and arguments by name; "" for none
	Setup   string // Python before it

	// Sample returns shapes and attributes, and how operands are filled: as a test's
	// does, or by "sorted".
	Sample func(z Extents) Sample
}

// Extents are the sizes that shapes of rows are made of: elements of a vector, the side
// of a matrix, that of a product's operands, and the members of a batch.
type Extents struct{ N, M, K, B int }

// A Filled is an operand of a row, and how it is filled.
type Filled struct {
	Name      string
	Shape     []int
	DType     ir.DType
	Grad      bool // the row with gradients has one for it
	Low, High float64
	Below     int  // above 0: integers from 0 to below it
	Perm      bool // distinct integers below Below along axis Dim
	Dim       int
	Sorted    bool
}

// Operands returns a row's operands.
func (o *Operator) Operands(b *Bench, s Sample) (list []Filled) {
	dt := b.DType
	if dt == ir.Invalid {
		dt = o.usualDType()
	}
	for i, shape := range s.Shapes {
		at := min(i, len(o.Op.In)-1)
		in := o.Op.In[at]
		x := Filled{Name: in.Name, Shape: shape, DType: dt}
		switch {
		case in.Fixed != ir.Invalid:
			x.DType = in.Fixed
		case in.DTypes != 0 && !in.DTypes.Has(dt):
			x.DType = in.DTypes.List()[0]
			if in.DTypes.Has(ir.Int64) {
				x.DType = ir.Int64
			}
		}
		x.Grad = at < len(o.Grad) && o.Grad[at] && x.DType.Differentiable() && !slices.Contains(b.Without, in.Name)
		x.Low, x.High = o.operandDomain(at)
		how := ""
		if at < len(s.Values) {
			how = s.Values[at]
		}
		switch {
		case how == "perm":
			x.Perm = true
			if x.Dim, x.Below = o.indexed(s); len(shape) == 1 {
				x.Dim = 0
			}
		case how == "sorted":
			x.Sorted = true
		case scan(how, "index(%d)", &x.Below):
		default:
			scan(how, "domain(%g, %g)", &x.Low, &x.High)
		}
		list = append(list, x)
	}
	return list
}

// usualDType is the dtype of rows that name none.
func (o *Operator) usualDType() ir.DType {
	usual := []ir.DType{ir.Float32, ir.Complex64, ir.Int64, ir.Bool}
	if i := slices.IndexFunc(usual, o.Op.DTypes.Has); i >= 0 {
		return usual[i]
	}
	return o.Op.DTypes.List()[0]
}
