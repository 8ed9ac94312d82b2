// Stable radix sort of long rows: eight bits at a time, the lowest first, then by
// the number of the row, so that all rows are sorted together. Each pass reads and
// writes elements once: a block ranks a tile by one digit, learns from the blocks
// before it how many elements of each digit precede the tile (decoupled look-back),
// and writes. Where an element came from goes along with it, as a Place: unsigned
// where there are fewer than 2^30 elements (no suffix), 64 bits otherwise (_long).
//
//   sort_histogram_bN[_long](const K* x, long long count, Order order, Place* counts)
//       adds to counts[d][256] the digits d of all elements. Blocks of 512 threads,
//       any grid, fewer than 2^32 elements a block.
//   sort_scan[_long](Place* counts, unsigned* active, int digits, long long rows, long long n)
//       makes of counts[d] the elements with smaller digits; those from digits on are
//       the digits of the row, whose counts it knows. active[d] is 0 where all elements
//       have one digit, else 1. One block of 256 threads for each d.
//   sort_pass_bN[_long](Pass pass)
//       sorts by the digit of the element at bit pass.shift.
//   sort_row_pass_bN(Pass pass)
//       sorts by the digit of the row. Blocks of 384 threads, one for each tile of
//       384 * 16 elements, of 384 * 8 where N is 8 and for _long.
//
// rows times n elements, row after row. Memory that passes read and write differs.

#include "radix.cuh"

namespace sinter {

constexpr int sort_threads = 384;
constexpr int sort_warps = sort_threads / 32;

template <class K, class Place> constexpr int sort_items() { return sizeof(K) == 8 || sizeof(Place) == 8 ? 8 : 16; }

// A Pass is one pass over all elements. states and ticket are zero. A digit that is
// the same for all elements needs no pass: what is read and written depends on which
// passes do anything, active, and plan sets it.
template <class Place> struct Pass {
  const void* x;               // elements, which the first pass reads
  void* values;                // results, elements in the end: memory that passes work in, too
  void* indices;               // likewise, int64 indices in the row
  void* more_keys;             // for keys and places while results have others
  void* more_places;
  const unsigned* active;      // for each digit
  int number, all;             // of the digit, and how many there are
  const Place* before;         // for each digit, the elements with smaller ones
  Place* states;               // for each tile and digit: see look_back
  unsigned* ticket;            // the next tile
  long long count;
  Divider row;                 // elements in a row; not used where there is one row
  int shift;
  Order order;
  bool many;                   // there are several rows

  // Set by plan.
  bool first, last;
  const void* keys;            // to read: as elements in the first pass, then as keys
  const Place* places;         // not read in the first pass: an element's place is its number
  void* sorted_keys;           // to write: as elements in the last pass
  void* sorted_places;         // in the last pass int64 indices in the row

  // plan reports whether the pass does anything. The last that does writes the
  // results, the one before it the other memory, and so on.
  SINTER_FN bool plan() {
    int earlier = 0, later = 0;
    bool now = false;
#pragma unroll 1
    for (int d = 0; d < all; d++) {
      const bool is = active[d] != 0;
      if (d < number) earlier += is;
      else if (d == number) now = is;
      else later += is;
    }
    first = earlier == 0;
    last = later == 0;
    const bool to_results = later % 2 == 0;
    keys = first ? x : to_results ? more_keys : values;
    places = static_cast<const Place*>(to_results ? more_places : indices);
    sorted_keys = to_results ? values : more_keys;
    sorted_places = to_results ? indices : more_places;
    return now || (number == all - 1 && first);
  }
};

SINTER_FN unsigned load_relaxed(const unsigned* p) {
  unsigned v;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

SINTER_FN unsigned long long load_relaxed(const unsigned long long* p) {
  unsigned long long v;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}

SINTER_FN void store_relaxed(unsigned* p, unsigned v) {
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

SINTER_FN void store_relaxed(unsigned long long* p, unsigned long long v) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

// A state is a count in all but the top two bits. These are 0 before there is one,
// 1 where it is that of the tile, 2 where it is that of all tiles up to it.
template <class Place> SINTER_FN Place state(Place count, int what) { return count | Place(what) << (8 * sizeof(Place) - 2); }

// look_back publishes a tile's count of one digit and returns that of all tiles
// before it. own is the tile's state, earlier tiles' are digits before it.
template <class Place> SINTER_FN Place look_back(Place* own, unsigned tile, Place count) {
  constexpr int top = 8 * sizeof(Place) - 2;
  const Place* at = own;
  Place sum = 0;
  while (tile-- > 0) {
    at -= digits;
    Place s;
    do s = load_relaxed(at);
    while (s >> top == 0);
    sum += s & ((Place(1) << top) - 1);
    if (s >> top == 2) break;
  }
  store_relaxed(own, state<Place>(sum + count, 2));
  return sum;
}

// What a pass moves first decides the digit; the other follows. Keys are elements
// before the first pass and after the last, places come from nowhere and are then
// indices in a row. to is a place of all, at one of the tile.
template <class K, class Place> struct Keys {
  typedef K T;

  static SINTER_FN unsigned digit(const Pass<Place>& pass, K k) {
    return unsigned(pass.order.rank(k) >> pass.shift) & (digits - 1);
  }

  template <int items> static SINTER_FN void load(const Pass<Place>& pass, long long first, int start, int valid, K (&k)[items]) {
    const K* keys = static_cast<const K*>(pass.keys) + first + start;
#pragma unroll
    for (int e = 0; e < items; e++) {
      if (start + e * 32 < valid) k[e] = keys[e * 32];
    }
    if (!pass.first) return;
#pragma unroll
    for (int e = 0; e < items; e++) k[e] = pass.order.key(k[e]);
  }

  static SINTER_FN void store(const Pass<Place>& pass, Place to, K k) {
    static_cast<K*>(pass.sorted_keys)[to] = pass.last ? pass.order.bits(k) : k;
  }
};

template <class Place> struct Places {
  typedef Place T;

  static SINTER_FN unsigned row_of(const Pass<Place>& pass, Place place) { return quotient(unsigned(place), pass.row); }
  static SINTER_FN unsigned digit(const Pass<Place>& pass, Place place) {
    return row_of(pass, place) >> pass.shift & (digits - 1);
  }

  template <int items>
  static SINTER_FN void load(const Pass<Place>& pass, long long first, int start, int valid, Place (&p)[items]) {
    if (pass.first) {
#pragma unroll
      for (int e = 0; e < items; e++) p[e] = Place(first) + Place(start + e * 32);
      return;
    }
    const Place* places = pass.places + first + start;
#pragma unroll
    for (int e = 0; e < items; e++) {
      if (start + e * 32 < valid) p[e] = places[e * 32];
    }
  }

  static SINTER_FN void store(const Pass<Place>& pass, Place to, Place from) {
    if (!pass.last) static_cast<Place*>(pass.sorted_places)[to] = from;
    else static_cast<int64*>(pass.sorted_places)[to] = pass.many ? from - row_of(pass, from) * pass.row.divisor : from;
  }
};

template <class First, class Second, class Place, int items> SINTER_FN void sort_pass(Pass<Place>& pass) {
  if (!pass.plan()) return;
  typedef typename First::T A;
  typedef typename Second::T B;
  constexpr int size = items * sort_threads, wide = sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B);
  constexpr int room = size * wide, counters = sort_warps * digits * 4;
  __shared__ __align__(16) unsigned char memory[room > counters ? room : counters];
  __shared__ Place to[digits];  // where in the result slot 0 of the tile would go, by digit
  __shared__ unsigned ticket;
  const int thread = threadIdx.x, warp = thread / 32;
  unsigned(*counts)[digits] = reinterpret_cast<unsigned(*)[digits]>(memory);  // of each warp

  if (thread == 0) ticket = atomicAdd(pass.ticket, 1u);
#pragma unroll
  for (int i = thread; i < sort_warps * digits; i += sort_threads) counts[0][i] = 0;
  __syncthreads();
  const unsigned number = ticket;
  const long long first = (long long)number * size, left = pass.count - first;
  const int valid = left < size ? int(left) : size;

  // Each warp ranks its run of the tile, 32 neighbours at a time.
  const int start = warp * (32 * items) + thread % 32;
  A a[items];
  unsigned slot[items];
  First::load(pass, first, start, valid, a);
  // What lies past the end counts as the last digit, after all elements.
  rank_digits(counts[warp], slot, [&](int e) { return start + e * 32 < valid ? First::digit(pass, a[e]) : digits - 1u; });
  __syncthreads();

  // Counts become where in the sorted tile a warp's elements of a digit start.
  // Thread d has digit d.
  unsigned count = 0;
  if (thread < digits) {
#pragma unroll
    for (int w = 0; w < sort_warps; w++) {
      const unsigned n = counts[w][thread];
      counts[w][thread] = count;
      count += n;
    }
  }
  Place* own = pass.states + ((long long)number * digits + (thread < digits ? thread : 0));
  if (thread < digits) store_relaxed(own, state<Place>(count, 1));
  const unsigned smaller = exclusive_digits(count);
  if (thread < digits) {
#pragma unroll
    for (int w = 0; w < sort_warps; w++) counts[w][thread] += smaller;
  }
  __syncthreads();
#pragma unroll
  for (int e = 0; e < items; e++) slot[e] = (slot[e] & 0xffff) + counts[warp][slot[e] >> 16];
  __syncthreads();
  A* as = reinterpret_cast<A*>(memory);
#pragma unroll
  for (int e = 0; e < items; e++) as[slot[e]] = a[e];
  if (thread < digits) to[thread] = pass.before[thread] + look_back(own, number, Place(count)) - smaller;
  __syncthreads();

  // Slots of the sorted tile, whose runs of one digit go to neighbours.
  Place at[items];
#pragma unroll
  for (int e = 0; e < items; e++) {
    const int j = e * sort_threads + thread;
    if (j < valid) {
      const A v = as[j];
      at[e] = to[First::digit(pass, v)] + j;
      First::store(pass, at[e], v);
    }
  }
  B b[items];
  Second::load(pass, first, start, valid, b);
  __syncthreads();
  B* bs = reinterpret_cast<B*>(memory);
#pragma unroll
  for (int e = 0; e < items; e++) bs[slot[e]] = b[e];
  __syncthreads();
#pragma unroll
  for (int e = 0; e < items; e++) {
    const int j = e * sort_threads + thread;
    if (j < valid) Second::store(pass, at[e], bs[j]);
  }
}

template <class K, class Place>
SINTER_FN void sort_histogram(const K* x, long long count, const Order& order, Place* counts) {
  constexpr int each = 8;
  __shared__ unsigned here[sizeof(K)][digits];
#pragma unroll 1
  for (int i = threadIdx.x; i < int(sizeof(K)) * digits; i += blockDim.x) here[0][i] = 0;
  __syncthreads();
  const long long step = (long long)gridDim.x * blockDim.x * each;
#pragma unroll 1
  for (long long base = (long long)blockIdx.x * blockDim.x * each + threadIdx.x; base < count; base += step) {
    K k[each];
#pragma unroll
    for (int e = 0; e < each; e++) {
      if (base + e * blockDim.x < count) k[e] = x[base + e * blockDim.x];
    }
#pragma unroll
    for (int e = 0; e < each; e++) {
      if (base + e * blockDim.x >= count) break;
      const K rank = order.rank(order.key(k[e]));
#pragma unroll
      for (int d = 0; d < int(sizeof(K)); d++) atomicAdd(&here[d][unsigned(rank >> (8 * d)) & (digits - 1)], 1u);
    }
  }
  __syncthreads();
#pragma unroll 1
  for (int i = threadIdx.x; i < int(sizeof(K)) * digits; i += blockDim.x) {
    if (here[0][i] != 0) atomicAdd(counts + i, Place(here[0][i]));
  }
}

template <class Place>
SINTER_FN void sort_scan(Place* counts, unsigned* active, int key_digits, long long rows, long long n) {
  Place count;
  bool one = false;  // of the digits has all elements
  if (int(blockIdx.x) < key_digits) {
    count = counts[blockIdx.x * digits + threadIdx.x];
    one = count == Place(rows * n);
  } else {
    // Of rows numbers, run have a digit and its higher digits in common.
    const long long run = 1LL << 8 * (blockIdx.x - key_digits);
    long long left = rows % (run * digits) - (long long)threadIdx.x * run;
    left = left < 0 ? 0 : left > run ? run : left;
    count = Place((rows / (run * digits) * run + left) * n);
  }
  one = __syncthreads_or(one);
  if (threadIdx.x == 0) active[blockIdx.x] = !one;
  const Place before = exclusive_digits(count);
  counts[blockIdx.x * digits + threadIdx.x] = before;
}

}  // namespace sinter

using namespace sinter;

typedef unsigned long long long_place;

#define SINTER_SORT(N, suffix, Place)                                                                            \
  extern "C" __global__ void __launch_bounds__(512)                                                              \
      sort_histogram_b##N##suffix(const Bits<N>::type* x, long long count, Order order, Place* counts) {         \
    sort_histogram<Bits<N>::type, Place>(x, count, order, counts);                                               \
  }                                                                                                              \
  extern "C" __global__ void __launch_bounds__(sort_threads, 2) sort_pass_b##N##suffix(Pass<Place> pass) {       \
    sort_pass<Keys<Bits<N>::type, Place>, Places<Place>, Place, sort_items<Bits<N>::type, Place>()>(pass);                                                                \
  }
#define SINTER_SORT_ROWS(N)                                                                              \
  extern "C" __global__ void __launch_bounds__(sort_threads, 2) sort_row_pass_b##N(Pass<unsigned> pass) { \
    sort_pass<Places<unsigned>, Keys<Bits<N>::type, unsigned>, unsigned, sort_items<Bits<N>::type, unsigned>()>(pass);                                                      \
  }
SINTER_SORT(1, , unsigned)
SINTER_SORT(2, , unsigned)
SINTER_SORT(4, , unsigned)
SINTER_SORT(8, , unsigned)
SINTER_SORT(1, _long, long_place)
SINTER_SORT(2, _long, long_place)
SINTER_SORT(4, _long, long_place)
SINTER_SORT(8, _long, long_place)
SINTER_SORT_ROWS(1)
SINTER_SORT_ROWS(2)
SINTER_SORT_ROWS(4)
SINTER_SORT_ROWS(8)

extern "C" __global__ void __launch_bounds__(digits) sort_scan(unsigned* counts, unsigned* active, int key_digits,
                                                                           long long rows, long long n) {
  sort_scan<unsigned>(counts, active, key_digits, rows, n);
}
extern "C" __global__ void __launch_bounds__(digits)
    sort_scan_long(long_place* counts, unsigned* active, int key_digits, long long rows, long long n) {
  sort_scan<long_place>(counts, active, key_digits, rows, n);
}
