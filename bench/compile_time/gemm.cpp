// Instantiates one kernel and its launch, to be compiled only.
#include <tegula/tegula.hpp>

#include "kernels.hpp"

using Matrix = tegula::buffer<tegula::bf16, 2>;

void run(tegula::stream const& order, Matrix& a, Matrix& b, tegula::buffer<float>& bias, Matrix& c) {
  launch(order, samples::gemm<128, 256, 64>(samples::bias_relu), a, b, bias, c);
}
