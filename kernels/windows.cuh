// Windows that a kernel moves over the spatial axes of a tensor, for poolings and
// convolutions.

#pragma once

#include "space.cuh"

namespace sinter {

// Windows are how a kernel lies over axes, of which there may be fewer: those in
// front then have extent 1. Axes go from the outermost in. Positions of the
// input, and places of the kernel, are less than 2^31.
template <int axes> struct Windows {
  int in[axes], out[axes], kernel[axes], stride[axes], padding[axes], dilation[axes];
  long long in_size;  // the product of in
  Divider out_by[axes], in_by[axes], kernel_by[axes];

  // split writes the coordinates of position i of extents.
  static SINTER_FN void split(unsigned i, const int (&extents)[axes], const Divider (&by)[axes], int (&at)[axes]) {
#pragma unroll
    for (int a = axes - 1; a > 0; a--) {
      unsigned q = quotient(i, by[a]);
      at[a] = int(i - q * unsigned(extents[a]));
      i = q;
    }
    at[0] = int(i);
  }
};

}  // namespace sinter
