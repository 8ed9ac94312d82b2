package digits

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func load(t testing.TB) Set {
	t.Helper()
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLoad compares with what the repository's page and NumPy say of the file.
func TestLoad(t *testing.T) {
	s := load(t)
	if s.Len() != 1797 || len(s.Images) != 1797*Pixels {
		t.Fatalf("%d labels and %d pixels", s.Len(), len(s.Images))
	}
	if diff := cmp.Diff([Classes]int{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}, s.Counts()); diff != "" {
		t.Errorf("images of each digit (-want +got):\n%s", diff)
	}
	first := []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	last := []uint8{5, 4, 8, 8, 4, 9, 0, 8, 9, 8}
	if got := s.Labels[:20]; !slices.Equal(got, first) {
		t.Errorf("first labels %v, want %v", got, first)
	}
	if got := s.Labels[1787:]; !slices.Equal(got, last) {
		t.Errorf("last labels %v, want %v", got, last)
	}
	zero := []uint8{
		0, 0, 5, 13, 9, 1, 0, 0,
		0, 0, 13, 15, 10, 15, 5, 0,
		0, 3, 15, 2, 0, 11, 8, 0,
		0, 4, 12, 0, 0, 8, 8, 0,
		0, 5, 8, 0, 0, 9, 8, 0,
		0, 4, 11, 0, 1, 12, 7, 0,
		0, 2, 14, 5, 10, 12, 0, 0,
		0, 0, 6, 13, 10, 0, 0, 0,
	}
	if diff := cmp.Diff(zero, s.Images[:Pixels]); diff != "" {
		t.Errorf("first image (-want +got):\n%s", diff)
	}
	var sum, weighted int
	var byClass [Classes]int
	for i, v := range s.Images {
		sum += int(v)
		weighted += int(v) * (i % Pixels)
		byClass[s.Labels[i/Pixels]] += int(v)
	}
	if sum != 561718 || weighted != 17660653 {
		t.Errorf("pixels sum to %d, times place to %d", sum, weighted)
	}
	want := [Classes]int{56415, 57007, 55566, 56151, 56239, 55915, 56336, 54289, 57408, 56392}
	if diff := cmp.Diff(want, byClass); diff != "" {
		t.Errorf("pixel sums by digit (-want +got):\n%s", diff)
	}
	if again := load(t); &again.Images[0] == &s.Images[0] {
		t.Error("two loads share memory")
	}
}

// TestSums checks that README.md tells the truth about the file.
func TestSums(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{compressed, plain} {
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); !bytes.Contains(readme, []byte(sum)) {
			t.Errorf("README.md does not have the sha256 %s", sum)
		}
	}
}

func TestParseErrors(t *testing.T) {
	pixels := strings.Repeat("1,", Pixels)
	cases := []struct{ name, input, want string }{
		{"short line", "1,2,3", "line 1 has 3 fields; want 65"},
		{"second line empty", pixels + "1\n\n", "line 2 has 1 fields"},
		{"pixel too dark", "17," + pixels[2:] + "1", `line 1: field 1 is "17"; want an integer from 0 to 16`},
		{"negative", "-1," + pixels[2:] + "1", `field 1 is "-1"`},
		{"digit over 9", pixels + "10", `field 65 is "10"; want an integer from 0 to 9`},
		{"endless line", strings.Repeat("1", 1<<17), "token too long"},
	}
	for _, c := range cases {
		if _, err := parse(strings.NewReader(c.input)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want one with %q", c.name, err, c.want)
		}
	}
}

// key identifies an image: no two of the source are the same.
func key(s Set, i int) string {
	return string(s.Images[i*Pixels:(i+1)*Pixels]) + string('0'+s.Labels[i])
}

func TestSplit(t *testing.T) {
	all := load(t)
	place := map[string]int{}
	for i := range all.Len() {
		place[key(all, i)] = i
	}
	if len(place) != all.Len() {
		t.Fatalf("%d different images", len(place))
	}
	counts := all.Counts()
	for _, fraction := range []float64{0.001, 0.2, 0.25, 1.0 / 3, 0.5, 0.9} {
		train, test, err := all.Split(fraction, 1)
		if fraction == 0.001 {
			if err == nil {
				t.Error("an empty test set was returned")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for class, n := range test.Counts() {
			if math.Abs(float64(n)-fraction*float64(counts[class])) > 0.5 {
				t.Errorf("fraction %v: %d of %d images of %d", fraction, n, counts[class], class)
			}
		}
		seen := make([]bool, all.Len())
		for _, part := range []Set{train, test} {
			before := -1
			for i := range part.Len() {
				at, ok := place[key(part, i)]
				if !ok || seen[at] || at < before {
					t.Fatalf("fraction %v: image %d is unknown, there twice or out of order", fraction, i)
				}
				seen[at], before = true, at
			}
		}
		if slices.Contains(seen, false) {
			t.Errorf("fraction %v: images are missing", fraction)
		}
	}
}

// TestSplitKnown compares with a model of the documented method, written in
// Python for this test.
func TestSplitKnown(t *testing.T) {
	all := load(t)
	place := map[string]int{}
	for i := range all.Len() {
		place[key(all, i)] = i
	}
	_, test, err := all.Split(0.25, 7)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	sum := 0
	for i := range test.Len() {
		got = append(got, place[key(test, i)])
		sum += got[i]
	}
	if diff := cmp.Diff([]int{0, 3, 13, 19, 21, 22, 23, 24, 26, 29, 34, 45}, got[:12]); diff != "" {
		t.Errorf("first images to test (-want +got):\n%s", diff)
	}
	if len(got) != 451 || sum != 396289 {
		t.Errorf("%d images to test, numbers summing to %d", len(got), sum)
	}
	_, other, err := all.Split(0.25, 8)
	if err != nil {
		t.Fatal(err)
	}
	if cmp.Equal(test, other) {
		t.Error("another seed gave the same split")
	}
}

func TestSplitErrors(t *testing.T) {
	all := load(t)
	cases := []struct {
		name     string
		set      Set
		fraction float64
		want     string
	}{
		{"zero", all, 0, "test fraction 0; want"},
		{"one", all, 1, "test fraction 1; want"},
		{"negative", all, -0.5, "test fraction -0.5"},
		{"not a number", all, math.NaN(), "test fraction NaN"},
		{"no images", Set{}, 0.5, "of 0 images"},
		{"pixels missing", Set{make([]uint8, 63), []uint8{1}}, 0.5, "63 pixels for 1 labels"},
		{"no such digit", Set{make([]uint8, 64), []uint8{10}}, 0.5, "label 10 of image 0"},
	}
	for _, c := range cases {
		if _, _, err := c.set.Split(c.fraction, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want one with %q", c.name, err, c.want)
		}
	}
}
