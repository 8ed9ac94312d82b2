package rows

import "math"

// wide is how many elements rows have, at most, that are normalized in one call.
const wide = 64 * 1024

// LayerNorm writes (x - mean)*rstd*weight + bias of each row of n elements, where
// rstd is 1/sqrt(variance + eps) with the biased variance, and the mean and rstd of
// each row. Weight and bias have n elements, or both are nil.
func (f *Funcs[T]) LayerNorm(out, x, weight, bias, means, rstds []T, n int, eps float64) {
	if f.layerNorm == nil || n == 0 {
		for i := range means {
			means[i], rstds[i] = layerNorm(out[i*n:(i+1)*n], x[i*n:(i+1)*n], weight, bias, eps)
		}
		return
	}
	if n > wide {
		for i := range means {
			means[i], rstds[i] = f.longLayerNorm(out[i*n:(i+1)*n], x[i*n:(i+1)*n], weight, bias, eps)
		}
	} else {
		blocks(len(means), n, func(lo, rows int) {
			if weight == nil {
				f.layerNorm(rows, n, 1/T(n), T(eps), &out[lo*n], &x[lo*n], &means[lo], &rstds[lo])
				return
			}
			f.layerNormAffine(rows, n, 1/T(n), T(eps), &out[lo*n], &x[lo*n], &weight[0], &bias[0], &means[lo], &rstds[lo])
		})
	}
	for i, r := range rstds {
		if !plain(r) {
			means[i], rstds[i] = layerNorm(out[i*n:(i+1)*n], x[i*n:(i+1)*n], weight, bias, eps)
		}
	}
}

// plain reports whether a sum of squares that led to rstd neither overflowed nor
// lost its digits: otherwise float64 decides.
func plain[T Float](rstd T) bool { return rstd > 1e-15 && rstd < 1e15 }

func (f *Funcs[T]) longLayerNorm(out, x, weight, bias []T, eps float64) (mean, rstd T) {
	pivot, sum, square, n := x[0], 0.0, 0.0, float64(len(x))
	chunks(len(x), call, func(lo, m int) {
		var s T
		f.deviations(m, pivot, &x[lo], &s)
		sum += float64(s)
	})
	rest := T(sum / n)
	chunks(len(x), call, func(lo, m int) {
		var s T
		f.squares(m, pivot, rest, &x[lo], &s)
		square += float64(s)
	})
	rstd = T(1 / math.Sqrt(square/n+eps))
	chunks(len(x), call, func(lo, m int) {
		if weight == nil {
			f.normal(m, pivot, rest, rstd, &out[lo], &x[lo])
			return
		}
		f.normalAffine(m, pivot, rest, rstd, &out[lo], &x[lo], &weight[lo], &bias[lo])
	})
	return T(float64(pivot) + sum/n), rstd
}

// RMSNorm writes x*rstd*weight of each row of n elements, where rstd is
// 1/sqrt(mean(x*x) + eps), and rstd of each row. Weight has n elements, or is nil.
func (f *Funcs[T]) RMSNorm(out, x, weight, rstds []T, n int, eps float64) {
	if f.rmsNorm == nil || n == 0 {
		for i := range rstds {
			rstds[i] = rmsNorm(out[i*n:(i+1)*n], x[i*n:(i+1)*n], weight, eps)
		}
		return
	}
	if n > wide {
		for i := range rstds {
			rstds[i] = f.longRMSNorm(out[i*n:(i+1)*n], x[i*n:(i+1)*n], weight, eps)
		}
	} else {
		blocks(len(rstds), n, func(lo, rows int) {
			if weight == nil {
				f.rmsNorm(rows, n, 1/T(n), T(eps), &out[lo*n], &x[lo*n], &rstds[lo])
				return
			}
			f.rmsNormAffine(rows, n, 1/T(n), T(eps), &out[lo*n], &x[lo*n], &weight[0], &rstds[lo])
		})
	}
	for i, r := range rstds {
		if !plain(r) {
			rstds[i] = rmsNorm(out[i*n:(i+1)*n], x[i*n:(i+1)*n], weight, eps)
		}
	}
}

func (f *Funcs[T]) longRMSNorm(out, x, weight []T, eps float64) (rstd T) {
	square := 0.0
	chunks(len(x), call, func(lo, m int) {
		var s T
		f.squares(m, 0, 0, &x[lo], &s)
		square += float64(s)
	})
	rstd = T(1 / math.Sqrt(square/float64(len(x))+eps))
	if weight == nil {
		chunks(len(x), call, func(lo, m int) { f.normal(m, 0, 0, rstd, &out[lo], &x[lo]) })
		return rstd
	}
	bias := make([]T, exact)
	chunks(len(x), exact, func(lo, m int) { f.normalAffine(m, 0, 0, rstd, &out[lo], &x[lo], &weight[lo], &bias[0]) })
	return rstd
}

// sumOf adds up f of every element of x, halves first: the error grows with the
// logarithm of the number of elements.
func sumOf[T Float](x []T, f func(v float64) float64) float64 {
	if n := len(x); n > 256 {
		return sumOf(x[:n/2], f) + sumOf(x[n/2:], f)
	}
	sum := 0.0
	for _, v := range x {
		sum += f(float64(v))
	}
	return sum
}

func layerNorm[T Float](out, x, weight, bias []T, eps float64) (T, T) {
	n := float64(len(x))
	mean := sumOf(x, func(v float64) float64 { return v }) / n
	variance := sumOf(x, func(v float64) float64 { return (v - mean) * (v - mean) }) / n
	rstd := 1 / math.Sqrt(variance+eps)
	for i, v := range x {
		y := (float64(v) - mean) * rstd
		if weight != nil {
			y = float64(y*float64(weight[i])) + float64(bias[i])
		}
		out[i] = T(y)
	}
	return T(mean), T(rstd)
}

func rmsNorm[T Float](out, x, weight []T, eps float64) T {
	rstd := 1 / math.Sqrt(sumOf(x, func(v float64) float64 { return v * v })/float64(len(x))+eps)
	for i, v := range x {
		y := float64(v) * rstd
		if weight != nil {
			y *= float64(weight[i])
		}
		out[i] = T(y)
	}
	return T(rstd)
}
