// Lists the rows of products of e4m3 with scales of blocks.
#include <cmath>
#include <string>
#include <utility>

#include "../../../samples/block_scaled_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

using samples::ScaleOrder;

constexpr std::int64_t block = samples::scale_block;

/// Makes scales between 0.5 and 1.5.
HostTensor scales(Extents extents, std::uint64_t seed) {
  HostTensor result = normal(Element::f32, std::move(extents), seed, 0.25);
  for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, 1 + std::min(std::max(result.at(i), -0.5), 0.5));
  return result;
}

/// Extents are rows and columns of the result, and depth.
template <ScaleOrder order>
Problem product_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const m = extents.at(0), n = extents.at(1), k = extents.at(2), blocks = (k + block - 1) / block;
  constexpr bool rows_first = order == ScaleOrder::rows_first;
  Problem problem{{}, Element::bf16, {m, n}, m * n, {}};
  problem.inputs["A"] = normal(Element::e4m3, {m, k}, seed);
  problem.inputs["B"] = normal(Element::e4m3, {n, k}, seed + 1);
  problem.inputs["a_scales"] = scales(rows_first ? Extents{m, blocks} : Extents{blocks, m}, seed + 2);
  problem.inputs["b_scales"] = scales({(n + block - 1) / block, blocks}, seed + 3);
  problem.work = 2 * m * n * k;
  problem.shape = shape_text(extents);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    HostTensor const &a = in.at("A"), &b = in.at("B"), &of_a = in.at("a_scales"), &of_b = in.at("b_scales");
    std::int64_t const columns = out.extents()[1], depth = a.extents()[1], i = part / columns, j = part % columns;
    std::int64_t const rows = out.extents()[0], of_depth = (depth + block - 1) / block;
    constexpr std::uint64_t spread = 0x9E3779B97F4A7C15;
    if (rows * columns > 65536 && (static_cast<std::uint64_t>(part) * spread >> 40) % 4096 != 0) return;
    double sum = 0, size = 0;
    for (std::int64_t l = 0; l < depth; ++l) {
      double const scale = of_a.at(rows_first ? i * of_depth + l / block : l / block * rows + i) *
                           of_b.at(j / block * of_depth + l / block);
      double const term = a.at(i * depth + l) * b.at(j * depth + l) * scale;
      sum += term;
      size += term * term;
    }
    // The tensor cores keep about 14 bits of sums of e4m3 before they are scaled.
    verdict.compare(out, part, sum, 1.1 * rounding(Element::bf16, sum) + 4e-3 * std::sqrt(size) + 1e-6);
  };
  return problem;
}

template <int BM, int BN, ScaleOrder order>
Side side(std::string name, CompileOptions const& options = {}) {
  return {std::move(name), [options](Workload const& work, int set) {
            return prepare(with(options), samples::block_scaled_product<BM, BN, order>, work.view<e4m3, 2>(set, "A"),
                           work.view<float, 2>(set, "a_scales"), work.view<e4m3, 2>(set, "B"),
                           work.view<float, 2>(set, "b_scales"), work.view<bf16, 2>(set, "Y"));
          }};
}

template <ScaleOrder order>
Row row(std::string const& scales_of_rows, Extents extents, double rate) {
  Row result{"block-scaled e4m3, 1 x 128 by 128 x 128",
             "gpu product block-scaled e4m3, " + scales_of_rows,
             std::move(extents),
             {72, 136, 400}};
  result.make = [](stream const& order_of_work, Extents const& of, std::uint64_t seed, bool one_set) {
    return make_memory_work(order_of_work, product_problem<order>(of, seed), one_set);
  };
  result.bar = Bar{"DeepGEMM", rate};
  bool const few = result.extents[0] <= 64;
  result.graph = result.extents[0] <= 128;
  if (few)
    result.sides = {side<64, 64, order>("tiles of 64 x 64"), side<64, 128, order>("tiles of 64 x 128")};
  else
    result.sides = {side<128, 128, order>("tiles of 128 x 128")};
  result.codes = {code("block-scaled 128x128, " + scales_of_rows, samples::block_scaled_product<128, 128, order>),
                  code("block-scaled 64x64, " + scales_of_rows, samples::block_scaled_product<64, 64, order>)};
  return result;
}

}  // namespace

std::vector<Row> block_scaled_rows() {
  std::vector<Row> rows;
  std::pair<Extents, double> const sizes[] = {
      {{4096, 4096, 7168}, 1401}, {{4096, 7168, 16384}, 1437}, {{128, 7168, 16384}, 705}, {{64, 4096, 7168}, 326}};
  for (auto const& [extents, rate] : sizes) {
    rows.push_back(row<ScaleOrder::rows_first>("scales (M, K / 128)", extents, rate));
    rows.push_back(row<ScaleOrder::blocks_first>("scales (K / 128, M)", extents, rate));
  }
  return rows;
}

}  // namespace tegula::bench
