package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// shaping are the operators on shapes, and those that move or make elements.
var shaping = map[string]lowering{
	"Shape": {make: func(n *node) kernel {
		start, end := n.int("start"), n.int("end")
		to := n.given("end")
		return func(c *call) error {
			shape := c.in[0].t.Shape()
			e := len(shape)
			if to {
				e = end
			}
			bound := func(v int) int {
				if v < 0 {
					v += len(shape)
				}
				return min(max(v, 0), len(shape))
			}
			from, until := bound(start), bound(e)
			return c.as(0, tensor.From(append([]int{}, shape[from:max(from, until)]...), max(until-from, 0)), format.Int64)
		}
	}},
	"Size": plain(func(c *call) error {
		return c.as(0, tensor.From([]int64{int64(c.in[0].t.NumElements())}).Reshape(), format.Int64)
	}),
	"Constant": {make: constantOf},
	"ConstantOfShape": {make: func(n *node) kernel {
		v := constantValue(tensor.Zeros([]int{1}), format.Float)
		if a := n.attribute("value"); a.Tensor != nil {
			if v, n.err = n.graph.b.tensor(a.Tensor); n.err != nil {
				return nil
			}
		}
		return func(c *call) error {
			shape, err := c.ints(0)
			if err == nil {
				err = c.size(shape)
			}
			if err != nil {
				return err
			}
			return c.as(0, v.on(c.dev).Reshape().Expand(shape...).Clone(), v.elem)
		}
	}},
	"Reshape": {make: func(n *node) kernel {
		zero := n.flag("allowzero")
		return func(c *call) error {
			want, err := c.ints(1)
			if err != nil {
				return err
			}
			want = slices.Clone(want)
			x := c.t(0)
			have := x.Shape()
			for i, d := range want {
				if d == 0 && !zero {
					if i >= len(have) {
						return fmt.Errorf("shape %v keeps axis %d of a tensor of shape %v", want, i, have)
					}
					want[i] = have[i]
				}
			}
			if i := slices.Index(want, -1); i >= 0 && x.NumElements() == 0 { // of no elements -1 is what the others leave
				rest := 1
				for k, d := range want {
					if k != i {
						rest *= d
					}
				}
				if rest == 0 {
					want[i] = 0
				}
			}
			return c.put(0, x.Reshape(want...))
		}
	}},
	"Flatten": {make: func(n *node) kernel {
		at := n.int("axis")
		return func(c *call) error {
			x := c.t(0)
			shape := x.Shape()
			a := at
			if a < 0 {
				a += len(shape)
			}
			if a < 0 || a > len(shape) {
				return fmt.Errorf("axis %d of a tensor of rank %d", at, len(shape))
			}
			return c.put(0, x.Reshape(product(shape[:a]), product(shape[a:])))
		}
	}},
	"Squeeze": {make: func(n *node) kernel {
		return func(c *call) error {
			list, err := listOf(c, n, 13)
			x := c.t(0)
			if err == nil && list != nil {
				if list, err = axes(list, x.Rank()); err == nil {
					for _, a := range list {
						if x.Size(a) != 1 {
							return fmt.Errorf("axis %d of a tensor of shape %v is not 1", a, x.Shape())
						}
					}
					if len(list) == 0 {
						return c.put(0, x)
					}
				}
			}
			if err != nil {
				return err
			}
			return c.put(0, x.Squeeze(list...))
		}
	}},
	"Unsqueeze": {make: func(n *node) kernel {
		return func(c *call) error {
			list, err := listOf(c, n, 13)
			if err != nil {
				return err
			}
			x := c.t(0)
			if list, err = axes(list, x.Rank()+len(list)); err != nil {
				return err
			}
			list = slices.Clone(list)
			slices.Sort(list)
			for _, a := range list {
				x = x.Unsqueeze(a)
			}
			return c.put(0, x)
		}
	}},
	"Transpose": {make: func(n *node) kernel {
		perm, given := n.ints("perm"), n.given("perm")
		return func(c *call) error {
			x := c.t(0)
			p := perm
			if !given {
				for i := x.Rank() - 1; i >= 0; i-- {
					p = append(p, i)
				}
			}
			return c.put(0, x.Permute(p...))
		}
	}},
	"Expand": plain(func(c *call) error {
		shape, err := c.ints(1)
		if err != nil {
			return err
		}
		x := c.t(0)
		have := x.Shape()
		out := slices.Clone(shape)
		for len(out) < len(have) {
			out = append([]int{1}, out...)
		}
		for i := range have {
			k := len(out) - len(have) + i
			if out[k] == 1 {
				out[k] = have[i]
			}
		}
		if err := c.size(out); err != nil {
			return err
		}
		return c.put(0, x.Expand(out...))
	}),
	"Concat": {make: func(n *node) kernel {
		at := n.int("axis")
		return func(c *call) error {
			a, err := axis(at, c.in[0].t.Rank())
			if err != nil {
				return err
			}
			return c.put(0, tensor.Cat(c.ts(0), a))
		}
	}},
	"Split": {make: split},
	"Tile": plain(func(c *call) error {
		reps, err := c.ints(1)
		if err != nil {
			return err
		}
		x := c.t(0)
		if len(reps) != x.Rank() {
			return fmt.Errorf("%d repeats of a tensor of rank %d", len(reps), x.Rank())
		}
		shape := x.Shape()
		for i := range shape {
			shape[i] *= reps[i]
		}
		if err := c.size(shape); err != nil {
			return err
		}
		return c.put(0, x.Tile(reps...))
	}),
	"Slice": {make: slice},
	"Pad":   {make: pad},
	"Range": plain(func(c *call) error {
		if isInt(c.in[0].t) {
			var v [3]int
			for i := range v {
				list, err := c.ints(i)
				if err != nil || len(list) != 1 {
					return fmt.Errorf("operand %d has shape %v, want one number: %v", i, c.in[i].t.Shape(), err)
				}
				v[i] = list[0]
			}
			if v[2] == 0 {
				return fmt.Errorf("a step of 0")
			}
			if err := c.size([]int{max((v[1]-v[0])/v[2], 0)}); err != nil {
				return err
			}
			if (v[1]-v[0])*v[2] <= 0 || (v[1] > v[0]) != (v[2] > 0) {
				return c.put(0, tensor.Empty([]int{0}, tensor.OfType(c.in[0].t.DType()), tensor.On(c.dev)))
			}
			return c.put(0, tensor.Arange(v[0], v[1], v[2], tensor.OfType(c.in[0].t.DType()), tensor.On(c.dev)))
		}
		var v [3]float64
		for i := range v {
			f, err := c.one(i)
			if err != nil {
				return err
			}
			v[i] = f
		}
		if v[2] == 0 {
			return fmt.Errorf("a step of 0")
		}
		if (v[1]-v[0])/v[2] <= 0 {
			return c.put(0, tensor.Empty([]int{0}, tensor.OfType(c.in[0].t.DType()), tensor.On(c.dev)))
		}
		return c.put(0, tensor.Arange(v[0], v[1], v[2], tensor.OfType(c.in[0].t.DType()), tensor.On(c.dev)))
	}),
	"EyeLike": {make: func(n *node) kernel {
		k, given := n.int("k"), n.given("dtype")
		to := format.Float
		if given {
			to = n.elem("dtype")
		}
		return func(c *call) error {
			e := to
			if !given {
				e = c.elem(0)
			}
			x := c.in[0].t
			if x.Rank() != 2 {
				return fmt.Errorf("a tensor of shape %v, want a matrix", x.Shape())
			}
			i := tensor.Arange(0, x.Size(0), 1, tensor.On(c.dev)).Unsqueeze(1)
			j := tensor.Arange(0, x.Size(1), 1, tensor.On(c.dev)).SubScalar(k)
			return c.as(0, i.Eq(j).ToType(carriers[e]), e)
		}
	}},
	"Trilu": {make: func(n *node) kernel {
		upper := n.flag("upper")
		return func(c *call) error {
			k := 0
			if c.has(1) {
				list, err := c.ints(1)
				if err != nil || len(list) != 1 {
					return fmt.Errorf("operand 1 is not one number: %v", err)
				}
				k = list[0]
			}
			if upper {
				return c.put(0, tensor.Triu(c.t(0), k))
			}
			return c.put(0, tensor.Tril(c.t(0), k))
		}
	}},
	"DepthToSpace": {make: func(n *node) kernel {
		b, crd := n.int("blocksize"), n.string("mode") == "CRD"
		if b < 1 {
			n.refuse("blocksize %d", b)
		}
		return func(c *call) error {
			x := c.t(0)
			s := x.Shape()
			if len(s) != 4 || s[1]%(b*b) != 0 {
				return fmt.Errorf("a tensor of shape %v for blocks of %d", s, b)
			}
			ch := s[1] / (b * b)
			if crd {
				x = x.Reshape(s[0], ch, b, b, s[2], s[3]).Permute(0, 1, 4, 2, 5, 3)
			} else {
				x = x.Reshape(s[0], b, b, ch, s[2], s[3]).Permute(0, 3, 4, 1, 5, 2)
			}
			return c.put(0, x.Reshape(s[0], ch, s[2]*b, s[3]*b))
		}
	}},
	"SpaceToDepth": {make: func(n *node) kernel {
		b, crd := n.int("blocksize"), n.string("mode") == "CRD"
		if b < 1 {
			n.refuse("blocksize %d", b)
		}
		return func(c *call) error {
			x := c.t(0)
			s := x.Shape()
			if len(s) != 4 || s[2]%b != 0 || s[3]%b != 0 {
				return fmt.Errorf("a tensor of shape %v for blocks of %d", s, b)
			}
			order := []int{0, 3, 5, 1, 2, 4}
			if crd {
				order = []int{0, 1, 3, 5, 2, 4}
			}
			return c.put(0, x.Reshape(s[0], s[1], s[2]/b, b, s[3]/b, b).Permute(order...).Reshape(s[0], s[1]*b*b, s[2]/b, s[3]/b))
		}
	}},
}

// listOf returns axes, which are an attribute before a version and an operand since; nil
// where there are none.
func listOf(c *call, n *node, since int) ([]int, error) {
	if n.spec.Since < since {
		if !n.given("axes") {
			return nil, nil
		}
		return n.ints("axes"), nil
	}
	if !c.has(1) {
		return nil, nil
	}
	return c.ints(1)
}

// constantOf has its value in one of several attributes.
func constantOf(n *node) kernel {
	var v *value
	switch {
	case n.given("value"):
		if a := n.attribute("value"); a.Tensor != nil {
			v, n.err = n.graph.b.tensor(a.Tensor)
		}
	case n.given("value_float"):
		v = constantValue(tensor.From([]float32{n.attribute("value_float").Float}).Reshape(), format.Float)
	case n.given("value_int"):
		v = constantValue(tensor.From([]int64{n.attribute("value_int").Int}).Reshape(), format.Int64)
	case n.given("value_floats"):
		list := n.attribute("value_floats").Floats
		v = constantValue(tensor.From(list, len(list)), format.Float)
	case n.given("value_ints"):
		list := n.attribute("value_ints").Ints
		v = constantValue(tensor.From(list, len(list)), format.Int64)
	}
	if v == nil {
		n.refuse("a constant that is no tensor of numbers")
	}
	return func(c *call) error { c.out[0] = v; return nil }
}

// split makes parts of given sizes, or of one size.
func split(n *node) kernel {
	at := n.int("axis")
	if parts := n.int("num_outputs"); parts != 0 && parts != len(n.file.Outputs) {
		n.refuse("num_outputs %d for %d results", parts, len(n.file.Outputs))
	}
	return func(c *call) error {
		x := c.t(0)
		a, err := axis(at, x.Rank())
		if err != nil {
			return err
		}
		var sizes []int
		switch {
		case n.spec.Since < 13 && n.given("split"):
			sizes = n.ints("split")
		case n.spec.Since >= 13 && c.has(1):
			if sizes, err = c.ints(1); err != nil {
				return err
			}
		default:
			count := len(c.out)
			each := (x.Size(a) + count - 1) / count
			for i := range count {
				sizes = append(sizes, max(0, min(each, x.Size(a)-i*each)))
			}
		}
		if len(sizes) < len(c.out) {
			return fmt.Errorf("%d parts for %d results", len(sizes), len(c.out))
		}
		for i, t := range tensor.SplitSizes(x, sizes, a) {
			if err := c.put(i, t); err != nil {
				return err
			}
		}
		return nil
	}
}

// slice takes parts along axes; a negative step goes backward.
func slice(n *node) kernel {
	return func(c *call) error {
		x := c.t(0)
		var starts, ends, list, steps []int
		if n.spec.Since < 10 {
			starts, ends, list = n.ints("starts"), n.ints("ends"), n.ints("axes")
		} else {
			var err error
			for i, to := range []*[]int{nil, &starts, &ends, &list, &steps} {
				if to == nil || !c.has(i) {
					continue
				}
				if *to, err = c.ints(i); err != nil {
					return err
				}
			}
		}
		if list == nil {
			for i := range starts {
				list = append(list, i)
			}
		}
		if len(ends) != len(starts) || len(list) != len(starts) || steps != nil && len(steps) != len(starts) {
			return fmt.Errorf("starts %v, ends %v, axes %v, steps %v", starts, ends, list, steps)
		}
		list, err := axes(list, x.Rank())
		if err != nil {
			return err
		}
		for i, a := range list {
			step := 1
			if steps != nil {
				step = steps[i]
			}
			if x, err = along(x, a, starts[i], ends[i], step); err != nil {
				return err
			}
		}
		return c.put(0, x)
	}
}

// along returns a slice along one axis as NumPy has it.
func along(x tensor.Tensor, a, start, end, step int) (tensor.Tensor, error) {
	n := x.Size(a)
	if start < 0 {
		start = max(start+n, math.MinInt/2)
	}
	if end < 0 {
		end = max(end+n, math.MinInt/2)
	}
	switch {
	case step == 0:
		return x, fmt.Errorf("a step of 0")
	case step > 0:
		start, end = min(max(start, 0), n), min(max(end, 0), n)
		return x.Slice(a, start, max(start, end), min(step, max(n, 1))), nil
	}
	start, end = min(max(start, -1), n-1), min(max(end, -1), n-1)
	if start <= end {
		return x.Slice(a, 0, 0, 1), nil
	}
	step = -max(step, -max(n, 1))
	count := (start - end + step - 1) / step
	last := start - (count-1)*step
	return x.Slice(a, last, start+1, step).Flip(a), nil
}

// pad surrounds a tensor; negative numbers remove elements.
func pad(n *node) kernel {
	mode := n.oneOf("mode", "constant", "reflect", "edge", "wrap")
	return func(c *call) error {
		x := c.t(0)
		pads, err := n.ints("pads"), error(nil)
		fill := tensor.Zeros([]int{}, tensor.OfType(x.DType()), tensor.On(x.Device()))
		if n.spec.Since < 11 {
			fill = tensor.Full([]int{}, n.float("value"), tensor.OfType(x.DType()), tensor.On(x.Device()))
		} else {
			if pads, err = c.ints(1); err != nil {
				return err
			}
			if c.has(2) {
				fill = c.t(2).Reshape()
			}
		}
		var list []int
		for i := range x.Rank() {
			list = append(list, i)
		}
		if c.has(3) {
			if list, err = c.ints(3); err != nil {
				return err
			}
			if list, err = axes(list, x.Rank()); err != nil {
				return err
			}
		}
		if len(pads) != 2*len(list) {
			return fmt.Errorf("%d pads for %d axes", len(pads), len(list))
		}
		for i, a := range list {
			if x, err = padAxis(x, a, pads[i], pads[i+len(list)], mode, fill); err != nil {
				return err
			}
		}
		return c.put(0, x)
	}
}

// padAxis pads one axis. The modes other than constant repeat elements, as often as it
// takes.
func padAxis(x tensor.Tensor, a, before, after int, mode string, fill tensor.Tensor) (tensor.Tensor, error) {
	if err := x.Err(); err != nil {
		return x, err
	}
	n := x.Size(a)
	if before < -n || after < -n || before > math.MaxInt-n-max(after, 0) {
		return x, fmt.Errorf("pads of %d and %d of an axis of %d", before, after, n)
	}
	if before < 0 || after < 0 {
		from, to := max(-before, 0), n-max(-after, 0)
		if from > to {
			return x, fmt.Errorf("pads of %d and %d of an axis of %d", before, after, n)
		}
		x, before, after = x.Slice(a, from, to, 1), max(before, 0), max(after, 0)
	}
	n = x.Size(a)
	switch {
	case before == 0 && after == 0:
		return x, nil
	case mode == "constant":
		block := func(size int) tensor.Tensor {
			shape := x.Shape()
			shape[a] = size
			return fill.Expand(shape...)
		}
		return tensor.Cat([]tensor.Tensor{block(before), x, block(after)}, a), nil
	case n == 0:
		return x, fmt.Errorf("padding of an axis of no elements in mode %s", mode)
	}
	index := tensor.Arange(-before, n+after, 1, tensor.On(x.Device()))
	switch {
	case mode == "edge":
		index = index.ClampScalar(0, n-1)
	case mode == "wrap":
		index = index.RemainderScalar(n)
	case n == 1:
		index = tensor.ZerosLike(index)
	default:
		period := 2 * (n - 1)
		index = index.RemainderScalar(period)
		index = tensor.Where(index.GeScalar(n), index.Neg().AddScalar(period), index)
	}
	return x.IndexSelect(a, index), nil
}
