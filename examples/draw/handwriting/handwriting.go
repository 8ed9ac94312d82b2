// Package handwriting has digits as strokes of a pen, for tests of what reads them.
package handwriting

import (
	"math"

	"github.com/sinter-go/sinter/examples/draw/recognize"
)

type point = recognize.Point

// A Digit is strokes in a box some 100 wide and 140 high.
type Digit struct {
	Value   int
	Strokes [][]recognize.Point
}

// Digits are the ten digits, some in two forms.
var Digits = []Digit{
	{0, [][]point{arc(50, 70, 42, 66, -90, 270)}},
	{1, [][]point{line(20, 40, 55, 4, 55, 136)}},
	{1, [][]point{line(50, 4, 50, 136)}},
	{2, [][]point{join(arc(48, 42, 38, 38, -170, 50), line(12, 134, 92, 134))}},
	{3, [][]point{join(arc(44, 38, 34, 34, -150, 90), arc(44, 103, 40, 33, -90, 150))}},
	{4, [][]point{line(66, 4, 8, 92, 94, 92), line(68, 44, 68, 136)}},
	{4, [][]point{line(22, 6, 14, 76, 88, 76), line(74, 20, 70, 138)}},
	{5, [][]point{join(line(84, 6, 24, 6, 18, 62), arc(46, 94, 40, 40, -130, 140))}},
	{6, [][]point{join(line(70, 4, 34, 44, 14, 92), arc(48, 98, 36, 36, 190, -190))}},
	{7, [][]point{line(10, 8, 90, 8, 36, 136)}},
	{7, [][]point{line(10, 8, 90, 8, 40, 136), line(28, 72, 84, 72)}},
	{8, [][]point{join(arc(50, 36, 30, 32, 90, 450), arc(50, 102, 38, 34, -90, 270))}},
	{9, [][]point{join(arc(48, 42, 36, 36, 10, -350), line(82, 44, 76, 90, 58, 136))}},
}

// arc returns points of an ellipse between two angles in degrees, clockwise on a screen
// where the second is the larger.
func arc(x, y, rx, ry, from, to float64) []point {
	var out []point
	const pieces = 24
	for i := range pieces + 1 {
		a := (from + (to-from)*float64(i)/pieces) * math.Pi / 180
		out = append(out, point{X: x + rx*math.Cos(a), Y: y + ry*math.Sin(a)})
	}
	return out
}

// line returns the points with these coordinates, x and y in turn.
func line(coordinates ...float64) (out []point) {
	for i := 0; i+1 < len(coordinates); i += 2 {
		out = append(out, point{X: coordinates[i], Y: coordinates[i+1]})
	}
	return out
}

func join(parts ...[]point) (out []point) {
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}
