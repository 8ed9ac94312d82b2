package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Probabilities reports true elements of its operand: those that are no probabilities.
func Probabilities(c *ir.Call) error {
	if err := NonzeroSized(c); err != nil {
		return fmt.Errorf("x has elements that are no probabilities or weights: want numbers from 0 to 1, or finite ones of 0 or more with one above it in each row")
	}
	return nil
}
