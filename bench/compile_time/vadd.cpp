// Instantiates one kernel and its launch, to be compiled only.
#include <tegula/tegula.hpp>

#include "kernels.hpp"

void run(tegula::stream const& order, tegula::buffer<float>& a, tegula::buffer<float>& b, tegula::buffer<float>& c) {
  launch(order, samples::vadd, a, b, c);
}
