// Defines kernels as users write them, on rows and models: decode, norms, softmax, cross entropy, top-k, scan,
// attention, a product of 4 bits, gradients. written_grids.cpp has the others.
#include <fmt/format.h>

#include "host/rows/written.hpp"

namespace tegula::bench {
namespace {

constexpr auto decode = kernel("decode", [](in<bf16, 2> w, in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<16>);
  tile sums = loop(ceil_div(w.extent(1), 512), zeros<float>(shape<16, 1>), [&](auto k, auto before) {
    tile part = cast<float>(load(w, shape<16, 512>, g[0], k)) * expand_dims(load(x, shape<512>, k), axis<0>);
    return before + sum(part, axis<1>);
  });
  store(y, shape<16>, squeeze(sums, axis<1>), g[0]);
});

Case decode_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(64, 4096), k = draw.extent(64, 4096);
  Tensors const t(filled<bf16, 2>(1, n, k), filled<float, 1>(2, k), samples::poisoned<float, 1>(device::host(), n),
                  samples::poisoned<float, 1>(device::host(), n));
  auto& w = t.get<0>();
  auto &x = t.get<1>(), &y = t.get<2>(), &z = t.get<3>();
  return {extents_text(n, k), "OpenMP", keeping(t, launcher(decode, w, x, y)),
          keeping(t,
                  [&, n, k, threads = setting.threads, f = setting.written.decode] {
                    f(reinterpret_cast<std::uint16_t const*>(w.data()), x.data(), z.data(), n, k, threads);
                  }),
          keeping(t, [&, k] {
            return spread(y, 1e-5, std::sqrt(double(k)), [&](std::int64_t i) {
              double total = 0;
              for (std::int64_t j = 0; j < k; ++j) total += double(float(w.data()[i * k + j])) * double(x.data()[j]);
              return total;
            });
          })};
}

template <int W>
constexpr auto residual_norm = kernel("residual_norm", [](in<float, 2> x, in<float, 2> r, in<float, 1> gain,
                                                          out<float, 2> h, out<float, 2> y) {
  auto g = grid_over(y, shape<1, W>);
  require(x.extent(1) <= W, "residual_norm: a row must fit one tile");
  tile v = load(x, shape<1, W>, g[0], 0) + load(r, shape<1, W>, g[0], 0);
  tile scale = rsqrt(sum(v * v, axis<1>) / cast<float>(x.extent(1)) + 1e-5F);
  store(h, shape<1, W>, v, g[0], 0);
  store(y, shape<1, W>, v * scale * expand_dims(load(gain, shape<W>, 0), axis<0>), g[0], 0);
});

Case norm_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(64, 8192), rows = rows_for(draw, n, std::int64_t{1} << 21);
  Tensors const t(filled<float, 2>(1, rows, n), filled<float, 2>(2, rows, n), filled<float, 1>(3, n),
                  samples::poisoned<float, 2>(device::host(), rows, n),
                  samples::poisoned<float, 2>(device::host(), rows, n));
  auto &x = t.get<0>(), &r = t.get<1>(), &h = t.get<3>(), &y = t.get<4>();
  auto& gain = t.get<2>();
  auto const spare = std::make_shared<std::vector<float>>(2 * x.size());
  return {extents_text(rows, n), "OpenMP",
          keeping(t, with_width<512, 2048, 8192>(
                         n, [&](auto w) { return launcher(residual_norm<w.value>, x, r, gain, h, y); })),
          keeping(t,
                  [&, spare, rows, n, threads = setting.threads, f = setting.written.norm] {
                    f(x.data(), r.data(), gain.data(), spare->data(), spare->data() + rows * n, rows, n, threads);
                  }),
          keeping(t, [&, n] {
            samples::Comparison all =
                spread(h, 1e-6, 1, [&](std::int64_t i) { return double(x.data()[i]) + r.data()[i]; });
            samples::Comparison const scaled = spread(y, 1e-4, 1, [&](std::int64_t i) {
              double squares = 0;
              for (std::int64_t j = i / n * n; j < (i / n + 1) * n; ++j) {
                double const v = double(x.data()[j]) + r.data()[j];
                squares += v * v;
              }
              return (double(x.data()[i]) + r.data()[i]) / std::sqrt(squares / double(n) + 1e-5) * gain.data()[i % n];
            });
            if (!scaled.right()) return scaled;
            return all;
          })};
}

template <int W>
constexpr auto causal_softmax = kernel("causal_softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, W>);
  require(x.extent(1) <= W, "causal_softmax: a row must fit one tile");
  tile column = iota<int>(shape<1, W>, axis<1>);
  tile v = select(column <= cast<int>(g[0]), load(x, shape<1, W>, g[0], 0) * 0.125F, -inf);
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, W>, e / sum(e, axis<1>), g[0], 0);
});

Case softmax_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(32, 2048);
  Tensors const t(filled<float, 2>(1, n, n), samples::poisoned<float, 2>(device::host(), n, n),
                  samples::poisoned<float, 2>(device::host(), n, n));
  auto &x = t.get<0>(), &y = t.get<1>(), &z = t.get<2>();
  return {extents_text(n, n), "OpenMP",
          keeping(t, with_width<128, 512, 2048>(n, [&](auto w) { return launcher(causal_softmax<w.value>, x, y); })),
          keeping(t, [&, n, threads = setting.threads,
                      f = setting.written.causal_softmax] { f(x.data(), z.data(), n, threads); }),
          keeping(t, [&, n] {
            return spread(y, 1e-5, 1e-3, [&](std::int64_t i) {
              if (i % n > i / n) return 0.0;
              double total = 0;
              for (std::int64_t j = 0; j <= i / n; ++j) total += std::exp(x.data()[i / n * n + j] * 0.125);
              return std::exp(x.data()[i] * 0.125) / total;
            });
          })};
}

constexpr auto cross_entropy = kernel("cross_entropy", [](in<float, 2> logits, in<int, 1> labels, out<float, 1> loss) {
  auto g = grid_over(loss, shape<1>);
  auto [m, l] = loop(ceil_div(logits.extent(1), 2048), carry(full(shape<1>, -inf), zeros<float>(shape<1>)),
                     [&](auto j, auto m0, auto l0) {
                       tile x = load(logits, shape<2048>, g[0], j, pad(-inf));
                       tile m1 = max(m0, max(x, axis<0>));
                       return carry(m1, l0 * exp(m0 - m1) + sum(exp(x - m1), axis<0>));
                     });
  store(loss, shape<1>, m + log(l) - gather(logits, g[0], load(labels, shape<1>, g[0])), g[0]);
});

Case cross_entropy_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(100, 50000), rows = rows_for(draw, n, std::int64_t{1} << 21);
  Tensors const t(filled<float, 2>(1, rows, n), indices(rows, n), samples::poisoned<float, 1>(device::host(), rows),
                  samples::poisoned<float, 1>(device::host(), rows));
  auto& x = t.get<0>();
  auto& labels = t.get<1>();
  auto &loss = t.get<2>(), &z = t.get<3>();
  return {extents_text(rows, n), "OpenMP", keeping(t, launcher(cross_entropy, x, labels, loss)),
          keeping(t, [&, rows, n, threads = setting.threads,
                      f = setting.written.cross_entropy] { f(x.data(), labels.data(), z.data(), rows, n, threads); }),
          keeping(t, [&, n] {
            return spread(loss, 1e-5, 1, [&](std::int64_t i) {
              double total = 0;
              for (std::int64_t j = 0; j < n; ++j) total += std::exp(double(x.data()[i * n + j]));
              return std::log(total) - x.data()[i * n + labels.data()[i]];
            });
          })};
}

template <int W>
constexpr auto top_8 = kernel("top_8", [](in<float, 2> x, out<float, 2> values) {
  auto g = grid_over(values, shape<1, 8>);
  require(x.extent(1) <= W, "top_8: a row must fit one tile");
  auto [best, places] = top_k<8>(load(x, shape<1, W>, g[0], 0, pad(-inf)), axis<1>);
  store(values, shape<1, 8>, best, g[0], 0);
});

Case top_k_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(16, 2048), rows = rows_for(draw, n, std::int64_t{1} << 18);
  Tensors const t(filled<float, 2>(1, rows, n), samples::poisoned<float, 2>(device::host(), rows, 8),
                  samples::poisoned<float, 2>(device::host(), rows, 8));
  auto &x = t.get<0>(), &y = t.get<1>(), &z = t.get<2>();
  return {extents_text(rows, n), "OpenMP",
          keeping(t, with_width<128, 512, 2048>(n, [&](auto w) { return launcher(top_8<w.value>, x, y); })),
          keeping(t, [&, rows, n, threads = setting.threads,
                      f = setting.written.top_8] { f(x.data(), z.data(), rows, n, threads); }),
          keeping(t, [&, n] {
            return spread(y, 0, 1, [&](std::int64_t i) {
              std::vector<float> row(x.data() + i / 8 * n, x.data() + (i / 8 + 1) * n);
              std::nth_element(row.begin(), row.begin() + i % 8, row.end(), std::greater<>());
              return double(row[static_cast<std::size_t>(i % 8)]);
            });
          })};
}

template <int W>
constexpr auto exclusive_sums = kernel("exclusive_sums", [](in<int, 2> x, out<int, 2> y) {
  auto g = grid_over(y, shape<1, W>);
  require(x.extent(1) <= W, "exclusive_sums: a row must fit one tile");
  store(y, shape<1, W>, cumsum(load(x, shape<1, W>, g[0], 0), axis<1>, exclusive), g[0], 0);
});

Case scan_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(16, 8192), rows = rows_for(draw, n, std::int64_t{1} << 21);
  Tensors const t(filled<int, 2>(1, rows, n), samples::poisoned<int, 2>(device::host(), rows, n),
                  samples::poisoned<int, 2>(device::host(), rows, n));
  auto &x = t.get<0>(), &y = t.get<1>(), &z = t.get<2>();
  return {
      extents_text(rows, n), "OpenMP",
      keeping(t, with_width<128, 512, 2048, 8192>(n, [&](auto w) { return launcher(exclusive_sums<w.value>, x, y); })),
      keeping(t, [&, rows, n, threads = setting.threads,
                  f = setting.written.exclusive_sums] { f(x.data(), z.data(), rows, n, threads); }),
      keeping(t, [&, n] {
        return spread(y, 0, 1, [&](std::int64_t i) {
          double total = 0;
          for (std::int64_t j = i / n * n; j < i; ++j) total += x.data()[j];
          return total;
        });
      })};
}

template <int BM, int BN>
constexpr auto product_4_bits = kernel("product_4_bits", [](in<float, 2> x, in<std::uint8_t, 2> packed,
                                                            in<float, 2> scales, out<float, 2> y) {
  require(packed.extent(0) == x.extent(1), "product_4_bits: each column of x has a row of weights");
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = loop(x.extent(1) / 64, zeros<float>(shape<BM, BN>), [&](auto k, auto sum) {
    tile weights = unpack<i4>(load(packed, shape<64, BN / 2>, k, g[1]));
    tile scaled = cast<float>(weights) * load(scales, shape<1, BN>, k, g[1]);
    return dot(load(x, shape<BM, 64>, g[0], k), scaled, sum);
  });
  store(y, shape<BM, BN>, sums, g[0], g[1]);
});

Case product_4_bits_case(Draw& draw, Setting const& setting) {
  std::int64_t const m = draw.extent(1, 64), n = draw.integer(8, 256) * 8, k = draw.integer(1, 32) * 64;
  Tensors const t(filled<float, 2>(1, m, k), filled<std::uint8_t, 2>(2, k, n / 2), filled<float, 2>(3, k / 64, n),
                  samples::poisoned<float, 2>(device::host(), m, n), samples::poisoned<float, 2>(device::host(), m, n));
  auto &x = t.get<0>(), &scales = t.get<2>(), &y = t.get<3>(), &z = t.get<4>();
  auto& w = t.get<1>();
  for (std::int64_t i = 0; i < w.size(); ++i) w.data()[i] = static_cast<std::uint8_t>(i * 7919 % 251);
  return {extents_text(m, n, k), "OpenMP",
          keeping(t, with_width<8, 32>(
                         m, [&](auto rows) { return launcher(product_4_bits<rows.value, 128>, x, w, scales, y); })),
          keeping(t,
                  [&, m, n, k, threads = setting.threads, f = setting.written.product_4_bits] {
                    f(x.data(), w.data(), scales.data(), z.data(), m, n, k, threads);
                  }),
          keeping(t, [&, n, k] {
            return spread(y, 1e-5, std::sqrt(double(k)) * 8, [&](std::int64_t i) {
              double total = 0;
              for (std::int64_t e = 0; e < k; ++e) {
                int const byte = w.data()[e * (n / 2) + i % n / 2];
                int const four = i % 2 == 0 ? byte & 15 : byte >> 4;
                total += double(x.data()[i / n * k + e]) * double((four ^ 8) - 8) * scales.data()[e / 64 * n + i % n];
              }
              return total;
            });
          })};
}

constexpr auto attend = kernel("attend", [](in<float, 2> Q, in<float, 2> K, in<float, 2> V, out<float, 2> O) {
  auto g = grid_over(O, shape<32, 64>);
  tile q = load(Q, shape<32, 64>, g[0], 0);
  auto [m, l, o] =
      loop(ceil_div(K.extent(0), 64),
           carry(full(shape<32, 1>, -inf), zeros<float>(shape<32, 1>), zeros<float>(shape<32, 64>)),
           [&](auto j, auto m0, auto l0, auto o0) {
             tile s = mask_outside(dot(q, trans(load(K, shape<64, 64>, j, 0))) * 0.125F, axis<1>, j, K.extent(0), -inf);
             tile m1 = max(m0, max(s, axis<1>));
             tile p = exp(s - m1);
             tile a = exp(m0 - m1);
             return carry(m1, l0 * a + sum(p, axis<1>), dot(p, load(V, shape<64, 64>, j, 0), o0 * a));
           });
  store(O, shape<32, 64>, o / l, g[0], 0);
});

Case attention_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(16, 1024);
  Tensors const t(filled<float, 2>(1, n, 64), filled<float, 2>(2, n, 64), filled<float, 2>(3, n, 64),
                  samples::poisoned<float, 2>(device::host(), n, 64),
                  samples::poisoned<float, 2>(device::host(), n, 64));
  auto &q = t.get<0>(), &k = t.get<1>(), &v = t.get<2>(), &o = t.get<3>(), &z = t.get<4>();
  return {fmt::format("{}, heads of 64", n), "OpenMP", keeping(t, launcher(attend, q, k, v, o)),
          keeping(t, [&, n, threads = setting.threads,
                      f = setting.written.attention] { f(q.data(), k.data(), v.data(), z.data(), n, threads); }),
          keeping(t, [&, n] {
            return spread(o, 1e-4, 1, [&](std::int64_t i) {
              double total = 0, sum = 0;
              for (std::int64_t j = 0; j < n; ++j) {
                double score = 0;
                for (int e = 0; e < 64; ++e) score += double(q.data()[i / 64 * 64 + e]) * double(k.data()[j * 64 + e]);
                double const weight = std::exp(score * 0.125);
                total += weight, sum += weight * v.data()[j * 64 + i % 64];
              }
              return sum / total;
            });
          })};
}

template <int W>
constexpr auto layernorm_backward = kernel("layernorm_backward", [](in<float, 2> x, in<float, 1> weight,
                                                                    in<float, 1> mean, in<float, 1> rstd,
                                                                    in<float, 2> dy, out<float, 2> dx) {
  auto g = grid_over(dx, shape<1, W>);
  require(x.extent(1) <= W, "layernorm_backward: a row must fit one tile");
  auto count = cast<float>(x.extent(1));
  tile r = load(rstd, shape<1>, g[0]);
  tile normal = (load(x, shape<W>, g[0], 0) - load(mean, shape<1>, g[0])) * r;
  tile scaled = load(dy, shape<W>, g[0], 0) * load(weight, shape<W>, 0);
  tile along = sum(scaled * normal, axis<0>) / count;
  store(dx, shape<W>, (scaled - sum(scaled, axis<0>) / count - normal * along) * r, g[0], 0);
});

Case layernorm_backward_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(64, 8192), rows = rows_for(draw, n, std::int64_t{1} << 21);
  Tensors const t(filled<float, 2>(1, rows, n), filled<float, 1>(2, n), filled<float, 1>(3, rows),
                  filled<float, 1>(4, rows), filled<float, 2>(5, rows, n),
                  samples::poisoned<float, 2>(device::host(), rows, n),
                  samples::poisoned<float, 2>(device::host(), rows, n));
  auto &x = t.get<0>(), &dy = t.get<4>(), &dx = t.get<5>(), &z = t.get<6>();
  auto &weight = t.get<1>(), &mean = t.get<2>(), &rstd = t.get<3>();
  return {
      extents_text(rows, n), "OpenMP",
      keeping(t, with_width<512, 2048, 8192>(
                     n, [&](auto w) { return launcher(layernorm_backward<w.value>, x, weight, mean, rstd, dy, dx); })),
      keeping(t,
              [&, rows, n, threads = setting.threads, f = setting.written.layernorm_backward] {
                f(x.data(), weight.data(), mean.data(), rstd.data(), dy.data(), z.data(), rows, n, threads);
              }),
      keeping(t, [&, n] {
        return spread(dx, 1e-4, 1, [&](std::int64_t i) {
          std::int64_t const row = i / n;
          double const m = mean.data()[row], r = rstd.data()[row];
          double total = 0, along = 0;
          for (std::int64_t j = 0; j < n; ++j) {
            double const scaled = double(dy.data()[row * n + j]) * weight.data()[j];
            total += scaled, along += scaled * (x.data()[row * n + j] - m) * r;
          }
          double const scaled = double(dy.data()[i]) * weight.data()[i % n];
          return (scaled - total / double(n) - (x.data()[i] - m) * r * along / double(n)) * r;
        });
      })};
}

}  // namespace

std::vector<Row> written_rows() {
  std::vector<Row> all = {{"decode", "written", decode_case},
                          {"norm", "written", norm_case},
                          {"causal softmax", "written", softmax_case},
                          {"cross entropy", "written", cross_entropy_case},
                          {"top 8", "written", top_k_case},
                          {"exclusive sums", "written", scan_case},
                          {"product of 4 bits", "written", product_4_bits_case},
                          {"attention", "written", attention_case},
                          {"layernorm backward", "written", layernorm_backward_case}};
  std::vector<Row> const others = written_grids();
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace tegula::bench
