package opaque

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/channel"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// ChannelNorm normalizes each channel, axis 1 of x, over the other axes to mean 0 and
// variance 1. Operands: x, and weight and bias of one element a channel. Attribute:
// eps. Results: out = (x - mean)/sqrt(variance + eps)*weight + bias, and mean and
// biased variance of one element a channel, rounded and in float64.
func ChannelNorm(c *ir.Call) error { return overChannels(c, &channelNorms, nil) }

// ChannelNormGrad returns the gradients of ChannelNorm's result out by x, weight and
// bias. Operands: the gradient of out, x, weight, mean and variance. Attribute: eps.
func ChannelNormGrad(c *ir.Call) error { return overChannels(c, &channelNormGrads, nil) }

// A NormFold folds each channel of the first result of a norm, block by block, by any goroutines.
type NormFold struct {
	// Block folds a block that is written.
	Block func(at Block)
	// Write, unless it is nil, is Block of one that is written meanwhile: add writes rows rows of n
	// elements, the first of which is so many behind the block's, and adds each to an accumulator, of
	// channel.LanesBytes in all, in turn.
	Write func(at Block, add func(rows, n, first int, lanes unsafe.Pointer))
}

// NormWith is the one of ChannelNorm and ChannelNormGrad that has as many operands as the call, and
// folds the first result, which is of the compute dtype and contiguous.
func NormWith(c *ir.Call, fold *NormFold) error {
	switch len(c.In) {
	case 3: // x, weight, bias
		return overChannels(c, &channelNorms, fold)
	case 5: // the gradient, x, weight, mean, variance
		return overChannels(c, &channelNormGrads, fold)
	}
	return fmt.Errorf("%s: %d operands, want the 3 of a norm of channels or the 5 of its gradient", c.Op.Name, len(c.In))
}

// overChannels calls the function of a table for the compute dtype. Fold may be nil.
func overChannels(c *ir.Call, by *table[normFunc], fold *NormFold) error {
	f, err := by.of(c.Compute)
	if err != nil {
		return err
	}
	s := channelsOf(c.Out[0].Shape)
	s.fold = fold
	return f(c, s)
}

var (
	channelNorms     = table[normFunc]{ir.Float32: channelNorm[float32], ir.Float64: channelNorm[float64]}
	channelNormGrads = table[normFunc]{ir.Float32: channelNormGrad[float32], ir.Float64: channelNormGrad[float64]}
)

type normFunc func(c *ir.Call, s *channels) error

// channelWork is how many elements of a norm are worth another worker.
const channelWork = 8 * 1024

// A channelPart is some rows of a channel, of which the first element is at first,
// counted from the channel's own.
type channelPart struct {
	channel.Rows
	first int
}

func (p *channelPart) elements() int { return p.Count * p.N }

// channels are x as images of channels of size elements. Every channel is measured in
// the same parts, however many goroutines do it; what they give is put together in
// their order, in float64.
type channels struct {
	count, size, images int
	parts               []channelPart // of each
	fold                *NormFold     // that of NormWith
}

func channelsOf(shape []int) *channels {
	s := &channels{images: shape[0], count: shape[1], size: ir.NumElements(shape[2:])}
	stride := s.count * s.size
	if s.size > channel.Longest {
		for i := range s.images {
			for lo := 0; lo < s.size; lo += channel.Longest {
				s.parts = append(s.parts, channelPart{channel.Rows{Count: 1, N: min(channel.Longest, s.size-lo), Stride: stride}, i*stride + lo})
			}
		}
		return s
	}
	rows := channel.Longest / max(s.size, 1)
	for i := 0; i < s.images; i += rows {
		s.parts = append(s.parts, channelPart{channel.Rows{Count: min(rows, s.images-i), N: s.size, Stride: stride}, i * stride})
	}
	return s
}

// NormStep returns a number of elements of which each block of a channel that NormWith is called
// for begins at a multiple, counted from the first element of the channel.
func NormStep(shape []int) int {
	switch s := channelsOf(shape); {
	case len(s.parts) == 1:
		return s.elements()
	case s.size > channel.Longest:
		return min(s.size&-s.size, channel.Longest) // that is a power of two
	default:
		return channel.Longest / max(s.size, 1) * s.size
	}
}

// elements returns how many a channel has.
func (s *channels) elements() int { return s.images * s.size }

// first returns where part p of a channel begins.
func (s *channels) first(ch, p int) int { return ch*s.size + s.parts[p].first }

// block returns part p of a channel.
func (s *channels) block(ch, p int) Block {
	part := &s.parts[p]
	return Block{part.first / part.Stride, part.Count, ch, 1, part.first % part.Stride, part.N}
}

// folded has a part folded that is written.
func (s *channels) folded(ch, p int) {
	if s.fold != nil {
		s.fold.Block(s.block(ch, p))
	}
}

// run has every part of every channel measured, then each channel settled, then its
// parts written. A channel of one part goes through all at once, in the cache.
func (s *channels) run(measure, write func(ch, part int), settle func(ch int)) {
	n := len(s.parts)
	switch {
	case s.elements() == 0:
		for ch := range s.count {
			settle(ch)
		}
	case n == 1:
		pool.For(s.count, max(1, channelWork/s.elements()), func(lo, hi int) {
			for ch := lo; ch < hi; ch++ {
				measure(ch, 0)
				settle(ch)
				write(ch, 0)
			}
		})
	default:
		each := func(f func(ch, part int)) {
			pool.For(s.count*n, max(1, channelWork/s.parts[0].elements()), func(lo, hi int) {
				for ; lo < hi; lo++ {
					f(lo/n, lo%n)
				}
			})
		}
		each(measure)
		for ch := range s.count {
			settle(ch)
		}
		each(write)
	}
}

// coefficients are what a channel's elements are written by.
type coefficients[T float] struct{ mean, middle, factor, slope, shift T }

func channelNorm[T float](c *ir.Call, s *channels) error {
	f := channel.Of[T](simd.Active())
	d := tile.TargetOf(c.Out[0], c.Compute)
	x, out := in[T](c, 0, c.Compute), tile.Elements[T](d)
	weight, bias := in[T](c, 1, c.Compute), in[T](c, 2, c.Compute)
	views, results := stats[T](c)
	n, eps := len(s.parts), c.Attrs[0].Scalar.Float()
	moments, by := make([][2]T, s.count*n), make([]coefficients[T], s.count)
	s.run(func(ch, p int) {
		f.Moments(s.parts[p].Rows, &x[s.first(ch, p)], &moments[ch*n+p])
	}, func(ch, p int) {
		k, at := &by[ch], s.first(ch, p)
		f.Normal(s.parts[p].Rows, k.mean, k.factor, k.shift, &out[at], &x[at])
		s.folded(ch, p)
	}, func(ch int) {
		mean, variance := together(s, moments[ch*n:(ch+1)*n])
		if math.IsNaN(mean) && s.elements() > 0 {
			mean = plainMean(s, x, ch)
		}
		for k := 0; k+1 < len(results); k += 2 {
			results[k][ch], results[k+1][ch] = T(mean), T(variance)
		}
		factor := float64(weight[ch]) / math.Sqrt(variance+eps)
		by[ch] = coefficients[T]{mean: T(mean), factor: T(factor), shift: bias[ch]}
	})
	tile.Finish(c.Out[0], d)
	for i, v := range views {
		tile.Finish(c.Out[1+i], v)
	}
	return nil
}

// together returns the mean and the variance of a channel from its parts': the mean
// of each and the sum of its elements' squared distances from it.
func together[T float](s *channels, moments [][2]T) (mean, variance float64) {
	for i, m := range moments {
		mean += float64(m[0]) * float64(s.parts[i].elements())
	}
	mean /= float64(s.elements())
	for i, m := range moments {
		d := float64(m[0]) - mean
		variance += float64(m[1]) + d*d*float64(s.parts[i].elements())
	}
	return mean, max(variance, 0) / float64(s.elements()) // less than 0 by rounding
}

// plainMean adds up a channel's elements as they are. The parts' means are made of
// distances, which are NaN where an infinity is among the elements.
func plainMean[T float](s *channels, x []T, ch int) float64 {
	sum := 0.0
	for p, part := range s.parts {
		for row := range part.Count {
			at := s.first(ch, p) + row*part.Stride
			for _, v := range x[at : at+part.N] {
				sum += float64(v)
			}
		}
	}
	return sum / float64(s.elements())
}

func channelNormGrad[T float](c *ir.Call, s *channels) error {
	f := channel.Of[T](simd.Active())
	d := tile.TargetOf(c.Out[0], c.Compute)
	dy, x, dx := in[T](c, 0, c.Compute), in[T](c, 1, c.Compute), tile.Elements[T](d)
	weight, means, rstds := in[T](c, 2, c.Compute), in[float64](c, 3, ir.Float64), slices.Clone(in[float64](c, 4, ir.Float64))
	views, results := stats[T](c)
	dWeight, dBias := results[0], results[1]
	n, eps, all := len(s.parts), c.Attrs[0].Scalar.Float(), float64(s.elements())
	for ch, variance := range rstds {
		rstds[ch] = 1 / math.Sqrt(variance+eps)
	}
	sums, by := make([][2]float64, s.count*n), make([]pull, s.count)
	s.run(func(ch, p int) {
		at, to := s.first(ch, p), &sums[ch*n+p]
		to[0], to[1] = gradientSums(f, s.parts[p].Rows, means[ch], rstds[ch], &dy[at], &x[at])
	}, func(ch, p int) {
		at, r := s.first(ch, p), s.parts[p].Rows
		if s.fold != nil && s.fold.Write != nil && f.FoldsGrad() {
			if k, ok := coefficientsOf[T](&by[ch]); ok {
				s.fold.Write(s.block(ch, p), func(rows, n, first int, lanes unsafe.Pointer) {
					i := at + first
					f.GradSums(channel.Rows{Count: rows, N: n, Stride: r.Stride}, k.mean, k.middle, k.factor, k.slope, &dx[i], &dy[i], &x[i], (*T)(lanes))
				})
				return
			}
		}
		writeGradient(f, r, &by[ch], &dx[at], &dy[at], &x[at])
		s.folded(ch, p)
	}, func(ch int) {
		if all == 0 { // sums of nothing, whatever the statistics are
			dWeight[ch], dBias[ch] = 0, 0
			return
		}
		sum, product := 0.0, 0.0
		for _, v := range sums[ch*n : (ch+1)*n] {
			sum, product = sum+v[0], product+v[1]
		}
		dWeight[ch], dBias[ch] = T(product), T(sum)
		w := float64(weight[ch])
		by[ch] = pull{
			mean: means[ch], scale: rstds[ch], rstd: rstds[ch], weight: w,
			shift: w * (sum / all), c: w * (product / all), middle: sum / all,
		}
	})
	tile.Finish(c.Out[0], d)
	for i, v := range views {
		tile.Finish(c.Out[1+i], v)
	}
	return nil
}
