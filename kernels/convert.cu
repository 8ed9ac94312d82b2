// Conversions to bools and integers: element for element, as types.cuh's cast has them. The
// kernels are named after the operand's dtype, then the result's. Pairs that keep the
// bits are missing: copy.cu moves these.

#include "elementwise.cuh"

namespace sinter {

#define SINTER_CONVERT(from, to) SINTER_ELEMENTWISE_ANY(convert_##from##_##to, Identity, to, from)


SINTER_CONVERT(uint8, bool)
SINTER_CONVERT(int8, bool)
SINTER_CONVERT(int16, bool)
SINTER_CONVERT(int32, bool)
SINTER_CONVERT(int64, bool)
SINTER_CONVERT(float16, bool)
SINTER_CONVERT(bfloat16, bool)
SINTER_CONVERT(float32, bool)
SINTER_CONVERT(float64, bool)
SINTER_CONVERT(complex64, bool)
SINTER_CONVERT(complex128, bool)

SINTER_CONVERT(int16, uint8)
SINTER_CONVERT(int32, uint8)
SINTER_CONVERT(int64, uint8)
SINTER_CONVERT(float16, uint8)
SINTER_CONVERT(bfloat16, uint8)
SINTER_CONVERT(float32, uint8)
SINTER_CONVERT(float64, uint8)
SINTER_CONVERT(complex64, uint8)
SINTER_CONVERT(complex128, uint8)

SINTER_CONVERT(int16, int8)
SINTER_CONVERT(int32, int8)
SINTER_CONVERT(int64, int8)
SINTER_CONVERT(float16, int8)
SINTER_CONVERT(bfloat16, int8)
SINTER_CONVERT(float32, int8)
SINTER_CONVERT(float64, int8)
SINTER_CONVERT(complex64, int8)
SINTER_CONVERT(complex128, int8)

SINTER_CONVERT(uint8, int16)
SINTER_CONVERT(int8, int16)
SINTER_CONVERT(int32, int16)
SINTER_CONVERT(int64, int16)
SINTER_CONVERT(float16, int16)
SINTER_CONVERT(bfloat16, int16)
SINTER_CONVERT(float32, int16)
SINTER_CONVERT(float64, int16)
SINTER_CONVERT(complex64, int16)
SINTER_CONVERT(complex128, int16)

SINTER_CONVERT(uint8, int32)
SINTER_CONVERT(int8, int32)
SINTER_CONVERT(int16, int32)
SINTER_CONVERT(int64, int32)
SINTER_CONVERT(float16, int32)
SINTER_CONVERT(bfloat16, int32)
SINTER_CONVERT(float32, int32)
SINTER_CONVERT(float64, int32)
SINTER_CONVERT(complex64, int32)
SINTER_CONVERT(complex128, int32)

SINTER_CONVERT(uint8, int64)
SINTER_CONVERT(int8, int64)
SINTER_CONVERT(int16, int64)
SINTER_CONVERT(int32, int64)
SINTER_CONVERT(float16, int64)
SINTER_CONVERT(bfloat16, int64)
SINTER_CONVERT(float32, int64)
SINTER_CONVERT(float64, int64)
SINTER_CONVERT(complex64, int64)
SINTER_CONVERT(complex128, int64)

}  // namespace sinter
