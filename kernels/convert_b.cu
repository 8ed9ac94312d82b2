// Conversions to floating-point numbers: element for element, as types.cuh's cast has them. The
// kernels are named after the operand's dtype, then the result's. Pairs that keep the
// bits are missing: copy.cu moves these.

#include "elementwise.cuh"

namespace sinter {

#define SINTER_CONVERT(from, to) SINTER_ELEMENTWISE_ANY(convert_##from##_##to, Identity, to, from)


SINTER_CONVERT(uint8, float16)
SINTER_CONVERT(int8, float16)
SINTER_CONVERT(int16, float16)
SINTER_CONVERT(int32, float16)
SINTER_CONVERT(int64, float16)
SINTER_CONVERT(bfloat16, float16)
SINTER_CONVERT(float32, float16)
SINTER_CONVERT(float64, float16)
SINTER_CONVERT(complex64, float16)
SINTER_CONVERT(complex128, float16)

SINTER_CONVERT(uint8, bfloat16)
SINTER_CONVERT(int8, bfloat16)
SINTER_CONVERT(int16, bfloat16)
SINTER_CONVERT(int32, bfloat16)
SINTER_CONVERT(int64, bfloat16)
SINTER_CONVERT(float16, bfloat16)
SINTER_CONVERT(float32, bfloat16)
SINTER_CONVERT(float64, bfloat16)
SINTER_CONVERT(complex64, bfloat16)
SINTER_CONVERT(complex128, bfloat16)

SINTER_CONVERT(uint8, float32)
SINTER_CONVERT(int8, float32)
SINTER_CONVERT(int16, float32)
SINTER_CONVERT(int32, float32)
SINTER_CONVERT(int64, float32)
SINTER_CONVERT(float16, float32)
SINTER_CONVERT(bfloat16, float32)
SINTER_CONVERT(float64, float32)
SINTER_CONVERT(complex64, float32)
SINTER_CONVERT(complex128, float32)

SINTER_CONVERT(uint8, float64)
SINTER_CONVERT(int8, float64)
SINTER_CONVERT(int16, float64)
SINTER_CONVERT(int32, float64)
SINTER_CONVERT(int64, float64)
SINTER_CONVERT(float16, float64)
SINTER_CONVERT(bfloat16, float64)
SINTER_CONVERT(float32, float64)
SINTER_CONVERT(complex64, float64)
SINTER_CONVERT(complex128, float64)

SINTER_CONVERT(uint8, complex64)
SINTER_CONVERT(int8, complex64)
SINTER_CONVERT(int16, complex64)
SINTER_CONVERT(int32, complex64)
SINTER_CONVERT(int64, complex64)
SINTER_CONVERT(float16, complex64)
SINTER_CONVERT(bfloat16, complex64)
SINTER_CONVERT(float32, complex64)
SINTER_CONVERT(float64, complex64)
SINTER_CONVERT(complex128, complex64)

SINTER_CONVERT(uint8, complex128)
SINTER_CONVERT(int8, complex128)
SINTER_CONVERT(int16, complex128)
SINTER_CONVERT(int32, complex128)
SINTER_CONVERT(int64, complex128)
SINTER_CONVERT(float16, complex128)
SINTER_CONVERT(bfloat16, complex128)
SINTER_CONVERT(float32, complex128)
SINTER_CONVERT(float64, complex128)
SINTER_CONVERT(complex64, complex128)

}  // namespace sinter
