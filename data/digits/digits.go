// Package digits holds 1,797 handwritten digits of 8 by 8 pixels: the test set of
// "Optical Recognition of Handwritten Digits" from the UCI Machine Learning
// Repository, small enough to be embedded. README.md has its source and licence.
// It knows nothing of tensors or models.
//
//	all, err := digits.Load()
//	if err != nil {
//		return err
//	}
//	train, test, err := all.Split(0.2, 1) // a fifth to test on, chosen by the seed 1
//	if err != nil {
//		return err
//	}
//	images = tensor.From(train.Images, train.Len(), 1, digits.Side, digits.Side).ToType(tensor.Float32)
//	fmt.Println(images.Shape(), test.Counts())
package digits

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

const (
	Side    = 8           // pixels along an edge of an image
	Pixels  = Side * Side // pixels in an image
	Max     = 16          // the darkest pixel
	Classes = 10
)

//go:embed digits.csv.gz
var compressed []byte

// A Set holds images and which digits they show. Whoever got it owns its slices.
type Set struct {
	Images []uint8 // Len()*Pixels values from 0 to Max, image after image, row-major
	Labels []uint8 // Len() values from 0 to 9
}

// Len returns the number of images.
func (s Set) Len() int { return len(s.Labels) }

// Load returns all images in the order of the source.
func Load() (Set, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return Set{}, fmt.Errorf("digits: %w", err)
	}
	s, err := parse(z)
	if err != nil {
		return Set{}, fmt.Errorf("digits: %w", err)
	}
	return s, nil
}

// parse reads lines of 64 pixels and a label, separated by commas.
func parse(r io.Reader) (Set, error) {
	var s Set
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Split(lines.Text(), ",")
		if len(fields) != Pixels+1 {
			return Set{}, fmt.Errorf("line %d has %d fields; want %d", n, len(fields), Pixels+1)
		}
		for i, field := range fields {
			limit := uint64(Max)
			if i == Pixels {
				limit = Classes - 1
			}
			v, err := strconv.ParseUint(field, 10, 8)
			if err != nil || v > limit {
				return Set{}, fmt.Errorf("line %d: field %d is %q; want an integer from 0 to %d", n, i+1, field, limit)
			}
			if i < Pixels {
				s.Images = append(s.Images, uint8(v))
			} else {
				s.Labels = append(s.Labels, uint8(v))
			}
		}
	}
	return s, lines.Err()
}

// Split divides s into two sets that show each digit in nearly the same
// proportion: of every digit, the given fraction, rounded to whole images, goes
// to test and the others to train. Both keep the order of s and share nothing
// with it. The fraction must be above 0 and below 1, and leave images on both
// sides.
//
// Which images go where is settled by the seed alone, on every platform: digit
// d's images are shuffled by Fisher and Yates's method (for n from
// their count down to 2, the n-th is swapped with the one at the high word of n
// times the next output) with math/rand/v2's PCG of seed and d, and the first go
// to test.
func (s Set) Split(testFraction float64, seed uint64) (train, test Set, err error) {
	if !(testFraction > 0 && testFraction < 1) {
		return Set{}, Set{}, fmt.Errorf("digits: test fraction %v; want one between 0 and 1", testFraction)
	}
	if len(s.Images) != s.Len()*Pixels {
		return Set{}, Set{}, fmt.Errorf("digits: %d pixels for %d labels; want %d a label", len(s.Images), s.Len(), Pixels)
	}
	var byClass [Classes][]int
	for i, label := range s.Labels {
		if label >= Classes {
			return Set{}, Set{}, fmt.Errorf("digits: label %d of image %d; want at most %d", label, i, Classes-1)
		}
		byClass[label] = append(byClass[label], i)
	}
	inTest := make([]bool, s.Len())
	for class, images := range byClass {
		shuffle(images, rand.NewPCG(seed, uint64(class)))
		for _, i := range images[:int(math.Round(testFraction*float64(len(images))))] {
			inTest[i] = true
		}
	}
	for i, label := range s.Labels {
		to := &train
		if inTest[i] {
			to = &test
		}
		to.Images = append(to.Images, s.Images[i*Pixels:(i+1)*Pixels]...)
		to.Labels = append(to.Labels, label)
	}
	if train.Len() == 0 || test.Len() == 0 {
		return Set{}, Set{}, fmt.Errorf("digits: test fraction %v of %d images leaves %d to train and %d to test",
			testFraction, s.Len(), train.Len(), test.Len())
	}
	return train, test, nil
}

// shuffle puts list in an order that src decides.
func shuffle(list []int, src rand.Source) {
	for n := len(list); n > 1; n-- {
		i, _ := bits.Mul64(uint64(n), src.Uint64())
		list[n-1], list[i] = list[i], list[n-1]
	}
}

// Counts returns how many images of each digit s has.
func (s Set) Counts() [Classes]int {
	var counts [Classes]int
	for _, label := range s.Labels {
		if label < Classes {
			counts[label]++
		}
	}
	return counts
}
