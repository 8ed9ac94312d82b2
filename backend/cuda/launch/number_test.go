package launch

import (
	"encoding/hex"
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

func TestReadNumber(t *testing.T) {
	bytes := func(n number, dt ir.DType) string { return hex.EncodeToString(n[:dt.Size()]) }
	read := func(v any, to ir.DType) string {
		var p unsafe.Pointer
		var from ir.DType
		switch v := v.(type) {
		case bool:
			p, from = unsafe.Pointer(&v), ir.Bool
		case int8:
			p, from = unsafe.Pointer(&v), ir.Int8
		case int64:
			p, from = unsafe.Pointer(&v), ir.Int64
		case float32:
			p, from = unsafe.Pointer(&v), ir.Float32
		case float64:
			p, from = unsafe.Pointer(&v), ir.Float64
		case complex128:
			p, from = unsafe.Pointer(&v), ir.Complex128
		case ir.Half:
			p, from = unsafe.Pointer(&v), ir.Float16
		case ir.BF16:
			p, from = unsafe.Pointer(&v), ir.BFloat16
		}
		return bytes(readNumber(p, from, to), to)
	}
	nan := math.NaN()
	tests := []struct {
		v    any
		to   ir.DType
		want string // little endian
	}{
		{true, ir.Float32, "0000803f"},
		{int8(-1), ir.Uint8, "ff"},
		{int8(-1), ir.Int64, "ffffffffffffffff"},
		{int64(300), ir.Int8, "2c"},
		{int64(2), ir.Bool, "01"},
		{int64(1<<24 + 1), ir.Float32, "0000804b"}, // ties to even
		{int64(1<<53 + 1), ir.Float64, "0000000000004043"},
		// Halfway between two float32, and then a little more: float64 does not hold it.
		{int64(1<<62 + 1<<38 + 1), ir.Float32, "0100805e"},
		{int64(-(1<<62 + 1<<38 + 1)), ir.Float32, "010080de"},
		{int64(1<<62 + 1<<54 + 1), ir.BFloat16, "815e"}, // the same for 8 bits
		{int64(1<<62 + 1<<54), ir.BFloat16, "805e"},
		{float64(1e10), ir.Int32, "ffffff7f"},
		{float64(-1e10), ir.Int8, "80"},
		{float64(-1), ir.Uint8, "00"},
		{float64(-3.9), ir.Int16, "fdff"},
		{nan, ir.Int64, "0000000000000000"},
		{nan, ir.Bool, "01"},
		{1 + math.Pow(2, -11) + math.Pow(2, -40), ir.Float16, "013c"}, // above half way; not so in float32
		{1 + math.Pow(2, -11), ir.Float16, "003c"},
		{math.Inf(-1), ir.BFloat16, "80ff"},
		{math.MaxFloat64, ir.Float16, "007c"},
		{0.1, ir.Float32, "cdcccc3d"},
		{complex(2, -3), ir.Float32, "00000040"},
		{complex(2, -3), ir.Complex64, "00000040000040c0"},
		{complex(0, 1), ir.Bool, "01"},
		{float32(2), ir.Complex128, "00000000000000400000000000000000"},
		{ir.HalfFrom(1.5), ir.Float64, "000000000000f83f"},
		{ir.BF16From(-2), ir.Int64, "feffffffffffffff"},
	}
	for _, tt := range tests {
		if got := read(tt.v, tt.to); got != tt.want {
			t.Errorf("%T %v to %s: %s, want %s", tt.v, tt.v, tt.to, got, tt.want)
		}
	}
}
