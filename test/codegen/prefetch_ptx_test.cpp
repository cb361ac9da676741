// Tests that a matrix times a vector starts early, and prefetches its matrix before it waits for the previous kernel.
#include <string>

#include "compiler/compile.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"
#include "tegula/dsl/dsl.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

template <class K>
std::string ptx_of(K const& k) {
  CompileOptions options;
  options.target = Target::cuda;
  auto module = module_of(k.trace().text());
  return compiler::compile(module, options).image;
}

int count(std::string const& text, std::string const& word) {
  int result = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++result;
  return result;
}

constexpr auto vector_product = kernel("vector_product", [](in<float, 2> w, in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 16>);
  tile all = sum(load(w, shape<16, 256>, g[1], 0) * load(x, shape<1, 256>, g[0], 0), axis<1>);
  store(y, shape<1, 16>, reshape(all, shape<1, 16>), g[0], g[1]);
});

constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<16>);
  store(y, shape<16>, squeeze(sum(load(x, shape<16, 256>, g[0], 0), axis<1>), axis<1>), g[0]);
});

constexpr auto tensor_product = kernel("tensor_product", [](in<f16, 2> a, in<f16, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  tile sums = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) { return dot(load(a, shape<64, 64>, g[0], k), load(b, shape<64, 64>, k, g[1]), sum); },
      stages<3>);
  store(y, shape<64, 64>, sums, g[0], g[1]);
});

}  // namespace

TEST_CASE("a matrix times a vector prefetches its tensors and then waits for the previous kernel") {
  std::string const ptx = ptx_of(vector_product);
  CHECK(count(ptx, "cp.async.bulk.prefetch.L2.global") == 2);
  std::size_t const wait = ptx.find("griddepcontrol.wait");
  REQUIRE(wait != std::string::npos);
  CHECK(ptx.rfind("cp.async.bulk.prefetch.L2.global") < wait);
  CHECK(ptx.find("ld.global") > wait);
}

TEST_CASE("other kernels prefetch nothing") {
  CHECK(count(ptx_of(row_sums), "griddepcontrol") == 0);
  CHECK(count(ptx_of(tensor_product), "griddepcontrol.wait") == 1);
  CHECK(count(ptx_of(tensor_product), "cp.async.bulk.prefetch.L2") == 0);
}
