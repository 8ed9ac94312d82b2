package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// keyEach is how many keys a thread of key_order.cu takes.
const keyEach = 4

// KeyOrder returns where the elements of x, along its one axis, are in ascending order; equal
// ones keep theirs. It sorts the high words, and then what has equal ones: of random keys
// that is little.
func KeyOrder(g code.GPU, c *ir.Call) error {
	n := int64(c.In[0].NumElements())
	if n == 0 {
		return nil
	}
	x, err := g.Dense(c.In[0], ir.Int64)
	if err != nil {
		return err
	}
	places, err := contiguous(g, c.Out[0], ir.Int64)
	if err != nil {
		return err
	}
	if n <= shortRow {
		err = sortWhole(g, x.Addr, n, places.Addr)
	} else {
		err = sortByHigh(g, x.Addr, n, places.Addr)
	}
	if err != nil {
		return err
	}
	return places.finish(g)
}

// sortWhole writes the order of n keys to places, by all their bits.
func sortWhole(g code.GPU, x uint64, n int64, places uint64) error {
	values, err := g.Scratch(8 * n)
	if err != nil {
		return err
	}
	order, err := orderOf(ir.Int64, false)
	if err != nil {
		return err
	}
	s := sorting{g: g, size: 8, order: order, n: n, rows: 1}
	return s.run(x, values, places)
}

// sortByHigh writes the order of n keys to places, by their high words first.
func sortByHigh(g code.GPU, x uint64, n int64, places uint64) error {
	high, err := g.Scratch(4 * n)
	if err != nil {
		return err
	}
	sorted, err := g.Scratch(4 * n)
	if err != nil {
		return err
	}
	order, err := orderOf(ir.Int32, false)
	if err != nil {
		return err
	}
	g.Ahead() // of the sort's
	var p driver.Params
	p.Uint64(x)
	p.Int64(n)
	p.Uint64(high)
	if err := g.Launch("key_order", "key_high", grid(n, blockThreads*keyEach), block(blockThreads), 0, p.Bytes()); err != nil {
		return err
	}
	s := sorting{g: g, size: 4, order: order, n: n, rows: 1}
	if err := s.run(high, sorted, places); err != nil {
		return err
	}
	p.Reset()
	p.Uint64(sorted)
	p.Uint64(x)
	p.Int64(n)
	p.Uint64(places)
	return g.Launch("key_order", "key_ties", grid(n, blockThreads*keyEach), block(blockThreads), 0, p.Bytes())
}
