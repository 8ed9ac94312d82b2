package rows

import (
	"math"
	"unsafe"
)

const (
	tall   = 4    // rows in one call: their lines stay in a cache at any stride
	least  = 2048 // elements in one call, where there are rows enough
	widest = 512  // columns worked on at once, at most
	flush  = 128  // rows summed in T before the sums go on in float64
)

// A band is a few columns of a matrix, all rows of them.
type band[T Float] struct {
	*Funcs[T]
	rows, n, stride int // stride is in elements
}

// bands calls f for bands of columns.
func (f *Funcs[T]) bands(rows, n, stride int, body func(b band[T], first int)) {
	for lo := 0; lo < n; lo += widest {
		body(band[T]{f, rows, min(widest, n-lo), stride}, lo)
	}
}

// down calls f for groups of rows, the first element of which is at off.
//
//go:noinline
func (b band[T]) down(f func(row, rows, off int)) {
	step := tall
	for step < flush && step*b.n < least {
		step *= 2
	}
	for r := 0; r < b.rows; r += step {
		f(r, min(step, b.rows-r), r*b.stride)
	}
}

func (b band[T]) bytes() int {
	var z T
	return b.stride * int(unsafe.Sizeof(z))
}

// tops writes the largest element of each column.
func (b band[T]) tops(x []T, tops []T) {
	for j := range tops {
		tops[j] = T(math.Inf(-1))
	}
	b.down(func(_, rows, off int) { b.columnTops(rows, b.n, b.bytes(), &x[off], &tops[0]) })
}

// sums adds up exp(x - top) of each column, and stores it where out is given.
func (b band[T]) sums(out, x, tops []T, sums []float64) {
	var part [widest]T
	clear(sums)
	b.down(func(r, rows, off int) {
		if out != nil {
			b.columnExp(rows, b.n, b.bytes(), &out[off], &x[off], &tops[0], &part[0])
		} else {
			b.columnSumExp(rows, b.n, b.bytes(), &x[off], &tops[0], &part[0])
		}
		if (r+rows)%flush == 0 || r+rows == b.rows {
			for j, v := range part[:b.n] {
				sums[j] += float64(v)
			}
			clear(part[:b.n])
		}
	})
}

// SoftmaxColumns is Softmax of each of n columns of rows elements, the rows stride
// elements apart in both matrices.
func (f *Funcs[T]) SoftmaxColumns(out, x []T, rows, n, stride int) {
	if f.softmax == nil {
		eachColumn(out, x, rows, n, stride, softmax[T])
		return
	}
	f.bands(rows, n, stride, func(b band[T], first int) {
		var tops [widest]T
		var sums [widest]float64
		out, x := out[first:], x[first:]
		b.tops(x, tops[:b.n])
		b.sums(out, x, tops[:b.n], sums[:b.n])
		for j, s := range sums[:b.n] {
			tops[j] = T(1 / s)
		}
		b.down(func(_, rows, off int) { b.columnScale(rows, b.n, b.bytes(), &out[off], &tops[0]) })
	})
}

// LogSoftmaxColumns is LogSoftmax of columns, as SoftmaxColumns.
func (f *Funcs[T]) LogSoftmaxColumns(out, x []T, rows, n, stride int) {
	if f.softmax == nil {
		eachColumn(out, x, rows, n, stride, logSoftmax[T])
		return
	}
	f.bands(rows, n, stride, func(b band[T], first int) {
		var tops, logs [widest]T
		var sums [widest]float64
		out, x := out[first:], x[first:]
		b.tops(x, tops[:b.n])
		b.sums(nil, x, tops[:b.n], sums[:b.n])
		for j, s := range sums[:b.n] {
			logs[j] = T(math.Log(s))
		}
		b.down(func(_, rows, off int) {
			b.columnShift(rows, b.n, b.bytes(), &out[off], &x[off], &tops[0], &logs[0])
		})
	})
}

// LogSumColumns is LogSum of columns.
func (f *Funcs[T]) LogSumColumns(x []T, rows, n, stride int, tops []T, logs []float64) {
	if f.softmax == nil {
		line := make([]T, rows)
		for j := range n {
			gather(line, x[j:], stride)
			top, sum := logSum(line)
			tops[j], logs[j] = top, math.Log(sum)
		}
		return
	}
	f.bands(rows, n, stride, func(b band[T], first int) {
		b.tops(x[first:], tops[first:first+b.n])
		b.sums(nil, x[first:], tops[first:first+b.n], logs[first:first+b.n])
	})
	for j, s := range logs[:n] {
		logs[j] = math.Log(s)
	}
}

// eachColumn applies f to columns, one after the other.
func eachColumn[T Float](out, x []T, rows, n, stride int, f func(out, x []T)) {
	line := make([]T, rows)
	for j := range n {
		gather(line, x[j:], stride)
		f(line, line)
		for i, v := range line {
			out[j+i*stride] = v
		}
	}
}

func gather[T Float](line, x []T, stride int) {
	for i := range line {
		line[i] = x[i*stride]
	}
}
