//go:build unix

package lowering_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A format is a 16-bit float dtype in plain Go.
type format struct {
	dtype  ir.DType
	widen  func(uint16) float32
	narrow func(float32) uint16
}

var formats = []format{
	{ir.Float16, func(b uint16) float32 { return ir.Half(b).Float32() }, func(f float32) uint16 { return uint16(ir.HalfFrom(f)) }},
	{ir.BFloat16, func(b uint16) float32 { return ir.BF16(b).Float32() }, func(f float32) uint16 { return uint16(ir.BF16From(f)) }},
}

// TestStored compares the loops for operands of 16 bits with those for float32 between
// conversions of single elements, of every number of elements up to 300.
func TestStored(t *testing.T) {
	atLevels(t, 50, func(t *testing.T, b *body, level simd.Level) (ran int) {
		for i, f := range formats {
			loop := b.Float16.At(level)
			if i == 1 {
				loop = b.BFloat16.At(level)
			}
			if loop != nil {
				ran++
				b.compareStored(t, loop, b.at(level), f)
			}
		}
		return ran
	})
}

// compareStored runs loop on elements of a format, and wide on what they are.
func (b *body) compareStored(t *testing.T, loop, wide vector.Func, f format) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(len(b.op.Name))))
	for n := range 301 {
		s := b.scalars()[n%len(b.scalars())]
		narrow, full := make([]unsafe.Pointer, len(b.in)+1), make([]unsafe.Pointer, len(b.in)+1)
		for k, d := range b.in {
			from, to := memory(t, 2*k+2, n*b.stored(d, f).Size(), n%2 == 0), memory(t, 2*k+3, n*d.Size(), true)
			for i := range n {
				bits := uint64(rng.Uint32())
				if d != ir.Float32 {
					bits = random(rng, d)
					fill(from[i*d.Size():], d, 1, func(int) uint64 { return bits })
				} else {
					binary.LittleEndian.PutUint16(from[2*i:], uint16(bits))
					bits = uint64(math.Float32bits(f.widen(uint16(bits))))
				}
				fill(to[i*d.Size():], d, 1, func(int) uint64 { return bits })
			}
			narrow[k+1], full[k+1] = at(from), at(to)
		}
		result := b.graph.Result()
		size := n * b.stored(result, f).Size()
		got, want := memory(t, 0, size, n%2 == 0), memory(t, 1, n*result.Size(), true)
		narrow[0], full[0] = at(got), at(want)
		loop(n, narrow, s, 0)
		wide(n, full, s, 0)
		if !checkGuards(t, 0, size, n%2 == 0) {
			t.Fatalf("%s of %s: %d elements: bytes beside the result were written", b, f.dtype, n)
		}
		for i := range n {
			g, w := load(got, b.stored(result, f), i), load(want, result, i)
			if result == ir.Float32 {
				x := math.Float32frombits(uint32(w))
				if w = uint64(f.narrow(x)); x != x && f.widen(uint16(g)) != f.widen(uint16(g)) {
					w = g
				}
			}
			if g != w {
				t.Fatalf("%s of %s: %d elements: %d is %#x, want %#x", b, f.dtype, n, i, g, w)
			}
		}
	}
}

// stored is the dtype in memory of what the body has in d.
func (b *body) stored(d ir.DType, f format) ir.DType {
	if d == ir.Float32 {
		return f.dtype
	}
	return d
}
