// Lists the rows of recurrences in chunks of tokens: a state-space model, and the gated delta rule.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "../../../samples/state_space_kernels.hpp"
#include "gpu/rows/memory_problem.hpp"

namespace tegula::bench {
namespace {

constexpr int width = 128;  ///< of keys and of values: the state is width x width

HostTensor between(double least, double most, Extents extents, std::uint64_t seed) {
  HostTensor result = normal(Element::f32, std::move(extents), seed, 0.3);
  for (std::int64_t i = 0; i < result.size(); ++i)
    result.set(i, least + (most - least) * (0.5 + std::max(-0.5, std::min(result.at(i), 0.5))));
  return result;
}

/// Computes one head of one sequence token by token. `what(t)` gives the decay of the state, the factor of what is
/// added, and whether what the state has for the key is taken away.
struct Step {
  double decay, factor;
  bool takes;
};
template <class What>
void compare_head(Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part, What const& what) {
  HostTensor const &q = in.at("Q"), &k = in.at("K"), &v = in.at("V");
  std::int64_t const tokens = out.extents()[1], heads = out.extents()[2], batch = part / heads, head = part % heads;
  constexpr std::size_t n = width;
  std::vector<double> state(n * n), added(n), result(n);
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::int64_t const row = (batch * tokens + t) * heads + head, at = row * width;
    auto const [decay, factor, takes] = what(row, head);
    for (double& x : state) x *= decay;
    for (std::size_t j = 0; j < n; ++j) added[j] = v.at(at + static_cast<std::int64_t>(j));
    for (std::size_t i = 0; i < n && takes; ++i)
      for (std::size_t j = 0; j < n; ++j) added[j] -= k.at(at + static_cast<std::int64_t>(i)) * state[i * n + j];
    std::fill(result.begin(), result.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      double const key = factor * k.at(at + static_cast<std::int64_t>(i)),
                   query = q.at(at + static_cast<std::int64_t>(i));
      for (std::size_t j = 0; j < n; ++j) result[j] += query * (state[i * n + j] += key * added[j]);
    }
    double size = 0;
    for (double const x : result) size += x * x / static_cast<double>(n);
    // State, weights and what is added are rounded to bf16.
    for (std::size_t j = 0; j < n; ++j)
      verdict.compare(out, at + static_cast<std::int64_t>(j), result[j],
                      1.1 * rounding(Element::bf16, result[j]) + 0.03 * std::sqrt(size) + 1e-6);
  }
}

/// Only some heads are compared: one of 4096 tokens takes half a second.
template <class What>
auto some_heads(What const& what) {
  return [what](Verdict& verdict, Inputs const& in, HostTensor const& out, std::int64_t part) {
    if (out.extents()[1] > 512 && part % 17 != 0) return;
    compare_head(verdict, in, out, part, [&](std::int64_t row, std::int64_t head) { return what(in, row, head); });
  };
}

/// Extents are batch, tokens and heads. Keys have lengths near 1.
Problem problem_of(Extents const& extents, std::uint64_t seed, std::int64_t products) {
  std::int64_t const batch = extents.at(0), tokens = extents.at(1), heads = extents.at(2);
  Extents const rows = {batch, tokens, heads, width};
  Problem problem{{}, Element::bf16, rows, batch * heads, {}};
  problem.inputs["Q"] = normal(Element::bf16, rows, seed, 0.0884);
  problem.inputs["K"] = normal(Element::bf16, rows, seed + 1, 0.08);
  problem.inputs["V"] = normal(Element::bf16, rows, seed + 2);
  problem.work = 2 * products * width * width * batch * tokens * heads;
  problem.shape = shape_text(extents);
  return problem;
}

Problem state_space_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem = problem_of(extents, seed, 2);
  problem.inputs["dt"] = between(0.01, 0.1, {extents.at(0), extents.at(1), extents.at(2)}, seed + 3);
  problem.inputs["rates"] = between(-1, -0.1, {extents.at(2)}, seed + 4);
  problem.compare = some_heads([](Inputs const& in, std::int64_t row, std::int64_t head) {
    double const step = in.at("dt").at(row);
    return Step{std::exp(step * in.at("rates").at(head)), step, false};
  });
  return problem;
}

Problem delta_rule_problem(Extents const& extents, std::uint64_t seed) {
  Problem problem = problem_of(extents, seed, 3);
  Extents const numbers = {extents.at(0), extents.at(1), extents.at(2)};
  problem.inputs["gates"] = between(-0.1, 0, numbers, seed + 3);
  problem.inputs["betas"] = between(0.1, 1, numbers, seed + 4);
  for (char const* const name : {"keys", "values"})
    problem.more.push_back({name, Element::bf16, {extents.at(0), extents.at(1), extents.at(2), width}, false});
  problem.compare = some_heads([](Inputs const& in, std::int64_t row, std::int64_t) {
    return Step{std::exp(in.at("gates").at(row)), in.at("betas").at(row), true};
  });
  return problem;
}

template <int Q>
Side state_space_side() {
  return {fmt::format("chunks of {}", Q), [](Workload const& work, int set) {
            return prepare(samples::state_space<Q, width, width>, work.view<bf16, 4>(set, "V"),
                           work.view<float, 3>(set, "dt"), work.view<float, 1>(set, "rates"),
                           work.view<bf16, 4>(set, "K"), work.view<bf16, 4>(set, "Q"), work.view<bf16, 4>(set, "Y"));
          }};
}

template <int Q, int BV>
Side delta_rule_side() {
  return {fmt::format("chunks of {}, {} columns", Q, BV), [](Workload const& work, int set) {
            auto const k = work.view<bf16, 4>(set, "K");
            auto const gates = work.view<float, 3>(set, "gates");
            auto const keys = work.view<bf16, 4>(set, "keys"), values = work.view<bf16, 4>(set, "values");
            auto const chunks = prepare(samples::delta_rule_chunks<Q, width, width>, k, work.view<bf16, 4>(set, "V"),
                                        gates, work.view<float, 3>(set, "betas"), keys, values);
            auto const states = prepare(samples::delta_rule_states<Q, width, BV>, work.view<bf16, 4>(set, "Q"), k, keys,
                                        values, gates, work.view<bf16, 4>(set, "Y"));
            return [chunks, states](stream const& order) {
              chunks(order);
              states(order);
            };
          }};
}

Row row(std::string const& kernel, Problem (*problem)(Extents const&, std::uint64_t), std::vector<Side> sides,
        double rate) {
  Row result{"recurrences in chunks", "gpu " + kernel, {8, 4096, 32}, {2, 150, 2}};
  result.make = [problem](stream const& order, Extents const& of, std::uint64_t seed, bool one_set) {
    return make_memory_work(order, problem(of, seed), one_set);
  };
  result.sides = std::move(sides);
  result.bar = Bar{"flash-linear-attention 0.6.0", rate};
  return result;
}

}  // namespace

std::vector<Row> recurrence_rows() {
  std::vector<Row> rows;
  rows.push_back(row("state-space model", state_space_problem, {state_space_side<64>()}, 75.8));
  rows.back().codes = {code("state space, chunks of 64", samples::state_space<64, width, width>)};
  rows.push_back(
      row("gated delta rule", delta_rule_problem, {delta_rule_side<64, 128>(), delta_rule_side<64, 64>()}, 57.9));
  rows.back().codes = {code("delta rule, chunks", samples::delta_rule_chunks<64, width, width>),
                       code("delta rule, states", samples::delta_rule_states<64, width, width>)};
  return rows;
}

}  // namespace tegula::bench
