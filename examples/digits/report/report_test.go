package report

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/tests/brief"
	"gonum.org/v1/plot"
)

func falling(epochs int) History {
	var h History
	for i := range epochs {
		x := math.Exp(-float64(i) / 3)
		h.Add(2.2*x, 2.3*x+0.1, 1-0.9*x, 0.97-0.9*x)
	}
	return h
}

func flat(loss float64, epochs int) History {
	var h History
	for range epochs {
		h.Add(loss, loss, 0.5, 0.5)
	}
	return h
}

// plain reports an error for text that holds anything but graphic characters
// and line ends.
func plain(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !unicode.IsGraphic(r) {
			t.Errorf("control character %q in\n%q", r, text)
			return
		}
	}
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimRight(line, " \n"); trimmed+"\n" != line {
			t.Errorf("line %q ends in spaces or without a line end", line)
		}
	}
}

func TestCurves(t *testing.T) {
	nan := math.NaN()
	cases := []struct {
		name string
		h    History
		want []string
	}{
		{"falling", falling(25), []string{"loss by epoch   ─ train   • test", "accuracy by epoch", " 2.400 ┼•\n"}},
		{"one epoch", falling(1), []string{"loss by epoch"}},
		{"two epochs", falling(2), []string{"loss by epoch"}},
		{"more epochs than columns", falling(300), []string{"150"}},
		{"flat", flat(0.5, 9), []string{"0.500"}},
		{"flat at zero", flat(0, 9), []string{"0.000"}},
		{"large", flat(drawable, 9), []string{"loss by epoch"}},
		{"too large", flat(1e99, 9), []string{"loss: no finite values in 9 epochs\n"}},
		{"large and close", History{[]float64{drawable, drawable - 0.125}, []float64{1e15, 1e15}, []float64{1, 0}, []float64{0, 1}}, []string{"loss by epoch"}},
		{"diverged", flat(math.Inf(1), 9), []string{"loss: no finite values in 9 epochs\n", "accuracy by epoch"}},
		{"diverged half way", History{[]float64{1, 2, math.Inf(1), nan}, []float64{1, nan, 3, nan}, []float64{0, 1, 1, nan}, []float64{1, 1, 1, 0}}, []string{"3.000"}},
		{"only test", History{[]float64{nan, nan}, []float64{1, 2}, []float64{nan, nan}, []float64{0, 1}}, []string{"2.000"}},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var w bytes.Buffer
			if err := c.h.Print(&w); err != nil {
				t.Fatal(err)
			}
			plain(t, w.String())
			for _, want := range c.want {
				if !strings.Contains(w.String(), want) {
					t.Errorf("no %q in\n%s", want, w.String())
				}
			}
			w.Reset()
			if err := c.h.print(&w, 80, true); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(w.String(), "\x1b[") {
				t.Errorf("no colour on a terminal:\n%s", w.String())
			}
			if brief.Skip(i) {
				return
			}
			if err := WritePNG(io.Discard, c.name, c.h, NewConfusion("a", "b")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestHistoryErrors(t *testing.T) {
	one := []float64{1}
	cases := []struct {
		name string
		h    History
		want string
	}{
		{"empty", History{}, "no epochs"},
		{"uneven", History{one, one, one, nil}, "1, 1, 1 and 0 values"},
		{"percent", History{one, one, one, []float64{97}}, "accuracy 97 in epoch 1; want one from 0 to 1"},
	}
	for _, c := range cases {
		for call, err := range map[string]error{
			"Print":    c.h.Print(io.Discard),
			"WritePNG": WritePNG(io.Discard, "", c.h, NewConfusion("a")),
		} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %s: error %v; want one with %q", call, c.name, err, c.want)
			}
		}
	}
}

func TestConfusion(t *testing.T) {
	c := NewConfusion("cat", "horse", "ox")
	for _, pair := range [][2]int{{0, 0}, {0, 0}, {0, 2}, {1, 1}} {
		if err := c.Add(pair[0], pair[1]); err != nil {
			t.Fatal(err)
		}
	}
	c.Counts[0][0] += 998
	if got := c.Accuracy(); got != 1001.0/1002 {
		t.Errorf("accuracy %v", got)
	}
	var w bytes.Buffer
	if err := c.Print(&w); err != nil {
		t.Fatal(err)
	}
	plain(t, w.String())
	want := `actual \ predicted   cat horse    ox   recall
               cat  1000     .     1    99.9%
             horse     .     1     .   100.0%
                ox     .     .     .        -
accuracy 99.90%
`
	if diff := cmp.Diff(want, w.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if got := NewConfusion("a").Accuracy(); got != 0 {
		t.Errorf("accuracy of nothing is %v", got)
	}
}

func TestConfusionErrors(t *testing.T) {
	cases := []struct {
		name string
		c    Confusion
		want string
	}{
		{"empty", Confusion{}, "without classes"},
		{"rows missing", Confusion{Classes: []string{"a"}}, "0 rows of counts for 1 classes"},
		{"columns missing", Confusion{Classes: []string{"a"}, Counts: [][]int{{}}}, "row 0 has 0 counts for 1 classes"},
		{"negative", Confusion{Classes: []string{"a"}, Counts: [][]int{{-1}}}, "count -1"},
	}
	for _, c := range cases {
		for call, err := range map[string]error{
			"Add":      c.c.Add(0, 0),
			"Print":    c.c.Print(io.Discard),
			"WritePNG": WritePNG(io.Discard, "", flat(1, 1), c.c),
		} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s of %s: error %v; want one with %q", call, c.name, err, c.want)
			}
		}
	}
	c := NewConfusion("a", "b")
	for _, pair := range [][2]int{{2, 0}, {0, 2}, {-1, 0}, {0, -1}} {
		if err := c.Add(pair[0], pair[1]); err == nil {
			t.Errorf("%v was counted", pair)
		}
	}
}

// near reports whether two colours look alike.
func near(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	d := func(x, y uint32) float64 { return math.Abs(float64(x) - float64(y)) }
	return d(ar, br)+d(ag, bg)+d(ab, bb) < 3*0x0800
}

func count(img image.Image, c color.Color, r image.Rectangle) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if near(img.At(x, y), c) {
				n++
			}
		}
	}
	return n
}

func TestPNG(t *testing.T) {
	c := NewConfusion("0", "1")
	c.Counts = [][]int{{10, 0}, {0, 10}}
	path := filepath.Join(t.TempDir(), "report.png")
	if err := SavePNG(path, "A title", falling(12), c); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size != image.Pt(1540, 770) {
		t.Fatalf("%v pixels", size)
	}
	left, right := image.Rect(0, 0, 800, 770), image.Rect(870, 98, 1520, 712)
	for name, n := range map[string]int{
		"train curve": count(img, trainColor, left), "test curve": count(img, testColor, left),
	} {
		if n < 500 {
			t.Errorf("%s takes %d pixels", name, n)
		}
	}
	// Two classes that are never confused make a diagonal of two dark quarters.
	dark := shades(2).Colors()[1]
	quarter := right.Dx() * right.Dy() / 4
	for i, r := range []image.Rectangle{
		{right.Min, image.Pt(1195, 405)}, {image.Pt(1195, 98), image.Pt(1520, 405)},
		{image.Pt(870, 405), image.Pt(1195, 712)}, {image.Pt(1195, 405), right.Max},
	} {
		if n, want := count(img, dark, r), (i == 0 || i == 3); (n > quarter*9/10) != want || !want && n > quarter/50 {
			t.Errorf("quarter %d of the matrix has %d dark pixels of %d", i, n, quarter)
		}
	}
	var again bytes.Buffer
	if err := WritePNG(&again, "A title", falling(12), c); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, again.Bytes()) {
		t.Error("the same numbers gave another picture")
	}
	if err := SavePNG(filepath.Join(path, "under"), "", falling(1), c); err == nil {
		t.Error("wrote below a file")
	}
}

func TestTicks(t *testing.T) {
	cases := []struct {
		name      string
		low, high float64
		tick      func(low, high float64) []plot.Tick
		want      string
	}{
		{"epochs 1 to 2", 1, 2, epochTicks, "1 2"},
		{"epochs 1 to 10", 1, 10, epochTicks, "1 2 3 4 5 6 7 8 9 10"},
		{"epochs 1 to 15", 1, 15, epochTicks, "2 4 6 8 10 12 14"},
		{"epochs 1 to 25", 1, 25, epochTicks, "5 10 15 20 25 1"},
		{"epochs 1 to 300", 1, 300, epochTicks, "50 100 150 200 250 300 1"},
		{"from below zero", -0.4, 0.4, values, "-0.4 -0.2 0 0.2 0.4"},
		{"small", 0, 3e-5, values, "0 5e-06 1e-05 1.5e-05 2e-05 2.5e-05 3e-05"},
		{"nothing", 1, 1, values, ""},
		{"overflow", -math.MaxFloat64, math.MaxFloat64, values, ""},
	}
	for _, c := range cases {
		var labels []string
		for _, tick := range c.tick(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func values(low, high float64) []plot.Tick {
	return ticks(low, high, step(low, high, 6), func(v float64) string { return fmt.Sprintf("%.3g", v) })
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestBrokenWriter(t *testing.T) {
	for call, err := range map[string]error{
		"History.Print":   falling(2).Print(brokenWriter{}),
		"Confusion.Print": NewConfusion("a").Print(brokenWriter{}),
		"WritePNG":        WritePNG(brokenWriter{}, "", falling(2), NewConfusion("a")),
	} {
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s gave error %v", call, err)
		}
	}
}

func TestProgress(t *testing.T) {
	run := func(tty bool, total, steps int) string {
		var w bytes.Buffer
		p := newProgress(&w, tty, total, "training")
		for range steps {
			p.Step("loss 0.5")
		}
		p.Close()
		p.Step("late")
		p.Close()
		return w.String()
	}
	want := "training   33%  1/3  loss 0.5\ntraining   66%  2/3  loss 0.5\ntraining  100%  3/3  loss 0.5\n"
	if diff := cmp.Diff(want, run(false, 3, 5)); diff != "" {
		t.Errorf("3 steps (-want +got):\n%s", diff)
	}
	for _, total := range []int{10, 11, 99, 1000} {
		got := run(false, total, total)
		plain(t, got)
		if n := strings.Count(got, "\n"); n != reports {
			t.Errorf("%d steps took %d lines:\n%s", total, n, got)
		}
	}
	for _, total := range []int{0, -1} {
		if got := run(true, total, 3) + run(false, total, 3); got != "" {
			t.Errorf("%d steps wrote %q", total, got)
		}
	}
	bar := run(true, 3, 5)
	if !strings.Contains(bar, "\r") || !strings.Contains(bar, "100%") || !strings.HasSuffix(bar, "\n") {
		t.Errorf("bar %q", bar)
	}
	if got := run(true, 10, 4); !strings.HasSuffix(got, "\n") {
		t.Errorf("a bar that was given up: %q", got)
	}
	p := newProgress(brokenWriter{}, true, 2, "training")
	p.Step("a")
	p.Step("b")
	p.Close()
}
