package shapes

import "github.com/sinter-go/sinter/ir"

// forEach checks that p, a scale or a zero, is one number or has one for each of so many.
func forEach(what string, p []int, n int) error {
	if len(p) == 0 || len(p) == 1 && (p[0] == 1 || p[0] == n) {
		return nil
	}
	return ir.ShapeErrorf("%s %v must be one number or have %d", what, p, n)
}

// number checks that p is one number.
func number(what string, p []int) error {
	if len(p) > 0 {
		return ir.ShapeErrorf("%s %v must be one number", what, p)
	}
	return nil
}

// Int8ProductShape returns the shape [..., m, n] of the product of x [..., m, k], less a
// zero, with y [k, n], less one zero or one for each column.
func Int8ProductShape(x, y, xZero, yZero []int) ([]int, error) {
	if len(x) < 2 || len(y) != 2 || x[len(x)-1] != y[0] {
		return nil, ir.ShapeErrorf("a product of bytes takes x [..., m, k] and y [k, n], have %v and %v", x, y)
	}
	if err := number("the zero of x", xZero); err != nil {
		return nil, err
	}
	if err := forEach("the zero of y", yZero, y[1]); err != nil {
		return nil, err
	}
	out := append(append([]int{}, x[:len(x)-1]...), y[1])
	return out, ir.CheckShape(out)
}

// Int8ConvolutionShape returns the shape of the convolution of images x, less a zero, with
// weight, less one zero or one for each channel of the result.
func Int8ConvolutionShape(x, weight, xZero, wZero, stride, padding, dilation []int, groups int) ([]int, error) {
	if len(x) != 4 {
		return nil, ir.ShapeErrorf("a convolution of bytes takes x [n, channels, height, width], have %v", x)
	}
	out, err := ConvolutionShape(x, weight, stride, padding, dilation, groups)
	if err == nil {
		err = number("the zero of x", xZero)
	}
	if err == nil {
		err = forEach("the zero of the weight", wZero, weight[0])
	}
	return out, err
}

// Int8LSTMSequenceShape returns the shape [steps, batch, width] of the outputs, and that of
// the cells, of an LSTM over gates [steps, batch, 4*width] whose weight [width, 4*width] has
// one scale and one zero, or one for each column.
func Int8LSTMSequenceShape(gates, h, c, weight, scale, zero []int) ([][]int, error) {
	if len(weight) != 2 {
		return nil, ir.ShapeErrorf("weight %v must be [width, 4*width]", weight)
	}
	steps, batch, width, err := recurrent(gates, h, []int{weight[1], weight[0]}, 4)
	if err == nil {
		err = same("the cell", c, h)
	}
	if err == nil {
		err = forEach("the scale", scale, 4*width)
	}
	if err == nil {
		err = forEach("the zero", zero, 4*width)
	}
	if err != nil {
		return nil, err
	}
	out := []int{steps, batch, width}
	return [][]int{out, out}, nil
}
