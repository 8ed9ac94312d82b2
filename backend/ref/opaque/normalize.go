package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// sum adds elements in order.
func sum[T any](f field[T], xs []T) T {
	total := f.number(0)
	for _, x := range xs {
		total = f.add(total, x)
	}
	return total
}

// Softmax returns exp(x - max) / sum(exp(x - max)) along attribute dim.
func Softmax(c *ir.Call) error { return inField(c, softmax[float64], softmax[wide.Float]) }

func softmax[T any](c *ir.Call, f field[T]) error {
	return alongLines(c, f, func(x []T) {
		top := largest(f, x)
		for i := range x {
			x[i] = f.exp(f.sub(x[i], top))
		}
		total := sum(f, x)
		for i := range x {
			x[i] = f.quo(x[i], total)
		}
	})
}

// LogSoftmax returns x - max - log(sum(exp(x - max))) along attribute dim.
func LogSoftmax(c *ir.Call) error { return inField(c, logSoftmax[float64], logSoftmax[wide.Float]) }

func logSoftmax[T any](c *ir.Call, f field[T]) error {
	return alongLines(c, f, func(x []T) {
		top := largest(f, x)
		powers := make([]T, len(x))
		for i := range x {
			x[i] = f.sub(x[i], top)
			powers[i] = f.exp(x[i])
		}
		scale := f.log(sum(f, powers))
		for i := range x {
			x[i] = f.sub(x[i], scale)
		}
	})
}

func largest[T any](f field[T], xs []T) T {
	top := xs[0]
	for _, x := range xs {
		if f.larger(x, top) {
			top = x
		}
	}
	return top
}

// SoftmaxPull returns y*(g - sum(g*y)) along attribute dim, the gradient of Softmax from
// that of its result, operand g, and the result, operand y.
func SoftmaxPull(c *ir.Call) error { return inField(c, softmaxPull[float64], softmaxPull[wide.Float]) }

func softmaxPull[T any](c *ir.Call, f field[T]) error {
	g, y := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	axis, err := axisOf(c, 0, y.shape)
	if err != nil {
		return err
	}
	for _, l := range lines(y.shape, axis) {
		total := f.number(0)
		for _, i := range l {
			total = f.add(total, f.mul(g.v[i], y.v[i]))
		}
		for _, i := range l {
			y.v[i] = f.mul(y.v[i], f.sub(g.v[i], total))
		}
	}
	encode(c.Out[0], c.Compute, f.ring, y)
	return nil
}

// alongLines changes every line of x along attribute dim, which has an element
// at least, and returns the result.
func alongLines[T any](c *ir.Call, f field[T], change func(x []T)) error {
	x := decode(c.In[0], c.Compute, f.ring)
	axis, err := axisOf(c, 0, x.shape)
	if err != nil {
		return err
	}
	for _, l := range lines(x.shape, axis) {
		row := make([]T, len(l))
		for k, i := range l {
			row[k] = x.v[i]
		}
		change(row)
		for k, i := range l {
			x.v[i] = row[k]
		}
	}
	encode(c.Out[0], c.Compute, f.ring, x)
	return nil
}

// LayerNorm normalizes x over its last `axes` axes together: out is
// (x - mean)*rstd with rstd = 1/sqrt(variance + eps) and the variance divided by
// the number of elements. Operands weight and bias, where there are any, have the
// shape of these axes; out is then multiplied by the one, and the other added.
// Results: out, mean, rstd.
func LayerNorm(c *ir.Call) error { return inField(c, layerNorm[float64], layerNorm[wide.Float]) }

func layerNorm[T any](c *ir.Call, f field[T]) error {
	x, groups := groupsOf(c, f)
	mean, rstd := newTensor(c.Out[1].Shape, f.number(0)), newTensor(c.Out[2].Shape, f.number(0))
	for g, group := range groups {
		count := f.number(len(group))
		mean.v[g] = f.quo(sum(f, group), count)
		squares := make([]T, len(group))
		for i := range group {
			group[i] = f.sub(group[i], mean.v[g])
			squares[i] = f.mul(group[i], group[i])
		}
		rstd.v[g] = scale(c, f, f.quo(sum(f, squares), count))
		for i := range group {
			group[i] = f.mul(group[i], rstd.v[g])
		}
		affine(c, f, group)
	}
	encode(c.Out[0], c.Compute, f.ring, x)
	encode(c.Out[1], c.Compute, f.ring, mean)
	encode(c.Out[2], c.Compute, f.ring, rstd)
	return nil
}

// RMSNorm divides x by the root of its mean square over its last `axes` axes:
// rstd is 1/sqrt(mean(x*x) + eps). An operand weight, where there is one, has the
// shape of these axes and multiplies out. Results: out, rstd.
func RMSNorm(c *ir.Call) error { return inField(c, rmsNorm[float64], rmsNorm[wide.Float]) }

func rmsNorm[T any](c *ir.Call, f field[T]) error {
	x, groups := groupsOf(c, f)
	rstd := newTensor(c.Out[1].Shape, f.number(0))
	for g, group := range groups {
		squares := make([]T, len(group))
		for i := range group {
			squares[i] = f.mul(group[i], group[i])
		}
		rstd.v[g] = scale(c, f, f.quo(sum(f, squares), f.number(len(group))))
		for i := range group {
			group[i] = f.mul(group[i], rstd.v[g])
		}
		affine(c, f, group)
	}
	encode(c.Out[0], c.Compute, f.ring, x)
	encode(c.Out[1], c.Compute, f.ring, rstd)
	return nil
}

// affine multiplies a group by operand 1 and adds operand 2, where they are there.
func affine[T any](c *ir.Call, f field[T], group []T) {
	if len(c.In) > 1 {
		for i, w := range decode(c.In[1], c.Compute, f.ring).v {
			group[i] = f.mul(group[i], w)
		}
	}
	if len(c.In) > 2 {
		for i, b := range decode(c.In[2], c.Compute, f.ring).v {
			group[i] = f.add(group[i], b)
		}
	}
}

// scale returns 1/sqrt(square + eps); eps is the last attribute.
func scale[T any](c *ir.Call, f field[T], square T) T {
	return f.quo(f.number(1), f.sqrt(f.add(square, f.from(c.Attrs[len(c.Attrs)-1].Scalar))))
}

// groupsOf decodes x and cuts it into what is normalized together, its last
// axes; the first attribute says how many.
func groupsOf[T any](c *ir.Call, f field[T]) (x tensor[T], groups [][]T) {
	x = decode(c.In[0], c.Compute, f.ring)
	lead := len(x.shape) - int(c.Attrs[0].Int)
	size := ir.NumElements(x.shape[lead:])
	for g := range ir.NumElements(x.shape[:lead]) {
		groups = append(groups, x.v[g*size:(g+1)*size])
	}
	return x, groups
}

// ChannelNorm normalizes each channel, axis 1 of x, over the other axes together,
// multiplies it by its element of weight and adds that of bias. The attribute is eps.
// Results: out, and the mean and the variance of each channel, divided by the number
// of its elements.
func ChannelNorm(c *ir.Call) error { return inField(c, channelNorm[float64], channelNorm[wide.Float]) }

func channelNorm[T any](c *ir.Call, f field[T]) error {
	x := decode(c.In[0], c.Compute, f.ring)
	weight, bias := decode(c.In[1], c.Compute, f.ring), decode(c.In[2], c.Compute, f.ring)
	mean, variance := newTensor(c.Out[1].Shape, f.number(0)), newTensor(c.Out[2].Shape, f.number(0))
	for ch, at := range channelsOf(x.shape) {
		group := pick(x.v, at)
		count := f.number(len(group))
		mean.v[ch] = f.quo(sum(f, group), count)
		squares := make([]T, len(group))
		for i := range group {
			group[i] = f.sub(group[i], mean.v[ch])
			squares[i] = f.mul(group[i], group[i])
		}
		variance.v[ch] = f.quo(sum(f, squares), count)
		rstd := scale(c, f, variance.v[ch])
		for i, k := range at {
			x.v[k] = f.add(f.mul(f.mul(group[i], rstd), weight.v[ch]), bias.v[ch])
		}
	}
	encode(c.Out[0], c.Compute, f.ring, x)
	for i, v := range c.Out[1:] { // rounded, and as they are
		encode(v, c.Compute, f.ring, []tensor[T]{mean, variance}[i%2])
	}
	return nil
}

// ChannelNormGrad returns the gradients of ChannelNorm's out by x, weight and bias,
// from out's own, x, weight, and the mean and the variance of each channel. The
// attribute is eps.
func ChannelNormGrad(c *ir.Call) error {
	return inField(c, channelNormGrad[float64], channelNormGrad[wide.Float])
}

func channelNormGrad[T any](c *ir.Call, f field[T]) error {
	var in [5][]T // dy, x, weight, mean, variance
	for i := range in {
		in[i] = decode(c.In[i], c.Compute, f.ring).v
	}
	dx, dWeight, dBias := newTensor(c.Out[0].Shape, f.number(0)), newTensor(c.Out[1].Shape, f.number(0)), newTensor(c.Out[2].Shape, f.number(0))
	for ch, at := range channelsOf(dx.shape) {
		dy, y, products := pick(in[0], at), pick(in[1], at), make([]T, len(at))
		rstd := scale(c, f, in[4][ch])
		for i := range y { // the normalized x
			y[i] = f.mul(f.sub(y[i], in[3][ch]), rstd)
			products[i] = f.mul(dy[i], y[i])
		}
		dWeight.v[ch], dBias.v[ch] = sum(f, products), sum(f, dy)
		count := f.number(len(at))
		middle, slope := f.quo(dBias.v[ch], count), f.quo(dWeight.v[ch], count)
		for i, k := range at {
			d := f.sub(f.sub(dy[i], middle), f.mul(y[i], slope))
			dx.v[k] = f.mul(f.mul(in[2][ch], rstd), d)
		}
	}
	encode(c.Out[0], c.Compute, f.ring, dx)
	encode(c.Out[1], c.Compute, f.ring, dWeight)
	encode(c.Out[2], c.Compute, f.ring, dBias)
	return nil
}

// GroupNorm normalizes the groups of channels, axis 1 of x, of each image, times weight plus
// bias, which have one element a channel. Attributes: groups, eps. Results: out, and mean and
// rstd of each image's groups.
func GroupNorm(c *ir.Call) error { return inField(c, groupNorm[float64], groupNorm[wide.Float]) }

func groupNorm[T any](c *ir.Call, f field[T]) error {
	x := decode(c.In[0], c.Compute, f.ring)
	weight, bias := decode(c.In[1], c.Compute, f.ring), decode(c.In[2], c.Compute, f.ring)
	mean, rstd := newTensor(c.Out[1].Shape, f.number(0)), newTensor(c.Out[2].Shape, f.number(0))
	n, size := groupSizes(x.shape, int(c.Attrs[0].Int))
	for g := range mean.v {
		group, squares := x.v[g*n:(g+1)*n], make([]T, n)
		mean.v[g] = f.quo(sum(f, group), f.number(n))
		for i := range group {
			group[i] = f.sub(group[i], mean.v[g])
			squares[i] = f.mul(group[i], group[i])
		}
		rstd.v[g] = scale(c, f, f.quo(sum(f, squares), f.number(n)))
		for i := range group {
			ch := (g*n + i) / size % x.shape[1]
			group[i] = f.add(f.mul(f.mul(group[i], rstd.v[g]), weight.v[ch]), bias.v[ch])
		}
	}
	encode(c.Out[0], c.Compute, f.ring, x)
	encode(c.Out[1], c.Compute, f.ring, mean)
	encode(c.Out[2], c.Compute, f.ring, rstd)
	return nil
}

// groupSizes returns how many elements a group and a channel have.
func groupSizes(shape []int, groups int) (group, channel int) {
	channel = ir.NumElements(shape[2:])
	return shape[1] / groups * channel, channel
}

// GroupNormGrad returns the gradients of GroupNorm's out by x, weight and bias, from out's own,
// x, weight, and the mean and rstd of each image's groups. The attribute is groups.
func GroupNormGrad(c *ir.Call) error {
	return inField(c, groupNormGrad[float64], groupNormGrad[wide.Float])
}

func groupNormGrad[T any](c *ir.Call, f field[T]) error {
	var in [5][]T // dy, x, weight, mean, rstd
	for i := range in {
		in[i] = decode(c.In[i], c.Compute, f.ring).v
	}
	dx, dWeight, dBias := newTensor(c.Out[0].Shape, f.number(0)), newTensor(c.Out[1].Shape, f.number(0)), newTensor(c.Out[2].Shape, f.number(0))
	n, size := groupSizes(dx.shape, int(c.Attrs[0].Int))
	for g, rstd := range in[4] {
		pulls, products, y := make([]T, n), make([]T, n), make([]T, n)
		for i := range n {
			k := g*n + i
			ch := k / size % dx.shape[1]
			y[i] = f.mul(f.sub(in[1][k], in[3][g]), rstd) // the normalized x
			pulls[i] = f.mul(in[0][k], in[2][ch])
			products[i] = f.mul(pulls[i], y[i])
			dWeight.v[ch] = f.add(dWeight.v[ch], f.mul(in[0][k], y[i]))
			dBias.v[ch] = f.add(dBias.v[ch], in[0][k])
		}
		middle, slope := f.quo(sum(f, pulls), f.number(n)), f.quo(sum(f, products), f.number(n))
		for i := range n {
			dx.v[g*n+i] = f.mul(rstd, f.sub(f.sub(pulls[i], middle), f.mul(y[i], slope)))
		}
	}
	encode(c.Out[0], c.Compute, f.ring, dx)
	encode(c.Out[1], c.Compute, f.ring, dWeight)
	encode(c.Out[2], c.Compute, f.ring, dBias)
	return nil
}

// channelsOf returns where the elements of each channel of a shape are.
func channelsOf(shape []int) [][]int {
	at := make([][]int, shape[1])
	size := ir.NumElements(shape[2:])
	for i := range ir.NumElements(shape) {
		ch := i / size % shape[1]
		at[ch] = append(at[ch], i)
	}
	return at
}

// pick returns the elements at some places.
func pick[T any](v []T, at []int) []T {
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = v[k]
	}
	return out
}

// NormPull returns the gradient of LayerNorm's result out, without weight and bias, and of
// its statistics by x. Operands: the gradient of out, x or where attribute normal is set out,
// mean, rstd, and the gradients of these.
func NormPull(c *ir.Call) error { return inField(c, normPull[float64], normPull[wide.Float]) }

func normPull[T any](c *ir.Call, f field[T]) error {
	var in [6][]T // g, x, mean, rstd, dmean, drstd
	for i := range in {
		in[i] = decode(c.In[i], c.Compute, f.ring).v
	}
	dx := newTensor(c.Out[0].Shape, f.number(0))
	n := ir.NumElements(dx.shape[len(dx.shape)-int(c.Attrs[0].Int):])
	count := f.number(n)
	for row, rstd := range in[3] {
		g, y, products := in[0][row*n:(row+1)*n], in[1][row*n:(row+1)*n], make([]T, n)
		for i := range y { // the normalized x
			if c.Attrs[1].Int == 0 {
				y[i] = f.mul(f.sub(y[i], in[2][row]), rstd)
			}
			products[i] = f.mul(g[i], y[i])
		}
		middle := f.quo(f.sub(sum(f, g), f.quo(in[4][row], rstd)), count)
		slope := f.quo(f.add(sum(f, products), f.mul(in[5][row], rstd)), count)
		for i := range y {
			dx.v[row*n+i] = f.mul(rstd, f.sub(f.sub(g[i], middle), f.mul(y[i], slope)))
		}
	}
	encode(c.Out[0], c.Compute, f.ring, dx)
	return nil
}

// NormPullAffine returns the gradients of LayerNorm's result out by x, weight and bias, or of
// RMSNorm's by x and weight. Operands: the gradient of out, x, weight, the mean where it is
// LayerNorm's, and rstd. The attributes are axes, and whether the gradients of weight and bias
// are wanted; they have no elements otherwise.
func NormPullAffine(c *ir.Call) error {
	return inField(c, normPullAffine[float64], normPullAffine[wide.Float])
}

func normPullAffine[T any](c *ir.Call, f field[T]) error {
	var in [][]T // g, x, weight, mean, rstd
	for i := range c.In {
		in = append(in, decode(c.In[i], c.Compute, f.ring).v)
	}
	centred := len(in) == 5
	rstds := in[len(in)-1]
	out := make([]tensor[T], len(c.Out))
	for i := range out {
		out[i] = newTensor(c.Out[i].Shape, f.number(0))
	}
	dx := out[0]
	n := ir.NumElements(dx.shape[len(dx.shape)-int(c.Attrs[0].Int):])
	count := f.number(n)
	for row, rstd := range rstds {
		dy, y, g, products := in[0][row*n:(row+1)*n], in[1][row*n:(row+1)*n], make([]T, n), make([]T, n)
		for i := range y { // the normalized x
			if centred {
				y[i] = f.sub(y[i], in[3][row])
			}
			y[i] = f.mul(y[i], rstd)
			g[i] = f.mul(dy[i], in[2][i])
			products[i] = f.mul(g[i], y[i])
		}
		middle, slope := f.number(0), f.quo(sum(f, products), count)
		if centred {
			middle = f.quo(sum(f, g), count)
		}
		for i := range y {
			dx.v[row*n+i] = f.mul(rstd, f.sub(f.sub(g[i], middle), f.mul(y[i], slope)))
			if c.Attrs[1].Int == 0 {
				continue
			}
			out[1].v[i] = f.add(out[1].v[i], f.mul(dy[i], y[i]))
			if centred {
				out[2].v[i] = f.add(out[2].v[i], dy[i])
			}
		}
	}
	for i := range out {
		encode(c.Out[i], c.Compute, f.ring, out[i])
	}
	return nil
}
