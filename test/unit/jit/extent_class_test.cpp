// Tests classes of extents: how many CTAs share each tile of a launch that does not fill a GPU.
#include "jit/extent_class.hpp"

#include "support/catch.hpp"
#include "runtime/matrix_argument.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using tegula::runtime::matrix_argument;

namespace {

template <int m, int n>
inline constexpr auto product = kernel("product", [](in<bf16, 2> a, in<bf16, 2> b, out<bf16, 2> c) {
  auto g = grid_over(c, shape<m, n>);
  tile sum = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<m, n>),
      [&](auto i, auto acc) { return dot(load(a, shape<m, 64>, g[0], i), load(b, shape<64, n>, i, g[1]), acc); },
      stages<4>);
  store(c, shape<m, n>, cast<bf16>(sum), g[0], g[1]);
});

/// The loop carries what is not a sum alone.
inline constexpr auto scaled = kernel("scaled", [](in<bf16, 2> a, in<bf16, 2> b, out<bf16, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sum = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto i, auto acc) {
        return 0.5f * dot(load(a, shape<64, 64>, g[0], i), load(b, shape<64, 64>, i, g[1]), acc);
      },
      stages<4>);
  store(c, shape<64, 64>, cast<bf16>(sum), g[0], g[1]);
});

template <class K>
int split_of(K const& kernel, std::int64_t m, std::int64_t n, std::int64_t k, CompileOptions const& options = {}) {
  Argument const arguments[] = {matrix_argument(Element::bf16, m, k), matrix_argument(Element::bf16, k, n),
                                matrix_argument(Element::bf16, m, n)};
  return jit::chosen_split(jit::Traced(kernel.trace()), arguments, options, {&sm_90a, 132});
}

}  // namespace

TEST_CASE("few tiles with a long depth are shared by CTAs, many tiles are not", "[N17]") {
  CHECK(split_of(product<128, 128>, 3, 1536, 6144) == 4);    // clusters of 8 cost more than they save
  CHECK(split_of(product<128, 128>, 300, 1024, 8192) == 4);  // 24 tiles
  CHECK(split_of(product<128, 128>, 1000, 1000, 4096) == 2);
  CHECK(split_of(product<128, 128>, 1024, 1152, 4096) == 1);  // 72 tiles
  CHECK(split_of(product<128, 128>, 4096, 4096, 4096) == 1);
  CHECK(split_of(product<128, 128>, 128, 128, 128) == 1);
  CHECK(split_of(product<128, 128>, 0, 128, 128) == 1);
  CHECK(split_of(product<128, 256>, 100, 1024, 8192) == 2);  // of sums of 128 KB a half fits beside the stages
  CHECK(split_of(product<256, 256>, 100, 1024, 8192) == 1);  // of 256 KB it does not
}

TEST_CASE("a launch keeps the split that its options or its order of sums ask for", "[N17]") {
  CompileOptions options;
  options.split = 1;
  CHECK(split_of(product<128, 128>, 3, 1536, 6144, options) == 1);
  options = {};
  options.exact = true;
  CHECK(split_of(product<128, 128>, 3, 1536, 6144, options) == 1);
  options = {};
  options.plan = "warps=8,wgmma=8x1";
  CHECK(split_of(product<128, 128>, 3, 1536, 6144, options) == 1);
  CHECK(split_of(scaled, 3, 1536, 6144) == 1);
}
