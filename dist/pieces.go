package dist

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
)

// A piece is elements of a parameter that one rank steps.
type piece struct {
	param, owner int
	from, to     int // elements of the parameter, in row-major order
}

// grain is how many elements pieces begin at a multiple of, so that vectors of a kernel do
// not straddle them.
const grain = 64

// divide cuts parameters, laid one after the other, into parts for the ranks that are as
// equal in bytes as can be. The pieces are by parameter, and within one by rank.
func divide(params []*nn.Parameter, ranks int) (out []piece) {
	total := 0
	for _, p := range params {
		total += p.NumElements() * p.DType().Size()
	}
	before := 0
	for i, p := range params {
		size, n := p.DType().Size(), p.NumElements()
		from := 0
		for r := range ranks {
			to := n
			if r < ranks-1 {
				to = min(max((total/ranks*(r+1)-before)/size/grain*grain, from), n)
			}
			if to > from {
				out = append(out, piece{i, r, from, to})
			}
			from = to
		}
		before += n * size
	}
	return out
}

// of returns the piece's elements of t, which is like its parameter and contiguous.
func (p *piece) of(t tensor.Tensor) tensor.Tensor {
	return t.Detach().View(-1).Narrow(0, p.from, p.to-p.from)
}
