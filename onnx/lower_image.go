package onnx

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// images are the operators that sample along axes.
var images = map[string]lowering{
	"Resize":   {make: resize},
	"Upsample": {make: resize},
	"RoiAlign": {make: align},
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
		n.lacks(0, func(dt tensor.DType) bool { return !dt.IsFloat() })
		return func(c *call) error {
			x, grid := c.t(0), c.t(1)
			dt := wider(x.DType(), grid.DType())
			return c.put(0, tensor.GridSample(x.ToType(dt), grid.ToType(dt), how, beyond, tensor.AlignCorners(align)).ToType(x.DType()))
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
	"CenterCropPad": {make: func(n *node) kernel {
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

// align takes what is in boxes of images, in a number of bins.
func align(n *node) kernel {
	mode, size := n.oneOf("mode", "avg", "max"), []int{n.int("output_height"), n.int("output_width")}
	opts := []tensor.Option{tensor.SpatialScale(n.float("spatial_scale")), tensor.SamplingRatio(n.int("sampling_ratio"))}
	if mode == "max" {
		opts = append(opts, tensor.RoiModeMax)
	}
	if n.spec.Since >= 16 && n.oneOf("coordinate_transformation_mode", "half_pixel", "output_half_pixel") == "half_pixel" {
		opts = append(opts, tensor.Aligned())
	}
	return func(c *call) error {
		x, boxes, images := c.t(0), c.t(1), c.t(2)
		if boxes.Rank() != 2 || boxes.Size(1) != 4 || images.Rank() != 1 || images.Size(0) != boxes.Size(0) {
			return fmt.Errorf("boxes %v of images %v", boxes.Shape(), images.Shape())
		}
		ratio := max(n.int("sampling_ratio"), 1)
		if err := c.size([]int{boxes.Size(0), x.Size(1), size[0], size[1]}); err != nil {
			return err
		}
		if err := c.size([]int{boxes.Size(0), size[0], size[1], 4, ratio, ratio}); err != nil {
			return err
		}
		dt := x.DType()
		if dt.Size() < 4 { // numbers of images beyond 2048
			x, boxes = x.ToType(tensor.Float32), boxes.ToType(tensor.Float32)
		}
		boxes = tensor.Cat([]tensor.Tensor{images.Unsqueeze(1).ToType(boxes.DType()), boxes}, 1)
		return c.put(0, x.RoiAlign(boxes, size, opts...).ToType(dt))
	}
}

// wider returns a dtype that holds the numbers of two of floats.
func wider(a, b tensor.DType) tensor.DType {
	switch {
	case a == b || a.Size() > b.Size():
		return a
	case a.Size() < b.Size():
		return b
	}
	return tensor.Float32 // of the two of 16 bits
}

// resizes are the interpolations and the coordinates by their names in the standard.
var (
	resizeModes = map[string]tensor.ResizeMode{
		"nearest": tensor.ResizeModeNearest, "linear": tensor.ResizeModeLinear, "bilinear": tensor.ResizeModeLinear, "cubic": tensor.ResizeModeCubic,
	}
	resizePlaces = map[string]tensor.Coordinates{
		"half_pixel": tensor.CoordinatesHalfPixel, "half_pixel_symmetric": tensor.CoordinatesHalfPixelSymmetric,
		"pytorch_half_pixel": tensor.CoordinatesPytorchHalfPixel, "align_corners": tensor.CoordinatesAlignCorners,
		"asymmetric": tensor.CoordinatesAsymmetric, "tf_half_pixel_for_nn": tensor.CoordinatesTfHalfPixelForNn, "tf_crop_and_resize": tensor.CoordinatesCrop,
	}
	resizeNearest = map[string]tensor.Rounding{
		"round_prefer_floor": tensor.RoundingPreferFloor, "round_prefer_ceil": tensor.RoundingPreferCeil, "floor": tensor.RoundingFloor, "ceil": tensor.RoundingCeil,
	}
)

// A resizing has the attributes of an interpolation along axes.
type resizing struct {
	n                  *node
	mode               tensor.ResizeMode
	crop               bool   // coordinates are those of a region, an operand
	policy             string // what becomes of the ratio of the sizes
	opts               []tensor.Option
	roi, scales, sizes int // where the operands are
}

func resize(n *node) kernel {
	r := resizing{n: n, mode: resizeModes[n.oneOf("mode", slices.Sorted(maps.Keys(resizeModes))...)], policy: "stretch"}
	if r.mode != tensor.ResizeModeNearest {
		n.lacks(0, tensor.DType.IsComplex)
	}
	coordinates, nearest := "asymmetric", "floor"
	if n.spec.Name == "Resize" && n.spec.Since >= 11 {
		coordinates = n.oneOf("coordinate_transformation_mode", slices.Sorted(maps.Keys(resizePlaces))...)
		nearest = n.oneOf("nearest_mode", slices.Sorted(maps.Keys(resizeNearest))...)
		r.opts = append(r.opts, tensor.Cubic(n.float("cubic_coeff_a")), tensor.ExcludeOutside(n.flag("exclude_outside")), tensor.Extrapolation(n.float("extrapolation_value")))
	}
	r.crop = coordinates == "tf_crop_and_resize"
	r.opts = append(r.opts, r.mode, resizePlaces[coordinates], resizeNearest[nearest])
	if n.spec.Since >= 18 {
		r.opts = append(r.opts, tensor.Antialias(n.flag("antialias") && r.mode != tensor.ResizeModeNearest))
		r.policy = n.oneOf("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller")
	}
	r.roi, r.scales, r.sizes = 1, 2, 3
	if n.spec.Name == "Upsample" || n.spec.Since < 11 {
		r.roi, r.scales, r.sizes = 9, 1, 9
	}
	return r.run
}

// run interpolates along one axis after the other.
func (r resizing) run(c *call) error {
	x := c.t(0)
	at := last(x.Rank(), x.Rank())
	if list := r.n.ints("axes"); list != nil {
		var err error
		if at, err = axes(list, x.Rank()); err != nil {
			return err
		}
	}
	sizes, scales, err := r.extents(c, at)
	if err != nil {
		return err
	}
	roi, err := c.optionalFloats(r.roi)
	if err != nil {
		return err
	}
	if r.crop && len(roi) != 2*len(at) {
		return fmt.Errorf("%d numbers of a region for %d axes", len(roi), len(at))
	}
	shape := x.Shape()
	for i, a := range at {
		shape[a] = sizes[i]
	}
	if err := c.size(shape); err != nil {
		return err
	}
	dt := x.DType()
	if r.mode != tensor.ResizeModeNearest && (isInt(x) || dt.Size() < 4) {
		x = x.ToType(tensor.Float32)
	}
	for i, a := range at {
		var lo, hi float64
		scale, by := 0.0, float64(sizes[i])/float64(max(x.Size(a), 1))
		if scales != nil {
			scale, by = scales[i], scales[i]
		}
		if r.crop {
			lo, hi = roi[i], roi[i+len(at)]
		} else if sizes[i] == x.Size(a) && by == 1 {
			continue
		}
		if x.Size(a) == 0 || !(by > 0) {
			return fmt.Errorf("axis %d of %d elements scaled by %g", a, x.Size(a), by)
		}
		x = x.Resample(a, sizes[i], slices.Concat(r.opts, []tensor.Option{tensor.ScaleFactor(scale), tensor.CropStart(lo), tensor.CropEnd(hi)})...)
	}
	if isIntDType(dt) && r.mode != tensor.ResizeModeNearest {
		lowest, highest := limits(dt)
		x = x.Round().ClampScalar(lowest, highest)
	}
	return c.put(0, x.ToType(dt))
}

// extents returns the size and the scale of each axis at, of which an operand has one. Where the
// scales are nil each is that of the sizes, which no float need be.
func (r resizing) extents(c *call, at []int) (sizes []int, scales []float64, err error) {
	x := c.t(0)
	if scales, err = c.optionalFloats(r.scales); err != nil {
		return nil, nil, err
	}
	if r.n.spec.Name == "Upsample" && r.n.spec.Since < 9 {
		scales = r.n.floats("scales")
	}
	if scales != nil {
		if len(scales) != len(at) {
			return nil, nil, fmt.Errorf("%d scales for %d axes", len(scales), len(at))
		}
		for i, a := range at {
			sizes = append(sizes, int(math.Floor(float64(x.Size(a))*float64(float32(scales[i])))))
		}
		return sizes, scales, nil
	}
	if !c.has(r.sizes) {
		return nil, nil, fmt.Errorf("neither scales nor sizes")
	}
	list, err := c.ints(r.sizes)
	if err != nil {
		return nil, nil, err
	}
	if len(list) != len(at) {
		return nil, nil, fmt.Errorf("%d sizes for %d axes", len(list), len(at))
	}
	sizes = slices.Clone(list)
	return sizes, aspect(x, at, sizes, r.policy), nil
}

// optionalFloats returns the elements of an operand, nil where it is left out or empty.
func (c *call) optionalFloats(i int) ([]float64, error) {
	if !c.has(i) || c.in[i].t.NumElements() == 0 {
		return nil, nil
	}
	return c.floats(i)
}

func isIntDType(dt tensor.DType) bool {
	return dt.IsInt()
}

// aspect returns the scales that sizes mean where the ratio is kept, which changes sizes; else nil.
func aspect(x tensor.Tensor, at, sizes []int, policy string) []float64 {
	if policy == "stretch" {
		return nil
	}
	scales := make([]float64, len(at))
	for i, a := range at {
		scales[i] = float64(sizes[i]) / float64(max(x.Size(a), 1))
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
