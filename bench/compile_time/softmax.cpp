// Instantiates one kernel and its launch, to be compiled only.
#include <tegula/tegula.hpp>

#include "kernels.hpp"

void run(tegula::stream const& order, tegula::buffer<float, 2>& x, tegula::buffer<float, 2>& y) {
  launch(order, samples::softmax<1024>, x, y);
}
