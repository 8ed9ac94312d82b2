// Products of small matrices of float32 of which one extent is small, with a bias for each
// column where one is given. The results are contiguous.

#include "thin.cuh"

namespace sinter {

// A Plain stores elements of a product of n columns.
struct Plain {
  float* out;
  const float* bias;
  int n;
  SINTER_FN void operator()(int row, int column, float sum) const {
    out[(long long)row * n + column] = bias ? sum + bias[column] : sum;
  }
};

}  // namespace sinter

extern "C" __global__ void __launch_bounds__(256) thin_outer(const sinter::Thin p, float* out, const float* bias) {
  sinter::thin_outer(p, sinter::Plain{out, bias, p.n});
}

extern "C" __global__ void __launch_bounds__(128) thin_dot(const sinter::Thin p, float* out, const float* bias) {
  sinter::thin_dot<1>(p, sinter::Plain{out, bias, p.n});
}

extern "C" __global__ void __launch_bounds__(128) thin_dot_vector(const sinter::Thin p, float* out, const float* bias) {
  sinter::thin_dot<4>(p, sinter::Plain{out, bias, p.n});
}
