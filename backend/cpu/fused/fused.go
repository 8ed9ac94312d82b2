// Package fused makes the loops of regions: machine code of what a region computes, and
// where there can be none the members' own loops, one after the other over pieces that stay
// in the cache. Both give what the members give by themselves, to the bit.
package fused

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// Code returns the loops of a region, which are made when they are first asked for. The
// error names a member that has none.
func Code(r *fusion.Region) (ir.Code, error) {
	loop, err := pieces(r)
	if err != nil {
		return ir.Code{}, err
	}
	var table [ir.NumDTypes]vector.Func
	table[r.Kernel.Compute] = loop
	return ir.Code{For: vector.Kind, Of: &vector.Code{Loops: vector.Table{&table}, Make: made.Loops, Rows: lines(r).get}}, nil
}

// pieceBytes is what all values of a piece take that are in scratch memory, about: half of a
// usual first cache.
const pieceBytes = 16 << 10

// A stage is a member ready to run over a piece.
type stage struct {
	loop    vector.Func
	out     int // the value that it gives first
	results int
	in      []fusion.Source
	scalars []int
	rounded []rounding
}

// A rounding is a value that becomes one of 16 bits, and float32 again.
type rounding struct {
	value        int
	narrow, wide convert.Func
}

// A chain is a region's members and where their values are.
type chain struct {
	stages  []stage
	sizes   []int // of an element, by value
	targets []int // by value: the result that it is, or -1
	inputs  int
	outs    []int
	numbers []ir.DType // by scalar: what it is repeated as where a member reads it as an operand; or Invalid
	room    int        // bytes of scratch for an element
	most    int        // elements of a piece
	halves  bool       // values are rounded
	scratch sync.Pool
}

// A room is the scratch memory of one piece.
type room struct {
	memory  []byte
	p       []unsafe.Pointer // by value, then by number
	args    []unsafe.Pointer
	scalars []ir.Scalar
	half    unsafe.Pointer // elements of 16 bits
}

// halfSize is the bytes of a float of 16 bits.
const halfSize = 2

// pieces returns the loop that runs the members one after the other.
func pieces(r *fusion.Region) (vector.Func, error) {
	c := &chain{inputs: len(r.Op.In), outs: r.Outs, sizes: make([]int, r.Values()), targets: make([]int, r.Values()), numbers: make([]ir.DType, len(r.Op.Attrs))}
	for v := range c.targets {
		c.targets[v] = -1
	}
	for i, v := range r.Outs {
		c.targets[v] = i
	}
	for i := range r.Op.In {
		c.sizes[i] = r.Kernel.In[i].Compute.Size()
	}
	for i := range r.Members {
		m := &r.Members[i]
		loop, err := loopOf(m.Kernel)
		if err != nil {
			return nil, err
		}
		own := stage{loop: loop, out: m.Out, results: len(m.Kernel.Out), in: m.In, scalars: m.Scalars}
		for _, x := range m.Rounded {
			own.rounded = append(own.rounded, rounding{x.Value, convert.Between(x.To, ir.Float32), convert.Between(ir.Float32, x.To)})
			c.halves = true
		}
		c.stages = append(c.stages, own)
		for j, p := range m.Kernel.Out {
			c.sizes[m.Out+j] = p.Compute.Size()
			c.room += p.Compute.Size()
		}
		for j, from := range m.In {
			if from.Value < 0 && c.numbers[from.Scalar] == ir.Invalid {
				c.numbers[from.Scalar] = m.Kernel.In[j].Compute
				c.room += m.Kernel.In[j].Compute.Size()
			}
		}
	}
	if c.halves {
		c.room += halfSize
	}
	c.most = max(64, min(1024, pieceBytes/max(1, c.room)&^63))
	return c.run, nil
}

// loopOf returns the loop of a member. The runtime's own copy has no code: devices copy, each in its
// way. Here a copy converts nothing: values of a region are what they are computed with.
func loopOf(k *ir.Kernel) (vector.Func, error) {
	code, _ := k.Op.CodeFor(vector.Kind).(*vector.Code)
	switch {
	case code == nil && k.Identity == 0 && len(k.In) == 1 && len(k.Out) == 1:
		size := k.Compute.Size()
		return func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			copy(unsafe.Slice((*byte)(p[0]), n*size), unsafe.Slice((*byte)(p[1]), n*size))
		}, nil
	case code == nil:
		return nil, fmt.Errorf("%s has no loops on the cpu", k.Op.Name)
	}
	set := code.Set(k, simd.Active())
	if set.Main == nil {
		return nil, fmt.Errorf("%s has no loop for %s on the cpu", k.Op.Name, k.Compute)
	}
	return set.Main, nil
}

// borrow returns scratch memory, which goes back to the pool.
func (c *chain) borrow() *room {
	if s, ok := c.scratch.Get().(*room); ok {
		return s
	}
	const line = 64
	words := make([]uint64, (c.room*c.most+line*(len(c.sizes)+len(c.numbers)+2))/8)
	return &room{memory: unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words)), p: make([]unsafe.Pointer, len(c.sizes)+len(c.numbers))}
}

// run is the region's loop.
func (c *chain) run(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
	r := c.borrow()
	c.place(r)
	for i, d := range c.numbers {
		if d != ir.Invalid {
			repeat(r.p[len(c.sizes)+i], d, s[i], min(n, c.most))
		}
	}
	for at := 0; at < n; at += c.most {
		c.piece(r, min(c.most, n-at), at, p, s, index)
	}
	clear(r.p)
	r.half = nil
	clear(r.args)
	clear(r.scalars)
	c.scratch.Put(r)
}

// place gives values and numbers their scratch memory.
func (c *chain) place(r *room) {
	const line = 64
	free := unsafe.Pointer(&r.memory[0])
	take := func(bytes int) unsafe.Pointer {
		at := free
		free = unsafe.Add(free, (bytes+line-1)/line*line)
		return at
	}
	for v := c.inputs; v < len(c.sizes); v++ {
		r.p[v] = take(c.sizes[v] * c.most)
	}
	for i, d := range c.numbers {
		if d != ir.Invalid {
			r.p[len(c.sizes)+i] = take(d.Size() * c.most)
		}
	}
	if c.halves {
		r.half = take(halfSize * c.most)
	}
}

// piece runs all members over n elements from at on. What the region gives is written to
// its place last: it may be an operand's, which members still read.
func (c *chain) piece(r *room, n, at int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
	for v := range c.inputs {
		r.p[v] = unsafe.Add(p[len(c.outs)+v], at*c.sizes[v])
	}
	for i := range c.stages {
		g := &c.stages[i]
		r.args, r.scalars = r.args[:0], r.scalars[:0]
		for j := range g.results {
			r.args = append(r.args, r.p[g.out+j])
		}
		for _, from := range g.in {
			if from.Value >= 0 {
				r.args = append(r.args, r.p[from.Value])
			} else {
				r.args = append(r.args, r.p[len(c.sizes)+from.Scalar])
			}
		}
		for _, k := range g.scalars {
			r.scalars = append(r.scalars, s[k])
		}
		g.loop(n, r.args, r.scalars, index+int64(at))
		for _, x := range g.rounded {
			x.narrow(n, r.half, 1, r.p[x.value], 1)
			x.wide(n, r.p[x.value], 1, r.half, 1)
		}
	}
	for i, v := range c.outs {
		size := c.sizes[v]
		copy(unsafe.Slice((*byte)(unsafe.Add(p[i], at*size)), n*size), unsafe.Slice((*byte)(r.p[v]), n*size))
	}
}

// repeat fills n elements of a dtype with a number.
func repeat(to unsafe.Pointer, d ir.DType, s ir.Scalar, n int) {
	var bits uint64
	switch d {
	case ir.Bool:
		bits = vector.Bool(s)
	case ir.Float32:
		bits = vector.Float32(s)
	case ir.Float64:
		bits = vector.Float64(s)
	default:
		bits = vector.Int(s)
	}
	size := d.Size()
	bytes := unsafe.Slice((*byte)(to), n*size)
	for i := range bytes {
		bytes[i] = byte(bits >> (8 * (i % size)))
	}
}
