package opaque

import (
	"errors"

	"github.com/sinter-go/sinter/ir"
)

var errProbabilities = errors.New("x has elements that are no probabilities or weights: want numbers from 0 to 1, or finite ones of 0 or more with one above it in each row")

// Probabilities reports true elements of its operand: those that are no probabilities.
func Probabilities(c *ir.Call) error {
	if NonzeroSized(c) != nil {
		return errProbabilities
	}
	return nil
}
