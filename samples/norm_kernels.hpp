// Defines the gradients of normalised rows, and a normalisation fused with all that stands around it in a transformer.
// A program that launches these includes <tegula/tegula.hpp>.
//
// Tensors are (row, column); a row fits one tile of `width`. Sums over rows are made in two steps, without atomics: the
// same bits at every run. `parts` has a row for each block, two or three for each multiprocessor of a GPU; a block goes
// over every row whose number is its own, modulo the number of blocks, and keeps its sums in registers.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

/// Computes the gradients of y = x * rstd * weight, where rstd (row) = 1 / root mean square of the row: dx, and of the
/// weight the part that a block's rows give.
template <int width>
inline constexpr auto rmsnorm_backward = kernel("rmsnorm_backward", [](in<bf16, 2> x, in<bf16, 1> weight,
                                                                       in<float, 1> rstd, in<bf16, 2> dy,
                                                                       out<bf16, 2> dx, out<float, 2> parts) {
  require(x.extent(1) <= width, "rmsnorm_backward: a row must fit one tile");
  auto g = grid_over(parts, shape<1, width>);
  auto count = cast<float>(x.extent(1));
  tile w = cast<float>(load(weight, shape<width>, 0));
  tile dweight = loop(
      range(g[0], x.extent(0), parts.extent(0)), zeros<float>(shape<width>),
      [&](auto row, auto so_far) {
        tile r = load(rstd, shape<1>, row);
        tile gradient = cast<float>(load(dy, shape<width>, row, 0));
        tile normal = cast<float>(load(x, shape<width>, row, 0)) * r;
        tile scaled = gradient * w;
        tile along = sum(scaled * normal, axis<0>) / count;
        store(dx, shape<width>, cast<bf16>((scaled - normal * along) * r), row, 0);
        return so_far + gradient * normal;
      },
      stages<2>);
  store(parts, shape<width>, dweight, g[0], 0);
});

/// Computes the gradients of y = (x - mean) * rstd * weight + bias: dx, and of weight and bias the parts that a block's
/// rows give. mean and rstd = 1 / standard deviation are those of the rows, from the way forward.
template <int width>
inline constexpr auto layernorm_backward = kernel("layernorm_backward", [](in<bf16, 2> x, in<bf16, 1> weight,
                                                                           in<float, 1> mean, in<float, 1> rstd,
                                                                           in<bf16, 2> dy, out<bf16, 2> dx,
                                                                           out<float, 2> weight_parts,
                                                                           out<float, 2> bias_parts) {
  require(x.extent(1) <= width, "layernorm_backward: a row must fit one tile");
  auto g = grid_over(weight_parts, shape<1, width>);
  auto count = cast<float>(x.extent(1));
  tile w = cast<float>(load(weight, shape<width>, 0));
  auto [dweight, dbias] = loop(
      range(g[0], x.extent(0), weight_parts.extent(0)), carry(zeros<float>(shape<width>), zeros<float>(shape<width>)),
      [&](auto row, auto weight_so_far, auto bias_so_far) {
        tile m = load(mean, shape<1>, row), r = load(rstd, shape<1>, row);
        tile gradient = cast<float>(load(dy, shape<width>, row, 0));
        tile normal = (cast<float>(load(x, shape<width>, row, 0)) - m) * r;
        tile scaled = gradient * w;  // 0 outside of the row, as the gradient is
        tile across = sum(scaled, axis<0>) / count, along = sum(scaled * normal, axis<0>) / count;
        store(dx, shape<width>, cast<bf16>((scaled - across - normal * along) * r), row, 0);
        return carry(weight_so_far + gradient * normal, bias_so_far + gradient);
      },
      stages<2>);
  store(weight_parts, shape<width>, dweight, g[0], 0);
  store(bias_parts, shape<width>, dbias, g[0], 0);
});

/// Sums the parts of all blocks: column j of `total` is the sum of column j.
inline constexpr auto column_sums = kernel("column_sums", [](in<float, 2> parts, out<bf16, 1> total) {
  auto g = grid_over(total, shape<32>);
  tile sums = loop(ceil_div(parts.extent(0), 64), zeros<float>(shape<1, 32>),
                   [&](auto i, auto before) { return before + sum(load(parts, shape<64, 32>, i, g[0]), axis<0>); });
  store(total, shape<32>, cast<bf16>(squeeze(sums, axis<0>)), g[0]);
});

/// Computes what stands between two products of a transformer: total = residual + dropout(x), and y, the layernorm of
/// total in e4m3. Dropout keeps an element with probability `keep`, and divides it by that. y times 1 / scale are the
/// numbers; amax[0] becomes the maximum of their magnitudes, from which the caller takes the scale of the next step. It
/// holds 0, or an earlier maximum, before.
template <int width>
inline constexpr auto add_norm_quantize =
    kernel("add_norm_quantize", [](in<bf16, 2> x, in<bf16, 2> residual, in<bf16, 1> weight, in<bf16, 1> bias,
                                   out<bf16, 2> total, out<e4m3, 2> y, inout<float, 1> amax, arg<float> keep,
                                   arg<int> seed, arg<float> epsilon, arg<float> scale) {
      require(x.extent(1) <= width, "add_norm_quantize: a row must fit one tile");
      auto g = grid_over(y, shape<1, width>);
      auto columns = x.extent(1);
      auto count = cast<float>(columns);
      tile place = iota(shape<width>, axis<0>) + g[0] * width;
      tile kept =
          select(random_uniform(seed, place) < keep, cast<float>(load(x, shape<width>, g[0], 0)) * (1 / keep), 0);
      tile sums = cast<float>(load(residual, shape<width>, g[0], 0)) + kept;  // 0 outside of the row
      store(total, shape<width>, cast<bf16>(sums), g[0], 0);
      tile d = mask_outside(sums - sum(sums, axis<0>) / count, axis<0>, 0, columns, 0);
      tile r = rsqrt(sum(d * d, axis<0>) / count + epsilon);
      tile normal = d * r * cast<float>(load(weight, shape<width>, 0)) + cast<float>(load(bias, shape<width>, 0));
      store(y, shape<width>, cast<e4m3>(normal * scale), g[0], 0);
      atomic_max(amax, max(abs(normal)), 0);
    });

}  // namespace samples
