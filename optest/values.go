package optest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"github.com/sinter-go/sinter/ir"
)

// source draws operand values. The same operator and dtype draw the same values
// in every run.
type source struct{ *rand.Rand }

func newSource(names ...any) source {
	h := fnv.New64a()
	fmt.Fprint(h, names...)
	return source{rand.New(rand.NewPCG(h.Sum64(), 7))}
}

// operandDomain returns the range that floating values of operand i come from.
func (o *Operator) operandDomain(i int) (lo, hi float64) {
	d := o.Domain
	if i < len(o.Domains) && o.Domains[i] != [2]float64{} {
		d = o.Domains[i]
	}
	if d == [2]float64{} {
		return -3, 3
	}
	return d[0], d[1]
}

// number draws one value of dtype dt for operand i.
func (s source) number(o *Operator, i int, dt ir.DType) ir.Scalar {
	lo, hi := o.operandDomain(i)
	float := func() float64 { return lo + (hi-lo)*s.Float64() }
	switch dt.Category() {
	case ir.CategoryBool: // true alone where the domain is of numbers that are not 0
		return ir.BoolScalar(s.IntN(2) == 1 || lo > 0)
	case ir.CategoryInt:
		return ir.IntScalar(s.integer(lo, hi, dt))
	case ir.CategoryComplex:
		return ir.ComplexScalar(complex(float(), float()))
	}
	return ir.FloatScalar(float())
}

// integer draws from the part of the domain that dt holds.
func (s source) integer(lo, hi float64, dt ir.DType) int64 {
	least, most := int64(-1)<<(8*min(dt.Size(), 4)-1), int64(1)<<(8*min(dt.Size(), 4)-1)-1
	if dt.Unsigned() {
		least, most = 0, 2*most+1
	}
	a, b := max(int64(math.Max(math.Ceil(lo), -1e9)), least), min(int64(math.Min(math.Floor(hi), 1e9)), most)
	if a > b {
		a, b = max(0, least), min(1, most)
	}
	return a + s.Int64N(b-a+1)
}

// fill draws the values of operand i by the way its sample names.
func (s source) fill(o *Operator, i int, sample Sample, dt ir.DType) []ir.Scalar {
	how, shape := "", sample.Shapes[i]
	if i < len(sample.Values) {
		how = sample.Values[i]
	}
	n := ir.NumElements(shape)
	out := make([]ir.Scalar, n)
	var size int64
	var lo, hi float64
	switch {
	case how == "perm":
		dim, extent := o.indexed(sample)
		s.permute(out, shape, dim, extent)
		return out
	case scan(how, "index(%d)", &size):
		for k := range out {
			out[k] = ir.IntScalar(s.Int64N(max(size, 1)))
		}
		return out
	case scan(how, "domain(%g, %g)", &lo, &hi):
		only := &Operator{Op: o.Op, Domain: [2]float64{lo, hi}}
		for k := range out {
			out[k] = s.number(only, i, dt)
		}
		return out
	}
	for k := range out {
		out[k] = s.number(o, i, dt)
	}
	return out
}

// indexed returns the axis that the sample's dim argument names, and the first
// operand's extent along it.
func (o *Operator) indexed(sample Sample) (dim, extent int) {
	first := sample.Shapes[0]
	for i, a := range o.Op.Attrs {
		if a.Name == "dim" && a.Kind == ir.AttrInt {
			dim = int(sample.Attrs[i].Int)
		}
	}
	if dim < 0 {
		dim += len(first)
	}
	if dim >= len(first) {
		return 0, 1
	}
	return dim, first[dim]
}

func scan(text, format string, into ...any) bool {
	n, err := fmt.Sscanf(text, format, into...)
	return err == nil && n == len(into)
}

// permute fills every line of shape along axis dim with distinct numbers below n.
func (s source) permute(out []ir.Scalar, shape []int, dim, n int) {
	if len(shape) == 0 {
		out[0] = ir.IntScalar(s.Int64N(int64(max(n, 1))))
		return
	}
	if len(shape) == 1 { // an index vector, whichever axis it indexes
		dim = 0
	}
	inner := ir.NumElements(shape[dim+1:])
	for line := range ir.NumElements(shape[:dim]) * inner {
		base := line/inner*inner*shape[dim] + line%inner
		for k, v := range s.Perm(n)[:shape[dim]] {
			out[base+k*inner] = ir.IntScalar(int64(v))
		}
	}
}
