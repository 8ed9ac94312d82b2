// Package geometry finds the boxes of text in a map of where text is: parts that hang
// together, and the smallest rectangles around them.
package geometry

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
)

// A Point has x to the right and y downwards.
type Point struct{ X, Y float64 }

// MarshalJSON writes a point as two numbers.
func (p Point) MarshalJSON() ([]byte, error) { return json.Marshal([2]float64{p.X, p.Y}) }

// UnmarshalJSON reads two numbers.
func (p *Point) UnmarshalJSON(raw []byte) error {
	var xy [2]float64
	err := json.Unmarshal(raw, &xy)
	*p = Point{xy[0], xy[1]}
	return err
}

func (p Point) sub(q Point) Point     { return Point{p.X - q.X, p.Y - q.Y} }
func (p Point) dot(q Point) float64   { return p.X*q.X + p.Y*q.Y }
func (p Point) cross(q Point) float64 { return p.X*q.Y - p.Y*q.X }

// Distance returns how far apart two points are.
func Distance(p, q Point) float64 { return math.Hypot(p.X-q.X, p.Y-q.Y) }

// A Quad has four corners: at the upper left, then clockwise.
type Quad [4]Point

// Sides returns the longer of the upper and the lower side, and of the other two.
func (q Quad) Sides() (width, height float64) {
	return max(Distance(q[0], q[1]), Distance(q[2], q[3])), max(Distance(q[0], q[3]), Distance(q[1], q[2]))
}

// area returns the area, and the length of the border.
func (q Quad) area() (area, border float64) {
	for i := range q {
		next := q[(i+1)%4]
		area += q[i].cross(next) / 2
		border += Distance(q[i], next)
	}
	return math.Abs(area), border
}

// Grow returns a rectangle with its borders moved outwards by ratio*area/border.
func (q Quad) Grow(ratio float64) Quad {
	area, border := q.area()
	if border == 0 {
		return q
	}
	d := area * ratio / border
	unit := func(p Point) Point {
		n := math.Hypot(p.X, p.Y)
		if n == 0 {
			return Point{}
		}
		return Point{p.X / n, p.Y / n}
	}
	right, down := unit(q[1].sub(q[0])), unit(q[3].sub(q[0]))
	move := func(p Point, x, y float64) Point {
		return Point{p.X + x*right.X + y*down.X, p.Y + x*right.Y + y*down.Y}
	}
	return Quad{move(q[0], -d, -d), move(q[1], d, -d), move(q[2], d, d), move(q[3], -d, d)}
}

// Contains reports whether a point is in a convex quad or on its border.
func (q Quad) Contains(p Point) bool {
	left, right := true, true
	for i := range q {
		c := q[(i+1)%4].sub(q[i]).cross(p.sub(q[i]))
		left, right = left && c >= 0, right && c <= 0
	}
	return left || right
}

// Ordered returns the corners in the order of a Quad: of the two on the left the upper
// one comes first.
func (q Quad) Ordered() Quad {
	p := q[:]
	slices.SortStableFunc(p, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	if p[1].Y < p[0].Y {
		p[0], p[1] = p[1], p[0]
	}
	if p[3].Y < p[2].Y {
		p[2], p[3] = p[3], p[2]
	}
	return Quad{p[0], p[2], p[3], p[1]}
}

// Hull returns the corners of the smallest convex polygon around points.
func Hull(points []Point) []Point {
	p := slices.Clone(points)
	slices.SortFunc(p, func(a, b Point) int { return cmp.Or(cmp.Compare(a.X, b.X), cmp.Compare(a.Y, b.Y)) })
	p = slices.Compact(p)
	if len(p) < 3 {
		return p
	}
	var hull []Point
	for range 2 { // the lower border, then backwards the upper one
		start := len(hull)
		for _, x := range p {
			for len(hull) > start+1 && hull[len(hull)-1].sub(hull[len(hull)-2]).cross(x.sub(hull[len(hull)-1])) <= 0 {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, x)
		}
		hull = hull[:len(hull)-1]
		slices.Reverse(p)
	}
	return hull
}

// Rectangle returns the rectangle of least area around points. It has a side in common
// with their hull.
func Rectangle(points []Point) Quad {
	hull := Hull(points)
	if len(hull) == 0 {
		return Quad{}
	}
	if len(hull) == 1 {
		return Quad{hull[0], hull[0], hull[0], hull[0]}
	}
	best, least := Quad{}, math.Inf(1)
	for i, a := range hull {
		side := hull[(i+1)%len(hull)].sub(a)
		n := math.Hypot(side.X, side.Y)
		u := Point{side.X / n, side.Y / n}
		v := Point{-u.Y, u.X}
		low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
		for _, p := range hull {
			x, y := p.dot(u), p.dot(v)
			low, high = Point{min(low.X, x), min(low.Y, y)}, Point{max(high.X, x), max(high.Y, y)}
		}
		if area := (high.X - low.X) * (high.Y - low.Y); area < least {
			least = area
			at := func(x, y float64) Point { return Point{x*u.X + y*v.X, x*u.Y + y*v.Y} }
			best = Quad{at(low.X, low.Y), at(high.X, low.Y), at(high.X, high.Y), at(low.X, high.Y)}
		}
	}
	return best.Ordered()
}

// Parts returns the points at the ends of the rows of every part of a map that hangs
// together, over corners, too. A row of the map has width numbers.
func Parts(mask []bool, width int) [][]Point {
	seen := make([]bool, len(mask))
	height := len(mask) / max(width, 1)
	var parts [][]Point
	var todo []int
	for start := range mask {
		if !mask[start] || seen[start] {
			continue
		}
		seen[start] = true
		todo = append(todo[:0], start)
		var part []Point
		for len(todo) > 0 {
			at := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			x, y := at%width, at/width
			if x == 0 || x == width-1 || !mask[at-1] || !mask[at+1] {
				part = append(part, Point{float64(x), float64(y)})
			}
			for ny := max(y-1, 0); ny <= min(y+1, height-1); ny++ {
				for nx := max(x-1, 0); nx <= min(x+1, width-1); nx++ {
					if next := ny*width + nx; mask[next] && !seen[next] {
						seen[next] = true
						todo = append(todo, next)
					}
				}
			}
		}
		parts = append(parts, part)
	}
	return parts
}

// Projection returns the map (ax+by+c, dx+ey+f)/(gx+hy+1) as a ... h that takes the
// corners of a rectangle at the origin to those of a quad, and whether there is one.
func Projection(width, height float64, q Quad) (m [8]float64, ok bool) {
	from := Quad{{0, 0}, {width, 0}, {width, height}, {0, height}}
	var a [8][9]float64
	for i, p := range from {
		a[2*i] = [9]float64{p.X, p.Y, 1, 0, 0, 0, -p.X * q[i].X, -p.Y * q[i].X, q[i].X}
		a[2*i+1] = [9]float64{0, 0, 0, p.X, p.Y, 1, -p.X * q[i].Y, -p.Y * q[i].Y, q[i].Y}
	}
	for i := range a { // by elimination
		pivot := i
		for k := i + 1; k < len(a); k++ {
			if math.Abs(a[k][i]) > math.Abs(a[pivot][i]) {
				pivot = k
			}
		}
		if math.Abs(a[pivot][i]) < 1e-12 {
			return m, false
		}
		a[i], a[pivot] = a[pivot], a[i]
		for k := range a {
			if f := a[k][i] / a[i][i]; k != i && f != 0 {
				for c := i; c < len(a[k]); c++ {
					a[k][c] -= f * a[i][c]
				}
			}
		}
	}
	for i := range m {
		m[i] = a[i][8] / a[i][i]
	}
	return m, true
}
