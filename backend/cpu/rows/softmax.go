package rows

import "math"

// Softmax writes exp(x - max) / sum(exp(x - max)) of each row of n elements. A row
// with NaN or +Inf, or of nothing but -Inf, becomes NaN. Out may be x.
func (f *Funcs[T]) Softmax(out, x []T, n int) {
	switch {
	case f.softmax == nil:
		for lo := 0; lo < len(x); lo += n {
			softmax(out[lo:lo+n], x[lo:lo+n])
		}
	case n <= exact:
		blocks(len(x)/n, n, func(lo, rows int) { f.softmax(rows, n, &out[lo*n], &x[lo*n]) })
	default:
		f.longSoftmax(out, x, n)
	}
}

// longSoftmax is Softmax of rows that are cut into parts. While the exponentials of
// one are computed, the row before is scaled, and the largest element of the next is
// found; the first and the last row stand for those they lack.
func (f *Funcs[T]) longSoftmax(out, x []T, n int) {
	top, by, before := f.largest(x[:n]), T(0), 0
	s, m := new(T), new(T) // once: what is given to assembly by way of a variable is allocated
	for at := 0; at < len(x); at += n {
		next := min(at+n, len(x)-n)
		largest, sum := T(math.Inf(-1)), 0.0
		chunks(n, exact, func(lo, n int) {
			f.softmaxPart(n, top, by, &out[at+lo], &x[at+lo], &x[next+lo], &out[before+lo], s, m)
			sum += float64(*s)
			largest = higher(largest, *m)
		})
		top, by, before = largest, T(1/sum), at
	}
	chunks(n, call, func(lo, n int) { f.scale(n, by, &out[before+lo]) })
}

// largest returns the largest element of x. NaN is left out: sums of exponentials
// find it.
func (f *Funcs[T]) largest(x []T) T {
	best, top := T(math.Inf(-1)), new(T)
	chunks(len(x), call, func(lo, n int) {
		f.top(n, &x[lo], top)
		best = higher(best, *top)
	})
	return best
}

// higher returns the larger of a and b, a where b is NaN.
func higher[T Float](a, b T) T {
	if b > a {
		return b
	}
	return a
}

// LogSoftmax writes x - max - log(sum(exp(x - max))) of each row of n elements. Out
// may be x.
func (f *Funcs[T]) LogSoftmax(out, x []T, n int) {
	if f.softmax == nil {
		for lo := 0; lo < len(x); lo += n {
			logSoftmax(out[lo:lo+n], x[lo:lo+n])
		}
		return
	}
	var tops, logs [64]T
	var wide [64]float64
	step := min(len(tops), max(1, call/n))
	for lo, rows := 0, len(x)/n; lo < rows; lo += step {
		m := min(step, rows-lo)
		f.LogSum(x[lo*n:(lo+m)*n], n, tops[:m], wide[:m])
		for i, v := range wide[:m] {
			logs[i] = T(v)
		}
		if n <= call {
			f.shift(m, n, &out[lo*n], &x[lo*n], &tops[0], &logs[0])
			continue
		}
		chunks(n, call, func(at, m int) { f.shift(1, m, &out[lo*n+at], &x[lo*n+at], &tops[0], &logs[0]) })
	}
}

// LogSum writes, for each row of n elements, the largest element to tops and
// log(sum(exp(x - largest))) to logs; their sum is NaN where the row has NaN.
func (f *Funcs[T]) LogSum(x []T, n int, tops []T, logs []float64) {
	switch {
	case f.softmax == nil:
		for i := range tops {
			top, sum := logSum(x[i*n : (i+1)*n])
			tops[i], logs[i] = top, math.Log(sum)
		}
	case n <= exact:
		var sums [64]T
		for lo := 0; lo < len(tops); lo += len(sums) {
			m := min(len(sums), len(tops)-lo)
			f.logSum(m, n, &x[lo*n], &tops[lo], &sums[0])
			for i, s := range sums[:m] {
				logs[lo+i] = math.Log(float64(s))
			}
		}
	default:
		s := new(T)
		for i := range tops {
			row := x[i*n : (i+1)*n]
			top, sum := f.largest(row), 0.0
			chunks(n, exact, func(lo, n int) {
				f.sumExp(n, top, &row[lo], s)
				sum += float64(*s)
			})
			tops[i], logs[i] = top, math.Log(sum)
		}
	}
}

// ExpScale writes exp(x - shift)*factor. Out may be x.
func (f *Funcs[T]) ExpScale(out, x []T, shift, factor float64) {
	if f.expScale == nil {
		for i, v := range x {
			out[i] = T(math.Exp(float64(v)-shift) * factor)
		}
		return
	}
	a := T(shift)
	b := T(shift - float64(a))
	if math.IsInf(shift, 0) {
		b = 0
	}
	chunks(len(x), call, func(lo, n int) { f.expScale(n, a, b, T(factor), &out[lo], &x[lo]) })
}

// top returns the largest element of x, NaN if there is one.
func top[T Float](x []T) T {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

func softmax[T Float](out, x []T) {
	top, sum := top(x), 0.0
	for i, v := range x {
		e := math.Exp(float64(v - top))
		sum += e
		out[i] = T(e)
	}
	for i, e := range out {
		out[i] = T(float64(e) / sum)
	}
}

func logSum[T Float](x []T) (T, float64) {
	top, sum := top(x), 0.0
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	return top, sum
}

func logSoftmax[T Float](out, x []T) {
	top, sum := logSum(x)
	log := math.Log(sum)
	for i, v := range x {
		out[i] = T(float64(v-top) - log)
	}
}
