// Defines kernels of rows that one multiprocessor does not hold: on a GPU a cluster of CTAs shares a row, and reads it
// once. Tensors are (row, column); a row fits one tile of `width`. A program that launches these includes
// <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

/// Computes the softmax of each row.
template <class T, int width>
inline constexpr auto softmax_rows = kernel("softmax_rows", [](in<T, 2> x, out<T, 2> y) {
  require(y.extent(1) <= width, "softmax_rows: a row must fit one tile");
  auto g = grid_over(y, shape<1, width>);
  tile v = cast<float>(load(x, shape<width>, g[0], 0, pad(-inf)));
  tile e = exp(v - max(v, axis<0>));
  store(y, shape<width>, cast<T>(e / sum(e, axis<0>)), g[0], 0);
});

/// Computes the loss of each row of logits with its label, loss = log(sum(exp(row))) - row[label], and its gradient,
/// (softmax(row) - [column is the label]) * scale. Rows with label -1 do not count: 0 in both.
template <int width>
inline constexpr auto cross_entropy_rows = kernel("cross_entropy_rows", [](in<bf16, 2> logits, in<int, 1> labels,
                                                                           out<float, 1> loss, out<bf16, 2> gradient,
                                                                           arg<float> scale) {
  require(logits.extent(1) <= width, "cross_entropy_rows: a row must fit one tile");
  auto g = grid_over(loss, shape<1>);
  tile x = cast<float>(load(logits, shape<width>, g[0], 0, pad(-inf)));
  tile label = load(labels, shape<1>, g[0]);
  tile top = max(x, axis<0>);
  tile e = exp(x - top);
  tile total = sum(e, axis<0>);
  tile counts = label >= 0;
  tile at_label = cast<float>(gather(logits, g[0], label));  // an index from data
  store(loss, shape<1>, select(counts, top + log(total) - at_label, 0), g[0]);
  tile hit = iota<int>(shape<width>, axis<0>) == label;
  tile factor = select(counts, full(shape<1>, scale), 0);
  store(gradient, shape<width>, cast<bf16>((e / total - select(hit, full(shape<width>, 1.F), 0)) * factor), g[0], 0);
});

}  // namespace samples
