// The largest element up to each along an axis, and its place.
//
//   prefix_DTYPE is a scan of scan.cuh with places: the last of equal elements wins, and a
//   NaN wins over any number. smallest looks for the smallest element.

#include "extreme.cuh"
#include "scan.cuh"

namespace sinter {

template <class T> struct Prefix {
  // A state without elements has place -1.
  struct Acc {
    T value;
    long long place;
  };
  bool smallest;

  SINTER_FN Acc init() const { return {T(0), -1}; }
  SINTER_FN Acc map(T x, long long place) const { return {to_search(x, smallest), place}; }
  SINTER_FN Acc combine(Acc a, Acc b) const { return b.place >= 0 && (a.place < 0 || b.value >= a.value || b.value != b.value) ? b : a; }
  SINTER_FN T finish(Acc a, long long count) const { return to_search(a.value, smallest); }
};

template <class T> constexpr bool keeps_places<Prefix<T>> = true;

}  // namespace sinter

using namespace sinter;

#define SINTER_PREFIX(S) SINTER_SCAN_OF(prefix_##S, Prefix<compute_t<S>>, S, S, 3)
SINTER_PREFIX(uint8)
SINTER_PREFIX(int8)
SINTER_PREFIX(int16)
SINTER_PREFIX(int32)
SINTER_PREFIX(int64)
SINTER_PREFIX(float16)
SINTER_PREFIX(bfloat16)
SINTER_PREFIX(float32)
SINTER_PREFIX(float64)
