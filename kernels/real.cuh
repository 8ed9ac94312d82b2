// The functions of the scalar expression language over integers and reals. See
// num.cuh.

#pragma once

#include "types.cuh"

namespace sinter {

// Arithmetic that C++ leaves undefined, or does in int.

template <class T, if_int<T> = 0> SINTER_FN T add(T a, T b) {
  typedef typename traits<T>::bits U;
  return T(U(a) + U(b));
}

template <class T, if_int<T> = 0> SINTER_FN T sub(T a, T b) {
  typedef typename traits<T>::bits U;
  return T(U(a) - U(b));
}

template <class T, if_int<T> = 0> SINTER_FN T mul(T a, T b) {
  typedef typename traits<T>::bits U;
  return T(U(a) * U(b));
}

template <class T, if_int<T> = 0> SINTER_FN T neg(T x) { return sub(T(0), x); }

template <class T, if_int<T> = 0> SINTER_FN T div(T a, T b) {
  if (b == 0) return 0;
  if (traits<T>::lowest < 0 && b == T(-1)) return neg(a);  // the least value has no opposite
  return T(a / b);
}

template <class T, if_int<T> = 0> SINTER_FN T rem(T a, T b) {
  if (b == 0) return a;
  if (traits<T>::lowest < 0 && b == T(-1)) return 0;
  return T(a % b);
}

template <class T, class N, if_int<T> = 0> SINTER_FN T shl(T a, N count) {
  typedef typename traits<T>::bits U;
  return count < 0 || count >= N(8 * sizeof(T)) ? T(0) : T(U(a) << count);
}

template <class T, class N, if_int<T> = 0> SINTER_FN T shr(T a, N count) {
  const int last = 8 * sizeof(T) - 1;  // leaves the sign of a signed value
  if (count < 0 || count > N(last)) return a < 0 ? T(-1) : T(0);
  return T(a >> count);
}

template <class T, if_int<T> = 0> SINTER_FN T andnot(T a, T b) { return T(a & ~b); }

template <class T, if_float<T> = 0> SINTER_FN T add(T a, T b) { return a + b; }
template <class T, if_float<T> = 0> SINTER_FN T sub(T a, T b) { return a - b; }
template <class T, if_float<T> = 0> SINTER_FN T mul(T a, T b) { return a * b; }
template <class T, if_float<T> = 0> SINTER_FN T div(T a, T b) { return a / b; }
template <class T, if_float<T> = 0> SINTER_FN T neg(T x) { return -x; }

// Integers.

template <class T, if_int<T> = 0> SINTER_FN T abs(T x) { return x < 0 ? neg(x) : x; }
template <class T, if_int<T> = 0> SINTER_FN T sign(T x) { return T((x > 0) - (x < 0)); }
template <class T, if_int<T> = 0> SINTER_FN T min(T a, T b) { return b < a ? b : a; }
template <class T, if_int<T> = 0> SINTER_FN T max(T a, T b) { return a < b ? b : a; }
template <class T, if_int<T> = 0> SINTER_FN T floor(T x) { return x; }
template <class T, if_int<T> = 0> SINTER_FN T ceil(T x) { return x; }
template <class T, if_int<T> = 0> SINTER_FN T trunc(T x) { return x; }
template <class T, if_int<T> = 0> SINTER_FN T round(T x) { return x; }
template <class T, if_int<T> = 0> SINTER_FN T fmod(T a, T b) { return rem(a, b); }
template <class T, if_int<T> = 0> SINTER_FN T truncdiv(T a, T b) { return div(a, b); }

template <class T, if_int<T> = 0> SINTER_FN T remainder(T a, T b) {
  T r = rem(a, b);
  return b != 0 && r != 0 && (r < 0) != (b < 0) ? add(r, b) : r;
}

template <class T, if_int<T> = 0> SINTER_FN T floordiv(T a, T b) {
  T q = div(a, b);
  return b != 0 && rem(a, b) != 0 && (a < 0) != (b < 0) ? sub(q, T(1)) : q;
}

// pow wraps; for b < 0 it is 1/a^-b truncated: 0 unless a is 1 or -1.
template <class T, if_int<T> = 0> SINTER_FN T pow(T a, T b) {
  if (b < 0) return a == 1 || (traits<T>::lowest < 0 && a == T(-1) && !(b & 1)) ? T(1) : a == T(-1) ? a : T(0);
  T r = 1;
  for (; b > 0; b >>= 1) {
    if (b & 1) r = mul(r, a);
    a = mul(a, a);
  }
  return r;
}

template <class T, if_int<T> = 0> SINTER_FN bool signbit(T x) { return x < 0; }
template <class T, if_int<T> = 0> SINTER_FN bool isnan(T) { return false; }
template <class T, if_int<T> = 0> SINTER_FN bool isinf(T) { return false; }
template <class T, if_int<T> = 0> SINTER_FN bool isfinite(T) { return true; }
template <class T, if_int<T> = 0> SINTER_FN T conj(T x) { return x; }
template <class T, if_int<T> = 0> SINTER_FN T real(T x) { return x; }
template <class T, if_int<T> = 0> SINTER_FN T imag(T) { return 0; }
template <class T, if_int<T> = 0> SINTER_FN T angle(T x) { return x < 0 ? T(3) : T(0); }

// Reals: representation.

SINTER_FN bool signbit(float x) { return __float_as_int(x) < 0; }
SINTER_FN bool signbit(double x) { return __double_as_longlong(x) < 0; }
template <class T, if_float<T> = 0> SINTER_FN bool isnan(T x) { return x != x; }
template <class T, if_float<T> = 0> SINTER_FN bool isfinite(T x) { return x - x == 0; }
template <class T, if_float<T> = 0> SINTER_FN bool isinf(T x) { return x == x && x - x != 0; }
template <class T, if_float<T> = 0> SINTER_FN T conj(T x) { return x; }
template <class T, if_float<T> = 0> SINTER_FN T real(T x) { return x; }
template <class T, if_float<T> = 0> SINTER_FN T imag(T) { return 0; }
template <class T, if_float<T> = 0> SINTER_FN T angle(T x) { return x != x ? x : x < 0 ? T(3.14159265358979323846) : T(0); }

// Reals: those that the device library has in both precisions.

#define SINTER_REAL1(name, single, double_)               \
  SINTER_FN float name(float x) { return ::single(x); }   \
  SINTER_FN double name(double x) { return ::double_(x); }

#define SINTER_REAL2(name, single, double_)                          \
  SINTER_FN float name(float a, float b) { return ::single(a, b); }  \
  SINTER_FN double name(double a, double b) { return ::double_(a, b); }

SINTER_REAL1(abs, fabsf, fabs)
SINTER_REAL1(floor, floorf, floor)
SINTER_REAL1(ceil, ceilf, ceil)
SINTER_REAL1(trunc, truncf, trunc)
SINTER_REAL1(round, rintf, rint)
SINTER_REAL1(sqrt, __fsqrt_rn, __dsqrt_rn)
SINTER_REAL1(rsqrt, rsqrtf, rsqrt)
SINTER_REAL1(cbrt, cbrtf, cbrt)
SINTER_REAL1(exp, expf, exp)
SINTER_REAL1(exp2, exp2f, exp2)
SINTER_REAL1(expm1, expm1f, expm1)
SINTER_REAL1(log, logf, log)
SINTER_REAL1(log2, log2f, log2)
SINTER_REAL1(log10, log10f, log10)
SINTER_REAL1(sin, sinf, sin)
SINTER_REAL1(cos, cosf, cos)
SINTER_REAL1(asin, asinf, asin)
SINTER_REAL1(atan, atanf, atan)
SINTER_REAL1(cosh, coshf, cosh)
SINTER_REAL1(tanh, tanhf, tanh)
SINTER_REAL1(erf, erff, erf)
SINTER_REAL2(hypot, hypotf, hypot)
SINTER_REAL2(copysign, copysignf, copysign)

// Those that are long in double.

#define SINTER_LONG1(name, single)                        \
  SINTER_FN float name(float x) { return ::single(x); }   \
  SINTER_LONG_FN double name(double x) { return ::name(x); }

#define SINTER_LONG2(name, single)                                   \
  SINTER_FN float name(float a, float b) { return ::single(a, b); }  \
  SINTER_LONG_FN double name(double a, double b) { return ::name(a, b); }

SINTER_LONG1(log1p, log1pf)
SINTER_LONG1(tan, tanf)
SINTER_LONG1(acos, acosf)
SINTER_LONG1(sinh, sinhf)
SINTER_LONG1(asinh, asinhf)
SINTER_LONG1(acosh, acoshf)
SINTER_LONG1(atanh, atanhf)
SINTER_LONG1(erfinv, erfinvf)
SINTER_LONG2(pow, powf)
SINTER_LONG2(atan2, atan2f)
SINTER_LONG2(fmod, fmodf)

SINTER_FN float rem(float a, float b) { return fmod(a, b); }
SINTER_FN double rem(double a, double b) { return fmod(a, b); }

#undef SINTER_REAL1
#undef SINTER_REAL2
#undef SINTER_LONG1
#undef SINTER_LONG2

SINTER_FN float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
SINTER_FN double fma(double a, double b, double c) { return __fma_rn(a, b, c); }

// Reals: order.

template <class T, if_float<T> = 0> SINTER_FN T sign(T x) { return x > 0 ? T(1) : x < 0 ? T(-1) : x; }

template <class T, if_float<T> = 0> SINTER_FN T min(T a, T b) {
  if (a != a || b != b) return a + b;
  return b < a || (a == b && signbit(b)) ? b : a;
}

template <class T, if_float<T> = 0> SINTER_FN T max(T a, T b) {
  if (a != a || b != b) return a + b;
  return a < b || (a == b && signbit(a)) ? b : a;
}

template <class T, if_float<T> = 0> SINTER_FN T fmin(T a, T b) { return a != a ? b : b != b ? a : min(a, b); }
template <class T, if_float<T> = 0> SINTER_FN T fmax(T a, T b) { return a != a ? b : b != b ? a : max(a, b); }

// Reals: division.

template <class T, if_float<T> = 0> SINTER_FN T remainder(T a, T b) {
  T r = fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class T, if_float<T> = 0> SINTER_LONG_FN T floordiv(T a, T b) {
  if (b == 0) return a / b;
  T r = fmod(a, b);
  T q = (a - r) / b;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1;
  if (q == 0) return copysign(T(0), a / b);
  T f = floor(q);
  return q - f > T(0.5) ? f + 1 : f;
}

template <class T, if_float<T> = 0> SINTER_FN T truncdiv(T a, T b) { return trunc(a / b); }

// Reals: special functions.

// polynomial returns c[n-1] x^(n-1) + ... + c[0].
template <class T, int n> SINTER_FN T polynomial(T x, const T (&c)[n]) {
  T r = c[n - 1];
#pragma unroll
  for (int i = n - 2; i >= 0; i--) r = fma(r, x, c[i]);
  return r;
}

// near_reciprocal and near_exp2 are the hardware's, good to about one unit in the
// last place where neither argument nor result is subnormal.
SINTER_FN float near_reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

SINTER_FN float near_exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

SINTER_FN double sigmoid(double x) {
  double e = exp(-abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

// A step of Newton's corrects the quotient: the divisor is 1 to 2, so that none of
// the cases occurs for which a division has more instructions.
SINTER_FN float sigmoid(float x) {
  float e = exp(-abs(x)), divisor = 1 + e, dividend = x < 0 ? e : 1;
  float r = near_reciprocal(divisor), q = dividend * r;
  return fma(fma(-q, divisor, dividend), r, q);
}

// exp_square returns m exp(-a a) for 0 <= a <= 11. The square is the sum of two
// floats. 2^n is a factor of its own, so that a subnormal result is rounded once: n,
// at least -126, is the least bits of j, as its exponent has them.
SINTER_FN float exp_square(float a, float m) {
  float y = a * a, low = fma(a, a, -y);
  float j = __fmaf_rd(__saturatef(fma(y, -0x1.77313ap-8f, 0.5f)), 252, 12582913), n = j - 12583039;
  float f = fma(y, -0x1.715476p+0f, -n);  // -log2(e) in two floats
  f = fma(y, -0x1.4ae0cp-26f, f);
  f = fma(low, -0x1.715476p+0f, f);
  return m * near_exp2(f) * __int_as_float(__float_as_int(j) << 23);
}

SINTER_LONG_FN double erfc(double x) { return ::erfc(x); }

// erfc(a) exp(a a) (a + 2) is a polynomial of q = (a - 2) / (a + 2), which is within
// 1 of 0 for every a >= 0. Beyond 11 erfc is below the least subnormal.
SINTER_FN float erfc(float x) {
  const float c[] = {1.02158272f,    -0.687160969f,  0.279469609f,   -0.0364352241f,  -0.021483507f,
                     0.00643753493f, 0.00297902199f, -0.00075507391f, -0.000461700722f};
  float a = abs(x);
  if (a > 11) a = 11;  // a NaN stays
  float divisor = a + 2, r = near_reciprocal(divisor);
  r = fma(r, fma(-divisor, r, 1), r);
  float tail = exp_square(a, polynomial(fma(r, -4, 1), c) * r);
  return x < 0 ? 2 - tail : tail;
}

// The device library's float lgamma loses digits between the negative zeros.
SINTER_LONG_FN double lgamma(double x) { return ::lgamma(x); }
SINTER_FN float lgamma(float x) { return float(lgamma(double(x))); }

// digamma_near returns digamma(x) for 1 <= x <= 2 as the product of its distance
// from the root, which three terms hold to full precision, and a rational
// function (Boost's).
SINTER_FN double digamma_near(double x) {
  const double p[] = {0.25479851061131551,  -0.32555031186804491,  -0.65031853770896507,
                      -0.28919126444774784, -0.045251321448739056, -0.0020713321167745952};
  const double q[] = {1.0,
                      2.0767117023730469,
                      1.4606242909763515,
                      0.43593529692665969,
                      0.054151797245674225,
                      0.0021284987017821144,
                      -0.55789841321675513e-6};
  double d = x - 1569415565.0 / 1073741824;
  d -= 381566830.0 / 1073741824 / 1073741824;
  d -= 0.9016312093258695918615325266959189453125e-19;
  return d * double(0.99558162689208984f) + d * (polynomial(x - 1, p) / polynomial(x - 1, q));
}

SINTER_LONG_FN double digamma(double x) {
  double sum = 0;
  if (x == 0) return copysign(infinity<double>(), -x);
  if (x < 0) {  // reflection, at the exact distance from the nearest integer
    double t = x - ::rint(x);
    if (t == 0 || x - x != 0) return quiet_nan<double>();
    double s, c;
    ::sincospi(t, &s, &c);
    sum = -3.14159265358979323846 * c / s;
    x = 1 - x;
  }
  for (; x < 1; x += 1) sum -= 1 / x;
  for (; x > 2 && x < 10; x -= 1) sum += 1 / (x - 1);
  if (x <= 2) return sum + digamma_near(x);
  const double b[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  double z = 1 / (x * x);
  return sum + ::log(x) - 0.5 / x - z * polynomial(z, b);
}

SINTER_FN float digamma(float x) { return float(digamma(double(x))); }

}  // namespace sinter
