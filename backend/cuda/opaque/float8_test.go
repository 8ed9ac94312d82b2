package opaque_test

import (
	"math"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/opaque"
	"github.com/sinter-go/sinter/ir"
)

// numbersParams are the parameters of float8_numbers in kernels/float8.cu.
type numbersParams struct {
	Scale                     float32
	Shift, Top, Infinity, NaN uint32
	_                         uint32
	N                         int64
	Codes, Out                uint64
}

// number is what float8_numbers does with a code.
func (p *numbersParams) number(code uint32) uint32 {
	const none = 0x7fc00000
	magnitude, sign := code&127, code&128<<24
	bits := math.Float32bits(math.Float32frombits(magnitude<<p.Shift)*p.Scale) | sign
	if magnitude > p.Top {
		bits = none
		if magnitude == p.Infinity {
			bits = 0x7f800000 | sign
		}
	}
	if code == p.NaN {
		bits = none
	}
	return bits
}

// TestFloat8Numbers: what a launch hands over gives the numbers of all codes of a format, to the bit.
func TestFloat8Numbers(t *testing.T) {
	for i, format := range ir.Float8s {
		r := &recorder{}
		in := deviceView(0x100, 4097)
		in.DType = ir.Uint8
		c := &ir.Call{In: []ir.View{in}, Out: []ir.View{deviceView(0x10000, 4097)}, Attrs: []ir.Value{ir.IntValue(i)}}
		if err := opaque.Float8Numbers(r, c); err != nil {
			t.Fatal(err)
		}
		if got, want := r.launch[len(r.launch)-1], "float8 float8_numbers [2 1 1] [256 1 1] 0"; got != want {
			t.Errorf("launches %q, want %q", got, want)
		}
		p := paramsOf[numbersParams](t, r.params[0])
		if p.N != 4097 || p.Codes != r.scratch || p.Out != 0x10000 {
			t.Errorf("format %d: %d codes from %x to %x", i, p.N, p.Codes, p.Out)
		}
		for code := range uint32(256) {
			if got, want := p.number(code), math.Float32bits(format.Value(uint8(code))); got != want {
				t.Errorf("format %d: code %#x is %#x, want %#x", i, code, got, want)
			}
		}
	}
	c := &ir.Call{In: []ir.View{deviceView(0x100, 3)}, Out: []ir.View{deviceView(0x10000, 3)}, Attrs: []ir.Value{ir.IntValue(len(ir.Float8s))}}
	if err := opaque.Float8Numbers(&recorder{}, c); err == nil || !strings.Contains(err.Error(), "format 4, want one of 4") {
		t.Errorf("a format that is none: %v", err)
	}
}
