// Copies: elements by their size alone, and fills. Conversions are in convert.cu.

#include "copy.cuh"
#include "elementwise.cuh"

namespace sinter {

// Move is the functor of copies that keep the bits.
struct Move {
  template <class S> SINTER_FN S operator()(long long, S x) const { return x; }
};

#define SINTER_MOVES(S)                      \
  SINTER_ELEMENTWISE_ANY(copy_##S, Move, S, S) \
  SINTER_FILL(fill_##S, S)                   \
  SINTER_TRANSPOSE(transpose_##S, S)         \
  SINTER_NARROW(narrow_##S, S)

SINTER_MOVES(b1)
SINTER_MOVES(b2)
SINTER_MOVES(b4)
SINTER_MOVES(b8)
SINTER_MOVES(b16)

SINTER_SPREAD(spread_b1, b1)
SINTER_SPREAD(spread_b2, b2)
SINTER_SPREAD(spread_b4, b4)
SINTER_SPREAD(spread_b8, b8)

}  // namespace sinter
