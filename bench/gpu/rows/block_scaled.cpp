// Lists the rows of products of e4m3 with scales of blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

/// Describes groups with weights of their own: number, mean rows, room of each (0: they lie one after the other), and
/// columns and depth.
struct Groups {
  std::int64_t count, mean, room, n, k;
  explicit Groups(Extents const& extents)
      : count(extents.at(0)), mean(extents.at(1)), room(extents.at(2)), n(extents.at(3)), k(extents.at(4)) {}
  /// Returns the rows of each group: 0.7 to 1.3 times the mean.
  [[nodiscard]] std::vector<std::int64_t> sizes(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::vector<std::int64_t> result;
    for (std::int64_t i = 0; i < count; ++i) {
      double const share = 0.7 + 0.6 * static_cast<double>(random() % 1000) / 1000;
      auto const rows = static_cast<std::int64_t>(share * static_cast<double>(mean));
      result.push_back(std::max<std::int64_t>(room == 0 ? rows : std::min(rows, room), 1));
    }
    return result;
  }
};

constexpr std::int64_t group_alignment = 128;  ///< of the rows where a group begins

/// Compares one element: row i of a with row j of the weights of a group.
void compare_scaled(Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row, std::int64_t j,
                    std::int64_t group, Groups const& of) {
  HostTensor const &a = in.at("A"), &b = in.at("B"), &of_a = in.at("a_scales"), &of_b = in.at("b_scales");
  std::int64_t const blocks = of.k / block, column = group * of.n + j, of_n = of.n / block;
  double sum = 0, size = 0;
  for (std::int64_t l = 0; l < of.k; ++l) {
    double const scale = of_a.at(row * blocks + l / block) * of_b.at((group * of_n + j / block) * blocks + l / block);
    double const term = a.at(row * of.k + l) * b.at(column * of.k + l) * scale;
    sum += term;
    size += term * term;
  }
  verdict.compare(out, row * of.n + j, sum, 1.1 * rounding(Element::bf16, sum) + 4e-3 * std::sqrt(size) + 1e-6);
}

/// Rows of groups lie one after the other, or with room for each: (groups, room, ...) has as many rows.
Problem groups_problem(Extents const& extents, std::uint64_t seed) {
  Groups const of(extents);
  std::vector<std::int64_t> const sizes = of.sizes(seed);
  std::vector<std::int64_t> first, group_of_block;
  std::int64_t m = 0, wanted = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    first.push_back(m);
    m += of.room != 0 ? of.room : (sizes[i] + group_alignment - 1) / group_alignment * group_alignment;
    group_of_block.resize(static_cast<std::size_t>(m / group_alignment), static_cast<std::int64_t>(i));
    wanted += sizes[i];
  }
  bool const apart = of.room != 0;
  auto const shape = [&](std::int64_t inner) { return apart ? Extents{of.count, of.room, inner} : Extents{m, inner}; };
  Problem problem{{}, Element::bf16, shape(of.n), wanted * of.n, {}};
  problem.inputs["A"] = normal(Element::e4m3, shape(of.k), seed);
  problem.inputs["B"] = normal(Element::e4m3, {of.count, of.n, of.k}, seed + 1);
  problem.inputs["a_scales"] = scales(shape(of.k / block), seed + 2);
  problem.inputs["b_scales"] = scales({of.count, of.n / block, of.k / block}, seed + 3);
  HostTensor groups(Element::i32, {apart ? of.count : m});
  for (std::int64_t i = 0; i < groups.size(); ++i) {
    auto const group = static_cast<std::size_t>(i / group_alignment);
    groups.set(i, static_cast<double>(apart ? sizes[static_cast<std::size_t>(i)] : group_of_block[group]));
  }
  problem.inputs["groups"] = std::move(groups);
  problem.partial = apart;
  problem.work = 2 * wanted * of.n * of.k;
  problem.shape = shape_text(extents);
  problem.compare = [of, sizes, first](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    constexpr std::uint64_t spread = 0x9E3779B97F4A7C15;
    if (out.size() > 65536 && (static_cast<std::uint64_t>(part) * spread >> 40) % 4096 != 0) return;
    std::size_t group = 0;
    std::int64_t row = part / of.n;
    while (row >= sizes[group]) row -= sizes[group++];
    compare_scaled(verdict, in, out, first[group] + row, part % of.n, static_cast<std::int64_t>(group), of);
  };
  return problem;
}

template <int BM, int BN>
Side groups_side() {
  return {fmt::format("tiles of {} x {}", BM, BN), [](Workload const& work, int set) {
            return prepare(samples::block_scaled_groups<BM, BN>, work.view<e4m3, 2>(set, "A"),
                           work.view<float, 2>(set, "a_scales"), work.view<e4m3, 3>(set, "B"),
                           work.view<float, 3>(set, "b_scales"), work.view<int, 1>(set, "groups"),
                           work.view<bf16, 2>(set, "Y"));
          }};
}

template <int BM, int BN>
Side batch_side() {
  return {fmt::format("tiles of {} x {}", BM, BN), [](Workload const& work, int set) {
            return prepare(samples::block_scaled_batch<BM, BN>, work.view<e4m3, 3>(set, "A"),
                           work.view<float, 3>(set, "a_scales"), work.view<e4m3, 3>(set, "B"),
                           work.view<float, 3>(set, "b_scales"), work.view<int, 1>(set, "groups"),
                           work.view<bf16, 3>(set, "Y"));
          }};
}

Row groups_row(Extents extents, double rate) {
  bool const apart = extents.at(2) != 0;
  Row result{"block-scaled e4m3 of groups",
             fmt::format("gpu groups of block-scaled e4m3{}", apart ? ", with room" : ""),
             std::move(extents),
             {2, 100, apart ? 256 : 0, 256, 384}};
  result.make = [](stream const& order, Extents const& of, std::uint64_t seed, bool one_set) {
    return make_memory_work(order, groups_problem(of, seed), one_set);
  };
  result.bar = Bar{"DeepGEMM", rate};
  if (!apart)
    result.sides = {groups_side<128, 128>()};
  else
    result.sides = {batch_side<128, 128>(), batch_side<64, 128>()};
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
  std::pair<Extents, double> const groups[] = {{{4, 8192, 0, 4096, 7168}, 1376},    {{4, 8192, 0, 7168, 2048}, 1300},
                                               {{8, 4096, 0, 4096, 7168}, 1357},    {{64, 256, 0, 1408, 2048}, 845},
                                               {{6, 1024, 2048, 4096, 7168}, 1257}, {{32, 192, 512, 4096, 7168}, 955},
                                               {{32, 20, 128, 4096, 7168}, 156}};
  for (auto const& [extents, rate] : groups) rows.push_back(groups_row(extents, rate));
  rows[8].codes = {code("block-scaled groups 128x128", samples::block_scaled_groups<128, 128>),
                   code("block-scaled batch 64x128", samples::block_scaled_batch<64, 128>)};
  return rows;
}

}  // namespace tegula::bench
