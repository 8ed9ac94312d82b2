package opaque

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// A choice is a tensor of which an index chooses elements along an axis, as the
// kernels in index.cu and scatter.cu see it.
type choice struct {
	module, kernel string // kernel without dtype or size
	start          string // launched before it on the same elements; may be empty
	who            trap.Who
	wraps          bool    // negative places count from the end
	shape          []int   // of the index, expanded
	other          ir.View // read or written at the index's own place; has at least the index's extents
	chosen         ir.View // read or written where the index says
	index          ir.View
	strides        []int // of the index, over shape
	axis           int
}

// chosenEach is how many positions a thread of these kernels takes.
const chosenEach = 4

// launch enqueues the kernels. Element by element they are named after dt, else
// they move units as large as the layouts allow. other comes first of the
// operands, for it is the one whose elements are all visited.
func (h *choice) launch(g code.GPU, dt ir.DType) error {
	chosenStrides, step, limit := slices.Clone(h.chosen.Strides), 1, 1
	if len(h.shape) > 0 {
		step, limit = h.chosen.Strides[h.axis], h.chosen.Shape[h.axis]
		chosenStrides[h.axis] = 0
	}
	s := space.New(h.shape, h.other.Strides, h.strides, chosenStrides)
	size, name := h.other.DType.Size(), ofType(h.kernel, dt)
	if dt == ir.Invalid {
		n := unitLimit(size, h.other.Addr, h.chosen.Addr)
		if step != 0 {
			n = min(n, step&-step)
		}
		runs := []bool{true, false, true}
		n = s.Width(n, runs)
		s.Widen(n, runs)
		step, size = step/n, size*n
		name = ofUnit(h.kernel, size)
	}
	places := []place{{h.other.Addr, size}, {h.index.Addr, 8}, {h.chosen.Addr, size}}
	return over(g, h.module, name, &s, places, chosenEach, func(p *driver.Params) {
		p.Int64(int64(step))
		p.Int64(int64(limit))
		p.Uint64(g.Trap())
		p.Uint32(uint32(h.who))
		p.Int32(flag(h.wraps))
	})
}

// Gather takes the elements of x that index names along attribute dim.
func Gather(g code.GPU, c *ir.Call) error {
	c = c.Raised()
	h := choice{module: "index", kernel: "gather", who: trap.Gather}
	return h.read(g, c, func(index ir.View) []int { return index.Strides })
}

// IndexSelect takes the slices of x along attribute dim that index names.
func IndexSelect(g code.GPU, c *ir.Call) error {
	h := choice{module: "index", kernel: "gather", who: trap.IndexSelect}
	return h.read(g, c, h.alongAxis(c.Out[0].Shape))
}

// onFirst is a call of an operator over tensors of one axis as one with attribute dim.
func onFirst(c *ir.Call) *ir.Call {
	first := *c
	first.Attrs = []ir.Value{ir.IntValue(0)}
	return &first
}

// TakeWrapped takes the elements of x that index names; both have one axis, and negative places
// count from the end.
func TakeWrapped(g code.GPU, c *ir.Call) error {
	h := choice{module: "index", kernel: "gather", who: trap.IndexSelect, wraps: true}
	return h.read(g, onFirst(c), func(index ir.View) []int { return index.Strides })
}

// PutAdded adds the elements of src to those of a copy of x that index names, in any order; all have
// one axis, and negative places count from the end.
func PutAdded(g code.GPU, c *ir.Call) error {
	h := choice{module: "scatter", kernel: "scatter_add", who: trap.ScatterAdd, wraps: true}
	acc, kernel, err := sumsIn(c.Compute)
	if err != nil {
		return err
	}
	return h.write(g, onFirst(c), acc, kernel, c.In[1].Shape, func(index ir.View) []int { return index.Strides })
}

// alongAxis returns how an index of one axis or none lies over a shape.
func (h *choice) alongAxis(shape []int) func(index ir.View) []int {
	return func(index ir.View) []int {
		strides := make([]int, len(shape))
		if len(index.Shape) > 0 && len(shape) > 0 {
			strides[h.axis] = index.Strides[0]
		}
		return strides
	}
}

// read launches the kernels of operators that read chosen elements; expand gives
// the index's strides over the result.
func (h *choice) read(g code.GPU, c *ir.Call, expand func(index ir.View) []int) (err error) {
	if h.axis, err = axisOf(c, 0, c.In[0].Shape); err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	if h.chosen, err = onDevice(g, c.In[0], c.In[0].DType); err != nil {
		return err
	}
	if h.index, err = onDevice(g, c.In[1], ir.Int64); err != nil {
		return err
	}
	out, err := strided(g, c.Out[0], h.chosen.DType)
	if err != nil {
		return err
	}
	h.other, h.shape, h.strides = out.View, out.Shape, expand(h.index)
	if err := h.launch(g, ir.Invalid); err != nil {
		return err
	}
	return out.finish(g)
}

// Scatter writes the elements of src where index says along attribute dim into a
// copy of x. Where two are written to one place, either is.
func Scatter(g code.GPU, c *ir.Call) error {
	c = c.Raised()
	h := choice{module: "scatter", kernel: "scatter", who: trap.Scatter}
	return h.write(g, c, c.Out[0].DType, ir.Invalid, c.In[1].Shape, func(index ir.View) []int { return index.Strides })
}

// ScatterAdd adds the elements of src where index says along attribute dim to a
// copy of x, in any order.
func ScatterAdd(g code.GPU, c *ir.Call) error {
	c = c.Raised()
	h := choice{module: "scatter", kernel: "scatter_add", who: trap.ScatterAdd}
	acc, kernel, err := sumsIn(c.Compute)
	if err != nil {
		return err
	}
	return h.write(g, c, acc, kernel, c.In[1].Shape, func(index ir.View) []int { return index.Strides })
}

// IndexAdd adds the slices of src along attribute dim to those slices of a copy
// of x that index names, in any order.
func IndexAdd(g code.GPU, c *ir.Call) error {
	h := choice{module: "scatter", kernel: "scatter_add", who: trap.IndexAdd}
	acc, kernel, err := sumsIn(c.Compute)
	if err != nil {
		return err
	}
	return h.write(g, c, acc, kernel, c.In[2].Shape, h.alongAxis(c.In[2].Shape))
}

// sumsIn returns the dtype that sums of a compute dtype are kept in, which memory
// can be added to at once: small integers wrap when they are stored, and of bools all
// but 0 is true. kernel is the dtype of the parts that the kernel adds.
func sumsIn(compute ir.DType) (acc, kernel ir.DType, err error) {
	switch compute {
	case ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Int32:
		return ir.Int32, ir.Int32, nil
	case ir.Int64, ir.Float32, ir.Float64:
		return compute, compute, nil
	case ir.Complex64, ir.Complex128:
		return compute, compute.Real(), nil
	}
	return ir.Invalid, ir.Invalid, fmt.Errorf("not implemented for %s on cuda", compute)
}

// write launches the kernels of operators that write to chosen elements of a copy
// of x, kept in dtype acc. kernel is as for launch; shape and expand are the
// index's.
func (h *choice) write(g code.GPU, c *ir.Call, acc, kernel ir.DType, shape []int, expand func(index ir.View) []int) (err error) {
	if h.axis, err = axisOf(c, 0, c.In[0].Shape); err != nil || c.Out[0].NumElements() == 0 {
		return err
	}
	out, err := strided(g, c.Out[0], acc)
	if err != nil {
		return err
	}
	if err := g.Store(out.View, c.In[0]); err != nil {
		return err
	}
	if ir.NumElements(shape) > 0 {
		if h.index, err = onDevice(g, c.In[1], ir.Int64); err != nil {
			return err
		}
		src, err := onDevice(g, c.In[2], acc)
		if err != nil {
			return err
		}
		if len(src.Shape) == 0 {
			src.Shape, src.Strides = shape, make([]int, len(shape))
		}
		h.other, h.chosen, h.shape, h.strides = src, out.View, shape, expand(h.index)
		if kernel != acc && kernel != ir.Invalid {
			h.split(kernel)
		}
		if h.start != "" {
			first := *h
			first.kernel = h.start
			if err := first.launch(g, kernel); err != nil {
				return err
			}
		}
		if err := h.launch(g, kernel); err != nil {
			return err
		}
	}
	return out.finish(g)
}

// split makes the parts of complex numbers elements along one more axis.
func (h *choice) split(part ir.DType) {
	h.other, h.chosen = parts(h.other, part), parts(h.chosen, part)
	h.shape = append(slices.Clone(h.shape), 2)
	h.strides = append(slices.Clone(h.strides), 0)
	if len(h.shape) == 1 {
		// A scalar: the axis that is chosen on has one element, the number.
		h.shape, h.strides = []int{1, 2}, []int{0, 0}
		h.other.Shape, h.other.Strides = h.shape, []int{0, 1}
		h.chosen.Shape, h.chosen.Strides = h.shape, []int{2, 1}
	}
}

func parts(v ir.View, part ir.DType) ir.View {
	shape, strides := append(slices.Clone(v.Shape), 2), make([]int, len(v.Strides), len(v.Strides)+1)
	for i, s := range v.Strides {
		strides[i] = 2 * s
	}
	return ir.View{Addr: v.Addr, DType: part, Shape: shape, Strides: append(strides, 1)}
}
