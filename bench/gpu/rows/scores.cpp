// Lists the rows of attention with score functions and masks of a user's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>

#include "../../../samples/score_attention_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr int near = 1024;  // tokens of a window
constexpr float max_score = 20;

enum class Form : std::uint8_t { alibi, window, documents, soft_cap };

char const* name_of(Form form) {
  switch (form) {
    case Form::alibi:
      return "causal with ALiBi";
    case Form::window:
      return "window of 1024";
    case Form::documents:
      return "documents";
    case Form::soft_cap:
      return "causal with soft cap";
  }
  return "";
}

float scale_of(std::int64_t dimension) { return 1 / std::sqrt(static_cast<float>(dimension)); }

/// Returns the first key that a query sees; the last one is its own.
std::int64_t first_key(Inputs const& in, Form form, std::int64_t batch, std::int64_t query) {
  if (form == Form::window) return std::max<std::int64_t>(query - near + 1, 0);
  HostTensor const& starts = in.at("starts");
  return form == Form::documents ? static_cast<std::int64_t>(starts.at(batch * starts.extents()[1] + query)) : 0;
}

/// Compares the output of one query of one head.
void compare_query(Verdict& verdict, Inputs const& in, Form form, HostTensor const& out, std::int64_t part) {
  HostTensor const &q = in.at("X"), &k = in.at("K"), &v = in.at("V");
  std::int64_t const tokens = q.extents()[1], heads = q.extents()[2], dimension = q.extents()[3];
  std::int64_t const head = part % heads, query = part / heads % tokens, batch = part / heads / tokens;
  std::int64_t const first = first_key(in, form, batch, query);
  auto const row = [&](std::int64_t token) { return ((batch * tokens + token) * heads + head) * dimension; };
  std::vector<double> scores, sums(static_cast<std::size_t>(dimension)), squares(sums);
  double top = -1e300, total = 0;
  for (std::int64_t key = first; key <= query; ++key) {
    double score = 0;
    for (std::int64_t d = 0; d < dimension; ++d) score += q.at(row(query) + d) * k.at(row(key) + d);
    score /= std::sqrt(static_cast<double>(dimension));
    if (form == Form::alibi) score += in.at("slopes").at(head) * static_cast<double>(key - query);
    if (form == Form::soft_cap)
      score = static_cast<double>(max_score) * std::tanh(score / static_cast<double>(max_score));
    scores.push_back(score);
    top = std::max(top, score);
  }
  for (double& score : scores) total += score = std::exp(score - top);
  for (std::int64_t key = first; key <= query; ++key)
    for (std::size_t d = 0; d < sums.size(); ++d) {
      double const term =
          scores[static_cast<std::size_t>(key - first)] / total * v.at(row(key) + static_cast<std::int64_t>(d));
      sums[d] += term;
      squares[d] += term * term;
    }
  // Weights are rounded to bf16; the instruction of tanh keeps 10 bits of a score.
  double const error = form == Form::soft_cap ? 0.05 : 0.02;
  for (std::size_t d = 0; d < sums.size(); ++d)
    verdict.compare(out, row(query) + static_cast<std::int64_t>(d), sums[d],
                    1.1 * rounding(Element::bf16, sums[d]) + error * std::sqrt(squares[d]) + 1e-6);
}

/// Returns the first token of each token's document; documents have lengths that the seed draws.
HostTensor document_starts(std::int64_t batches, std::int64_t tokens, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  HostTensor starts(Element::i32, {batches, tokens});
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t first = 0; first < tokens;) {
      std::int64_t const length = 1 + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(tokens / 4));
      for (std::int64_t t = first; t < std::min(first + length, tokens); ++t)
        starts.set(b * tokens + t, static_cast<double>(first));
      first += length;
    }
  return starts;
}

template <Form form>
Problem score_problem(Extents const& extents, std::uint64_t seed) {
  std::int64_t const batches = extents.at(0), tokens = extents.at(1), heads = extents.at(2), dimension = extents.at(3);
  Problem problem{{}, Element::bf16, extents, batches * tokens * heads, {}};
  problem.inputs["X"] = normal(Element::bf16, extents, seed, 1.5);
  problem.inputs["K"] = normal(Element::bf16, extents, seed + 1, 1.5);
  problem.inputs["V"] = normal(Element::bf16, extents, seed + 2);
  HostTensor slopes(Element::f32, {heads});
  for (std::int64_t h = 0; h < heads; ++h)
    slopes.set(h, std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads)));
  problem.inputs["slopes"] = std::move(slopes);
  problem.inputs["starts"] = document_starts(batches, tokens, seed);
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t t = 0; t < tokens; ++t)
      problem.work += 4 * heads * dimension * (t + 1 - first_key(problem.inputs, form, b, t));
  problem.shape = shape_text(extents);
  problem.compare = [](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    compare_query(verdict, in, form, out, part);
  };
  return problem;
}

using Launch = std::function<void(stream const&)>;

/// Prepares a kernel of Q, K, V, what `more` returns of them, O, scale, and `last`.
template <int D, class K, class More, class... Last>
std::function<Launch(Workload const&, int)> side(K const& kernel, More const& more, Last... last) {
  return [=](Workload const& work, int set) -> Launch {
    auto const all = [&](auto const&... between) -> Launch {
      return prepare(kernel, work.view<bf16, 4>(set, "X"), work.view<bf16, 4>(set, "K"), work.view<bf16, 4>(set, "V"),
                     between..., work.view<bf16, 4>(set, "Y"), scale_of(D), last...);
    };
    return more(all, work, set);
  };
}

constexpr auto nothing = [](auto const& all, Workload const&, int) { return all(); };
constexpr auto slopes = [](auto const& all, Workload const& work, int set) {
  return all(work.view<float, 1>(set, "slopes"));
};
constexpr auto starts = [](auto const& all, Workload const& work, int set) {
  return all(work.view<int, 2>(set, "starts"));
};

template <Form form, int D>
Row row_of() {
  Row row = family_row("scores", std::string("attention, ") + name_of(form), {4, 4096, 16, D}, {2, 333, 2, D},
                       score_problem<form>);
  row.rival = Rival::none;
  row.counts_bytes = false;
  return row;
}

template <int D>
void add_rows(std::vector<Row>& rows) {
  using namespace samples;
  auto const bar = [](int for_128, int for_64) {
    return Bar{"FlexAttention", static_cast<double>(D == 128 ? for_128 : for_64)};
  };
  Row alibi = row_of<Form::alibi, D>();
  alibi.sides = {{"blocks of 128", side<D>(alibi_attention<128, 128, D>, slopes)},
                 {"keys by 64", side<D>(alibi_attention<128, 64, D>, slopes)}};
  alibi.codes = {code(fmt::format("ALiBi, heads of {}", D), alibi_attention<128, 128, D>)};
  alibi.bar = bar(342, 267);
  Row local = row_of<Form::window, D>();
  local.sides = {{"blocks of 128", side<D>(local_attention<128, 128, D>, nothing, near)},
                 {"keys by 64", side<D>(local_attention<128, 64, D>, nothing, near)}};
  local.codes = {code(fmt::format("window, heads of {}", D), local_attention<128, 128, D>)};
  local.bar = bar(309, 269);
  Row documents = row_of<Form::documents, D>();
  documents.sides = {{"blocks of 128", side<D>(document_attention<128, 128, D>, starts)},
                     {"keys by 64", side<D>(document_attention<128, 64, D>, starts)}};
  documents.codes = {code(fmt::format("documents, heads of {}", D), document_attention<128, 128, D>)};
  documents.bar = bar(182, 90);
  Row capped = row_of<Form::soft_cap, D>();
  capped.sides = {{"by fast_tanh", side<D>(capped_attention<128, 128, D, true>, nothing, max_score)},
                  {"by tanh", side<D>(capped_attention<128, 128, D, false>, nothing, max_score)}};
  capped.codes = {code(fmt::format("soft cap by fast_tanh, heads of {}", D), capped_attention<128, 128, D, true>),
                  code(fmt::format("soft cap by tanh, heads of {}", D), capped_attention<128, 128, D, false>)};
  for (Row* row : {&alibi, &local, &documents, &capped}) rows.push_back(std::move(*row));
}

}  // namespace

std::vector<Row> score_rows() {
  std::vector<Row> rows;
  add_rows<128>(rows);
  add_rows<64>(rows);
  return rows;
}

}  // namespace tegula::bench
