package optest

import (
	"encoding/binary"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// encode stores numbers as elements of dtype dt in this machine's byte order.
func encode(values []ir.Scalar, dt ir.DType) []byte {
	order := binary.NativeEndian
	var b []byte
	f32 := func(f float64) { b = order.AppendUint32(b, math.Float32bits(float32(f))) }
	f64 := func(f float64) { b = order.AppendUint64(b, math.Float64bits(f)) }
	for _, v := range values {
		switch dt {
		case ir.Bool:
			b = append(b, byte(ir.BoolScalar(v.Bool()).Int()))
		case ir.Uint8, ir.Int8:
			b = append(b, byte(v.Int()))
		case ir.Int16:
			b = order.AppendUint16(b, uint16(v.Int()))
		case ir.Int32:
			b = order.AppendUint32(b, uint32(v.Int()))
		case ir.Int64:
			b = order.AppendUint64(b, uint64(v.Int()))
		case ir.Float16:
			b = order.AppendUint16(b, uint16(ir.HalfFrom(float32(v.Float()))))
		case ir.BFloat16:
			b = order.AppendUint16(b, uint16(ir.BF16From(float32(v.Float()))))
		case ir.Float32:
			f32(v.Float())
		case ir.Float64:
			f64(v.Float())
		case ir.Complex64:
			f32(v.Float())
			f32(imag(v.Complex()))
		case ir.Complex128:
			f64(v.Float())
			f64(imag(v.Complex()))
		}
	}
	return b
}
