// The functions of the scalar expression language over complex numbers.
//
// Transcendental functions of complex64 are computed in double and rounded, so
// that cancellation inside their formulas stays below float's precision.
// Branch cuts are C99's; the sign of a zero part says on which side of a cut a
// number lies.

#pragma once

#include "real.cuh"

namespace sinter {

template <class R> SINTER_FN complex<R> operator-(complex<R> a) { return {-a.re, -a.im}; }
template <class R> SINTER_FN complex<R> operator+(complex<R> a, complex<R> b) { return {a.re + b.re, a.im + b.im}; }
template <class R> SINTER_FN complex<R> operator-(complex<R> a, complex<R> b) { return {a.re - b.re, a.im - b.im}; }
template <class R> SINTER_FN bool operator==(complex<R> a, complex<R> b) { return a.re == b.re && a.im == b.im; }
template <class R> SINTER_FN bool operator!=(complex<R> a, complex<R> b) { return !(a == b); }

template <class R> SINTER_FN complex<R> operator*(complex<R> a, complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// direction returns 1 for an infinite part and 0 for others, with their sign.
template <class R> SINTER_FN R direction(R x) { return copysign(isinf(x) ? R(1) : R(0), x); }

// Division is Smith's, with C99's infinities and zeros where both parts are NaN, as Go's.
template <class R> SINTER_LONG_FN complex<R> operator/(complex<R> n, complex<R> m) {
  R e, f;
  if (abs(m.re) >= abs(m.im)) {
    R ratio = m.im / m.re, below = m.re + ratio * m.im;
    e = (n.re + n.im * ratio) / below;
    f = (n.im - n.re * ratio) / below;
  } else {
    R ratio = m.re / m.im, below = m.im + ratio * m.re;
    e = (n.re * ratio + n.im) / below;
    f = (n.im * ratio - n.re) / below;
  }
  if (e == e || f == f) return {e, f};
  const R inf = infinity<R>();
  if (m.re == 0 && m.im == 0 && (n.re == n.re || n.im == n.im)) {
    e = copysign(inf, m.re) * n.re;
    f = copysign(inf, m.re) * n.im;
  } else if ((isinf(n.re) || isinf(n.im)) && isfinite(m.re) && isfinite(m.im)) {
    R a = direction(n.re), b = direction(n.im);
    e = inf * (a * m.re + b * m.im);
    f = inf * (b * m.re - a * m.im);
  } else if ((isinf(m.re) || isinf(m.im)) && isfinite(n.re) && isfinite(n.im)) {
    R c = direction(m.re), d = direction(m.im);
    e = 0 * (n.re * c + n.im * d);
    f = 0 * (n.im * c - n.re * d);
  }
  return {e, f};
}

template <class R> SINTER_FN complex<R> add(complex<R> a, complex<R> b) { return a + b; }
template <class R> SINTER_FN complex<R> sub(complex<R> a, complex<R> b) { return a - b; }
template <class R> SINTER_FN complex<R> mul(complex<R> a, complex<R> b) { return a * b; }
template <class R> SINTER_FN complex<R> div(complex<R> a, complex<R> b) { return a / b; }
template <class R> SINTER_FN complex<R> neg(complex<R> a) { return -a; }

template <class R> SINTER_FN R real(complex<R> z) { return z.re; }
template <class R> SINTER_FN R imag(complex<R> z) { return z.im; }
template <class R> SINTER_FN complex<R> conj(complex<R> z) { return {z.re, -z.im}; }
template <class R> SINTER_FN R abs(complex<R> z) { return hypot(z.re, z.im); }
template <class R> SINTER_FN R angle(complex<R> z) { return atan2(z.im, z.re); }
template <class R> SINTER_FN bool isnan(complex<R> z) { return isnan(z.re) || isnan(z.im); }
template <class R> SINTER_FN bool isinf(complex<R> z) { return isinf(z.re) || isinf(z.im); }
template <class R> SINTER_FN bool isfinite(complex<R> z) { return isfinite(z.re) && isfinite(z.im); }

// times_i and over_i turn z by a quarter.
SINTER_FN complex128 times_i(complex128 z) { return {-z.im, z.re}; }
SINTER_FN complex128 over_i(complex128 z) { return {z.im, -z.re}; }

SINTER_LONG_FN complex128 exp(complex128 z) {
  if (z.im == 0) return {exp(z.re), z.im};
  double r = exp(z.re), s, c;
  if (r == 0 && !isfinite(z.im)) return {0.0, 0.0};
  if (isinf(r) && isinf(z.re) && !isfinite(z.im)) return {r, quiet_nan<double>()};
  ::sincos(z.im, &s, &c);
  if (z.re > 709) {  // e^re may overflow where the parts do not
    double half = exp(z.re / 2);
    return {half * c * half, half * s * half};
  }
  return {r * c, r * s};
}

SINTER_FN complex128 exp2(complex128 z) {
  const double ln2 = 0.69314718055994531;
  double turn = z.im * ln2;
  if (z.re > 709 || !isfinite(z.re) || !isfinite(turn) || turn == 0) return exp(complex128(z.re * ln2, turn));
  double r = exp2(z.re), s, c;
  ::sincos(turn, &s, &c);
  return {r * c, r * s};
}

// expm1 splits off 1 - cos, which cancels the 1 for small z.
SINTER_LONG_FN complex128 expm1(complex128 z) {
  if (!isfinite(z.re) || !isfinite(z.im) || z.re > 1) {
    complex128 e = exp(z);
    return {e.re - 1, e.im};
  }
  if (z.im == 0) return {expm1(z.re), z.im};
  double s, c, half = ::sin(z.im / 2);
  ::sincos(z.im, &s, &c);
  return {expm1(z.re) * c - 2 * half * half, exp(z.re) * s};
}

SINTER_LONG_FN complex128 log(complex128 z) {
  double x = abs(z.re), y = abs(z.im), r = hypot(x, y);
  double big = max(x, y), small = min(x, y), l;
  if (r > 0.5 && r < 2) {  // near the unit circle: |z|^2 - 1 without cancellation
    double high = big * big, low = __fma_rn(big, big, -high);
    double high2 = small * small, low2 = __fma_rn(small, small, -high2);
    l = 0.5 * log1p((high - 1 + high2) + (low + low2));
  } else if (isinf(x) || isinf(y)) {
    l = infinity<double>();
  } else if (r > 1e300 || r < 1e-290) {  // hypot rounds to infinity, or to few bits
    double scale = r > 1 ? 0x1p-600 : 0x1p600;
    l = log(hypot(x * scale, y * scale)) - log(scale);
  } else {
    l = log(r);
  }
  return {l, angle(z)};
}

SINTER_FN complex128 log2(complex128 z) {
  complex128 l = log(z);
  return {l.re / 0.69314718055994531, l.im / 0.69314718055994531};
}

SINTER_FN complex128 log10(complex128 z) {
  complex128 l = log(z);
  return {l.re / 2.3025850929940457, l.im / 2.3025850929940457};
}

// log1p does not add 1 to a number that is small beside it.
SINTER_LONG_FN complex128 log1p(complex128 z) {
  double x = z.re, y = z.im;
  if (!(hypot(x, y) < 0.5)) return log(complex128(1 + x, y));
  if (y == 0) return {log1p(x), y};
  // 2x + x*x + y*y, of which the first and the last may cancel.
  double xx = x * x, yy = y * y;
  double rest = __fma_rn(x, x, -xx) + __fma_rn(y, y, -yy);
  return {0.5 * log1p((2 * x + yy) + xx + rest), atan2(y, 1 + x)};
}

SINTER_LONG_FN complex128 sqrt(complex128 z) {
  double x = abs(z.re), y = abs(z.im);
  if (isinf(y)) return {y, z.im};
  if (z.re == 0 && z.im == 0) return {0.0, z.im};
  if (isinf(x)) {
    double flat = isnan(z.im) ? z.im : 0.0;  // the part that does not grow
    return z.re > 0 ? complex128(x, copysign(flat, z.im)) : complex128(flat, copysign(x, z.im));
  }
  double back = 1;  // sqrt of what the parts were divided by
  if (x > 1e300 || y > 1e300) {
    x *= 0x1p-4, y *= 0x1p-4, back = 4;
  } else if (x < 1e-290 && y < 1e-290) {
    x *= 0x1p200, y *= 0x1p200, back = 0x1p-100;
  }
  double t = sqrt((x + hypot(x, y)) / 2), u = y / (2 * t);
  t *= back, u *= back;
  return z.re >= 0 ? complex128(t, copysign(u, z.im)) : complex128(u, copysign(t, z.im));
}

SINTER_FN complex128 rsqrt(complex128 z) { return complex128(1.0) / sqrt(z); }

SINTER_LONG_FN complex128 sinh(complex128 z) {
  double s, c;
  ::sincos(z.im, &s, &c);
  if (z.im == 0) return {sinh(z.re), z.im};
  if (z.re == 0 && !isfinite(z.im)) return {z.re, s};
  if (isinf(z.re) && !isfinite(z.im)) return {z.re, quiet_nan<double>()};
  if (abs(z.re) > 709) {
    double half = exp(abs(z.re) / 2);
    return {copysign(half / 2, z.re) * c * half, half / 2 * s * half};
  }
  return {sinh(z.re) * c, cosh(z.re) * s};
}

SINTER_LONG_FN complex128 cosh(complex128 z) {
  double s, c;
  ::sincos(z.im, &s, &c);
  if (z.im == 0) return {cosh(z.re), copysign(1.0, z.re) * z.im};
  if (z.re == 0) return {c, isfinite(z.im) ? z.re * s : 0.0};
  if (isinf(z.re) && !isfinite(z.im)) return {abs(z.re), quiet_nan<double>()};
  if (abs(z.re) > 709) {
    double half = exp(abs(z.re) / 2);
    return {half / 2 * c * half, copysign(half / 2, z.re) * s * half};
  }
  return {cosh(z.re) * c, sinh(z.re) * s};
}

// tanh is Kahan's.
SINTER_LONG_FN complex128 tanh(complex128 z) {
  if (z.im == 0) return {tanh(z.re), z.im};
  double s, c;
  ::sincos(z.im, &s, &c);
  if (isinf(z.re) && !isfinite(z.im)) return {copysign(1.0, z.re), 0.0};
  if (z.re == 0 && !isfinite(z.im)) return {z.re, s};
  if (abs(z.re) > 22 && isfinite(z.im)) return {copysign(1.0, z.re), 4 * s * c * exp(-2 * abs(z.re))};
  double sh = sinh(z.re), ch = cosh(z.re);
  double below = c * c + sh * sh;
  return {sh * ch / below, s * c / below};
}

// sigmoid is half of 1 + tanh(z/2) where e^-z may be near -1, a pole.
SINTER_LONG_FN complex128 sigmoid(complex128 z) {
  if (abs(z.re) > 1) return complex128(1.0) / (complex128(1.0) + exp(-z));
  complex128 t = tanh(complex128(z.re / 2, z.im / 2));
  return {0.5 + 0.5 * t.re, 0.5 * t.im};
}

SINTER_FN complex128 sin(complex128 z) { return over_i(sinh(times_i(z))); }
SINTER_FN complex128 cos(complex128 z) { return cosh(times_i(z)); }
SINTER_FN complex128 tan(complex128 z) { return over_i(tanh(times_i(z))); }

// The inverse functions are Kahan's. one_minus and one_plus keep the sign of the
// imaginary part, which 1 - z and 1 + z would lose where it is zero.

SINTER_FN complex128 one_minus(complex128 z) { return {1 - z.re, -z.im}; }
SINTER_FN complex128 one_plus(complex128 z) { return {1 + z.re, z.im}; }

SINTER_LONG_FN complex128 asin(complex128 z) {
  if (z.re == 0 && isnan(z.im)) return z;
  if (abs(z.re) > 1e150 || abs(z.im) > 1e150) {  // log(2z), as the products below overflow
    complex128 l = log(complex128(abs(z.re) / 2, abs(z.im) / 2));
    return {copysign(atan2(abs(z.re), abs(z.im)), z.re), copysign(l.re + 4 * 0.34657359027997264, z.im)};
  }
  complex128 a = sqrt(one_minus(z)), b = sqrt(one_plus(z));
  return {atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re)};
}

SINTER_LONG_FN complex128 acos(complex128 z) {
  if (z.re == 0 && isnan(z.im)) return {1.5707963267948966, z.im};
  if (abs(z.re) > 1e150 || abs(z.im) > 1e150) {
    complex128 s = asin(z);
    return {atan2(abs(z.im), z.re), -s.im};
  }
  complex128 a = sqrt(one_minus(z)), b = sqrt(one_plus(z));
  return {2 * atan2(a.re, b.re), asinh(b.re * a.im - b.im * a.re)};
}

SINTER_LONG_FN complex128 acosh(complex128 z) {
  complex128 w = acos(z);  // acosh is i acos or -i acos, whichever has a real part >= 0
  return signbit(z.im) ? complex128(abs(w.im), -w.re) : complex128(abs(w.im), w.re);
}

SINTER_LONG_FN complex128 atanh(complex128 z) {
  double x = abs(z.re), y = abs(z.im);
  double re, im;
  if (isinf(x) || isinf(y)) return {copysign(0.0, z.re), copysign(isnan(y) ? y : 1.5707963267948966, z.im)};
  if (x == 0 && isnan(y)) return z;
  if (isnan(x) || isnan(y)) return {quiet_nan<double>(), quiet_nan<double>()};
  if (x > 1e150 || y > 1e150) {
    re = x > y ? 1 / (x + y / x * y) : x / y / (y + x / y * x);
    im = 1.5707963267948966;
  } else {
    double from = 1 - x;
    if (from == 0 && y == 0) return {copysign(infinity<double>(), z.re), z.im};
    re = 0.25 * log1p(4 * x / (from * from + y * y));
    im = 0.5 * atan2(2 * y, from * (1 + x) - y * y);
    if (from == 0 && y < 1e-150) re = 0.5 * (0.6931471805599453 - log(y));
  }
  return {copysign(re, z.re), copysign(im, z.im)};
}

SINTER_FN complex128 asinh(complex128 z) { return over_i(asin(times_i(z))); }
SINTER_FN complex128 atan(complex128 z) { return over_i(atanh(times_i(z))); }

// pow is that of bases other than 0: see power.cuh.
SINTER_LONG_FN complex128 pow(complex128 a, complex128 b) {
  double r = abs(a), theta = angle(a), modulus = pow(r, b.re), turn = b.re * theta;
  if (b.im != 0) {
    modulus *= exp(-b.im * theta);
    turn += b.im * log(r);
  }
  double s, c;
  ::sincos(turn, &s, &c);
  return {modulus * c, modulus * s};
}

#define SINTER_COMPLEX1(name) \
  SINTER_FN complex64 name(complex64 z) { return complex64(name(complex128(z))); }

SINTER_COMPLEX1(exp)
SINTER_COMPLEX1(exp2)
SINTER_COMPLEX1(expm1)
SINTER_COMPLEX1(log)
SINTER_COMPLEX1(log1p)
SINTER_COMPLEX1(log2)
SINTER_COMPLEX1(log10)
SINTER_COMPLEX1(sqrt)
SINTER_COMPLEX1(rsqrt)
SINTER_COMPLEX1(sigmoid)
SINTER_COMPLEX1(sin)
SINTER_COMPLEX1(cos)
SINTER_COMPLEX1(tan)
SINTER_COMPLEX1(asin)
SINTER_COMPLEX1(acos)
SINTER_COMPLEX1(atan)
SINTER_COMPLEX1(sinh)
SINTER_COMPLEX1(cosh)
SINTER_COMPLEX1(tanh)
SINTER_COMPLEX1(asinh)
SINTER_COMPLEX1(acosh)
SINTER_COMPLEX1(atanh)

#undef SINTER_COMPLEX1

SINTER_FN complex64 pow(complex64 a, complex64 b) { return complex64(pow(complex128(a), complex128(b))); }

}  // namespace sinter
