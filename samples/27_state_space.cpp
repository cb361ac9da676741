// Computes recurrences whose state is a matrix by products of chunks of tokens: a state-space model and the gated delta
// rule.
#include "state_space_kernels.hpp"
#include "support/report.hpp"
#include "support/state_space.hpp"

using namespace tegula;

namespace {

constexpr std::int64_t batch = 1, tokens = 200, heads = 2, groups = 1;

int run_state_space(device where, stream const& order) {
  constexpr int N = 64, P = 64;
  samples::StateSpaceProblem<N, P> const problem({batch, tokens, heads, groups});
  auto const x = samples::filled<bf16, 4>(where, problem.x, batch, tokens, heads, P);
  auto const dt = samples::filled<float, 3>(where, problem.dt, batch, tokens, heads);
  auto const rates = samples::filled<float, 1>(where, problem.rates, heads);
  auto const b = samples::filled<bf16, 4>(where, problem.b, batch, tokens, groups, N);
  auto const c = samples::filled<bf16, 4>(where, problem.c, batch, tokens, groups, N);
  auto y = samples::poisoned<bf16, 4>(where, batch, tokens, heads, P);
  double const seconds =
      samples::best_seconds(order, prepare(where, samples::state_space<64, N, P>, x, dt, rates, b, c, y), 3);
  std::vector<bf16> found(problem.x.size());
  y.copy_to(found);
  return samples::report("27_state_space", samples::text(tokens, " tokens, state-space model"), where, seconds,
                         1e-6 * static_cast<double>(batch * tokens) / seconds, "Mtokens/s",
                         samples::compare(found, problem.expected(), 1, 2e-2));
}

int run_delta_rule(device where, stream const& order) {
  constexpr int K = 64, V = 64;
  samples::DeltaRuleProblem<K, V> const problem({batch, tokens, heads, heads});
  auto const tensor = [&](std::vector<bf16> const& values, std::int64_t width) {
    return samples::filled<bf16, 4>(where, values, batch, tokens, heads, width);
  };
  auto const q = tensor(problem.q, K), k = tensor(problem.k, K), v = tensor(problem.v, V);
  auto const gates = samples::filled<float, 3>(where, problem.gates, batch, tokens, heads);
  auto const betas = samples::filled<float, 3>(where, problem.betas, batch, tokens, heads);
  auto keys = samples::poisoned<bf16, 4>(where, batch, tokens, heads, K);
  auto values = samples::poisoned<bf16, 4>(where, batch, tokens, heads, V);
  auto o = samples::poisoned<bf16, 4>(where, batch, tokens, heads, V);
  auto const chunks = prepare(where, samples::delta_rule_chunks<64, K, V>, k, v, gates, betas, keys, values);
  auto const states = prepare(where, samples::delta_rule_states<64, K, 32>, q, k, keys, values, gates, o);
  auto const both = [&](stream const& to) {
    chunks(to);
    states(to);
  };
  double const seconds = samples::best_seconds(order, both, 3);
  std::vector<bf16> found(problem.v.size());
  o.copy_to(found);
  return samples::report("27_state_space", samples::text(tokens, " tokens, gated delta rule"), where, seconds,
                         1e-6 * static_cast<double>(batch * tokens) / seconds, "Mtokens/s",
                         samples::compare(found, problem.expected(), 1, 2e-2));
}

}  // namespace

int main() {
  return samples::guarded("27_state_space", [] {
    device const where = device::best();
    stream const order(where);
    return run_state_space(where, order) + run_delta_rule(where, order);
  });
}
