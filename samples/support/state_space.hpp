// States problems of the kernels of state_space_kernels.hpp, and computes their results token by token in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <tegula/tegula.hpp>

namespace samples {

/// Holds a state of rows x columns, and what each token does to it.
class TokenState {
 public:
  TokenState(std::int64_t rows, std::int64_t columns)
      : columns_(columns), values_(static_cast<std::size_t>(rows * columns)) {}

  void scale(double factor) {
    for (double& value : values_) value *= factor;
  }
  /// Adds factor * a b^T.
  void add(double factor, std::vector<double> const& a, std::vector<double> const& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < b.size(); ++j) values_[i * columns() + j] += factor * a[i] * b[j];
  }
  /// Returns state^T a.
  [[nodiscard]] std::vector<double> times(std::vector<double> const& a) const {
    std::vector<double> result(columns());
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < columns(); ++j) result[j] += a[i] * values_[i * columns() + j];
    return result;
  }

 private:
  [[nodiscard]] std::size_t columns() const { return static_cast<std::size_t>(columns_); }
  std::int64_t columns_;
  std::vector<double> values_;
};

/// Draws from [least, most).
template <class T>
std::vector<T> drawn_values(std::int64_t count, float least, float most, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> uniform(least, most);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(uniform(engine));
  return values;
}

/// Returns `count` values of a dense tensor from element `at` on.
template <class T>
std::vector<double> row_of(std::vector<T> const& values, std::int64_t at, std::int64_t count) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(static_cast<double>(static_cast<float>(values[static_cast<std::size_t>(at + i)])));
  return result;
}

/// Describes the extents of both problems.
struct TokenExtents {
  std::int64_t batch, tokens, heads, groups;
};

/// Runs a recurrence with states of rows x columns, from 0 for each head. `step` takes the state,
/// the number of the token among all sequences, and the head; it changes the state and returns the token's results.
template <class Step>
std::vector<double> token_by_token(TokenExtents const& of, std::int64_t rows, std::int64_t columns, Step const& step) {
  std::vector<double> all(static_cast<std::size_t>(of.batch * of.tokens * of.heads * columns));
  for (std::int64_t batch = 0; batch < of.batch; ++batch)
    for (std::int64_t head = 0; head < of.heads; ++head) {
      TokenState state(rows, columns);
      for (std::int64_t token = batch * of.tokens; token < (batch + 1) * of.tokens; ++token) {
        std::vector<double> const out = step(state, token, head);
        std::copy(out.begin(), out.end(), all.begin() + (token * of.heads + head) * columns);
      }
    }
  return all;
}

/// States y of state_space. b and c are small, so that sums over N states stay near 1.
template <int N, int P>
struct StateSpaceProblem {
  explicit StateSpaceProblem(TokenExtents const& extents) : of(extents) {
    std::int64_t const rows = of.batch * of.tokens;
    x = drawn_values<tegula::bf16>(rows * of.heads * P, -1, 1, 1);
    dt = drawn_values<float>(rows * of.heads, 0.01F, 0.5F, 2);
    rates = drawn_values<float>(of.heads, -1, -0.05F, 3);
    b = drawn_values<tegula::bf16>(rows * of.groups * N, -0.3F, 0.3F, 4);
    c = drawn_values<tegula::bf16>(rows * of.groups * N, -0.3F, 0.3F, 5);
  }

  [[nodiscard]] std::vector<double> expected() const {
    return token_by_token(of, N, P, [&](TokenState& state, std::int64_t token, std::int64_t head) {
      std::int64_t const at = token * of.heads + head;
      std::int64_t const of_group = token * of.groups + head / (of.heads / of.groups);
      double const step = row_of(dt, at, 1)[0];
      state.scale(std::exp(step * static_cast<double>(rates[static_cast<std::size_t>(head)])));
      state.add(step, row_of(b, of_group * N, N), row_of(x, at * P, P));
      return state.times(row_of(c, of_group * N, N));
    });
  }

  TokenExtents of;
  std::vector<tegula::bf16> x, b, c;
  std::vector<float> dt, rates;
};

/// States o of gated_delta_rule. Every third key is nearly the one before it, as in text that repeats itself.
template <int K, int V>
struct DeltaRuleProblem {
  explicit DeltaRuleProblem(TokenExtents const& extents) : of(extents) {
    std::int64_t const rows = of.batch * of.tokens * of.heads;
    q = drawn_values<tegula::bf16>(rows * K, -0.3F, 0.3F, 1);
    v = drawn_values<tegula::bf16>(rows * V, -1, 1, 2);
    gates = drawn_values<float>(rows, -0.2F, 0, 3);
    betas = drawn_values<float>(rows, 0.1F, 1, 4);
    auto const raw = drawn_values<float>(rows * K, -1, 1, 5);
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<double> key = row_of(raw, row * K, K);
      if (row / of.heads % 3 == 2) {
        std::vector<double> const last = row_of(raw, (row - of.heads) * K, K);
        for (std::size_t i = 0; i < key.size(); ++i) key[i] = last[i] + 0.05 * key[i];
      }
      double length = 0;
      for (double const value : key) length += value * value;
      for (double const value : key)
        k.push_back(static_cast<tegula::bf16>(static_cast<float>(value / std::sqrt(length))));
    }
  }

  [[nodiscard]] std::vector<double> expected() const {
    return token_by_token(of, K, V, [&](TokenState& state, std::int64_t token, std::int64_t head) {
      std::int64_t const at = token * of.heads + head;
      std::vector<double> const key = row_of(k, at * K, K);
      state.scale(std::exp(row_of(gates, at, 1)[0]));
      std::vector<double> const known = state.times(key);
      std::vector<double> added = row_of(v, at * V, V);
      for (std::size_t j = 0; j < added.size(); ++j) added[j] -= known[j];
      state.add(row_of(betas, at, 1)[0], key, added);
      return state.times(row_of(q, at * K, K));
    });
  }

  TokenExtents of;
  std::vector<tegula::bf16> q, k, v;
  std::vector<float> gates, betas;
};

}  // namespace samples
