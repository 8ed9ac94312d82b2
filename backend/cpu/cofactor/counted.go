package cofactor

import "math"

// A Counted is a product of elements, in which zeros and NaN count as 1 and infinities as their
// signs, and how many of these there are.
type Counted struct {
	Product
	Zeros, Wild, Lost int // zeros, infinities and NaN
}

// Plain reports whether all elements are numbers other than zero.
func (c Counted) Plain() bool { return c.Zeros|c.Wild|c.Lost == 0 }

// Times returns the product of both.
func (c Counted) Times(d Counted) Counted {
	return Counted{c.Product.Times(d.Product), c.Zeros + d.Zeros, c.Wild + d.Wild, c.Lost + d.Lost}
}

// Without returns the product of the elements but one, which is x.
func (c Counted) Without(x float32) float32 {
	divisor := c.count(x, -1)
	switch {
	case c.Lost > 0 || c.Zeros > 0 && c.Wild > 0:
		return float32(math.NaN())
	case c.Zeros > 0:
		return 0
	case c.Wild > 0:
		return float32(math.Inf(1)) * float32(math.Copysign(1, c.Factor)*math.Copysign(1, float64(divisor)))
	}
	return float32(c.Float64() / float64(divisor))
}

// count counts x so many times where it is no number or zero, and returns what it counts as.
func (c *Counted) count(x float32, times int) float32 {
	switch {
	case x == 0:
		c.Zeros += times
		return 1
	case x != x:
		c.Lost += times
		return 1
	case math.IsInf(float64(x), 0):
		c.Wild += times
		return float32(math.Copysign(1, float64(x)))
	}
	return x
}

const (
	// lineLanes is how many accumulators a line has.
	lineLanes = 64
	// fewFactors are multiplied without a loop.
	fewFactors = 48
)

// A Line multiplies neighbouring elements. It is made by NewLine.
type Line struct {
	lanes *lanes
	room  [atOnce * lineLanes]float32
}

// NewLine returns one.
func NewLine(l *Loops) *Line { return &Line{lanes: l.newLanes(lineLanes)} }

// Of returns the product of the elements of x.
func (l *Line) Of(x []float32) (c Counted) {
	if c.Product = l.plain(x); c.Product.Plain() {
		return c
	}
	taken := 0
	for l.lanes.clear(); len(x) > 0; taken++ {
		n := min(len(x), len(l.room))
		for i, v := range x[:n] {
			l.room[i] = c.count(v, 1)
		}
		l.take(n)
		x = x[n:]
	}
	c.Product = l.lanes.fold(taken)
	return c
}

// plain is the product of x, NaN where an element is not plain.
func (l *Line) plain(x []float32) Product {
	if len(x) <= fewFactors {
		all := one
		for ; len(x) >= atOnce; x = x[atOnce:] {
			all = all.Times(Product{float64(x[0]) * float64(x[1]) * (float64(x[2]) * float64(x[3])), 0})
		}
		for _, v := range x {
			all = all.Times(Product{float64(v), 0})
		}
		return all
	}
	taken := 0
	l.lanes.clear()
	for ; len(x) >= len(l.room); taken++ {
		l.lanes.take(lineLanes, x, lineLanes)
		x = x[len(l.room):]
	}
	if len(x) > 0 {
		l.take(copy(l.room[:], x))
		taken++
	}
	return l.lanes.fold(taken)
}

// take takes in the first n elements of room, and ones.
func (l *Line) take(n int) {
	for i := n; i < len(l.room); i++ {
		l.room[i] = 1
	}
	l.lanes.take(lineLanes, l.room[:], lineLanes)
}

// A Columns multiplies elements that lie apart, many products beside each other. It is made by
// NewColumns.
type Columns struct {
	lanes *lanes
	room  []float32
	made  []Counted
}

// NewColumns returns one for up to n columns.
func NewColumns(l *Loops, n int) *Columns {
	return &Columns{l.newLanes(n), make([]float32, atOnce*n), make([]Counted, n)}
}

// Of returns the products of n columns of rows of x, stride elements apart, until its next call.
func (c *Columns) Of(x []float32, n, rows, stride int) []Counted {
	clear(c.made)
	if !c.multiply(x, n, rows, stride, false) {
		c.multiply(x, n, rows, stride, true)
	}
	return c.made[:n]
}

// multiply reports whether all elements are plain, or counted.
func (c *Columns) multiply(x []float32, n, rows, stride int, counted bool) bool {
	c.lanes.clear()
	taken := 0
	for lo := 0; lo < rows; lo += atOnce {
		if some := min(atOnce, rows-lo); counted || some < atOnce {
			c.gather(x[lo*stride:], n, some, stride, counted)
			c.lanes.take(n, c.room, n)
		} else {
			c.lanes.take(n, x[lo*stride:], stride)
		}
		taken++
	}
	for i := range n {
		if c.made[i].Product = c.lanes.at(i, taken); !c.made[i].Product.Plain() {
			return false
		}
	}
	return true
}

// gather copies a few rows, and ones behind them.
func (c *Columns) gather(x []float32, n, rows, stride int, counted bool) {
	for r := range atOnce {
		to := c.room[r*n:][:n]
		if r >= rows {
			for i := range to {
				to[i] = 1
			}
			continue
		}
		copy(to, x[r*stride:])
		if counted {
			for i, v := range to {
				to[i] = c.made[i].count(v, 1)
			}
		}
	}
}
