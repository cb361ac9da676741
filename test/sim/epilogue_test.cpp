// Ends of products that load a residual and a bias: right on the host, as tiles and warp by warp, where tiles cross the
// tensors' borders.
#include <tegula/tegula.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/each_way.hpp"
#include "tegula/jit/budget.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr auto fused = kernel("fused", [](in<bf16, 2> x, in<bf16, 2> w, in<float, 1> bias, in<bf16, 2> r,
                                          out<float, 2> y) {
  auto g = grid_over(y, shape<128, 128>);
  tile sums = loop(
      ceil_div(x.extent(1), 32), zeros<float>(shape<128, 128>),
      [&](auto k, auto sum) { return dot(load(x, shape<128, 32>, g[0], k), load(w, shape<32, 128>, k, g[1]), sum); },
      stages<2>);
  tile z = sums + expand_dims(load(bias, shape<128>, g[1]), axis<0>);
  tile act = 0.5F * z * (1 + tanh(0.7978845608F * (z + 0.044715F * z * z * z)));
  store(y, shape<128, 128>, act + cast<float>(load(r, shape<128, 128>, g[0], g[1])), g[0], g[1]);
});

/// A product with bias and residual is stored, and the maxima and the sums of squares of its rows in each block.
template <int rows, int columns>
constexpr auto with_maxima = kernel("with_maxima", [](in<bf16, 2> x, in<bf16, 2> w, in<float, 1> bias, in<bf16, 2> r,
                                                      out<bf16, 2> y, out<float, 2> maxima, out<float, 2> squares) {
  auto g = grid_over(y, shape<rows, columns>);
  tile sums = loop(
      ceil_div(x.extent(1), 32), zeros<float>(shape<rows, columns>),
      [&](auto k, auto sum) {
        return dot(load(x, shape<rows, 32>, g[0], k), load(w, shape<32, columns>, k, g[1]), sum);
      },
      stages<2>);
  tile z = sums + expand_dims(load(bias, shape<columns>, g[1]), axis<0>) +
           cast<float>(load(r, shape<rows, columns>, g[0], g[1]));
  store(maxima, shape<rows, 1>, max(abs(z), axis<1>), g[0], g[1]);
  store(y, shape<rows, columns>, cast<bf16>(z), g[0], g[1]);
  store(squares, shape<rows, 1>, sum(z * z, axis<1>), g[0], g[1]);
});

/// A product is added to what is there, and the maxima of the new rows are kept.
constexpr auto onto_with_maxima = kernel("onto_with_maxima", [](in<bf16, 2> x, in<bf16, 2> w, inout<bf16, 2> y,
                                                                out<float, 2> maxima) {
  auto g = grid_over(y, shape<128, 256>);
  tile sums = loop(
      ceil_div(x.extent(1), 32), zeros<float>(shape<128, 256>),
      [&](auto k, auto sum) { return dot(load(x, shape<128, 32>, g[0], k), load(w, shape<32, 256>, k, g[1]), sum); },
      stages<2>);
  tile z = sums + cast<float>(load(y, shape<128, 256>, g[0], g[1]));
  store(maxima, shape<128, 1>, max(z, axis<1>), g[0], g[1]);
  store(y, shape<128, 256>, cast<bf16>(z), g[0], g[1]);
});

struct Products {
  std::vector<bf16> x, w;
  [[nodiscard]] double product(std::int64_t i, std::int64_t j, std::int64_t depth, std::int64_t columns) const {
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) sum += at(x, i * depth + k) * at(w, k * columns + j);
    return sum;
  }
};

/// Checks the chunks' own loads of a tensor, and that no values go to local memory.
template <class F>
void check_chunks(Kernel<F> const& kernel, std::string const& tensor, std::string const& whole) {
  KernelFacts const seen = facts(kernel);
  INFO(seen.str());
  for (AccessPath const& load : seen.loads)
    if (load.memory == tensor) CHECK(load.tile != whole);
  for (DotPath const& dot : seen.dots) CHECK(dot.path == Path::wgmma);
  CHECK(seen.spill_bytes <= 0);  // -1 where there is no ptxas
}

template <int block_rows, int block_columns>
void check_maxima(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  INFO(block_rows << "x" << block_columns);
  Products const of{drawn<bf16>(rows * depth, 5), drawn<bf16>(depth * columns, 6)};
  auto const r = drawn<bf16>(rows * columns, 7);
  auto const bias = drawn<float>(columns, 8);
  std::int64_t const blocks = (columns + block_columns - 1) / block_columns;
  std::vector<float> maxima, squares;
  each_way<bf16>(
      static_cast<std::size_t>(rows * columns),
      [&](auto const& way, bf16* y) {
        maxima.assign(static_cast<std::size_t>(rows * blocks), 99);
        squares = maxima;
        way(with_maxima<block_rows, block_columns>, view(of.x.data(), rows, depth), view(of.w.data(), depth, columns),
            view(bias.data(), columns), view(r.data(), rows, columns), view(y, rows, columns),
            view(maxima.data(), rows, blocks), view(squares.data(), rows, blocks));
      },
      [&](std::vector<bf16> const& found) {
        double worst = 0, worst_max = 0, worst_sum = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t block = 0; block < blocks; ++block) {
            double most = 0, sum = 0;
            for (std::int64_t j = block * block_columns; j < std::min(columns, (block + 1) * block_columns); ++j) {
              double const z = of.product(i, j, depth, columns) + at(bias, j) + at(r, i * columns + j);
              worst = std::max(worst, std::fabs(at(found, i * columns + j) - z) / (1 + std::fabs(z)));
              most = std::max(most, std::fabs(z));
              sum += z * z;
            }
            worst_max = std::max(worst_max, std::fabs(at(maxima, i * blocks + block) - most));
            worst_sum = std::max(worst_sum, std::fabs(at(squares, i * blocks + block) / sum - 1));
          }
        CHECK(worst <= 0x1p-8);
        CHECK(worst_max <= 1e-4);
        CHECK(worst_sum <= 1e-4);
      });
}

}  // namespace

TEST_CASE("chunks that are stored are reduced one after another") {
  check_maxima<128, 160>(130, 168, 72);
  check_maxima<64, 448>(70, 456, 40);
  check_chunks(with_maxima<128, 160>, "in3", "128x160xbf16");
  check_chunks(with_maxima<64, 448>, "in3", "64x448xbf16");
}

TEST_CASE("a result that is read and written is loaded, reduced and stored chunk by chunk") {
  std::int64_t const rows = 136, columns = 264, depth = 40, blocks = 2;
  Products const of{drawn<bf16>(rows * depth, 9), drawn<bf16>(depth * columns, 10)};
  auto const old = drawn<bf16>(rows * columns, 11);
  std::vector<float> maxima;
  each_way<bf16>(
      old.size(),
      [&](auto const& way, bf16* y) {
        std::copy(old.begin(), old.end(), y);
        maxima.assign(static_cast<std::size_t>(rows * blocks), 99);
        way(onto_with_maxima, view(of.x.data(), rows, depth), view(of.w.data(), depth, columns), view(y, rows, columns),
            view(maxima.data(), rows, blocks));
      },
      [&](std::vector<bf16> const& found) {
        double worst = 0, worst_max = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t block = 0; block < blocks; ++block) {
            bool const whole = (block + 1) * 256 <= columns;  // else elements behind the tensor are 0
            double most = whole ? -1e30 : 0;
            for (std::int64_t j = block * 256; j < std::min(columns, (block + 1) * 256); ++j) {
              double const z = of.product(i, j, depth, columns) + at(old, i * columns + j);
              worst = std::max(worst, std::fabs(at(found, i * columns + j) - z) / (1 + std::fabs(z)));
              most = std::max(most, z);
            }
            worst_max = std::max(worst_max, std::fabs(at(maxima, i * blocks + block) - most));
          }
        CHECK(worst <= 0x1p-8);
        CHECK(worst_max <= 1e-4);
      });
  check_chunks(onto_with_maxima, "inout2", "128x256xbf16");
}

TEST_CASE("residual: the chunks of a result load their parts of it") {
  std::int64_t const rows = 136, columns = 152, depth = 72;
  auto const x = drawn<bf16>(rows * depth, 1), w = drawn<bf16>(depth * columns, 2), r = drawn<bf16>(rows * columns, 3);
  auto const bias = drawn<float>(columns, 4);
  each_way<float>(
      static_cast<std::size_t>(rows * columns),
      [&](auto const& way, float* y) {
        way(fused, view(x.data(), rows, depth), view(w.data(), depth, columns), view(bias.data(), columns),
            view(r.data(), rows, columns), view(y, rows, columns));
      },
      [&](std::vector<float> const& found) {
        double worst = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            double z = at(bias, j);
            for (std::int64_t k = 0; k < depth; ++k) z += at(x, i * depth + k) * at(w, k * columns + j);
            double const act = 0.5 * z * (1 + std::tanh(0.7978845608 * (z + 0.044715 * z * z * z)));
            worst = std::max(worst, std::fabs(at(found, i * columns + j) - act - at(r, i * columns + j)));
          }
        CHECK(worst <= 1e-4);
      });
  KernelFacts const seen = facts(fused);
  INFO(seen.str());
  for (AccessPath const& load : seen.loads)
    if (load.memory == "in3") CHECK(load.tile != "128x128xbf16");
  CHECK(seen.spill_bytes <= 0);
}
