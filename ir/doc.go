// Package ir is the vocabulary that generator, runtime and backends share:
// dtypes, layouts, operators and their launches. It also states, here, what a
// scalar expression means; package ir/expr parses and lowers expressions,
// package ir/num has their functions in Go. The package knows no backend, no
// schema file and no tensor handle.
//
// # Values
//
// An expression is evaluated for one compute dtype T: bool, an integer, float32,
// float64, complex64 or complex128. float16 and bfloat16 are storage only: they
// are widened to float32 on load and rounded once, to nearest even, on store. A
// value inside an expression is a T, a real number (the type of T's parts; T
// itself unless T is complex), an int64 or a bool. Operands are T unless the
// schema fixes their dtype; host numbers are converted to T (never to the storage
// dtype), host integers are int64. Literals take the kind of what they meet. An
// int64 becomes T where it meets one, a real number becomes complex; every other
// conversion is written: cast(x) to T, int(x) to int64, which truncates toward
// zero, saturates, and gives 0 for NaN. Arithmetic on literals is done once, in
// float64 or int64; 2/3 is a fraction where T has fractions, and 0 where not.
//
// # Floating point
//
// + - * / and sqrt round once, to nearest even. Nothing is contracted: x*y + z
// rounds twice on every backend, fma(x, y, z) once. Subnormal numbers are kept.
// Expressions are evaluated as written: nothing is reassociated, and x - x is not
// replaced by 0. The product, quotient and power of complex numbers count as one
// operation; inside it a backend may round as it likes.
//
// NaN comes out of every function a NaN goes into, except fmin and fmax, which
// give the other argument, hypot(x, y) with an infinity, which is +Inf, and
// pow(x, 0) and pow(1, y), which are 1. min and max give NaN if either argument
// is one. Comparisons with NaN are false, but for !=. Which NaN comes out, its
// sign and payload, is not specified.
//
// Zeros keep their signs: -0 == 0, but min and max order -0 before +0, -x flips
// the sign, and the functions that are odd give -0 for -0; sign(-0) is a zero of
// either sign. Rounding a fraction in (-1, 0) up gives -0. round takes ties to
// the even integer. copysign and signbit read the sign bit.
//
// fmod and % have the sign of the dividend (as in C), remainder that of the
// divisor (as in Python), and floordiv goes with remainder:
// floordiv(x, y)*y + remainder(x, y) is x up to rounding. By zero, remainders are
// NaN and quotients infinite or NaN.
//
// where(c, a, b) is a or b to the bit. Both are evaluated, and neither can trap,
// so a NaN or an infinity in the one not taken is never seen.
//
// # Integers and bools
//
// Integers wrap to their width, so the least one is its own negative and its own
// absolute value. / truncates toward zero. Division by zero gives 0 and a
// remainder by zero the dividend: x/0 is 0 and x%0 is x, for floordiv, truncdiv,
// fmod and remainder alike. The least integer divided by -1 wraps to itself.
// x << n and x >> n shift every bit out where n is negative or at least the
// width: the result is 0, or -1 for >> of a negative number. >> keeps the sign.
// pow wraps; to a negative power it is 0 unless the base is 1 or -1.
//
// On bools + | and max mean ||, * & and min mean &&, ^ and != differ, and false
// is less than true; there is no subtraction.
//
// # Random numbers
//
// uniform, normal and random_bits take a seed and an offset and depend on these
// and the element's index alone. They are words of Philox 4x32-10 blocks whose key is
// the seed, low half first, and whose counter is (n low, n high, offset low, offset
// high). uniform for float32 is the high 24 bits over 2^24 of word index%4 of block
// n = index/4. random_bits is of block n = index/2 word 0 above word 1 for an even
// index, and word 2 above word 3 for an odd one; uniform for float64 is the high 53 of
// these bits over 2^53. normal is the transform of Box and Muller of the two words that
// random_bits of half the index has: the cosine for an even index, the sine for an odd
// one. Of a complex T uniform has a second draw as its imaginary part, that of the
// offset's complement, and normal the numbers of index twice and the next over the
// root of 2. Bits and uniforms are the same everywhere, normals within four units in
// the last place.
//
// # Reductions
//
// A reduction starts from init, folds map(x) by combine in the compute dtype, and
// gives finish; with several states, of all of them at once. Combine must be
// associative and init its identity; it may be applied in any grouping, and in any
// order unless the operator keeps it, and so sums of floats may differ from backend to
// backend in the last places. On one device both depend on shape and
// dtype alone, so the same call gives the same bits. A scan combines in a grouping
// of the backend's choice as well. Sums of bools and integers accumulate in int64
// unless an option names another dtype; 16-bit floats accumulate in float32.
//
// # Compositions
//
// An operator made of others computes in the dtype that its operands are accumulated
// in (float32 for 16-bit floats), and rounds each element of its results once. So do
// gradients, also where they add up what several elements or several parts
// contribute, but for results that they read: these are as the operator gave them.
//
// # Derivatives
//
// Gradients that are not written are derived from the expression, with these
// choices where it has kinks, steps or ties, which are PyTorch's:
//
//   - abs'(0) is 0, of complex numbers too. sign, floor, ceil, trunc, round,
//     floordiv, truncdiv, comparisons and random numbers have derivative 0.
//   - min and max: each argument gets half where they are equal. fmin and fmax:
//     the first gets all. NaN arguments get what arguments that win get.
//   - where passes the gradient to the branch that was taken and exactly 0 to the
//     other one, even where that one's own derivative is infinite or NaN.
//   - sqrt'(0) is +Inf and log'(0) too. pow has derivative 0 in the base where the
//     exponent is 0, and in the exponent where the base is 0 and the exponent is
//     not negative.
//   - copysign(x, y) has derivative 0 at x == 0, and none in y.
//
// Of complex numbers the gradient is the conjugate Wirtinger derivative: it points
// where a real loss grows fastest. A holomorphic f(x) passes dy*conj(f'(x)) on;
// abs, angle, real, imag, conj and complex have rules of their own.
//
// # What a backend may relax
//
// The functions other than those that round once may err by the units in the last
// place that an operator's test states. A backend may compute a function in a
// wider type, and choose the grouping of reductions. It may not contract,
// reassociate, flush subnormal numbers, or assume that NaN, infinities or signed
// zeros do not occur. The sums of index_add and scatter_add that are collected in
// float32, those of complex64 and 16-bit floats among them, may flush subnormal
// numbers to zero, as atomic additions of accelerators do. Operators that follow
// the TF32 flags may round the operands of matrix products to TF32 while these are
// set.
package ir
