// Tests the error of products of precision tf32x3, also where warps hold copies.
#include <fmt/format.h>

#include <cmath>
#include <random>

#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

struct Product {
  int m, n, k, warps;
  bool turned;    ///< the left operand is loaded transposed
  bool by_lanes;  ///< some of the three products are
};

std::string text_of(Product const& p) {
  auto const tile = [](int rows, int columns) { return fmt::format("tile<{}x{}xf32>", rows, columns); };
  std::string const load = p.turned ? "  %t = load %x, %zero, %zero : " + tile(p.k, p.m) +
                                          "\n  %a = trans %t {permutation = [1, 0]} : " + tile(p.m, p.k)
                                    : "  %a = load %x, %zero, %zero : " + tile(p.m, p.k);
  return "tegula-ir 1\n\nkernel @k(%x: in tensor<?x?xf32>, %y: in tensor<?x?xf32>, %z: out tensor<?x?xf32>) {\n"
         "  %zero = constant {value = 0 : i64} : i64\n" +
         load + "\n  %b = load %y, %zero, %zero : " + tile(p.k, p.n) +
         "\n  %none = constant {value = 0 : f32} : " + tile(p.m, p.n) +
         "\n  %d = dot %a, %b, %none {precision = tf32x3} : " + tile(p.m, p.n) +
         "\n  store %z, %d, %zero, %zero\n  return\n}\n";
}

HostTensor drawn(Extents const& extents, std::mt19937_64& random) {
  HostTensor result(Element::f32, extents);
  for (std::int64_t i = 0; i < result.count(); ++i)
    result.set_number(i, std::ldexp(static_cast<double>(random() >> 40), -24) - 0.5);
  return result;
}

}  // namespace

TEST_CASE("a product of tf32x3 has an error of 2^-19, by tensor cores and by lanes", "[sim][F27]") {
  std::mt19937_64 random(1);
  for (Product const& p :
       {Product{16, 8, 16, 0, false, false}, Product{64, 64, 64, 4, false, false}, Product{16, 8, 8, 4, false, false},
        Product{8, 8, 8, 0, false, false}, Product{32, 32, 64, 16, false, false}, Product{16, 8, 32, 2, false, false},
        Product{24, 40, 12, 0, false, false}, Product{8, 8, 8, 0, true, false}}) {
    INFO(p.m << "x" << p.n << "x" << p.k << " by " << p.warps << " warps" << (p.turned ? ", turned" : ""));
    CompileOptions options = gemm_options();
    options.facts.clear();
    options.warps = p.warps;
    ir::Module const lowered = compiler::lower(module_of(text_of(p)), options);
    CHECK((ir::print(lowered).find("by_lanes") != std::string::npos) == p.by_lanes);
    HostTensor a = drawn(p.turned ? Extents{p.k, p.m} : Extents{p.m, p.k}, random), b = drawn({p.k, p.n}, random);
    HostTensor c(Element::f32, {p.m, p.n});
    auto const result = sim::block::run(lowered.kernel(), {a.view(), b.view(), c.view()});
    INFO(result.str());
    REQUIRE(result.clean());
    double worst = 0;
    for (int i = 0; i < p.m; ++i)
      for (int j = 0; j < p.n; ++j) {
        double sum = 0, size = 0;
        for (int k = 0; k < p.k; ++k) {
          double const product = a.number(p.turned ? k * p.m + i : i * p.k + k) * b.number(k * p.n + j);
          sum += product;
          size += std::fabs(product);
        }
        worst = std::max(worst, std::fabs(c.number(i * p.n + j) - sum) / size);
      }
    CHECK(worst < 0x1p-19 + p.k * 0x1p-23);  // and the rounding of sums
  }
}
