// Launches an embedded kernel: links neither the compiler nor LLVM.
#include <cstdio>
#include <vector>

#include "embedded_kernels.hpp"

int main() {
  std::vector<float> x(1000, 2.0F), y(1000);
  launch(tegula::host_stream(), embedded_kernels::tripled, x, y);
  for (float const value : y)
    if (value != 6.0F) return 1;
  std::puts("embedded: ok");
}
