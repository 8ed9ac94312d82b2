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

func resize(n *node) kernel {
	mode := resizeModes[n.oneOf("mode", slices.Sorted(maps.Keys(resizeModes))...)]
	if mode != tensor.ResizeModeNearest {
		n.lacks(0, tensor.DType.IsComplex)
	}
	coordinates, nearest := "asymmetric", "floor"
	var opts []tensor.Option
	if n.spec.Name == "Resize" && n.spec.Since >= 11 {
		coordinates = n.oneOf("coordinate_transformation_mode", slices.Sorted(maps.Keys(resizePlaces))...)
		nearest = n.oneOf("nearest_mode", slices.Sorted(maps.Keys(resizeNearest))...)
		opts = append(opts, tensor.Cubic(n.float("cubic_coeff_a")), tensor.ExcludeOutside(n.flag("exclude_outside")), tensor.Extrapolation(n.float("extrapolation_value")))
	}
	opts = append(opts, mode, resizePlaces[coordinates], resizeNearest[nearest])
	policy := "stretch"
	if n.spec.Since >= 18 {
		opts = append(opts, tensor.Antialias(n.flag("antialias") && mode != tensor.ResizeModeNearest))
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
		shape := x.Shape()
		for i, a := range at {
			shape[a] = sizes[i]
		}
		if err := c.size(shape); err != nil {
			return err
		}
		dt := x.DType()
		if mode != tensor.ResizeModeNearest && (isInt(x) || dt.Size() < 4) {
			x = x.ToType(tensor.Float32)
		}
		for i, a := range at {
			var lo, hi float64
			if coordinates == "tf_crop_and_resize" {
				if len(roi) != 2*len(at) {
					return fmt.Errorf("%d numbers of a region for %d axes", len(roi), len(at))
				}
				lo, hi = roi[i], roi[i+len(at)]
			} else if sizes[i] == x.Size(a) && scales[i] == 1 {
				continue
			}
			if x.Size(a) == 0 || !(scales[i] > 0) {
				return fmt.Errorf("axis %d of %d elements scaled by %g", a, x.Size(a), scales[i])
			}
			x = x.Resample(a, sizes[i], slices.Concat(opts, []tensor.Option{tensor.ScaleFactor(scales[i]), tensor.CropStart(lo), tensor.CropEnd(hi)})...)
		}
		if isIntDType(dt) && mode != tensor.ResizeModeNearest {
			lowest, highest := limits(dt)
			x = x.Round().ClampScalar(lowest, highest)
		}
		return c.put(0, x.ToType(dt))
	}
}

func isIntDType(dt tensor.DType) bool {
	return dt.IsInt()
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
