// Lists the rows of attention of one new token (decode).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "../../../samples/decode_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr int heads_of_keys = 4, group = 8, dim = 128;
constexpr int max_splits = 64;

/// Describes a problem: sequences, tokens of each, and tokens of a page; 0: contiguous.
struct Form {
  std::int64_t batch = 0, tokens = 0, page = 0;
  explicit Form(Extents const& extents) : batch(extents.at(0)), tokens(extents.at(1)), page(extents.at(2)) {}
};

/// Returns the row of the cache that holds a token.
std::int64_t row_of(Inputs const& in, Form const& form, std::int64_t sequence, std::int64_t token) {
  if (form.page == 0) return sequence * form.tokens + token;
  std::int64_t const pages = in.at("table").extents()[1];
  auto const page = static_cast<std::int64_t>(in.at("table").at(sequence * pages + token / form.page));
  return page * form.page + token % form.page;
}

/// Compares the outputs of one head of one sequence.
void compare_head(Verdict& verdict, Inputs const& in, Form const& form, HostTensor const& out, std::int64_t part) {
  std::int64_t const sequence = part / (heads_of_keys * group), head = part % (heads_of_keys * group) / group;
  HostTensor const &q = in.at("Q"), &k = in.at("X"), &v = in.at("V");
  auto const length = static_cast<std::int64_t>(in.at("lengths").at(sequence));
  std::vector<double> scores(static_cast<std::size_t>(length)), sums(dim), squares(dim);
  double top = -1e300, total = 0;
  for (std::int64_t t = 0; t < length; ++t) {
    std::int64_t const at = (row_of(in, form, sequence, t) * heads_of_keys + head) * dim;
    double score = 0;
    for (std::int64_t d = 0; d < dim; ++d) score += q.at(part * dim + d) * k.at(at + d);
    scores[static_cast<std::size_t>(t)] = score / std::sqrt(static_cast<double>(dim));
    top = std::max(top, scores[static_cast<std::size_t>(t)]);
  }
  for (double& score : scores) total += score = std::exp(score - top);
  for (std::int64_t t = 0; t < length; ++t) {
    std::int64_t const at = (row_of(in, form, sequence, t) * heads_of_keys + head) * dim;
    for (std::size_t d = 0; d < dim; ++d) {
      double const term = scores[static_cast<std::size_t>(t)] / total * v.at(at + static_cast<std::int64_t>(d));
      sums[d] += term;
      squares[d] += term * term;
    }
  }
  // Weights are rounded to bf16.
  for (std::size_t d = 0; d < dim; ++d)
    verdict.compare(out, part * dim + static_cast<std::int64_t>(d), sums[d],
                    1.1 * rounding(Element::bf16, sums[d]) + 0.02 * std::sqrt(squares[d]) + 1e-6);
}

Problem decode_problem(Extents const& extents, std::uint64_t seed) {
  Form const form(extents);
  std::int64_t const heads = heads_of_keys * group;
  Problem problem{{}, Element::bf16, {form.batch, heads, dim}, form.batch * heads, {}};
  std::int64_t const pages = form.page == 0 ? 0 : (form.tokens + form.page - 1) / form.page;
  Extents const cache = form.page == 0 ? Extents{form.batch, form.tokens, heads_of_keys, dim}
                                       : Extents{form.batch * pages, form.page, heads_of_keys, dim};
  problem.inputs["Q"] = normal(Element::bf16, {form.batch, heads, dim}, seed);
  problem.inputs["X"] = normal(Element::bf16, cache, seed + 1);
  problem.inputs["V"] = normal(Element::bf16, cache, seed + 2);
  HostTensor lengths(Element::i32, {form.batch});
  for (std::int64_t i = 0; i < form.batch; ++i) lengths.set(i, static_cast<double>(form.tokens));
  problem.inputs["lengths"] = std::move(lengths);
  if (form.page != 0) {  // pages lie in any order
    std::vector<std::int32_t> order(static_cast<std::size_t>(form.batch * pages));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int32_t>(i);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    HostTensor table(Element::i32, {form.batch, pages});
    for (std::size_t i = 0; i < order.size(); ++i) table.set(static_cast<std::int64_t>(i), order[i]);
    problem.inputs["table"] = std::move(table);
  } else {
    problem.more.push_back({"sums", Element::f32, {max_splits, form.batch, heads, dim}, false});
    problem.more.push_back({"tops", Element::f32, {max_splits, form.batch, heads}, false});
    problem.more.push_back({"totals", Element::f32, {max_splits, form.batch, heads}, false});
  }
  std::string const layout = form.page == 0 ? "contiguous" : fmt::format("pages of {}", form.page);
  problem.shape = fmt::format("{} x {} tokens, {}", form.batch, form.tokens, layout);
  problem.compare = [form](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    compare_head(verdict, in, form, out, part);
  };
  return problem;
}

using Launch = std::function<void(stream const&)>;

float scale() { return 1 / std::sqrt(static_cast<float>(dim)); }

template <int BN>
Launch contiguous(Workload const& work, int set) {
  return prepare(samples::decode<group, BN, dim>, work.view<bf16, 3>(set, "Q"), work.view<bf16, 4>(set, "X"),
                 work.view<bf16, 4>(set, "V"), work.view<int, 1>(set, "lengths"), work.view<bf16, 3>(set, "Y"),
                 scale());
}

/// Prepares the kernels that share the tokens of a sequence among so many blocks.
template <int BN>
std::function<Launch(Workload const&, int)> in_parts(std::int64_t splits) {
  return [splits](Workload const& work, int set) -> Launch {
    auto const slices = [&](auto const& all) { return all.slice(0, 0, splits); };
    auto const sums = slices(work.view<float, 4>(set, "sums"));
    auto const tops = slices(work.view<float, 3>(set, "tops")), totals = slices(work.view<float, 3>(set, "totals"));
    auto const parts =
        prepare(samples::decode_part<group, BN, dim>, work.view<bf16, 3>(set, "Q"), work.view<bf16, 4>(set, "X"),
                work.view<bf16, 4>(set, "V"), work.view<int, 1>(set, "lengths"), sums, tops, totals, scale());
    auto const join = prepare(samples::decode_join<max_splits, dim>, sums, tops, totals, work.view<bf16, 3>(set, "Y"));
    return [=](stream const& on) {
      parts(on);
      join(on);
    };
  };
}

template <int BN, int page>
Launch paged(Workload const& work, int set) {
  return prepare(samples::paged_decode<group, BN, page, dim>, work.view<bf16, 3>(set, "Q"),
                 work.view<bf16, 4>(set, "X"), work.view<bf16, 4>(set, "V"), work.view<int, 2>(set, "table"),
                 work.view<int, 1>(set, "lengths"), work.view<bf16, 3>(set, "Y"), scale());
}

}  // namespace

std::vector<Row> decode_rows() {
  std::vector<Row> rows;
  auto const add = [&](Extents const& extents, std::vector<Side> sides, std::vector<Code> codes) {
    Row row =
        family_row("decode", "decode bf16, 32 heads to 4 of keys", extents, {2, 200, extents.at(2)}, decode_problem);
    row.sides = std::move(sides);
    row.codes = std::move(codes);
    row.graph = true;
    rows.push_back(std::move(row));
  };
  for (std::int64_t const tokens : {8192, 1024})
    add({64, tokens, 0}, {{"blocks of 64", contiguous<64>}, {"blocks of 128", contiguous<128>}},
        {code("decode, blocks of 64", samples::decode<group, 64, dim>),
         code("decode, blocks of 128", samples::decode<group, 128, dim>)});
  add({1, 8192, 0}, {{"32 parts", in_parts<64>(32)}, {"64 parts", in_parts<64>(64)}},
      {code("decode, parts", samples::decode_part<group, 64, dim>),
       code("decode, join", samples::decode_join<max_splits, dim>)});
  add({1, 1024, 0}, {{"8 parts", in_parts<64>(8)}, {"16 parts", in_parts<64>(16)}}, {});
  for (std::int64_t const tokens : {8192, 1024}) {
    add({64, tokens, 64}, {{"blocks of 64", paged<64, 64>}},
        {code("decode, pages of 64", samples::paged_decode<group, 64, 64, dim>)});
    add({64, tokens, 16}, {{"blocks of 64", paged<64, 16>}, {"blocks of 128", paged<128, 16>}},
        {code("decode, pages of 16", samples::paged_decode<group, 64, 16, dim>),
         code("decode, pages of 16, blocks of 128", samples::paged_decode<group, 128, 16, dim>)});
  }
  return rows;
}

}  // namespace tegula::bench
