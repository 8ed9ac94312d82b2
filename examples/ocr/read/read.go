// Package read finds and reads text in pictures by three networks of PaddleOCR: one tells
// where text is, one which way up, one what it says.
package read

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
	"github.com/sinter-go/sinter/examples/ocr/picture"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Line is a piece of text.
type Line struct {
	Text  string        `json:"text"`
	Score float64       `json:"score"`
	Box   geometry.Quad `json:"box"` // in the picture that was given
}

// A Reader has the three networks. It may be used from many goroutines.
type Reader struct {
	detect, orient, recognize *onnx.Model
	characters                []string // what the numbers of recognize mean, the first nothing
}

// Load reads the networks from a folder with detection.onnx, orientation.onnx and
// recognition.onnx.
func Load(folder fs.FS, dev device.Device) (*Reader, error) {
	r := &Reader{}
	for _, part := range []struct {
		to   **onnx.Model
		name string
	}{{&r.detect, "detection"}, {&r.orient, "orientation"}, {&r.recognize, "recognition"}} {
		model, err := onnx.LoadFS(folder, part.name+".onnx", tensor.On(dev))
		if err != nil {
			return nil, err
		}
		if len(model.Inputs()) != 1 || len(model.Outputs()) != 1 {
			return nil, fmt.Errorf("%s.onnx takes %v and gives %v, want one each", part.name, model.Inputs(), model.Outputs())
		}
		*part.to = model
	}
	list := strings.TrimSuffix(r.recognize.Metadata["character"], "\n")
	if list == "" {
		return nil, fmt.Errorf("recognition.onnx does not say which characters it knows")
	}
	r.characters = slices.Concat([]string{""}, strings.Split(list, "\n"), []string{" "})
	return r, nil
}

// least is the score below which a line is left out.
const least = 0.5

// Tall and wide are the most that a side may be of the other: for the network a narrow
// picture is made wider, and as much longer.
const (
	tall = 20
	wide = 80
)

// Read returns the text of a picture, from the top to the bottom.
func (r *Reader) Read(ctx context.Context, p picture.Picture) ([]Line, error) {
	if p.Width < 1 || p.Height < 1 {
		return nil, nil
	}
	scaled, err := fit(p)
	if err != nil {
		return nil, err
	}
	if scaled.Height > tall*scaled.Width || scaled.Width > wide*scaled.Height {
		return nil, fmt.Errorf("a picture of %d x %d points is too narrow: its height may be %d times its width, its width %d times its height", p.Width, p.Height, tall, wide)
	}
	padding := 0
	const flat, low = 8, 30 // strips of text are read better with something around them
	if scaled.Height <= low || scaled.Width > flat*scaled.Height {
		padding = max(2*max(scaled.Width/flat, low)-scaled.Height, scaled.Height-2*max(scaled.Width/flat, low)) / 2
	}
	padded := scaled.Pad(padding)
	boxes, err := r.boxes(ctx, padded)
	if err != nil {
		return nil, err
	}
	strips := make([]picture.Picture, 0, len(boxes))
	kept := boxes[:0]
	for _, box := range boxes {
		strip := padded.Cut(box)
		if strip.Width == 0 {
			continue
		}
		if 2*strip.Height >= 3*strip.Width {
			strip = strip.Turn()
		}
		strips, kept = append(strips, strip), append(kept, box)
	}
	if err := r.upright(ctx, strips); err != nil {
		return nil, err
	}
	lines, err := r.text(ctx, strips)
	if err != nil {
		return nil, err
	}
	out := lines[:0]
	for i, line := range lines {
		if line.Score < least {
			continue
		}
		line.Box = kept[i]
		for k, c := range line.Box {
			x, y := c.X*float64(p.Width)/float64(scaled.Width), (c.Y-float64(padding))*float64(p.Height)/float64(scaled.Height)
			line.Box[k] = geometry.Point{X: min(max(x, 0), float64(p.Width)), Y: min(max(y, 0), float64(p.Height))}
		}
		out = append(out, line)
	}
	return out, nil
}

// fit returns a picture whose longer side has at most 2000 points, and its shorter at
// least 30.
func fit(p picture.Picture) (_ picture.Picture, err error) {
	if long := max(p.Width, p.Height); long > 2000 {
		if p, err = resize(p, 2000/float64(long)); err != nil {
			return p, err
		}
	}
	if short := min(p.Width, p.Height); short < 30 {
		return resize(p, 30/float64(short))
	}
	return p, nil
}

// resize changes both sides by a ratio, to multiples of 32.
func resize(p picture.Picture, ratio float64) (picture.Picture, error) {
	side := func(n int) int {
		return max(32*int(math.RoundToEven(math.Floor(float64(n)*ratio)/32)), 32)
	}
	return p.Resize(side(p.Width), side(p.Height))
}

// boxes asks the first network where text is.
func (r *Reader) boxes(ctx context.Context, p picture.Picture) ([]geometry.Quad, error) {
	const short = 736
	input, err := resize(p, max(short/float64(min(p.Width, p.Height)), 1))
	if err != nil {
		return nil, err
	}
	w, h := input.Width, input.Height
	x := make([]float32, 3*w*h)
	input.Planes(x, w)
	_, scores, err := ask(ctx, r.detect, x, 1, 3, h, w)
	if err != nil {
		return nil, err
	}
	if len(scores) != w*h {
		return nil, fmt.Errorf("detection gives %d numbers for %d points", len(scores), w*h)
	}
	mask := make([]bool, len(scores))
	for i := range mask { // with the neighbours to the right and below
		x, y := i%w, i/w
		hot := func(k int) bool { return scores[k] > 0.3 }
		mask[i] = hot(i) || x > 0 && hot(i-1) || y > 0 && (hot(i-w) || x > 0 && hot(i-w-1))
	}
	sx, sy := float64(p.Width)/float64(w), float64(p.Height)/float64(h)
	var boxes []geometry.Quad
	for _, part := range geometry.Parts(mask, w) {
		box := geometry.Rectangle(part)
		if bw, bh := box.Sides(); min(bw, bh) < 3 || inside(scores, w, h, box) < 0.5 {
			continue
		}
		for i, c := range box { // the border of text is shrunk by whole points of the map
			box[i] = geometry.Point{X: math.Trunc(c.X), Y: math.Trunc(c.Y)}
		}
		box = box.Grow(1.6)
		if bw, bh := box.Sides(); min(bw, bh) < 5 {
			continue
		}
		box = box.Ordered()
		for i, c := range box {
			box[i] = geometry.Point{
				X: min(max(math.RoundToEven(c.X*sx), 0), float64(p.Width-1)),
				Y: min(max(math.RoundToEven(c.Y*sy), 0), float64(p.Height-1)),
			}
		}
		if int(geometry.Distance(box[0], box[1])) > 3 && int(geometry.Distance(box[0], box[3])) > 3 {
			boxes = append(boxes, box)
		}
	}
	order(boxes)
	return boxes, nil
}

// order sorts boxes into lines from the top, and from the left within one.
func order(boxes []geometry.Quad) {
	slices.SortStableFunc(boxes, func(a, b geometry.Quad) int {
		return cmp.Or(cmp.Compare(a[0].Y, b[0].Y), cmp.Compare(a[0].X, b[0].X))
	})
	for i := 1; i < len(boxes); i++ {
		for k := i; k > 0 && math.Abs(boxes[k][0].Y-boxes[k-1][0].Y) < 10 && boxes[k][0].X < boxes[k-1][0].X; k-- {
			boxes[k], boxes[k-1] = boxes[k-1], boxes[k]
		}
	}
}

// inside returns the mean of the scores in a box.
func inside(scores []float32, w, h int, box geometry.Quad) float64 {
	low, high := box[0], box[0]
	for _, c := range box {
		low = geometry.Point{X: min(low.X, c.X), Y: min(low.Y, c.Y)}
		high = geometry.Point{X: max(high.X, c.X), Y: max(high.Y, c.Y)}
	}
	sum, n := 0.0, 0
	for y := max(int(low.Y), 0); y <= min(int(math.Ceil(high.Y)), h-1); y++ {
		for x := max(int(low.X), 0); x <= min(int(math.Ceil(high.X)), w-1); x++ {
			if box.Contains(geometry.Point{X: float64(x), Y: float64(y)}) {
				sum += float64(scores[y*w+x])
				n++
			}
		}
	}
	return sum / float64(max(n, 1))
}

const (
	height = 48 // of the strips that networks read
	batch  = 6
)

// upright turns the strips that are upside down.
func (r *Reader) upright(ctx context.Context, strips []picture.Picture) error {
	const width = 192
	for some := range slices.Chunk(strips, batch) {
		x, err := row(some, width)
		if err != nil {
			return err
		}
		shape, scores, err := ask(ctx, r.orient, x, len(some), 3, height, width)
		if err != nil {
			return err
		}
		if len(shape) != 2 || shape[0] != len(some) || shape[1] != 2 {
			return fmt.Errorf("orientation gives numbers %v for %d strips", shape, len(some))
		}
		for i := range some {
			if scores[2*i+1] > 0.9 {
				some[i] = some[i].Turn().Turn()
			}
		}
	}
	return nil
}

// row returns strips as numbers, each at the left of as many columns.
func row(strips []picture.Picture, width int) ([]float32, error) {
	size := 3 * height * width
	x := make([]float32, len(strips)*size)
	for i, s := range strips {
		w := min(int(math.Ceil(height*float64(s.Width)/float64(s.Height))), width)
		resized, err := s.Resize(max(w, 1), height)
		if err != nil {
			return nil, err
		}
		resized.Planes(x[i*size:][:size], width)
	}
	return x, nil
}

// text reads strips, those of about one length together.
func (r *Reader) text(ctx context.Context, strips []picture.Picture) ([]Line, error) {
	ratio := func(i int) float64 { return float64(strips[i].Width) / float64(strips[i].Height) }
	places := make([]int, len(strips))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(ratio(a), ratio(b)) })
	lines := make([]Line, len(strips))
	for some := range slices.Chunk(places, batch) {
		together := make([]picture.Picture, len(some))
		for i, place := range some {
			together[i] = strips[place]
		}
		width := int(height * max(320.0/height, ratio(some[len(some)-1])))
		x, err := row(together, width)
		if err != nil {
			return nil, err
		}
		shape, scores, err := ask(ctx, r.recognize, x, len(some), 3, height, width)
		if err != nil {
			return nil, err
		}
		if len(shape) != 3 || shape[0] != len(some) || shape[2] != len(r.characters) {
			return nil, fmt.Errorf("recognition gives numbers %v for %d strips and %d characters", shape, len(some), len(r.characters))
		}
		for i, place := range some {
			lines[place] = r.decode(scores[i*shape[1]*shape[2]:][:shape[1]*shape[2]])
		}
	}
	return lines, nil
}

// decode takes the likeliest character of every column. Equal neighbours are one, and
// the first character is none.
func (r *Reader) decode(scores []float32) Line {
	var text strings.Builder
	sum, n, last := 0.0, 0, 0
	for column := range slices.Chunk(scores, len(r.characters)) {
		score := slices.Max(column)
		c := max(slices.Index(column, score), 0)
		if c != 0 && c != last {
			text.WriteString(r.characters[c])
			sum += float64(score)
			n++
		}
		last = c
	}
	return Line{Text: text.String(), Score: sum / float64(max(n, 1))}
}

// ask runs a network with one input and one output.
func ask(ctx context.Context, m *onnx.Model, x []float32, shape ...int) (out []int, numbers []float32, err error) {
	in := tensor.From(x, shape...)
	defer in.Release()
	result, err := m.Run(ctx, map[string]tensor.Tensor{m.Inputs()[0].Name: in})
	if err != nil {
		return nil, nil, err
	}
	y := result[m.Outputs()[0].Name]
	defer y.Release()
	numbers, err = tensor.Data[float32](y.CPU())
	return y.Shape(), slices.Clone(numbers), err
}
