// Defines the kernels of the Python package, forward and backward. Each is a template over the element of its tensors:
// sums have the element Sum<T>. Rows may have any length: wide ones go through a loop over tiles of their columns.
#pragma once

#include <tegula/dsl/dsl.hpp>

#include <type_traits>

#include "parts.hpp"

namespace operators {

using namespace tegula;

/// The element of sums of elements T.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;

inline constexpr int chunk = 1024;  // columns that a block holds at once

/// y = exp(x - max) / sum(exp(x - max)) of each row. A row fits one tile: x is read once.
template <class T>
inline constexpr auto softmax_in_tile = kernel("softmax", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<1, chunk>);
  require((x.extent(0) == y.extent(0)) & (x.extent(1) == y.extent(1)), "softmax: x and y must have the same shape");
  require(x.extent(1) <= chunk, "softmax: a row must fit one tile");
  tile v = load(x, shape<1, chunk>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, chunk>, e / sum(e, axis<1>), g[0], 0);
});

/// The same for rows of any length: one pass for maximum and sum, one for the result.
template <class T>
inline constexpr auto softmax_in_chunks = kernel("softmax", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid(y.extent(0));
  require((x.extent(0) == y.extent(0)) & (x.extent(1) == y.extent(1)), "softmax: x and y must have the same shape");
  auto [highest, total] =
      loop(ceil_div(x.extent(1), chunk), carry(full<T>(shape<1, 1>, -inf), zeros<T>(shape<1, 1>)),
           [&](auto j, auto before, auto so_far) {
             tile v = load(x, shape<1, chunk>, g[0], j, pad(-inf));
             tile now = max(before, max(v, axis<1>));
             tile base = select(now == -inf, 0, now);  // all elements so far are -inf, and -inf - -inf is a NaN
             return carry(now, so_far * exp(before - base) + sum(exp(v - base), axis<1>));
           });
  loop(ceil_div(y.extent(1), chunk),
       [&](auto j) { store(y, shape<1, chunk>, exp(load(x, shape<1, chunk>, g[0], j) - highest) / total, g[0], j); });
});

/// dx = y * (dy - sum(y * dy)) of each row.
template <class T>
inline constexpr auto softmax_backward = kernel("softmax_backward", [](in<T, 2> y, in<T, 2> dy, out<T, 2> dx) {
  auto g = grid(dx.extent(0));
  require((y.extent(0) == dx.extent(0)) & (y.extent(1) == dx.extent(1)) & (dy.extent(0) == dx.extent(0)) &
              (dy.extent(1) == dx.extent(1)),
          "softmax_backward: y, dy and dx must have the same shape");
  tile along = loop(ceil_div(y.extent(1), chunk), zeros<T>(shape<1, 1>), [&](auto j, auto so_far) {
    return so_far + sum(load(y, shape<1, chunk>, g[0], j) * load(dy, shape<1, chunk>, g[0], j), axis<1>);
  });
  loop(ceil_div(y.extent(1), chunk), [&](auto j) {
    store(dx, shape<1, chunk>, load(y, shape<1, chunk>, g[0], j) * (load(dy, shape<1, chunk>, g[0], j) - along), g[0],
          j);
  });
});

/// y = x * weight / sqrt(mean(x * x) + epsilon) of each row.
template <class T>
inline constexpr auto rms_norm = kernel("rms_norm", [](in<T, 2> x, in<T, 1> weight, arg<T> epsilon, out<T, 2> y) {
  auto g = grid(y.extent(0));
  require((x.extent(0) == y.extent(0)) & (x.extent(1) == y.extent(1)), "rms_norm: x and y must have the same shape");
  require(weight.extent(0) == x.extent(1), "rms_norm: weight must have one element for each column of x");
  tile squares = loop(ceil_div(x.extent(1), chunk), zeros<T>(shape<1>), [&](auto j, auto so_far) {
    tile v = load(x, shape<chunk>, g[0], j);
    return so_far + sum(v * v, axis<0>);
  });
  tile r = rsqrt(squares / cast<T>(x.extent(1)) + epsilon);
  loop(ceil_div(y.extent(1), chunk), [&](auto j) {
    store(y, shape<chunk>, load(x, shape<chunk>, g[0], j) * r * load(weight, shape<chunk>, j), g[0], j);
  });
});

/// dx = r * (weight * dy - x * r * r * mean(weight * dy * x)) of each row, with r = 1 / sqrt(mean(x * x) + epsilon).
template <class T>
inline constexpr auto rms_norm_backward = kernel("rms_norm_backward", [](in<T, 2> x, in<T, 1> weight, arg<T> epsilon,
                                                                         in<T, 2> dy, out<T, 2> dx, out<T, 1> inverse) {
  auto g = grid(dx.extent(0));
  require((x.extent(0) == dx.extent(0)) & (x.extent(1) == dx.extent(1)) & (dy.extent(0) == dx.extent(0)) &
              (dy.extent(1) == dx.extent(1)),
          "rms_norm_backward: x, dy and dx must have the same shape");
  auto count = cast<T>(x.extent(1));
  auto [squares, along] =
      loop(ceil_div(x.extent(1), chunk), carry(zeros<T>(shape<1>), zeros<T>(shape<1>)), [&](auto j, auto s, auto a) {
        tile v = load(x, shape<chunk>, g[0], j);
        tile scaled = load(dy, shape<chunk>, g[0], j) * load(weight, shape<chunk>, j);
        return carry(s + sum(v * v, axis<0>), a + sum(scaled * v, axis<0>));
      });
  tile r = rsqrt(squares / count + epsilon);
  tile slope = along / count * r * r;
  loop(ceil_div(x.extent(1), chunk), [&](auto j) {
    tile scaled = load(dy, shape<chunk>, g[0], j) * load(weight, shape<chunk>, j);
    store(dx, shape<chunk>, r * (scaled - load(x, shape<chunk>, g[0], j) * slope), g[0], j);
  });
  store(inverse, shape<1>, r, g[0]);
});

/// The parts of sum(dy * x * inverse) over rows, of rows_per_part rows each: the gradient of the weight of rms_norm.
template <class T>
inline constexpr auto rms_norm_parts = kernel("rms_norm_parts", [](in<T, 2> x, in<T, 2> dy, in<T, 1> inverse,
                                                                   out<T, 2> parts) {
  auto g = grid_over(parts, shape<1, 64>);
  tile total = loop(rows_per_part / 32, zeros<T>(shape<1, 64>), [&](auto i, auto so_far) {
    auto rows = g[0] * (rows_per_part / 32) + i;  // rows beyond the last are loaded as 0
    tile r = expand_dims(load(inverse, shape<32>, rows), axis<1>);
    return so_far + sum(load(x, shape<32, 64>, rows, g[1]) * load(dy, shape<32, 64>, rows, g[1]) * r, axis<0>);
  });
  store(parts, shape<1, 64>, total, g[0], g[1]);
});

/// Sums the parts of all blocks: the same bits at every run, since there are no atomics.
template <class T>
inline constexpr auto column_sums = kernel("column_sums", [](in<Sum<T>, 2> parts, out<T, 1> total) {
  auto g = grid_over(total, shape<64>);
  tile sums = loop(ceil_div(parts.extent(0), 32), zeros<Sum<T>>(shape<1, 64>),
                   [&](auto i, auto before) { return before + sum(load(parts, shape<32, 64>, i, g[0]), axis<0>); });
  store(total, shape<64>, cast<T>(squeeze(sums, axis<0>)), g[0]);
});

/// Sizes of the tiles of a product: tensor cores take large ones, lanes small ones.
template <class T>
struct Tiles {
  static constexpr int m = 64, n = 64, k = 32;
};
template <>
struct Tiles<bf16> {
  static constexpr int m = 128, n = 128, k = 64;
};

/// y = max(x * transposed(weight) + bias, 0); x is M x K, weight N x K as torch.nn.Linear keeps it. A NaN stays a NaN.
template <class T>
inline constexpr auto linear_relu = kernel("linear_relu", [](in<T, 2> x, in<T, 2> weight, in<T, 1> bias, out<T, 2> y) {
  constexpr int m = Tiles<T>::m, n = Tiles<T>::n, k = Tiles<T>::k;
  require(x.extent(1) == weight.extent(1), "linear_relu: x is M x K and weight is N x K, but the two K differ");
  require(bias.extent(0) == weight.extent(0), "linear_relu: bias must have one element for each row of weight");
  auto g = grid_over(y, shape<m, n>);
  tile sums = loop(
      ceil_div(x.extent(1), k), zeros<Sum<T>>(shape<m, n>),
      [&](auto i, auto so_far) {
        return dot(load(x, shape<m, k>, g[0], i), trans(load(weight, shape<n, k>, g[1], i)), so_far);
      },
      stages<4>);
  tile z = sums + expand_dims(cast<Sum<T>>(load(bias, shape<n>, g[1])), axis<0>);
  store(y, shape<m, n>, cast<T>(select(z < 0, 0, z)), g[0], g[1]);
});

/// dz = dy where y is above 0, else 0; and the parts of its sums over rows, as in rms_norm_parts.
template <class T>
inline constexpr auto relu_backward = kernel("relu_backward", [](in<T, 2> y, in<T, 2> dy, out<T, 2> dz,
                                                                 out<Sum<T>, 2> parts) {
  auto g = grid_over(parts, shape<1, 64>);
  tile total = loop(rows_per_part / 32, zeros<Sum<T>>(shape<1, 64>), [&](auto i, auto so_far) {
    auto rows = g[0] * (rows_per_part / 32) + i;
    tile passed = select(load(y, shape<32, 64>, rows, g[1]) <= 0, 0, load(dy, shape<32, 64>, rows, g[1]));
    store(dz, shape<32, 64>, passed, rows, g[1], may_be_outside);
    return so_far + sum(cast<Sum<T>>(passed), axis<0>);
  });
  store(parts, shape<1, 64>, total, g[0], g[1]);
});

/// c = a * b, with a stored as K x M if transpose_a is true, else as M x K; b is K x N.
template <class T, bool transpose_a>
inline constexpr auto product = kernel("product", [](in<T, 2> a, in<T, 2> b, out<T, 2> c) {
  constexpr int m = Tiles<T>::m, n = Tiles<T>::n, k = Tiles<T>::k;
  require(a.extent(transpose_a ? 0 : 1) == b.extent(0), "product: the inner extents of a and b differ");
  auto g = grid_over(c, shape<m, n>);
  tile sums = loop(
      ceil_div(b.extent(0), k), zeros<Sum<T>>(shape<m, n>),
      [&](auto i, auto so_far) {
        if constexpr (transpose_a)
          return dot(trans(load(a, shape<k, m>, i, g[0])), load(b, shape<k, n>, i, g[1]), so_far);
        else
          return dot(load(a, shape<m, k>, g[0], i), load(b, shape<k, n>, i, g[1]), so_far);
      },
      stages<4>);
  store(c, shape<m, n>, cast<T>(sums), g[0], g[1]);
});

}  // namespace operators
