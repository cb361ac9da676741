// Lists the rows of products with weights of 4 bits.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "../../../samples/four_bit_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr int group = 128;

/// Returns a weight as the kernel computes it: both steps are rounded to bf16.
double weight(Inputs const& in, std::int64_t n, std::int64_t k) {
  std::int64_t const depth = in.at("X").extents()[1];
  auto const byte = static_cast<int>(in.at("q").at(n * (depth / 2) + k / 2));
  std::int64_t const at = n * (depth / group) + k / group;
  double const moved =
      static_cast<double>(bf16(static_cast<float>((k % 2 == 0 ? byte & 15 : byte >> 4) - in.at("zeros").at(at))));
  return static_cast<double>(bf16(static_cast<float>(moved * in.at("scales").at(at))));
}

/// Extents are rows of x, columns of the result, and depth.
Problem product_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const m = extents.at(0), n = extents.at(1), k = extents.at(2);
  Problem problem{{}, Element::bf16, {m, n}, m * n, {}};
  problem.inputs["X"] = normal(Element::bf16, {m, k}, seed);
  HostTensor q(Element::u8, {n, k / 2}), zeros(Element::bf16, {n, k / group});
  std::mt19937_64 engine(seed);
  for (std::int64_t i = 0; i < q.size(); i += 8) {
    std::uint64_t const bits = engine();
    for (std::int64_t j = i; j < std::min(i + 8, q.size()); ++j)
      q.set(j, static_cast<std::uint8_t>(bits >> (j - i) * 8));
  }
  for (std::int64_t i = 0; i < zeros.size(); ++i) zeros.set(i, static_cast<double>(engine() % 16));
  problem.inputs["q"] = std::move(q);
  problem.inputs["zeros"] = std::move(zeros);
  problem.inputs["scales"] = normal(Element::bf16, {n, k / group}, seed + 1, 0.1);
  problem.shape = shape_text(extents);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    HostTensor const& x = in.at("X");
    std::int64_t const columns = out.extents()[1], depth = x.extents()[1], i = part / columns, j = part % columns;
    if (columns * x.extents()[0] > 4096 && (part * 0x9E3779B9LL >> 7) % 64 != 0) return;
    double sum = 0, size = 0;
    for (std::int64_t at = 0; at < depth; ++at) {
      double const term = x.at(i * depth + at) * weight(in, j, at);
      sum += term;
      size += term * term;
    }
    verdict.compare(out, part, sum, 1.1 * rounding(Element::bf16, sum) + 1e-4 * std::sqrt(size) + 1e-6);
  };
  return problem;
}

template <int BM, int BN>
Side side(CompileOptions const& options, std::string const& name) {
  return {name, [options](Workload const& work, int set) {
            auto const q = work.view<std::uint8_t, 2>(set, "q");
            return prepare(with(options), samples::four_bit_product<BM, BN, group>, work.view<bf16, 2>(set, "X"), q,
                           work.view<bf16, 2>(set, "scales"), work.view<bf16, 2>(set, "zeros"),
                           work.view<bf16, 2>(set, "Y"));
          }};
}

}  // namespace

std::vector<Row> four_bit_rows() {
  std::vector<Row> rows;
  auto const add = [&](std::int64_t m, std::vector<Side> sides, std::vector<Code> codes) {
    Row row = family_row("4 bits", "weights of 4 bits, groups of 128", {m, 8192, 8192}, {m, 192, 512}, product_problem);
    row.sides = std::move(sides);
    row.codes = std::move(codes);
    row.graph = true;
    rows.push_back(std::move(row));
  };
  CompileOptions const split = {.split = 4}, two = {.split = 2, .persistence = Choice::off};
  for (std::int64_t const m : {1, 4, 16})
    add(m,
        {side<16, 64>({}, "tiles of 16 x 64"), side<16, 64>(two, "tiles of 16 x 64, split in 2"),
         side<16, 128>(split, "tiles of 16 x 128, split in 4"), side<16, 128>(two, "tiles of 16 x 128, split in 2")},
        {code("4 bits, 16 x 64", samples::four_bit_product<16, 64, group>),
         code("4 bits, 16 x 64, split in 2", samples::four_bit_product<16, 64, group>, two),
         code("4 bits, 16 x 128, split in 4", samples::four_bit_product<16, 128, group>, split),
         code("4 bits, 16 x 128, split in 2", samples::four_bit_product<16, 128, group>, two)});
  add(64,
      {side<64, 128>(split, "tiles of 64 x 128, split in 4"), side<64, 256>(split, "tiles of 64 x 256, split in 4")},
      {code("4 bits, 64 x 128, split in 4", samples::four_bit_product<64, 128, group>, split),
       code("4 bits, 64 x 256, split in 4", samples::four_bit_product<64, 256, group>, split)});
  return rows;
}

}  // namespace tegula::bench
