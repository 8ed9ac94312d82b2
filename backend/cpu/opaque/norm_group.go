package opaque

import (
	"math"
	"runtime"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// GroupNorm normalizes each of the groups of channels, axis 1 of x, of each image to mean 0
// and variance 1. Operands: x, and weight and bias of one element a channel. Attributes:
// groups, eps. Results: out = (x - mean)*rstd*weight + bias, and mean and rstd = 1/sqrt(var + eps)
// of each image's groups.
func GroupNorm(c *ir.Call) error { return dispatch(c, &groupNorms) }

// GroupNormGrad returns the gradients of GroupNorm's result out by x, weight and bias.
// Operands: the gradient of out, x, weight, mean and rstd. Attribute: groups.
func GroupNormGrad(c *ir.Call) error { return dispatch(c, &groupNormGrads) }

var (
	groupNorms     = table[callFunc]{ir.Float32: groupNorm[float32], ir.Float64: groupNorm[float64]}
	groupNormGrads = table[callFunc]{ir.Float32: groupNormGrad[float32], ir.Float64: groupNormGrad[float64]}
)

// A grouping is images of channels of size elements, every so many of which are a group.
// Every channel is measured in the same pieces, however many goroutines do it; what they
// give is put together in their order, in float64.
type grouping struct {
	count, size     int // groups of all images, and elements of a channel
	channels, group int // of an image, of a group
	pieces          int // of a channel
}

func newGrouping(shape []int, groups int) *grouping {
	s := &grouping{count: shape[0] * groups, size: ir.NumElements(shape[2:]), channels: shape[1], group: shape[1] / groups}
	s.pieces = (s.size + channel.Longest - 1) / channel.Longest
	return s
}

// elements returns how many a group has.
func (s *grouping) elements() int { return s.group * s.size }

// each returns how many pieces a group has.
func (s *grouping) each() int { return s.group * s.pieces }

// piece returns where piece i of all is, and its channel's number in the image.
func (s *grouping) piece(i int) (r channel.Rows, at, ch int) {
	lo := i % s.pieces * channel.Longest
	n := min(channel.Longest, s.size-lo)
	return channel.Rows{Count: 1, N: n, Stride: n}, i/s.pieces*s.size + lo, i / s.pieces % s.channels
}

// groupsForAll is how many groups a processor must have that each goes through all of one at
// once, in its cache.
const groupsForAll = 4

// run has every piece measured, then each group settled, then its pieces written.
func (s *grouping) run(measure, write func(piece int), settle func(group int)) {
	n := s.each()
	switch {
	case n == 0:
		for g := range s.count {
			settle(g)
		}
	case s.elements() <= channel.Longest || s.count >= groupsForAll*runtime.GOMAXPROCS(0):
		pool.For(s.count, max(1, channelWork/s.elements()), func(lo, hi int) {
			for ; lo < hi; lo++ {
				for i := lo * n; i < (lo+1)*n; i++ {
					measure(i)
				}
				settle(lo)
				for i := lo * n; i < (lo+1)*n; i++ {
					write(i)
				}
			}
		})
	default:
		each := func(f func(piece int)) {
			pool.For(s.count*n, max(1, channelWork/min(s.size, channel.Longest)), func(lo, hi int) {
				for ; lo < hi; lo++ {
					f(lo)
				}
			})
		}
		each(measure)
		for g := range s.count {
			settle(g)
		}
		each(write)
	}
}

func groupNorm[T float](c *ir.Call) error {
	s, f := newGrouping(c.In[0].Shape, int(c.Attrs[0].Int)), channel.Of[T](simd.Active())
	d := tile.TargetOf(c.Out[0], c.Compute)
	x, out := in[T](c, 0, c.Compute), tile.Elements[T](d)
	weight, bias := in[T](c, 1, c.Compute), in[T](c, 2, c.Compute)
	views, results := stats[T](c)
	means, rstds := results[0], results[1]
	n, eps := s.each(), c.Attrs[1].Scalar.Float()
	moments, scales := make([][2]T, s.count*n), make([]float64, s.count)
	s.run(func(i int) {
		r, at, _ := s.piece(i)
		f.Moments(r, &x[at], &moments[i])
	}, func(i int) {
		r, at, ch := s.piece(i)
		f.Normal(r, means[i/n], T(scales[i/n]*float64(weight[ch])), bias[ch], &out[at], &x[at])
	}, func(g int) {
		mean, variance := groupMoments(s, x, moments[g*n:(g+1)*n], g)
		scales[g] = 1 / math.Sqrt(variance+eps)
		means[g], rstds[g] = T(mean), T(scales[g])
	})
	tile.Finish(c.Out[0], d)
	for i, v := range views {
		tile.Finish(c.Out[1+i], v)
	}
	return nil
}

// groupMoments returns the mean and the variance of group g from its pieces': the mean of each
// and the sum of its elements' squared distances from it.
func groupMoments[T float](s *grouping, x []T, moments [][2]T, g int) (mean, variance float64) {
	all := float64(s.elements())
	length := func(i int) float64 { return float64(min(channel.Longest, s.size-i%s.pieces*channel.Longest)) }
	for i, m := range moments {
		mean += float64(m[0]) * length(i)
	}
	mean /= all
	for i, m := range moments {
		d := float64(m[0]) - mean
		variance += float64(m[1]) + d*d*length(i)
	}
	if math.IsNaN(mean) && all > 0 { // distances are where an infinity is among the elements
		mean = 0
		for _, v := range x[g*s.elements() : (g+1)*s.elements()] {
			mean += float64(v)
		}
		mean /= all
	}
	return mean, max(variance, 0) / all // less than 0 by rounding
}

func groupNormGrad[T float](c *ir.Call) error {
	s, f := newGrouping(c.In[1].Shape, int(c.Attrs[0].Int)), channel.Of[T](simd.Active())
	d := tile.TargetOf(c.Out[0], c.Compute)
	dy, x, dx := in[T](c, 0, c.Compute), in[T](c, 1, c.Compute), tile.Elements[T](d)
	weight, means, rstds := in[T](c, 2, c.Compute), in[T](c, 3, c.Compute), in[T](c, 4, c.Compute)
	n, sums, by := s.each(), make([][2]float64, s.count*s.each()), make([]pull, s.count)
	s.run(func(i int) {
		r, at, _ := s.piece(i)
		sums[i][0], sums[i][1] = gradientSums(f, r, float64(means[i/n]), float64(rstds[i/n]), &dy[at], &x[at])
	}, func(i int) {
		r, at, ch := s.piece(i)
		k := by[i/n]
		k.weight = float64(weight[ch])
		k.middle = k.shift / k.weight
		writeGradient(f, r, &k, &dx[at], &dy[at], &x[at])
	}, func(g int) {
		sum, product := 0.0, 0.0
		for i, v := range sums[g*n : (g+1)*n] {
			w := float64(weight[(g*s.group+i/s.pieces)%s.channels])
			sum, product = sum+float64(v[0]*w), product+float64(v[1]*w)
		}
		rstd, all := float64(rstds[g]), float64(s.elements())
		by[g] = pull{mean: float64(means[g]), scale: rstd, rstd: rstd, shift: sum / all, c: product / all}
	})
	tile.Finish(c.Out[0], d)
	views, results := stats[T](c)
	channelSums(s, sums, results[0], results[1])
	for i, v := range views {
		tile.Finish(c.Out[1+i], v)
	}
	return nil
}

// channelSums sets the gradients by weight and bias, from the sums of pieces.
func channelSums[T float](s *grouping, sums [][2]float64, dWeight, dBias []T) {
	for ch := range s.channels {
		sum, product := 0.0, 0.0
		for first := ch * s.pieces; first < len(sums); first += s.channels * s.pieces {
			for _, v := range sums[first : first+s.pieces] {
				sum, product = sum+v[0], product+v[1]
			}
		}
		dWeight[ch], dBias[ch] = T(product), T(sum)
	}
}
