// Element types, their compute types, and conversions between them.
//
// A tensor's elements have a storage type, named after its dtype; arithmetic is
// done in the compute type: float for the two 16-bit floats, the storage type
// itself otherwise. cast means what package ir says of conversions: to bool is
// "not zero"; float to integer truncates toward zero and saturates, NaN gives 0;
// integer to integer keeps the low bits; complex to real drops the imaginary
// part; to a floating type rounds once, to nearest even.
//
// Compiles under NVRTC without any include path but this directory. Everything
// assumes --fmad=false: products and sums are fused where fma is written, only.

#pragma once

#define SINTER_FN __device__ __forceinline__
// A function so long that a copy of it for every element a thread computes costs
// more in code than the call does in time.
#define SINTER_LONG_FN __device__ __noinline__

namespace sinter {

typedef unsigned char uint8;
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef float float32;
typedef double float64;

struct float16 {
  unsigned short bits;
};

struct bfloat16 {
  unsigned short bits;
};

template <class R> struct alignas(2 * sizeof(R)) complex {
  R re, im;

  complex() = default;
  SINTER_FN constexpr complex(R re, R im = R(0)) : re(re), im(im) {}
  template <class S> SINTER_FN explicit complex(complex<S> z) : re(R(z.re)), im(R(z.im)) {}
};

typedef complex<float> complex64;
typedef complex<double> complex128;

// Type properties. NVRTC has no <type_traits> without an include path.

template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };

template <bool, class T = int> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };

template <class T> struct traits { static constexpr bool is_int = false, is_float = false, is_complex = false; };

struct int_traits { static constexpr bool is_int = true, is_float = false, is_complex = false; };
struct float_traits { static constexpr bool is_int = false, is_float = true, is_complex = false; };

template <> struct traits<uint8> : int_traits {
  typedef unsigned bits;
  static constexpr uint8 lowest = 0, highest = 255;
};
template <> struct traits<int8> : int_traits {
  typedef unsigned bits;
  static constexpr int8 lowest = -128, highest = 127;
};
template <> struct traits<int16> : int_traits {
  typedef unsigned bits;
  static constexpr int16 lowest = -32768, highest = 32767;
};
template <> struct traits<int32> : int_traits {
  typedef unsigned bits;
  static constexpr int32 lowest = -2147483647 - 1, highest = 2147483647;
};
template <> struct traits<int64> : int_traits {
  typedef unsigned long long bits;
  static constexpr int64 lowest = -9223372036854775807LL - 1, highest = 9223372036854775807LL;
};
template <> struct traits<float> : float_traits {};
template <> struct traits<double> : float_traits {};
template <class R> struct traits<complex<R>> { static constexpr bool is_int = false, is_float = false, is_complex = true; };

template <class T> using if_int = typename enable_if<traits<T>::is_int>::type;
template <class T> using if_float = typename enable_if<traits<T>::is_float>::type;

template <class S> struct compute { typedef S type; };
template <> struct compute<float16> { typedef float type; };
template <> struct compute<bfloat16> { typedef float type; };

// compute_t<S> is the type that arithmetic on elements stored as S is done in.
template <class S> using compute_t = typename compute<S>::type;

template <class T> SINTER_FN T infinity() {
  if constexpr (is_same<T, float>::value) return __int_as_float(0x7f800000);
  else return __longlong_as_double(0x7ff0000000000000LL);
}

template <class T> SINTER_FN T quiet_nan() {
  if constexpr (is_same<T, float>::value) return __int_as_float(0x7fc00000);
  else return __longlong_as_double(0x7ff8000000000000LL);
}

// 16-bit floats.

SINTER_FN float to_float(float16 x) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
}

SINTER_FN float to_float(bfloat16 x) { return __int_as_float(int(x.bits) << 16); }

SINTER_FN float16 to_float16(float x) {
  float16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  return h;
}

SINTER_FN bfloat16 to_bfloat16(float x) {
#if __CUDA_ARCH__ >= 800
  bfloat16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  return h;
#else
  unsigned b = unsigned(__float_as_int(x));
  if (x != x) return bfloat16{static_cast<unsigned short>(b >> 16 | 0x40)};
  return bfloat16{static_cast<unsigned short>((b + 0x7fff + (b >> 16 & 1)) >> 16)};
#endif
}

// odd_float returns x as a float that rounds to a 16-bit float as x itself does:
// where x lies between two floats it is the one with an odd last bit, which is
// never half way between two 16-bit values.
SINTER_FN float odd_float(double x) {
  float f = __double2float_rz(x);
  return double(f) == x ? f : __int_as_float(__float_as_int(f) | 1);
}

SINTER_FN float odd_float(int64 x) {
  float f = __ll2float_rz(x);
  return int64(f) == x ? f : __int_as_float(__float_as_int(f) | 1);
}

SINTER_FN float odd_float(int32 x) { return odd_float(int64(x)); }

template <class T> SINTER_FN float odd_float(T x) { return float(x); }

// saturated truncates x to the integer type To.
template <class To, class From> SINTER_FN To saturated(From x) {
  if (x != x) return 0;
  if constexpr (sizeof(To) == 8) {
    if constexpr (sizeof(From) == 8) return __double2ll_rz(x);
    else return __float2ll_rz(x);
  } else {
    int32 i;
    if constexpr (sizeof(From) == 8) i = __double2int_rz(x);
    else i = __float2int_rz(x);
    if (i < int32(traits<To>::lowest)) return traits<To>::lowest;
    if (i > int32(traits<To>::highest)) return traits<To>::highest;
    return To(i);
  }
}

template <class T> struct real_of { typedef T type; };
template <class R> struct real_of<complex<R>> { typedef R type; };

// cast converts between any two storage or compute types.
template <class To, class From> SINTER_FN To cast(From x) {
  if constexpr (is_same<To, From>::value) {
    return x;
  } else if constexpr (!is_same<compute_t<From>, From>::value) {
    return cast<To>(to_float(x));
  } else if constexpr (traits<From>::is_complex) {
    if constexpr (traits<To>::is_complex) return To(x);
    else if constexpr (is_same<To, bool>::value) return x.re != 0 || x.im != 0;
    else return cast<To>(x.re);
  } else if constexpr (traits<To>::is_complex) {
    return To(typename real_of<To>::type(x));
  } else if constexpr (is_same<To, float16>::value) {
    return to_float16(odd_float(x));
  } else if constexpr (is_same<To, bfloat16>::value) {
    return to_bfloat16(odd_float(x));
  } else if constexpr (is_same<To, bool>::value) {
    return x != 0;
  } else if constexpr (traits<From>::is_float && traits<To>::is_int) {
    return saturated<To>(x);
  } else {
    return To(x);
  }
}

}  // namespace sinter
