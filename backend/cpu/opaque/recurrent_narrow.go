package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// recurrents are the operators that go through steps and multiply with a weight in each. Their
// first operand is over steps and the rows of a batch.
var recurrents = []string{"lstm_sequence", "lstm_sequence_grad", "gru_sequence", "gru_sequence_grad", "rnn_sequence", "rnn_sequence_grad", "int8_lstm_sequence"}

// mostNarrow is how many bytes of a weight a processor's own cache holds. Of a larger one every
// processor reads a part of its own, each step.
const mostNarrow = 1 << 20

// Narrow reports whether a call goes through steps of which each has little for a second
// processor: of few rows, with a weight that one processor's cache holds.
func Narrow(c *ir.Call) bool {
	if !slices.Contains(recurrents, c.Op.Name) {
		return false
	}
	i := slices.IndexFunc(c.Op.In, func(o ir.Operand) bool { return o.Name == "weight" })
	shape, weight := c.In[0].Shape, c.In[i]
	bytes := weight.NumElements() * weight.DType.Size()
	return shape[0] > 2 && shape[1] < 2*leastRows && bytes > 0 && bytes <= mostNarrow
}
