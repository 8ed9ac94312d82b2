package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/data/digits"
	"github.com/sinter-go/sinter/examples/draw/handwriting"
	"github.com/sinter-go/sinter/examples/draw/recognize"
)

// read returns the digit that strokes are taken for.
func read(t *testing.T, r *recognize.Recognizer, strokes [][]recognize.Point) int {
	t.Helper()
	image, ok := recognize.Image(strokes)
	if !ok {
		t.Fatal("no image")
	}
	list, err := r.Probabilities(image)
	if err != nil || len(list) != digits.Classes {
		t.Fatalf("%d probabilities, %v", len(list), err)
	}
	best, sum := 0, 0.0
	for i, p := range list {
		sum += float64(p)
		if p > list[best] {
			best = i
		}
	}
	if math.Abs(sum-1) > 1e-5 {
		t.Errorf("probabilities add up to %v", sum)
	}
	return best
}

// moved returns strokes as another hand would have made them: larger or smaller,
// elsewhere, turned, slanted, narrower or wider, and less steady.
func moved(strokes [][]recognize.Point, rng *rand.Rand) [][]recognize.Point {
	between := func(low, high float64) float64 { return low + (high-low)*rng.Float64() }
	size, turn, slant, wide := between(0.3, 4), between(-0.14, 0.14), between(-0.15, 0.15), between(0.8, 1.15)
	x0, y0 := between(-50, 500), between(-50, 500)
	out := make([][]recognize.Point, len(strokes))
	for i, stroke := range strokes {
		for _, p := range stroke {
			x, y := (p.X-50)*wide+between(-1.5, 1.5), p.Y-70+between(-1.5, 1.5)
			x += slant * y
			out[i] = append(out[i], recognize.Point{
				X: x0 + size*(x*math.Cos(turn)-y*math.Sin(turn)),
				Y: y0 + size*(x*math.Sin(turn)+y*math.Cos(turn)),
			})
		}
	}
	return out
}

// TestDigits holds that plain digits are read right, and nine in ten of those that were
// moved and deformed.
func TestDigits(t *testing.T) {
	r, err := recognize.New()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	right, all := 0, 0
	wrong := map[[2]int]int{}
	for _, d := range handwriting.Digits {
		if got := read(t, r, d.Strokes); got != d.Value {
			t.Errorf("%d is read as %d", d.Value, got)
		}
		for range 40 {
			all++
			if got := read(t, r, moved(d.Strokes, rng)); got == d.Value {
				right++
			} else {
				wrong[[2]int{d.Value, got}]++
			}
		}
	}
	t.Logf("%d of %d; what for what: %v", right, all, wrong)
	if right < all*9/10 {
		t.Errorf("%d of %d are read right", right, all)
	}
}

// TestImage holds images to the data set's form.
func TestImage(t *testing.T) {
	for _, d := range handwriting.Digits {
		image, ok := recognize.Image(d.Strokes)
		ink, top, bottom := 0, 0, 0
		for i, v := range image {
			if v > digits.Max {
				t.Fatalf("%d: a pixel is %d", d.Value, v)
			}
			ink += int(v)
			if i < digits.Side {
				top += int(v)
			} else if i >= digits.Pixels-digits.Side {
				bottom += int(v)
			}
		}
		if !ok || ink < 200 || ink > 400 || top == 0 || bottom == 0 {
			t.Errorf("%d: %d dark, %d at the top, %d at the bottom\n%v", d.Value, ink, top, bottom, image)
		}
	}
	for name, strokes := range map[string][][]recognize.Point{
		"nothing": nil, "an empty stroke": {{}}, "no number": {{{X: math.NaN()}}}, "infinity": {{{X: math.Inf(1)}, {}}},
	} {
		if _, ok := recognize.Image(strokes); ok {
			t.Errorf("%s has an image", name)
		}
	}
	if image, ok := recognize.Image([][]recognize.Point{{{X: 5, Y: 5}}}); !ok || image == [digits.Pixels]uint8{} {
		t.Errorf("a point: %v, %v", image, ok)
	}
}
