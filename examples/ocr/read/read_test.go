package read

import (
	"encoding/json"
	"errors"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"io/fs"
	"math"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/examples/ocr/geometry"
	"github.com/sinter-go/sinter/examples/ocr/picture"
	"github.com/sinter-go/sinter/runtime/device"
)

// load returns the networks, and skips the test where they were not fetched.
func load(t *testing.T) *Reader {
	t.Helper()
	r, err := Load(os.DirFS("../model"), device.CPU)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no networks: python3 examples/models.py ocr fetches them")
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func open(t *testing.T, name string) picture.Picture {
	t.Helper()
	f, err := os.Open("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return picture.From(img)
}

// TestAnswers compares with RapidOCR: the same text, scores to a twentieth, boxes to
// three points.
func TestAnswers(t *testing.T) {
	r := load(t)
	raw, err := os.ReadFile("../testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]Line
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	near := cmp.Options{
		cmp.Comparer(func(a, b geometry.Point) bool { return geometry.Distance(a, b) <= 3 }),
		cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 0.05 }),
	}
	for name, lines := range want {
		got, err := r.Read(t.Context(), open(t, name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(lines) == 0 && len(got) == 0 {
			continue
		}
		if diff := cmp.Diff(lines, got, near); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSizes reads pictures of sizes at the edges, from several goroutines.
func TestSizes(t *testing.T) {
	r := load(t)
	var group sync.WaitGroup
	for _, size := range [][2]int{{0, 0}, {1, 1}, {33, 31}} {
		group.Go(func() {
			lines, err := r.Read(t.Context(), picture.New(size[0], size[1]))
			if err != nil || len(lines) > 0 {
				t.Errorf("a black picture of %v: %v, %v", size, lines, err)
			}
		})
	}
	group.Wait()
	for _, size := range [][2]int{{1, 400}, {400, 1}} {
		if _, err := r.Read(t.Context(), picture.New(size[0], size[1])); err == nil || !strings.Contains(err.Error(), "too narrow") {
			t.Errorf("a picture of %v: %v", size, err)
		}
	}
}

// TestDecode looks at repeated characters and at none.
func TestDecode(t *testing.T) {
	r := &Reader{characters: []string{"", "a", "b", " "}}
	column := func(c int) []float32 {
		s := make([]float32, 4)
		s[c] = 0.5
		return s
	}
	for _, test := range []struct {
		columns []int
		want    string
	}{
		{nil, ""},
		{[]int{0, 0}, ""},
		{[]int{1, 1, 1, 2}, "ab"},
		{[]int{1, 0, 1, 3, 3, 2, 0}, "aa b"},
	} {
		var scores []float32
		for _, c := range test.columns {
			scores = append(scores, column(c)...)
		}
		got := r.decode(scores)
		if got.Text != test.want || got.Text != "" && got.Score != 0.5 {
			t.Errorf("%v is %+v, want %q", test.columns, got, test.want)
		}
	}
}

// TestOrder sorts boxes whose tops differ a little.
func TestOrder(t *testing.T) {
	at := func(x, y float64) geometry.Quad { return geometry.Quad{{X: x, Y: y}} }
	boxes := []geometry.Quad{at(300, 40), at(200, 8), at(10, 45), at(20, 12)}
	order(boxes)
	if diff := cmp.Diff([]geometry.Quad{at(20, 12), at(200, 8), at(10, 45), at(300, 40)}, boxes); diff != "" {
		t.Error(diff)
	}
}
