#pragma once
// Runs each kernel of attention_kernels.hpp on fresh random data and compares its results with float64. A caller says
// where: `run(kernel, arguments...)` takes host tensors and scalars, and leaves results in the tensors that it may
// write.

#include <array>
#include <numeric>
#include <tuple>
#include <utility>

#include "../attention_kernels.hpp"
#include "report.hpp"

namespace samples {

/// Holds a dense tensor in host memory.
template <class T, int rank>
struct Tensor {
  std::array<std::int64_t, rank> extents;
  std::vector<T> values;

  [[nodiscard]] view<T, rank> window() { return made<view<T, rank>>(*this); }
  [[nodiscard]] view<T const, rank> window() const { return made<view<T const, rank>>(*this); }
  [[nodiscard]] buffer<T, rank> upload(device where) const {
    return std::apply([&](auto... extent) { return filled<T, rank>(where, values, extent...); }, extents);
  }

 private:
  template <class View, class Self>
  static View made(Self& self) {
    return std::apply([&](auto... extent) { return View(self.values.data(), extent...); }, self.extents);
  }
};

/// Returns values in [-size, size), other ones at every run.
template <class T, class... Extents>
Tensor<T, sizeof...(Extents)> random_tensor(double size, Extents... extents) {
  Tensor<T, sizeof...(Extents)> result{{extents...}, {}};
  for (double const x : exact(random_values<float>((extents * ...)))) result.values.push_back(T(x * size));
  return result;
}
template <class T, class... Extents>
Tensor<T, sizeof...(Extents)> unwritten(Extents... extents) {
  return {{extents...}, std::vector<T>(static_cast<std::size_t>((extents * ...)), poison<T>())};
}

/// Runs kernels on a device and adds up the best time of each.
class TimedRun {
 public:
  explicit TimedRun(device where) : where_(where), order_(where) {}
  [[nodiscard]] double seconds() const { return seconds_; }

  template <class Kernel, class... X>
  void operator()(Kernel const& kernel, X&&... arguments) {
    run([&](auto const& go) { return best_seconds(order_, go); }, kernel, arguments...);
  }
  /// Runs a kernel that adds to its tensors: one launch.
  template <class Kernel, class... X>
  void once(Kernel const& kernel, X&&... arguments) {
    run(
        [&](auto const& go) {
          tegula::timer clock(order_);
          clock.start();
          go(order_);
          clock.stop();
          return clock.seconds();
        },
        kernel, arguments...);
  }

 private:
  template <class Time, class Kernel, class... X>
  void run(Time const& time, Kernel const& kernel, X&... arguments) {
    auto held = std::make_tuple(uploaded(arguments)...);
    std::apply([&](auto&... on) { seconds_ += time(prepare(where_, kernel, on...)); }, held);
    std::apply([&](auto&... on) { (fetch(arguments, on), ...); }, held);
  }
  template <class T, int rank>
  buffer<T, rank> uploaded(Tensor<T, rank> const& tensor) const {
    return tensor.upload(where_);
  }
  template <class X>
  X uploaded(X const& scalar) const {
    return scalar;
  }
  template <class T, int rank>
  static void fetch(Tensor<T, rank>& tensor, buffer<T, rank> const& from) {
    from.copy_to(tensor.values);
  }
  template <class X, class Y>
  static void fetch(X const&, Y const&) {}

  device where_;
  stream order_;
  double seconds_ = 0;
};

/// Holds what a check found, and the pairs of a query and a key that it sees, for a rate.
struct Checked {
  Comparison results;
  double pairs = 0;
};

/// Computes attention of one head in float64. score(i, j) is natural, and -inf if query i does not see key j. Rows are
/// `width` values; key j's are at value(j), and result i's at o + i * width. lse may be null. Returns the pairs seen.
template <class Score, class Value>
double attend(std::int64_t queries, std::int64_t keys, int width, Score const& score, Value const& value, double* o,
              double* lse = nullptr) {
  double pairs = 0;
  std::vector<double> weights(static_cast<std::size_t>(keys));
  for (std::int64_t i = 0; i < queries; ++i) {
    double top = -HUGE_VAL, sum = 0;
    for (std::int64_t j = 0; j < keys; ++j) top = std::max(top, weights[static_cast<std::size_t>(j)] = score(i, j));
    for (double& weight : weights) {
      pairs += weight > -HUGE_VAL ? 1 : 0;
      sum += weight = weight > -HUGE_VAL ? std::exp(weight - top) : 0;
    }
    std::fill(o + i * width, o + (i + 1) * width, 0.0);
    if (lse != nullptr) lse[i] = top + std::log(sum);
    for (std::int64_t j = 0; j < keys; ++j) {
      double const weight = weights[static_cast<std::size_t>(j)] / sum;
      if (!(weight > 0)) continue;
      double const* const row = value(j);
      for (int e = 0; e < width; ++e) o[i * width + e] += weight * row[e];
    }
  }
  return pairs;
}

inline double inner(double const* a, double const* b, int width) { return std::inner_product(a, a + width, b, 0.0); }

/// Holds queries, keys and values of (head, token, width), and the same in float64.
struct Heads {
  std::int64_t heads, queries, keys;
  int width;
  float scale = static_cast<float>(1 / std::sqrt(width));
  // Larger queries make sharper weights.
  Tensor<bf16, 3> q = random_tensor<bf16>(4, heads, queries, std::int64_t{width}),
                  k = random_tensor<bf16>(1, heads, keys, std::int64_t{width}),
                  v = random_tensor<bf16>(1, heads, keys, std::int64_t{width}),
                  o = unwritten<bf16>(heads, queries, std::int64_t{width});
  std::vector<double> x = exact(q.values), y = exact(k.values), z = exact(v.values),
                      expected = std::vector<double>(x.size()), lse = std::vector<double>(x.size() / width_of());

  [[nodiscard]] std::size_t width_of() const { return static_cast<std::size_t>(width); }
  [[nodiscard]] double score(std::int64_t h, std::int64_t i, std::int64_t j) const {
    return inner(x.data() + (h * queries + i) * width, y.data() + (h * keys + j) * width, width) *
           static_cast<double>(scale);
  }
  /// Computes what is expected, where sees(h, i, j); added(h, i, j) is added to the score.
  template <class Sees, class Added>
  double expect(Sees const& sees, Added const& added) {
    double pairs = 0;
    for (std::int64_t h = 0; h < heads; ++h)
      pairs += attend(
          queries, keys, width,
          [&](auto i, auto j) { return sees(h, i, j) ? score(h, i, j) + added(h, i, j) : -HUGE_VAL; },
          [&](auto j) { return z.data() + (h * keys + j) * width; }, expected.data() + h * queries * width,
          lse.data() + h * queries);
    return pairs;
  }
  template <class Sees>
  double expect(Sees const& sees) {
    return expect(sees, [](auto...) { return 0.0; });
  }
};

inline constexpr auto causal = [](auto, auto i, auto j) { return j <= i; };
inline constexpr double forward_error = 6e-3;  // weights and results are rounded to bf16

template <int BM, int BN, int D, class Run>
Checked check_lse(Run&& run, std::int64_t heads, std::int64_t tokens) {
  Heads x{heads, tokens, tokens, D};
  auto lse = unwritten<float>(heads, tokens);
  run(attention_with_lse<BM, BN, D>, std::as_const(x.q), std::as_const(x.k), std::as_const(x.v), x.o, lse, x.scale);
  double const pairs = x.expect(causal);
  Comparison all = compare(x.o.values, x.expected, 1, forward_error);
  all.join(compare(lse.values, x.lse, 1, 1e-4));
  return {all, pairs};
}

template <int BM, int BN, int D, class Run>
Checked check_window(Run&& run, std::int64_t heads, std::int64_t tokens, int window) {
  Heads x{heads, tokens, tokens, D};
  run(window_attention<BM, BN, D>, std::as_const(x.q), std::as_const(x.k), std::as_const(x.v), x.o, x.scale, window);
  double const pairs = x.expect([&](auto, auto i, auto j) { return j <= i && j > i - window; });
  return {compare(x.o.values, x.expected, 1, forward_error), pairs};
}

template <int BM, int BN, int D, class Run>
Checked check_bias(Run&& run, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  Heads x{heads, queries, keys, D};
  auto const bias = random_tensor<bf16>(2, heads, queries, keys);
  run(bias_attention<BM, BN, D>, std::as_const(x.q), std::as_const(x.k), std::as_const(x.v), bias, x.o, x.scale);
  auto const added = exact(bias.values);
  double const pairs =
      x.expect([](auto...) { return true; },
               [&](auto h, auto i, auto j) { return added[static_cast<std::size_t>((h * queries + i) * keys + j)]; });
  return {compare(x.o.values, x.expected, 1, forward_error), pairs};
}

template <int BM, int BN, int D, class Run>
Checked check_ragged(Run&& run, std::int64_t heads, std::vector<int> const& lengths) {
  Tensor<int, 1> offsets{{static_cast<std::int64_t>(lengths.size()) + 1}, {0}};
  for (int const length : lengths) offsets.values.push_back(offsets.values.back() + length);
  std::int64_t const tokens = offsets.values.back();
  Heads x{heads, tokens, tokens, D};
  run(ragged_attention<BM, BN, D>, std::as_const(x.q), std::as_const(x.k), std::as_const(x.v), std::as_const(offsets),
      x.o, x.scale, *std::max_element(lengths.begin(), lengths.end()));
  auto const sequence = [&](std::int64_t token) {
    return std::upper_bound(offsets.values.begin(), offsets.values.end(), token) - offsets.values.begin();
  };
  double const pairs = x.expect([&](auto, auto i, auto j) { return j <= i && sequence(i) == sequence(j); });
  return {compare(x.o.values, x.expected, 1, forward_error), pairs};
}

/// `group` heads of queries share each of `shared` heads of keys; pages are used in a random order.
template <int BM, int page, int D, class Run>
Checked check_paged(Run&& run, std::int64_t shared, int group, std::int64_t queries, std::vector<int> const& lengths) {
  auto const sequences = static_cast<std::int64_t>(lengths.size());
  std::int64_t const heads = shared * group, width = D;
  std::int64_t const longest = ceil_div(std::max(1, *std::max_element(lengths.begin(), lengths.end())), page);
  std::int64_t const pages = sequences * longest + 1;
  auto const q = random_tensor<bf16>(4, sequences * heads, queries, width);
  auto const k = random_tensor<bf16>(1, pages, shared, std::int64_t{page}, width);
  auto const v = random_tensor<bf16>(1, pages, shared, std::int64_t{page}, width);
  Tensor<int, 1> const counts{{sequences}, lengths};
  Tensor<int, 2> table{{sequences, longest}, std::vector<int>(static_cast<std::size_t>(sequences * longest))};
  std::iota(table.values.begin(), table.values.end(), 1);
  std::shuffle(table.values.begin(), table.values.end(), std::mt19937_64(1));
  auto o = unwritten<bf16>(sequences * heads, queries, width);
  auto const scale = static_cast<float>(1 / std::sqrt(D));
  run(paged_attention<BM, page, D>, q, k, v, std::as_const(table), counts, o, scale, group);

  auto const x = exact(q.values), y = exact(k.values), z = exact(v.values);
  std::vector<double> expected(x.size());
  double pairs = 0;
  for (std::int64_t s = 0; s < sequences; ++s)
    for (std::int64_t h = 0; h < heads; ++h) {
      std::int64_t const length = lengths[static_cast<std::size_t>(s)], first = (s * heads + h) * queries * width;
      auto const place = [&](std::int64_t j) {
        int const at = table.values[static_cast<std::size_t>(s * longest + j / page)];
        return ((at * shared + h / group) * page + j % page) * width;
      };
      pairs += attend(
          queries, length, D,
          [&](auto i, auto j) {
            bool const sees = j <= i + length - queries;
            return sees ? inner(x.data() + first + i * width, y.data() + place(j), D) * static_cast<double>(scale)
                        : -HUGE_VAL;
          },
          [&](auto j) { return z.data() + place(j); }, expected.data() + first);
    }
  return {compare(o.values, expected, 1, forward_error), pairs};
}

/// Checks the way back with float64's log-sum-exp: `compute(x, go, lse, dq, dk, dv)` runs the kernels.
template <int D, bool is_causal, class Compute>
Checked check_gradients(std::int64_t heads, std::int64_t tokens, Compute const& compute) {
  Heads x{heads, tokens, tokens, D};
  double const pairs = x.expect([](auto, auto i, auto j) { return !is_causal || j <= i; });
  std::int64_t const width = D;
  auto const go = random_tensor<bf16>(1, heads, tokens, width);
  auto const lse = Tensor<float, 2>{{heads, tokens}, std::vector<float>(x.lse.begin(), x.lse.end())};
  for (std::size_t i = 0; i < x.expected.size(); ++i) x.o.values[i] = bf16(x.expected[i]);
  auto dq = unwritten<bf16>(heads, tokens, width), dk = unwritten<bf16>(heads, tokens, width),
       dv = unwritten<bf16>(heads, tokens, width);
  compute(std::as_const(x), go, lse, dq, dk, dv);

  auto const g = exact(go.values);
  std::vector<double> to_q(g.size()), to_k(g.size()), to_v(g.size());
  double const scale = static_cast<double>(x.scale);
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < tokens; ++i) {
      std::int64_t const row = (h * tokens + i) * width;
      double const mean = inner(g.data() + row, x.expected.data() + row, D);
      for (std::int64_t j = 0; j < (is_causal ? i + 1 : tokens); ++j) {
        std::int64_t const key = (h * tokens + j) * width;
        double const p = std::exp(x.score(h, i, j) - x.lse[static_cast<std::size_t>(h * tokens + i)]);
        double const ds = p * (inner(g.data() + row, x.z.data() + key, D) - mean) * scale;
        for (std::int64_t e = 0; e < width; ++e) {
          to_v[static_cast<std::size_t>(key + e)] += p * g[static_cast<std::size_t>(row + e)];
          to_k[static_cast<std::size_t>(key + e)] += ds * x.x[static_cast<std::size_t>(row + e)];
          to_q[static_cast<std::size_t>(row + e)] += ds * x.y[static_cast<std::size_t>(key + e)];
        }
      }
    }
  Comparison all = compare(dq.values, to_q, 1, 1e-2);
  all.join(compare(dk.values, to_k, 1, 1e-2));
  all.join(compare(dv.values, to_v, 1, 1e-2));
  return {all, pairs};
}

/// Runs the gradients of keys and values and those of queries.
template <int KM, int KN, int QM, int QN, int D, bool is_causal = true, class Run>
Checked check_backward(Run&& run, std::int64_t heads, std::int64_t tokens) {
  return check_gradients<D, is_causal>(
      heads, tokens, [&](auto const& x, auto const& go, auto const& lse, auto& dq, auto& dk, auto& dv) {
        auto delta = unwritten<float>(heads, tokens);
        run(attention_delta<64, D>, x.o, go, delta);
        run(attention_keys_backward<KM, KN, D, is_causal>, x.q, x.k, x.v, go, lse, std::as_const(delta), dk, dv,
            x.scale);
        run(attention_queries_backward<QM, QN, D, is_causal>, x.q, x.k, x.v, go, lse, std::as_const(delta), dq,
            x.scale);
      });
}

/// Runs all gradients at once, with the sums of those of queries in memory.
template <int BM, int BN, int D, bool is_causal = true, class Run>
Checked check_backward_by_sums(Run&& run, std::int64_t heads, std::int64_t tokens) {
  return check_gradients<D, is_causal>(
      heads, tokens, [&](auto const& x, auto const& go, auto const& lse, auto& dq, auto& dk, auto& dv) {
        auto delta = unwritten<float>(heads, tokens);
        auto sums = unwritten<float>(heads, tokens, std::int64_t{D});
        run(attention_backward_start<64, D>, x.o, go, delta, sums);
        run.once(attention_backward<BM, BN, D, is_causal>, x.q, x.k, x.v, go, lse, std::as_const(delta), sums, dk, dv,
                 x.scale);
        run(attention_backward_end<64, D>, std::as_const(sums), dq, x.scale);
      });
}

/// Numbers are elements times the scale of their tensor.
template <int BM, int BN, int D, class Run>
Checked check_e4m3(Run&& run, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  std::int64_t const width = D;
  auto const q = random_tensor<e4m3>(400, heads, queries, width), k = random_tensor<e4m3>(400, heads, keys, width),
             v = random_tensor<e4m3>(400, heads, width, keys);
  auto o = unwritten<bf16>(heads, queries, width);
  auto const score_scale = static_cast<float>(4.0 / 400 / 400 / std::sqrt(D)), value_scale = 1.F / 400;
  run(e4m3_attention<BM, BN, D>, q, k, v, o, score_scale, value_scale);

  auto const x = exact(q.values), y = exact(k.values), z = exact(v.values);
  std::vector<double> expected(x.size()), rows(z.size());
  double pairs = 0;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < keys; ++j)
      for (std::int64_t e = 0; e < width; ++e)
        rows[static_cast<std::size_t>((h * keys + j) * width + e)] =
            z[static_cast<std::size_t>((h * width + e) * keys + j)] * static_cast<double>(value_scale);
    pairs += attend(
        queries, keys, D,
        [&](auto i, auto j) {
          return inner(x.data() + (h * queries + i) * width, y.data() + (h * keys + j) * width, D) *
                 static_cast<double>(score_scale);
        },
        [&](auto j) { return rows.data() + (h * keys + j) * width; }, expected.data() + h * queries * width);
  }
  return {compare(o.values, expected, 1, 4e-2), pairs};  // weights have 4 bits
}

}  // namespace samples
