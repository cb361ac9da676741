// Lists the rows of kernels that find the largest of many logits, or draw among them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "../../../samples/sampling_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr std::int64_t wanted = 50;
constexpr float temperature = 0.8F, share = 0.9F;

/// Returns the tokens of a row's largest logits, the largest first, of equal ones the first.
std::vector<std::int64_t> largest(HostTensor const& x, std::int64_t row) {
  std::int64_t const columns = x.extents()[1], from = row * columns;
  std::vector<std::int64_t> tokens(static_cast<std::size_t>(columns));
  std::iota(tokens.begin(), tokens.end(), 0);
  std::partial_sort(tokens.begin(), tokens.begin() + wanted, tokens.end(), [&](std::int64_t a, std::int64_t b) {
    double const left = x.at(from + a), right = x.at(from + b);
    return left > right || (left == right && a < b);
  });
  tokens.resize(static_cast<std::size_t>(wanted));
  return tokens;
}

Problem largest_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::f32, {extents[0], wanted}, extents[0], {}};
  problem.inputs["X"] = normal(Element::f32, extents, seed, 4);
  problem.more.push_back({"tokens", Element::i32, {extents[0], wanted}});
  problem.more.push_back({"maxima",
                          Element::f32,
                          {extents[0], (extents[1] + samples::maximum_group - 1) / samples::maximum_group},
                          false});
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const& x = in.at("X");
    std::vector<std::int64_t> const tokens = largest(x, row);
    for (std::int64_t i = 0; i < wanted; ++i)
      verdict.compare(out, row * wanted + i, x.at(row * x.extents()[1] + tokens[static_cast<std::size_t>(i)]), 0);
  };
  problem.compare_more = [](Verdict& verdict, Inputs const& in, std::string const&, HostTensor const& out) {
    std::int64_t const rows = out.extents()[0], step = std::max<std::int64_t>(1, rows / 32);
    for (std::int64_t row = 0; row < rows; row += step) {
      std::vector<std::int64_t> const tokens = largest(in.at("X"), row);
      for (std::int64_t i = 0; i < wanted; ++i)
        verdict.compare(out, row * wanted + i, static_cast<double>(tokens[static_cast<std::size_t>(i)]), 0.25);
    }
  };
  return problem;
}

/// Any token is right that is wanted: those with higher logits make up less than the share.
Problem draw_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem{{}, Element::i32, {extents[0]}, extents[0], {}};
  problem.inputs["X"] = normal(Element::f32, extents, seed, 4);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t row) {
    HostTensor const& x = in.at("X");
    std::int64_t const columns = x.extents()[1], from = row * columns;
    auto const token = static_cast<std::int64_t>(out.at(row));
    double top = -1e300, total = 0, above = 0;
    for (std::int64_t i = 0; i < columns; ++i) top = std::max(top, x.at(from + i));
    for (std::int64_t i = 0; i < columns; ++i) {
      double const mass = std::exp((x.at(from + i) - top) / static_cast<double>(temperature));
      total += mass;
      if (token >= 0 && token < columns && x.at(from + i) > x.at(from + token)) above += mass;
    }
    bool const inside = token >= 0 && token < columns && above <= (static_cast<double>(share) + 1e-4) * total;
    verdict.compare(out, row, inside ? static_cast<double>(token) : -1, 0.25);
  };
  return problem;
}

using Launch = std::function<void(stream const&)>;

template <int part, int groups>
Launch find_largest(Workload const& work, int set) {
  auto const maxima = work.view<float, 2>(set, "maxima");
  auto const first = prepare(samples::group_maxima<part>, work.view<float, 2>(set, "X"), maxima);
  auto const then = prepare(samples::largest_of_groups<64, groups>, work.view<float, 2>(set, "X"), maxima,
                            work.view<float, 2>(set, "Y"), work.view<int, 2>(set, "tokens"));
  return [=](stream const& on) {
    first(on);
    then(on);
  };
}

template <int part>
Launch draw(Workload const& work, int set) {
  return prepare(samples::draw_top_p<part>, work.view<float, 2>(set, "X"), work.view<int, 1>(set, "Y"), temperature,
                 share, std::int64_t{7});
}

}  // namespace

std::vector<Row> sampling_rows() {
  std::vector<Row> rows;
  Row many = family_row("sampling", "top 50 f32", {128, 131072}, {3, 100003}, largest_problem);
  many.sides = {{"parts of 4096", find_largest<4096, 4096>}, {"parts of 8192", find_largest<8192, 4096>}};
  many.codes = {code("maxima of 32", samples::group_maxima<4096>),
                code("top 64 of 4096 groups", samples::largest_of_groups<64, 4096>)};
  rows.push_back(std::move(many));
  Row few = family_row("sampling", "top 50 f32", {256, 32000}, {5, 3001}, largest_problem);
  few.sides = {{"parts of 4096", find_largest<4096, 4096>}};
  rows.push_back(std::move(few));
  Row top_p = family_row("sampling", "draw, top-p f32", {128, 131072}, {5, 30001}, draw_problem);
  top_p.sides = {{"parts of 16384", draw<16384>}, {"parts of 8192", draw<8192>}};
  top_p.codes = {code("draw by parts of 16384", samples::draw_top_p<16384>)};
  rows.push_back(std::move(top_p));
  for (Row& row : rows) row.graph = true;
  return rows;
}

}  // namespace tegula::bench
