// Instantiates one kernel and its launch, to be compiled only.
#include <tegula/tegula.hpp>

#include "kernels.hpp"

using Heads = tegula::buffer<tegula::bf16, 3>;

void run(tegula::stream const& order, Heads& q, Heads& k, Heads& v, Heads& o, float scale) {
  launch(order, samples::attention<128, 128, 64>, q, k, v, o, scale);
}
