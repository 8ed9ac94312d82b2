// Package report shows how a training run went: a progress bar, learning curves
// and a confusion matrix, in a terminal and as a picture. What it writes to
// anything else than a terminal is plain text without control characters. It
// takes numbers and knows nothing of tensors or models.
package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"golang.org/x/term"
)

// A History holds what was measured after each epoch, first to last. Its slices
// have one value an epoch; accuracies are from 0 to 1.
type History struct {
	TrainLoss, TestLoss         []float64
	TrainAccuracy, TestAccuracy []float64
}

// Add appends the measurements of one epoch.
func (h *History) Add(trainLoss, testLoss, trainAccuracy, testAccuracy float64) {
	h.TrainLoss = append(h.TrainLoss, trainLoss)
	h.TestLoss = append(h.TestLoss, testLoss)
	h.TrainAccuracy = append(h.TrainAccuracy, trainAccuracy)
	h.TestAccuracy = append(h.TestAccuracy, testAccuracy)
}

// Epochs returns how many epochs were measured.
func (h History) Epochs() int { return len(h.TrainLoss) }

// check reports a history that cannot be drawn.
func (h History) check() error {
	n := h.Epochs()
	if n == 0 {
		return fmt.Errorf("report: no epochs")
	}
	for _, s := range [][]float64{h.TrainAccuracy, h.TestAccuracy} {
		for i, v := range s {
			if v < 0 || v > 1 {
				return fmt.Errorf("report: accuracy %v in epoch %d; want one from 0 to 1", v, i+1)
			}
		}
	}
	for _, s := range [][]float64{h.TestLoss, h.TrainAccuracy, h.TestAccuracy} {
		if len(s) != n {
			return fmt.Errorf("report: %d, %d, %d and %d values; want one of each an epoch",
				n, len(h.TestLoss), len(h.TrainAccuracy), len(h.TestAccuracy))
		}
	}
	return nil
}

// drawable is the largest value that is drawn: asciigraph scales values to int.
const drawable = 1e15

// finite returns a copy of s with NaN for what is not to be drawn, such as a
// loss that ran away.
func finite(s []float64) []float64 {
	s = slices.Clone(s)
	for i, v := range s {
		if math.Abs(v) > drawable {
			s[i] = math.NaN()
		}
	}
	return s
}

// terminal reports whether w is a terminal, and its width in columns.
func terminal(w io.Writer) (width int, ok bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	return width, err == nil
}
