// Is a program that embeds kernels and links the runtime alone.
#include <cstdio>
#include <vector>

#include "aot_client_kernels.hpp"

int main() {
  std::vector<float> a(5000, 1.5F), b(5000, 2.0F), y(5000);
  launch(tegula::host_stream(), aot_client_kernels::scaled_sum, a, b, 2.0F, y);
  for (float const value : y)
    if (value != 5.0F) return 1;
  std::puts("aot client: ok");
}
