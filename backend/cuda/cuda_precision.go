package cuda

import "github.com/sinter-go/sinter/runtime/precision"

// AllowTF32 sets both TF32 flags: whether matrix products and convolutions of
// float32 may round their operands to TF32, 10 bits of fraction, and sum in
// float32. Both are true when a process starts, unless its
// environment has SINTER_TF32=0; AllowTF32(false) is full float32. As all
// settings of precision it is for the launches after it, on every device.
func AllowTF32(on bool) {
	precision.SetMatmulTF32(on)
	precision.SetConvTF32(on)
}

// SetMatmulAllowTF32 sets the flag of matrix products, and of all that is
// computed by them: linear layers, einsum, tensordot.
func SetMatmulAllowTF32(on bool) { precision.SetMatmulTF32(on) }

// MatmulAllowTF32 reads the flag of matrix products. The error wraps
// precision.ErrMixed after SetFP32Precision set what the flag contradicts.
func MatmulAllowTF32() (bool, error) { return precision.MatmulFlag() }

// SetConvAllowTF32 sets the flag of convolutions and recurrent layers.
func SetConvAllowTF32(on bool) { precision.SetConvTF32(on) }

// ConvAllowTF32 reads the flag of convolutions and recurrent layers. The error
// wraps precision.ErrMixed after SetFP32Precision set the two apart.
func ConvAllowTF32() (bool, error) { return precision.ConvFlag() }

// An FP32Precision is how products of float32 are computed. String() is its name.
type FP32Precision = precision.Mode

// The precisions.
const (
	InheritPrecision = precision.None // as the level above says
	IEEE             = precision.IEEE // in float32
	TF32             = precision.TF32 // operands rounded to TF32
)

// An FP32Level is what an FP32Precision is for. The most specific level that does
// not inherit counts: ConvPrecision and RNNPrecision inherit from CuDNNPrecision,
// this and MatmulPrecision from GlobalPrecision. String() is its name.
type FP32Level = precision.Level

// The levels.
const (
	GlobalPrecision = precision.All         // everything
	MatmulPrecision = precision.Matmul      // matrix products
	CuDNNPrecision  = precision.Convolution // convolutions and recurrent layers
	ConvPrecision   = precision.Conv        // convolutions
	RNNPrecision    = precision.RNN         // recurrent layers
)

// SetFP32Precision sets the precision of a level.
func SetFP32Precision(l FP32Level, p FP32Precision) error { return precision.Set(l, p) }

// FP32PrecisionOf returns the precision that counts at a level.
func FP32PrecisionOf(l FP32Level) FP32Precision { return precision.Get(l) }

// SetFloat32MatmulPrecision is the broad switch of matrix products: "highest" is
// full float32, "high" and "medium" are TF32.
func SetFloat32MatmulPrecision(setting string) error { return precision.SetFloat32Matmul(setting) }

// Float32MatmulPrecision returns what was set.
func Float32MatmulPrecision() string { return precision.Float32Matmul() }

// SetAllowFP16ReducedPrecisionReduction sets whether partial sums of float16
// products may be rounded to float16, and whether products may be split into
// partial sums at all. (true, false) is an error.
func SetAllowFP16ReducedPrecisionReduction(reduced, splitK bool) error {
	return precision.SetReducedReduction(precision.FP16, reduced, splitK)
}

// AllowFP16ReducedPrecisionReduction returns what was set; (true, true) at first.
func AllowFP16ReducedPrecisionReduction() (reduced, splitK bool) {
	return precision.ReducedReduction(precision.FP16)
}

// SetAllowBF16ReducedPrecisionReduction is the same for bfloat16.
func SetAllowBF16ReducedPrecisionReduction(reduced, splitK bool) error {
	return precision.SetReducedReduction(precision.BF16, reduced, splitK)
}

// AllowBF16ReducedPrecisionReduction is the same for bfloat16.
func AllowBF16ReducedPrecisionReduction() (reduced, splitK bool) {
	return precision.ReducedReduction(precision.BF16)
}

// SetAllowFP16Accumulation sets whether products of float16 may be summed in
// float16 throughout.
func SetAllowFP16Accumulation(on bool) { precision.SetFP16Accumulation(on) }

// AllowFP16Accumulation returns what was set; false at first.
func AllowFP16Accumulation() bool { return precision.FP16Accumulation() }
