package onnx

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// images are the operators that sample along axes.
var images = map[string]lowering{
	"Resize":   {make: resize},
	"Upsample": {make: resize},
	"GridSample": {make: func(n *node) kernel {
		mode, padding, align := n.string("mode"), n.oneOf("padding_mode", "zeros", "border", "reflection"), n.flag("align_corners")
		how := tensor.InterpolationBilinear
		switch mode {
		case "nearest":
			how = tensor.InterpolationNearest
		case "bicubic", "cubic":
			how = tensor.InterpolationBicubic
		}
		beyond := tensor.PaddingModeZeros
		switch padding {
		case "border":
			beyond = tensor.PaddingModeBorder
		case "reflection":
			beyond = tensor.PaddingModeReflection
		}
		return func(c *call) error {
			return c.put(0, tensor.GridSample(c.t(0), c.t(1), how, beyond, tensor.AlignCorners(align)))
		}
	}},
	"AffineGrid": {make: func(n *node) kernel {
		align := n.flag("align_corners")
		return func(c *call) error {
			size, err := c.ints(1)
			if err != nil {
				return err
			}
			return c.put(0, tensor.AffineGrid(c.t(0), size, tensor.AlignCorners(align)))
		}
	}},
	"CenterCropPad": {bits: true, make: func(n *node) kernel {
		list := n.ints("axes")
		return func(c *call) error {
			x := c.t(0)
			want, err := c.ints(1)
			if err != nil {
				return err
			}
			at := last(x.Rank(), x.Rank())
			if list != nil {
				if at, err = axes(list, x.Rank()); err != nil {
					return err
				}
			}
			if len(at) != len(want) {
				return fmt.Errorf("%d extents for %d axes", len(want), len(at))
			}
			fill := tensor.Zeros([]int{}, tensor.OfType(x.DType()), tensor.On(x.Device()))
			for i, a := range at {
				d := want[i] - x.Size(a)
				before := d / 2
				if d < 0 {
					before = -(-d / 2)
				}
				if x, err = padAxis(x, a, before, d-before, "constant", fill); err != nil {
					return err
				}
			}
			return c.put(0, x)
		}
	}},
}

// A resizing is how one axis goes to another extent.
type resizing struct {
	coordinates, mode, nearest string
	antialias, outside         bool
	a, fill                    float64
}

func resize(n *node) kernel {
	r := resizing{mode: n.oneOf("mode", "nearest", "linear", "cubic", "bilinear"), a: -0.75, coordinates: "asymmetric", nearest: "floor"}
	if r.mode == "bilinear" {
		r.mode = "linear"
	}
	policy := "stretch"
	if n.spec.Name == "Resize" && n.spec.Since >= 11 {
		r.coordinates = n.oneOf("coordinate_transformation_mode", "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
			"asymmetric", "tf_crop_and_resize", "tf_half_pixel_for_nn")
		r.nearest = n.oneOf("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
		r.a, r.outside, r.fill = n.float("cubic_coeff_a"), n.flag("exclude_outside"), n.float("extrapolation_value")
	}
	if n.spec.Since >= 18 {
		r.antialias = n.flag("antialias")
		policy = n.oneOf("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
	}
	roiAt, scalesAt, sizesAt := 1, 2, 3
	if n.spec.Name == "Upsample" || n.spec.Since < 11 {
		roiAt, scalesAt, sizesAt = 9, 1, 9
	}
	return func(c *call) error {
		x := c.t(0)
		at := last(x.Rank(), x.Rank())
		if list := n.ints("axes"); list != nil {
			var err error
			if at, err = axes(list, x.Rank()); err != nil {
				return err
			}
		}
		floats := func(i int) ([]float64, error) {
			if !c.has(i) || c.in[i].t.NumElements() == 0 {
				return nil, nil
			}
			return c.floats(i)
		}
		scales, err := floats(scalesAt)
		if err != nil {
			return err
		}
		if n.spec.Name == "Upsample" && n.spec.Since < 9 {
			scales = n.floats("scales")
		}
		roi, err := floats(roiAt)
		if err != nil {
			return err
		}
		sizes := make([]int, len(at))
		switch {
		case scales != nil:
			if len(scales) != len(at) {
				return fmt.Errorf("%d scales for %d axes", len(scales), len(at))
			}
			for i, a := range at {
				sizes[i] = int(math.Floor(float64(x.Size(a)) * float64(float32(scales[i]))))
			}
		case c.has(sizesAt):
			list, err := c.ints(sizesAt)
			if err != nil {
				return err
			}
			if len(list) != len(at) {
				return fmt.Errorf("%d sizes for %d axes", len(list), len(at))
			}
			sizes = slices.Clone(list)
			scales = aspect(x, at, sizes, policy)
		default:
			return fmt.Errorf("neither scales nor sizes")
		}
		dt := x.DType()
		if r.mode != "nearest" && (isInt(x) || dt.Size() < 4) {
			x = x.ToType(tensor.Float32)
		}
		for i, a := range at {
			var lo, hi float64
			if r.coordinates == "tf_crop_and_resize" {
				if len(roi) != 2*len(at) {
					return fmt.Errorf("%d numbers of a region for %d axes", len(roi), len(at))
				}
				lo, hi = roi[i], roi[i+len(at)]
			} else if sizes[i] == x.Size(a) && scales[i] == 1 {
				continue
			}
			if x, err = r.axis(x, a, sizes[i], scales[i], lo, hi); err != nil {
				return err
			}
		}
		if isIntDType(dt) && r.mode != "nearest" {
			lowest, highest := limits(dt)
			x = x.Round().ClampScalar(lowest, highest)
		}
		return c.put(0, x.ToType(dt))
	}
}

func isIntDType(dt tensor.DType) bool {
	return dt != tensor.Bool && native[dt] != 0 && dt.Category() == tensor.Int64.Category()
}

// aspect returns the scales that sizes mean, and changes sizes where the ratio is kept.
func aspect(x tensor.Tensor, at, sizes []int, policy string) []float64 {
	scales := make([]float64, len(at))
	for i, a := range at {
		scales[i] = float64(sizes[i]) / float64(max(x.Size(a), 1))
	}
	if policy == "stretch" {
		return scales
	}
	s := slices.Min(scales)
	if policy == "not_smaller" {
		s = slices.Max(scales)
	}
	for i, a := range at {
		scales[i] = s
		sizes[i] = int(math.Floor(s*float64(x.Size(a)) + 0.5))
	}
	return scales
}

// place returns the coordinate in n elements of element i of size.
func (r resizing) place(i, n, size int, scale, lo, hi float64) float64 {
	o := float64(i)
	switch r.coordinates {
	case "align_corners":
		span := scale*float64(n) - 1
		if size == 1 || math.Abs(span) < 1e-9 {
			return 0
		}
		return o * float64(n-1) / span
	case "asymmetric":
		return o / scale
	case "pytorch_half_pixel":
		if size == 1 {
			return 0
		}
	case "tf_half_pixel_for_nn":
		return (o + 0.5) / scale
	case "half_pixel_symmetric":
		adjust := float64(size) / (scale * float64(n))
		center := float64(n) / 2
		return center*(1-adjust) + (o+0.5)/scale - 0.5
	case "tf_crop_and_resize":
		if size == 1 {
			return 0.5 * (lo + hi) * float64(n-1)
		}
		return lo*float64(n-1) + o*(hi-lo)*float64(n-1)/float64(size-1)
	}
	return (o+0.5)/scale - 0.5
}

// axis resizes one axis: every element is a weighted sum of some along it.
func (r resizing) axis(x tensor.Tensor, a, size int, scale, lo, hi float64) (tensor.Tensor, error) {
	n := x.Size(a)
	if n == 0 || scale <= 0 || math.IsNaN(scale) {
		return x, fmt.Errorf("axis %d of %d elements scaled by %g", a, n, scale)
	}
	var taps int
	index, weight := make([][]int64, size), make([][]float64, size)
	outside := make([]bool, size)
	for i := range size {
		p := r.place(i, n, size, scale, lo, hi)
		outside[i] = r.coordinates == "tf_crop_and_resize" && (p < 0 || p > float64(n-1))
		index[i], weight[i] = r.taps(p, n, scale)
		taps = max(taps, len(index[i]))
	}
	var out tensor.Tensor
	shape := slices.Repeat([]int{1}, x.Rank())
	shape[a] = size
	for k := range taps {
		ix, w := make([]int64, size), make([]float64, size)
		for i := range size {
			if k < len(index[i]) {
				ix[i], w[i] = index[i][k], weight[i][k]
			}
		}
		part := x.IndexSelect(a, tensor.From(ix).To(x.Device()))
		if r.mode != "nearest" {
			part = part.Mul(tensor.From(w, shape...).ToType(x.DType()).To(x.Device()))
		}
		if k == 0 {
			out = part
		} else {
			out = out.Add(part)
		}
	}
	if slices.Contains(outside, true) {
		out = tensor.Where(tensor.From(outside, shape...).To(x.Device()), tensor.Full([]int{}, r.fill, tensor.OfType(tensor.Float64), tensor.On(x.Device())).ToType(x.DType()), out)
	}
	return out, nil
}

// taps returns the elements that a place is made of, and their weights.
func (r resizing) taps(p float64, n int, scale float64) (index []int64, weight []float64) {
	if r.mode == "nearest" {
		var k float64
		switch r.nearest {
		case "round_prefer_floor":
			k = math.Ceil(p - 0.5)
		case "round_prefer_ceil":
			k = math.Floor(p + 0.5)
		case "floor":
			k = math.Floor(p)
		case "ceil":
			k = math.Ceil(p)
		}
		return []int64{int64(min(max(k, 0), float64(n-1)))}, []float64{1}
	}
	reach, stretch := 1.0, 1.0
	if r.mode == "cubic" {
		reach = 2
	}
	if r.antialias && scale < 1 {
		stretch = scale
		reach /= scale
	}
	from, to := int(math.Floor(p-reach))+1, int(math.Ceil(p+reach))-1
	if !r.antialias || scale >= 1 { // the elements around the place
		f := int(math.Floor(p))
		from, to = f, f+1
		if r.mode == "cubic" {
			from, to = f-1, f+2
		}
	}
	total := 0.0
	for k := from; k <= to; k++ {
		w := r.weight((p - float64(k)) * stretch)
		if r.outside && (k < 0 || k >= n) {
			continue
		}
		index, weight = append(index, int64(min(max(k, 0), n-1))), append(weight, w)
		total += w
	}
	if (r.outside || stretch != 1) && total != 0 {
		for i := range weight {
			weight[i] /= total
		}
	}
	return index, weight
}

// weight returns the kernel of the interpolation at a distance.
func (r resizing) weight(d float64) float64 {
	d = math.Abs(d)
	if r.mode == "linear" {
		return max(1-d, 0)
	}
	switch {
	case d <= 1:
		return ((r.a+2)*d-(r.a+3))*d*d + 1
	case d < 2:
		return ((r.a*d-5*r.a)*d+8*r.a)*d - 4*r.a
	}
	return 0
}
