// The functions of the scalar expression language, under their names there, in
// namespace sinter.
//
// Arguments of one call have one type, as those of a checked expression do.
// Special values are answered as package ir/num does: min and max propagate NaN
// and order -0 before +0; integer arithmetic wraps, division by zero gives 0, a
// remainder by zero the dividend; a shift by a count that is negative or no less
// than the width shifts every bit out. The C++ operators + - * on int and long
// long must not overflow: add, sub, mul and neg wrap.

#pragma once

#include "complex.cuh"
#include "random.cuh"
#include "real.cuh"
#include "types.cuh"
