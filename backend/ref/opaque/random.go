package opaque

import (
	"fmt"
	"math/big"

	"github.com/sinter-go/sinter/ir"
)

// philox returns the four words of Philox 4x32-10 (Salmon et al., 2011) of a counter, whose
// low half is index and whose high half offset, and a key, seed.
func philox(seed, offset int64, index uint64) [4]uint64 {
	const word = 1<<32 - 1
	c := [4]uint64{index & word, index >> 32, uint64(offset) & word, uint64(offset) >> 32}
	k0, k1 := uint64(seed)&word, uint64(seed)>>32
	for range 10 {
		a, b := 0xd2511f53*c[0], 0xcd9e8d57*c[2]
		c = [4]uint64{b>>32 ^ c[1] ^ k0, b & word, a>>32 ^ c[3] ^ k1, a & word}
		k0, k1 = (k0+0x9e3779b9)&word, (k1+0xbb67ae85)&word
	}
	return c
}

// randomBits returns the 64 bits of an index: of a block of words the first two or the last.
func randomBits(seed, offset int64, index int) uint64 {
	w, half := philox(seed, offset, uint64(index/2)), index%2*2
	return w[half]<<32 | w[half+1]
}

// Bernoulli returns 1 where the uniform number of an element's index is below the
// element, a probability, and else 0. Attributes: seed, offset. The number is made of the
// high 24 bits of the index's word where that is all that float32 holds, else of 53 bits.
func Bernoulli(c *ir.Call) error {
	seed, offset := c.Attrs[0].Int, c.Attrs[1].Int
	out := newTensor(c.Out[0].Shape, ir.FloatScalar(0))
	for i, s := range load(c.In[0], c.Compute).v {
		p, u := s.Float(), float64(randomBits(seed, offset, i)>>11)/(1<<53)
		if c.Compute == ir.Float32 {
			u = float64(philox(seed, offset, uint64(i/4))[i%4]>>8) / (1 << 24)
		}
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("x has elements that are no probabilities, %v at %d: want numbers from 0 to 1", p, i)
		}
		if u < p {
			out.v[i] = ir.FloatScalar(1)
		}
	}
	store(c.Out[0], out, c.Compute)
	return nil
}

// Randint returns attribute low and the remainder of an element's random bits, read with a sign,
// by the distance to attribute high. Attributes: shape, low, high, seed, offset.
func Randint(c *ir.Call) error {
	low, high := big.NewInt(c.Attrs[1].Int), big.NewInt(c.Attrs[2].Int)
	span, out := new(big.Int).Sub(high, low), newTensor(c.Out[0].Shape, ir.Scalar{})
	for i := range out.v {
		rest := new(big.Int).Mod(big.NewInt(int64(randomBits(c.Attrs[3].Int, c.Attrs[4].Int, i))), span)
		out.v[i] = ir.IntScalar(rest.Add(rest, low).Int64())
	}
	store(c.Out[0], out, ir.Int64)
	return nil
}
