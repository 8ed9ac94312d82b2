package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var near = cmpopts.EquateApprox(0, 1e-9)

// TestRectangle puts points into turned rectangles.
func TestRectangle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		angle := rng.Float64()*1.4 - 0.7
		u := Point{math.Cos(angle), math.Sin(angle)}
		w, h := 20+30*rng.Float64(), 2+5*rng.Float64()
		at := func(x, y float64) Point { return Point{100 + x*u.X - y*u.Y, 100 + x*u.Y + y*u.X} }
		want := Quad{at(0, 0), at(w, 0), at(w, h), at(0, h)}
		points := append([]Point{}, want[:]...)
		for range 20 {
			points = append(points, at(w*rng.Float64(), h*rng.Float64()))
		}
		got := Rectangle(points)
		gw, gh := got.Sides()
		if math.Abs(gw*gh-w*h) > 1e-6 {
			t.Fatalf("at %g the rectangle of %g x %g is %v", angle, w, h, got)
		}
		for _, p := range points {
			if !got.Grow(1e-6).Contains(p) {
				t.Fatalf("%v is not in %v", p, got)
			}
		}
	}
	p := Point{3, 4}
	if diff := cmp.Diff(Quad{p, p, p, p}, Rectangle([]Point{p, p})); diff != "" {
		t.Error(diff)
	}
	if q := Rectangle([]Point{{0, 0}, {4, 0}, {2, 0}}); q[0] != (Point{0, 0}) || q[2] != (Point{4, 0}) {
		t.Errorf("the rectangle of a line is %v", q)
	}
	if q := Rectangle(nil); q != (Quad{}) {
		t.Errorf("the rectangle of nothing is %v", q)
	}
}

// TestGrow moves the borders of a square by its area over its border, and leaves a point.
func TestGrow(t *testing.T) {
	square := Quad{{0, 0}, {4, 0}, {4, 4}, {0, 4}}
	if diff := cmp.Diff(Quad{{-2, -2}, {6, -2}, {6, 6}, {-2, 6}}, square.Grow(2), near); diff != "" {
		t.Error(diff)
	}
	point := Quad{{1, 1}, {1, 1}, {1, 1}, {1, 1}}
	if got := point.Grow(2); got != point {
		t.Errorf("a point grew to %v", got)
	}
}

// TestParts finds parts that touch at corners only, and those that do not.
func TestParts(t *testing.T) {
	picture := []string{
		"##..#",
		"..#..",
		".....",
		"#...#",
	}
	var mask []bool
	for _, row := range picture {
		for _, c := range row {
			mask = append(mask, c == '#')
		}
	}
	var sizes []int
	for _, part := range Parts(mask, len(picture[0])) {
		sizes = append(sizes, len(part))
	}
	if diff := cmp.Diff([]int{3, 1, 1, 1}, sizes); diff != "" {
		t.Error(diff)
	}
	if parts := Parts(nil, 0); parts != nil {
		t.Errorf("of nothing: %v", parts)
	}
}

// TestProjection takes the corners of a rectangle to those of a quad.
func TestProjection(t *testing.T) {
	quad := Quad{{3, 4}, {20, 2}, {25, 13}, {1, 12}}
	m, ok := Projection(10, 5, quad)
	if !ok {
		t.Fatal("there is none")
	}
	for i, p := range [4]Point{{0, 0}, {10, 0}, {10, 5}, {0, 5}} {
		d := m[6]*p.X + m[7]*p.Y + 1
		got := Point{(m[0]*p.X + m[1]*p.Y + m[2]) / d, (m[3]*p.X + m[4]*p.Y + m[5]) / d}
		if diff := cmp.Diff(quad[i], got, near); diff != "" {
			t.Error(diff)
		}
	}
	if _, ok := Projection(0, 5, quad); ok {
		t.Error("there is one of a line")
	}
}
