// Checks recurrences that are computed in chunks of tokens, against float64 token by token: chunks that the last tokens
// do not fill, shared groups, keys that repeat.
#pragma once

#include <cmath>

#include "../../samples/state_space_kernels.hpp"
#include "../../samples/support/state_space.hpp"
#include "support/catch.hpp"
#include "support/executors.hpp"

namespace tegula::test {

template <class T, int rank>
Array<T, rank> array(std::array<std::int64_t, rank> extents, std::vector<T> const& values) {
  Array<T, rank> result(extents);
  REQUIRE(values.size() == result.values.size());
  result.values = values;
  return result;
}

/// Returns the largest error, relative to values of at least 0.2: state, weights and what is added are rounded to bf16
/// before sums over 64 to 128 of them.
inline double worst_error(std::vector<bf16> const& found, std::vector<double> const& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double const error = std::fabs(static_cast<double>(static_cast<float>(found[i])) - expected[i]);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error / std::max(std::fabs(expected[i]), 0.2));
  }
  return worst;
}

template <int Q, int N, int P>
void check_state_space(Executor on, samples::TokenExtents const& of) {
  INFO(name(on) << ": chunks of " << Q << ", state " << N << " x " << P << ", " << of.tokens << " tokens");
  samples::StateSpaceProblem<N, P> const problem(of);
  auto x = array<bf16, 4>({of.batch, of.tokens, of.heads, P}, problem.x);
  auto dt = array<float, 3>({of.batch, of.tokens, of.heads}, problem.dt);
  auto rates = array<float, 1>({of.heads}, problem.rates);
  auto b = array<bf16, 4>({of.batch, of.tokens, of.groups, N}, problem.b);
  auto c = array<bf16, 4>({of.batch, of.tokens, of.groups, N}, problem.c);
  Array<bf16, 4> y({of.batch, of.tokens, of.heads, P}, bf16(99.0F));
  TEGULA_CHECK_RUN(on, (samples::state_space<Q, N, P>), x, dt, rates, b, c, y);
  CHECK(worst_error(y.values, problem.expected()) < 0.03);
}

template <int Q, int K, int V, int BV>
void check_delta_rule(Executor on, samples::TokenExtents const& of) {
  INFO(name(on) << ": chunks of " << Q << ", state " << K << " x " << V << ", " << of.tokens << " tokens");
  samples::DeltaRuleProblem<K, V> const problem(of);
  auto const tensor = [&](std::vector<bf16> const& values, std::int64_t width) {
    return array<bf16, 4>({of.batch, of.tokens, of.heads, width}, values);
  };
  auto q = tensor(problem.q, K), k = tensor(problem.k, K), v = tensor(problem.v, V);
  auto gates = array<float, 3>({of.batch, of.tokens, of.heads}, problem.gates);
  auto betas = array<float, 3>({of.batch, of.tokens, of.heads}, problem.betas);
  Array<bf16, 4> keys({of.batch, of.tokens, of.heads, K}, bf16(99.0F)),
      values({of.batch, of.tokens, of.heads, V}, bf16(99.0F));
  Array<bf16, 4> o({of.batch, of.tokens, of.heads, V}, bf16(99.0F));
  TEGULA_CHECK_RUN(on, (samples::delta_rule_chunks<Q, K, V>), k, v, gates, betas, keys, values);
  TEGULA_CHECK_RUN(on, (samples::delta_rule_states<Q, K, BV>), q, k, keys, values, gates, o);
  CHECK(worst_error(o.values, problem.expected()) < 0.03);
}

}  // namespace tegula::test
