// Defines kernels as users write them, on pictures, points and places.
#include <fmt/format.h>

#include "host/rows/written.hpp"

namespace tegula::bench {
namespace {

constexpr auto histogram = kernel("histogram", [](in<int, 1> classes, inout<int, 1> counts) {
  auto g = grid_over(classes, shape<1024>);
  atomic_add(counts, 1, load(classes, shape<1024>, g[0], pad(-1)));
});

Case histogram_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(512, std::int64_t{1} << 21);
  Tensors const t(indices(n, 256), filled<int, 1>(0, 256), std::vector<int>(256));
  auto &classes = t.get<0>(), &counts = t.get<1>();
  auto& others = t.get<2>();
  auto const launch = launcher(histogram, classes, counts);
  return {fmt::format("{} in 256", n), "OpenMP",
          keeping(t,
                  [&counts, launch] {
                    counts.fill(0);
                    launch();
                  }),
          keeping(t,
                  [&, n, threads = setting.threads, f = setting.written.histogram] {
                    std::fill(others.begin(), others.end(), 0);
                    f(classes.data(), others.data(), n, threads);
                  }),
          keeping(t, [&] {
            std::vector<double> expected(256);
            for (std::int64_t i = 0; i < classes.size(); ++i) ++expected[static_cast<std::size_t>(classes.data()[i])];
            return spread(counts, 0, 1, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
          })};
}

constexpr auto convolution = kernel("convolution", [](in<float, 2> x, in<float, 2> k, out<float, 2> y) {
  auto g = grid_over(y, shape<16, 128>);
  tile sum = zeros<float>(shape<16, 128>);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      sum += load(x, shape<16, 128>, elem(g[0] * 16 + (i - 1)), elem(g[1] * 128 + (j - 1))) * load(k, i, j);
  store(y, shape<16, 128>, sum, g[0], g[1]);
});

Case convolution_case(Draw& draw, Setting const& setting) {
  std::int64_t const height = draw.extent(16, 1024), width = draw.extent(16, 2048);
  Tensors const t(filled<float, 2>(1, height, width), filled<float, 2>(2, 3, 3),
                  samples::poisoned<float, 2>(device::host(), height, width),
                  samples::poisoned<float, 2>(device::host(), height, width));
  auto &x = t.get<0>(), &k = t.get<1>(), &y = t.get<2>(), &z = t.get<3>();
  return {extents_text(height, width), "OpenMP", keeping(t, launcher(convolution, x, k, y)),
          keeping(t, [&, height, width, threads = setting.threads,
                      f = setting.written.convolution] { f(x.data(), k.data(), z.data(), height, width, threads); }),
          keeping(t, [&, height, width] {
            return spread(y, 1e-5, 1, [&](std::int64_t at) {
              double total = 0;
              for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                  std::int64_t const row = at / width + i - 1, column = at % width + j - 1;
                  if (row >= 0 && row < height && column >= 0 && column < width)
                    total += double(x.data()[row * width + column]) * k.data()[i * 3 + j];
                }
              return total;
            });
          })};
}

constexpr auto depthwise = kernel("depthwise", [](in<float, 3> x, in<float, 3> k, out<float, 3> y) {
  auto g = grid_over(y, shape<1, 16, 64>);
  tile sum = zeros<float>(shape<1, 16, 64>);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      sum += load(x, shape<1, 16, 64>, elem(g[0] + (i - 1)), elem(g[1] * 16 + (j - 1)), elem(g[2] * 64)) *
             load(k, shape<1, 1, 64>, i, j, g[2]);
  store(y, shape<1, 16, 64>, sum, g[0], g[1], g[2]);
});

Case depthwise_case(Draw& draw, Setting const& setting) {
  std::int64_t const height = draw.extent(4, 128), width = draw.extent(4, 128), channels = draw.extent(16, 256);
  Tensors const t(filled<float, 3>(1, height, width, channels), filled<float, 3>(2, 3, 3, channels),
                  samples::poisoned<float, 3>(device::host(), height, width, channels),
                  samples::poisoned<float, 3>(device::host(), height, width, channels));
  auto &x = t.get<0>(), &k = t.get<1>(), &y = t.get<2>(), &z = t.get<3>();
  return {extents_text(height, width, channels), "OpenMP", keeping(t, launcher(depthwise, x, k, y)),
          keeping(t,
                  [&, height, width, channels, threads = setting.threads, f = setting.written.depthwise] {
                    f(x.data(), k.data(), z.data(), height, width, channels, threads);
                  }),
          keeping(t, [&, height, width, channels] {
            return spread(y, 1e-5, 1, [&](std::int64_t at) {
              std::int64_t const c = at % channels, place = at / channels;
              double total = 0;
              for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                  std::int64_t const row = place / width + i - 1, column = place % width + j - 1;
                  if (row >= 0 && row < height && column >= 0 && column < width)
                    total +=
                        double(x.data()[(row * width + column) * channels + c]) * k.data()[(i * 3 + j) * channels + c];
                }
              return total;
            });
          })};
}

constexpr int points = 256;  // of a Fourier transform

/// Multiplies by the step `S` of a transform and all smaller ones: pairs `points / 2` apart, results side by side.
template <int S, class Tile>
auto transformed(Tile const& re, Tile const& im, in<float, 2> const& w) {
  if constexpr (S == points) {
    return let(carry(reshape(re, shape<1, points>), reshape(im, shape<1, points>)));
  } else {
    constexpr int half = points / 2 / S;
    tile r = reshape(re, shape<2, half, S>), i = reshape(im, shape<2, half, S>);
    tile r0 = slice(r, shape<1, half, S>, offset<0, 0, 0>), r1 = slice(r, shape<1, half, S>, offset<1, 0, 0>);
    tile i0 = slice(i, shape<1, half, S>, offset<0, 0, 0>), i1 = slice(i, shape<1, half, S>, offset<1, 0, 0>);
    tile place = iota<int>(shape<1, half, 1>, axis<1>) * S;
    tile c = gather(w, 0, place), s = gather(w, 1, place);
    tile dr = r0 - r1, di = i0 - i1;
    tile sum_r = reshape(r0 + r1, shape<half, 1, S>), sum_i = reshape(i0 + i1, shape<half, 1, S>);
    tile turned_r = reshape(dr * c + di * s, shape<half, 1, S>), turned_i = reshape(di * c - dr * s, shape<half, 1, S>);
    tile next_r = reshape(concatenate(sum_r, turned_r, axis<1>), shape<1, points>);
    tile next_i = reshape(concatenate(sum_i, turned_i, axis<1>), shape<1, points>);
    return transformed<S * 2>(next_r, next_i, w);
  }
}

constexpr auto fourier =
    kernel("fourier", [](in<float, 2> re, in<float, 2> im, in<float, 2> w, out<float, 2> out_re, out<float, 2> out_im) {
      auto g = grid_over(out_re, shape<1, points>);
      tile r = load(re, shape<1, points>, g[0], 0), i = load(im, shape<1, points>, g[0], 0);
      auto [x, y] = transformed<1>(r, i, w);
      store(out_re, shape<1, points>, x, g[0], 0);
      store(out_im, shape<1, points>, y, g[0], 0);
    });

Case fourier_case(Draw& draw, Setting const& setting) {
  std::int64_t const rows = draw.extent(1, 2048);
  Tensors const t(filled<float, 2>(1, rows, points), filled<float, 2>(2, rows, points), filled<float, 2>(3, 2, points),
                  samples::poisoned<float, 2>(device::host(), rows, points),
                  samples::poisoned<float, 2>(device::host(), rows, points),
                  samples::poisoned<float, 2>(device::host(), rows, points),
                  samples::poisoned<float, 2>(device::host(), rows, points));
  auto &re = t.get<0>(), &im = t.get<1>(), &w = t.get<2>(), &x = t.get<3>(), &y = t.get<4>(), &u = t.get<5>(),
       &v = t.get<6>();
  for (int i = 0; i < points; ++i) {
    w.data()[i] = static_cast<float>(std::cos(2 * M_PI * i / points));
    w.data()[points + i] = static_cast<float>(std::sin(2 * M_PI * i / points));
  }
  return {extents_text(rows, points), "OpenMP", keeping(t, launcher(fourier, re, im, w, x, y)),
          keeping(t,
                  [&, rows, threads = setting.threads, f = setting.written.fourier] {
                    f(re.data(), im.data(), w.data(), u.data(), v.data(), rows, threads);
                  }),
          keeping(t, [&] {
            auto const exact = [&](std::int64_t i, bool imaginary) {
              double total = 0;
              for (std::int64_t j = 0; j < points; ++j) {
                double const angle = -2 * M_PI * double(i % points * j % points) / points;
                double const a = re.data()[i / points * points + j], b = im.data()[i / points * points + j];
                total +=
                    imaginary ? a * std::sin(angle) + b * std::cos(angle) : a * std::cos(angle) - b * std::sin(angle);
              }
              return total;
            };
            samples::Comparison all = spread(x, 1e-4, 1, [&](std::int64_t i) { return exact(i, false); });
            all.join(spread(y, 1e-4, 1, [&](std::int64_t i) { return exact(i, true); }));
            return all;
          })};
}

constexpr auto all_pairs = kernel("all_pairs", [](in<float, 2> p, out<float, 1> a) {
  auto g = grid_over(a, shape<64>);
  auto coordinate = [&](int k) { return let(expand_dims(load(p, shape<64>, k, g[0]), axis<1>)); };
  tile x = coordinate(0), y = coordinate(1), z = coordinate(2);
  tile total = loop(ceil_div(p.extent(1), 128), zeros<float>(shape<64, 1>), [&](auto j, auto before) {
    auto other = [&](int k) { return let(expand_dims(load(p, shape<128>, k, j), axis<0>)); };
    tile dx = other(0) - x, dy = other(1) - y, dz = other(2) - z;
    tile square = dx * dx + dy * dy + dz * dz + 0.01F;
    tile part = dx / (square * sqrt(square));
    return before + sum(mask_outside(part, axis<1>, j, p.extent(1), 0), axis<1>);
  });
  store(a, shape<64>, squeeze(total, axis<1>), g[0]);
});

Case all_pairs_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(32, 4096);
  Tensors const t(filled<float, 2>(1, 3, n), samples::poisoned<float, 1>(device::host(), n),
                  samples::poisoned<float, 1>(device::host(), n));
  auto& p = t.get<0>();
  auto &a = t.get<1>(), &z = t.get<2>();
  return {fmt::to_string(n), "OpenMP", keeping(t, launcher(all_pairs, p, a)),
          keeping(t, [&, n, threads = setting.threads,
                      f = setting.written.all_pairs] { f(p.data(), z.data(), n, threads); }),
          keeping(t, [&, n] {
            return spread(a, 1e-4, 10, [&](std::int64_t i) {
              double total = 0;
              for (std::int64_t j = 0; j < n; ++j) {
                double d[3];
                for (int k = 0; k < 3; ++k) d[k] = double(p.data()[k * n + j]) - p.data()[k * n + i];
                total += d[0] / std::pow(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.01, 1.5);
              }
              return total;
            });
          })};
}

constexpr auto permuted_rows =
    kernel("permuted_rows", [](in<float, 2> x, in<int, 1> from, in<int, 1> to, in<float, 1> weight, inout<float, 2> y) {
      auto g = grid_over(from, shape<8>);
      auto side = [&](auto const& places) { return let(expand_dims(load(places, shape<8>, g[0], pad(-1)), axis<1>)); };
      tile source = side(from), target = side(to);
      tile factor = expand_dims(load(weight, shape<8>, g[0]), axis<1>);
      loop(ceil_div(x.extent(1), 256), [&](auto k) {
        tile column = iota<int>(shape<1, 256>, axis<1>) + cast<int>(k * 256);
        scatter(y, gather(x, source, column) * factor, target, column);
      });
    });

Case permuted_rows_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(16, 2048), rows = rows_for(draw, n, std::int64_t{1} << 20);
  Tensors const t(filled<float, 2>(1, rows, n), indices(rows, rows), indices(rows, rows), filled<float, 1>(2, rows),
                  samples::poisoned<float, 2>(device::host(), rows, n),
                  samples::poisoned<float, 2>(device::host(), rows, n));
  auto &x = t.get<0>(), &y = t.get<4>(), &z = t.get<5>();
  auto &from = t.get<1>(), &to = t.get<2>();
  auto& weight = t.get<3>();
  for (std::int64_t i = 0; i < rows; ++i) to.data()[i] = static_cast<int>(i * 7919 % rows);  // once each, or n of 7919
  if (rows % 7919 == 0)
    for (std::int64_t i = 0; i < rows; ++i) to.data()[i] = static_cast<int>(i);
  return {extents_text(rows, n), "OpenMP", keeping(t, launcher(permuted_rows, x, from, to, weight, y)),
          keeping(t,
                  [&, rows, n, threads = setting.threads, f = setting.written.permuted_rows] {
                    f(x.data(), from.data(), to.data(), weight.data(), z.data(), rows, n, threads);
                  }),
          keeping(t, [&, rows, n] {
            std::vector<std::int64_t> back(static_cast<std::size_t>(rows));
            for (std::int64_t i = 0; i < rows; ++i) back[static_cast<std::size_t>(to.data()[i])] = i;
            return spread(y, 1e-6, 1, [&](std::int64_t at) {
              std::int64_t const i = back[static_cast<std::size_t>(at / n)];
              return double(x.data()[from.data()[i] * n + at % n]) * weight.data()[i];
            });
          })};
}

}  // namespace

std::vector<Row> written_grids() {
  return {{"histogram", "written", histogram_case},     {"convolution 3x3", "written", convolution_case},
          {"depthwise 3x3", "written", depthwise_case}, {"fourier", "written", fourier_case},
          {"all pairs", "written", all_pairs_case},     {"permuted rows", "written", permuted_rows_case}};
}

}  // namespace tegula::bench
