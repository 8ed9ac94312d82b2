// The logarithm of the gamma function and its derivative. For float they are computed in
// float, an order of magnitude faster than in double: what decides the time is arithmetic.
// They stand apart from real.cuh, so that only modules that call them are made of them.

#pragma once

#include "real.cuh"

namespace sinter {

// A Log is the logarithm of a number as turns * log(2) + rest, which the caller adds up
// with what else its result is made of, rounding once.
struct Log {
  float turns, rest;
};

// log_parts returns the logarithm of a normal, positive x. The rest is that of a number
// in [2/3, 4/3), accurate to 2^-27 of itself.
SINTER_FN Log log_parts(float x) {
  const float c[] = {-0.5f,        0.333332092f,  -0.249997452f, 0.200107127f, -0.166830629f,
                     0.140016541f, -0.121469088f, 0.140025869f,  -0.130585656f};
  const int e = (__float_as_int(x) - 0x3f2aaaab) & 0xff800000;
  const float f = __int_as_float(__float_as_int(x) - e) - 1;
  return {float(e) * 0x1p-23f, fma(polynomial(f, c) * f, f, f)};
}

SINTER_FN double log_gamma(double x) { return lgamma(x); }

// From 2.5 on it is Stirling's series. Below, it is that of a number within 0.75 of 2,
// less the logarithm of what leads from x to there. What is negative, where it has a zero
// between any two poles at which both parts cancel, and what is subnormal go by double.
// Elsewhere it errs by three units in the last place at most.
SINTER_FN float log_gamma(float x) {
  if (x < 0x1p-126f) return lgamma(x);
  const float near[] = {0.422784328f,   0.322467029f,    -0.067351982f,   0.0205814224f,
                        -0.00738935778f, 0.00287956675f,  -0.0011809899f,  0.000572591089f,
                        -0.000196994893f, -1.04330211e-05f, -0.000172770029f};  // lgamma(2 + t)/t
  const float far[] = {0.0833333284f, -0.00277716992f, 0.000776095374f, -0.000407021638f};
  const bool low = x < 2.5f;
  float t = x - 2, q = 1;
  if (x < 1.25f) t = x - 1, q = x;
  if (x < 0.5f) t = x, q = x * (x + 1);
  const Log log = log_parts(low ? q : x);
  const float below = fma(t, polynomial(t, near), -fma(log.turns, 0.693147182f, log.rest));
  const float over = near_reciprocal(x);
  const float rest = fma(over, polynomial(over * over, far), 0.418938533f);  // log(2 pi)/2 - 1/2
  const float above = fma(x - 0.5f, fma(log.turns, 0.693147182f, -1) + log.rest, rest);
  return low ? below : above;
}

SINTER_FN double psi(double x) { return digamma(x); }

// psi is the derivative of log_gamma. From 2 on it is the asymptotic series. Below, it is the
// distance from the root, which two floats hold, times a polynomial. What is not between 2^-100
// and infinity goes by double. Elsewhere it errs by four units in the last place at most.
SINTER_FN float psi(float x) {
  if (unsigned(__float_as_int(x) - 0x0d800000) >= 0x7f800000u - 0x0d800000u) return digamma(x);
  const float near[] = {0.951055884f,   -0.423627496f, 0.24054192f,   -0.148398906f, 0.0949976519f, -0.0620556287f,
                        0.0407370068f,  -0.02578789f,  0.0175498184f, -0.0163728222f, 0.0102902362f};
  const float far[] = {0.0833333284f, -0.00833188184f, 0.00391311804f, -0.00340512465f, 0.00247460813f};
  float over = near_reciprocal(x);
  over = fma(over, fma(-x, over, 1), over);
  const float y = x < 1 ? x + 1 : x;
  const float distance = y - 1.46163213f - 1.24381499e-8f;
  const float below = fma(distance, polynomial(y - 1.5f, near), x < 1 ? -over : 0.0f);
  const Log log = log_parts(x);
  const float u = over * over;
  const float above = fma(log.turns, 0.693147182f, fma(-u, polynomial(u, far), fma(over, -0.5f, log.rest)));
  return x < 2 ? below : above;
}

}  // namespace sinter
