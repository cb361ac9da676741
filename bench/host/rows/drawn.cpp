// Defines the drawn kernels that libraries and textbooks have: products, rows, reductions, transposes, gathers, scans.
#include <fmt/format.h>

#include <array>

#include "host/rows/rows.hpp"
#include "rig/openblas.hpp"

namespace tegula::bench {
namespace {

template <class T>
Case product_case(Draw& draw, Setting const& setting) {
  std::int64_t const m = draw.extent(8, 1400), n = draw.extent(8, 1400), k = draw.extent(8, 1400);
  Tensors const t(filled<T, 2>(1, m, k), filled<T, 2>(2, k, n), samples::poisoned<T, 2>(device::host(), m, n),
                  samples::poisoned<T, 2>(device::host(), m, n));
  auto &a = t.template get<0>(), &b = t.template get<1>(), &c = t.template get<2>(), &d = t.template get<3>();
  Case made;
  made.extents = extents_text(m, n, k);
  made.ours = keeping(t, n > 64 ? launcher(product<T, T>, a, b, c) : launcher(product<T, T, 64>, a, b, c));
  OpenBlas const* const blas = setting.with_blas ? openblas() : nullptr;
  bool const by_eigen = sizeof(T) == 4 && setting.loops.product != nullptr && (blas == nullptr || draw.uniform() < 0.3);
  int const threads = setting.threads;
  if (by_eigen) {
    made.rival = "Eigen";
    if constexpr (sizeof(T) == 4)
      made.theirs = keeping(t, [&a, &b, &d, m, n, k, threads, &loops = setting.loops] {
        loops.product(a.data(), b.data(), d.data(), m, n, k, threads);
      });
  } else if (blas != nullptr) {
    made.rival = std::string("OpenBLAS ") + blas->core_name();
    made.theirs = keeping(t, [&a, &b, &d, m, n, k, threads, blas] {
      blas->set_threads(threads);
      blas->product(a.data(), b.data(), d.data(), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k));
    });
  }
  made.check = keeping(t, [&a, &b, &c, n, k] {
    return spread(c, 1e-5, std::sqrt(static_cast<double>(k)), [&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t e = 0; e < k; ++e) sum += double(a.data()[i / n * k + e]) * double(b.data()[e * n + i % n]);
      return sum;
    });
  });
  return made;
}

/// Makes a case of y = f(rows of x), where the rival takes (x, y, rows, n, threads).
template <class Launch, class Expected>
Case rows_case(Draw& draw, Setting const& setting, Loops::Rows loop, bool reduced, Launch const& launch, double bound,
               Expected const& expected) {
  std::int64_t const n = draw.extent(17, 8192), rows = rows_for(draw, n, std::int64_t{1} << 22);
  std::int64_t const results = reduced ? 1 : n;
  Tensors const t(filled<float, 2>(1, rows, n), samples::poisoned<float, 2>(device::host(), rows, results),
                  samples::poisoned<float, 2>(device::host(), rows, results));
  auto &x = t.template get<0>(), &y = t.template get<1>(), &z = t.template get<2>();
  Case made;
  made.extents = extents_text(rows, n);
  made.rival = "OpenMP";
  made.ours = keeping(t, with_width<128, 512, 2048, 8192>(n, [&](auto width) { return launch(width, x, y); }));
  made.theirs =
      keeping(t, [&x, &z, loop, rows, n, threads = setting.threads] { loop(x.data(), z.data(), rows, n, threads); });
  made.check = keeping(t, [&x, &y, n, bound, expected, results] {
    return spread(y, bound, 1e-3, [&](std::int64_t i) { return expected(x.data() + i / results * n, n, i % results); });
  });
  return made;
}

double sum_of(float const* row, std::int64_t n, double power, double minus = 0) {
  double total = 0;
  for (std::int64_t j = 0; j < n; ++j) total += std::pow(row[j] - minus, power);
  return total;
}

Case softmax_case(Draw& draw, Setting const& setting) {
  return rows_case(
      draw, setting, setting.loops.softmax, false,
      [](auto w, auto& x, auto& y) { return launcher(softmax<w.value>, x, y); }, 1e-5,
      [](float const* row, std::int64_t n, std::int64_t j) {
        double total = 0;
        for (std::int64_t i = 0; i < n; ++i) total += std::exp(double(row[i]));
        return std::exp(double(row[j])) / total;
      });
}

Case layernorm_case(Draw& draw, Setting const& setting) {
  return rows_case(
      draw, setting, setting.loops.layernorm, false,
      [](auto w, auto& x, auto& y) { return launcher(layernorm<w.value>, x, y); }, 1e-2,
      [](float const* row, std::int64_t n, std::int64_t j) {
        double const mean = sum_of(row, n, 1) / double(n);
        return (row[j] - mean) / std::sqrt(sum_of(row, n, 2, mean) / double(n) + 1e-5);
      });
}

Case rmsnorm_case(Draw& draw, Setting const& setting) {
  return rows_case(
      draw, setting, setting.loops.rmsnorm, false,
      [](auto w, auto& x, auto& y) { return launcher(rmsnorm<w.value>, x, y); }, 1e-4,
      [](float const* row, std::int64_t n, std::int64_t j) {
        return row[j] / std::sqrt(sum_of(row, n, 2) / double(n) + 1e-5);
      });
}

template <int W>
constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1>);
  require(x.extent(1) <= W, "row_sums: a row must fit one tile");
  store(y, shape<1, 1>, sum(load(x, shape<1, W>, g[0], 0), axis<1>), g[0], 0);
});

template <int W>
constexpr auto row_maxima = kernel("row_maxima", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1>);
  require(x.extent(1) <= W, "row_maxima: a row must fit one tile");
  store(y, shape<1, 1>, max(load(x, shape<1, W>, g[0], 0, pad(-inf)), axis<1>), g[0], 0);
});

Case sums_case(Draw& draw, Setting const& setting) {
  return rows_case(
      draw, setting, setting.loops.sums, true,
      [](auto w, auto& x, auto& y) { return launcher(row_sums<w.value>, x, y); }, 1e-1,
      [](float const* row, std::int64_t n, std::int64_t) { return sum_of(row, n, 1); });
}

Case maxima_case(Draw& draw, Setting const& setting) {
  return rows_case(
      draw, setting, setting.loops.maxima, true,
      [](auto w, auto& x, auto& y) { return launcher(row_maxima<w.value>, x, y); }, 0,
      [](float const* row, std::int64_t n, std::int64_t) { return double(*std::max_element(row, row + n)); });
}

constexpr auto column_sums = kernel("column_sums", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  tile sums = loop(ceil_div(x.extent(0), 32), zeros<float>(shape<1, 256>),
                   [&](auto i, auto before) { return before + sum(load(x, shape<32, 256>, i, g[1]), axis<0>); });
  store(y, shape<1, 256>, sums, g[0], g[1]);
});

Case column_sums_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(32, 8192), rows = rows_for(draw, n, std::int64_t{1} << 22);
  Tensors const t(filled<float, 2>(1, rows, n), samples::poisoned<float, 2>(device::host(), 1, n),
                  samples::poisoned<float, 2>(device::host(), 1, n));
  auto &x = t.get<0>(), &y = t.get<1>(), &z = t.get<2>();
  return {extents_text(rows, n), "OpenMP", keeping(t, launcher(column_sums, x, y)),
          keeping(t, [&x, &z, rows, n, threads = setting.threads,
                      loop = setting.loops.column_sums] { loop(x.data(), z.data(), rows, n, threads); }),
          keeping(t, [&x, &y, rows, n] {
            return spread(y, 1e-4, std::sqrt(double(rows)), [&](std::int64_t j) {
              double total = 0;
              for (std::int64_t i = 0; i < rows; ++i) total += x.data()[i * n + j];
              return total;
            });
          })};
}

template <class T>
constexpr auto transposed = kernel("transposed", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, trans(load(x, shape<64, 64>, g[1], g[0])), g[0], g[1]);
});

template <class T>
Case transpose_case(Draw& draw, Setting const& setting) {
  std::int64_t const rows = draw.extent(16, 4096), n = std::min<std::int64_t>(draw.extent(16, 4096), (1 << 22) / rows);
  Tensors const t(filled<T, 2>(1, rows, n), samples::poisoned<T, 2>(device::host(), n, rows),
                  samples::poisoned<T, 2>(device::host(), n, rows));
  auto &x = t.template get<0>(), &y = t.template get<1>(), &z = t.template get<2>();
  return {extents_text(rows, n), "OpenMP", keeping(t, launcher(transposed<T>, x, y)),
          keeping(t,
                  [&x, &z, rows, n, threads = setting.threads, &loops = setting.loops] {
                    if constexpr (sizeof(T) == 4)
                      loops.transpose(x.data(), z.data(), rows, n, threads);
                    else
                      loops.transpose_16(reinterpret_cast<std::uint16_t const*>(x.data()),
                                         reinterpret_cast<std::uint16_t*>(z.data()), rows, n, threads);
                  }),
          keeping(t, [&x, &y, rows, n] {
            return spread(y, 0, 1,
                          [&](std::int64_t i) { return static_cast<double>(x.data()[i % rows * n + i / rows]); });
          })};
}

constexpr auto gathered_rows = kernel("gathered_rows", [](in<float, 2> x, in<int, 1> places, out<float, 2> y) {
  auto g = grid_over(y, shape<8, 256>);
  tile row = expand_dims(load(places, shape<8>, g[0]), axis<1>);
  tile column = iota<int>(shape<1, 256>, axis<1>) + cast<int>(g[1] * 256);
  store(y, shape<8, 256>, gather(x, row, column), g[0], g[1]);
});

Case gathered_rows_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(16, 2048), rows = rows_for(draw, n, std::int64_t{1} << 21);
  std::int64_t const table = draw.extent(16, 4096);
  Tensors const t(filled<float, 2>(1, table, n), indices(rows, table),
                  samples::poisoned<float, 2>(device::host(), rows, n),
                  samples::poisoned<float, 2>(device::host(), rows, n));
  auto &x = t.get<0>(), &y = t.get<2>(), &z = t.get<3>();
  auto& places = t.get<1>();
  return {
      fmt::format("{} of {}", extents_text(rows, n), table), "OpenMP",
      keeping(t, launcher(gathered_rows, x, places, y)),
      keeping(t, [&x, &z, &places, rows, n, threads = setting.threads,
                  loop = setting.loops.gathered_rows] { loop(x.data(), places.data(), z.data(), rows, n, threads); }),
      keeping(t, [&x, &y, &places, n] {
        return spread(y, 0, 1, [&](std::int64_t i) { return double(x.data()[places.data()[i / n] * n + i % n]); });
      })};
}

constexpr auto gathered = kernel("gathered", [](in<float, 1> x, in<int, 1> places, out<float, 1> y) {
  auto g = grid_over(y, shape<1024>);
  store(y, shape<1024>, gather(x, load(places, shape<1024>, g[0])), g[0]);
});

Case gathered_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(512, std::int64_t{1} << 21), table = draw.extent(64, std::int64_t{1} << 20);
  Tensors const t(filled<float, 1>(1, table), indices(n, table), samples::poisoned<float, 1>(device::host(), n),
                  samples::poisoned<float, 1>(device::host(), n));
  auto &x = t.get<0>(), &y = t.get<2>(), &z = t.get<3>();
  auto& places = t.get<1>();
  return {fmt::format("{} of {}", n, table), "OpenMP", keeping(t, launcher(gathered, x, places, y)),
          keeping(t, [&x, &z, &places, n, threads = setting.threads,
                      loop = setting.loops.gathered] { loop(x.data(), places.data(), z.data(), n, threads); }),
          keeping(t, [&x, &y, &places] {
            return spread(y, 0, 1, [&](std::int64_t i) { return double(x.data()[places.data()[i]]); });
          })};
}

template <int W>
constexpr auto row_scans = kernel("row_scans", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, W>);
  require(x.extent(1) <= W, "row_scans: a row must fit one tile");
  store(y, shape<1, W>, cumsum(load(x, shape<1, W>, g[0], 0), axis<1>), g[0], 0);
});

Case row_scans_case(Draw& draw, Setting const& setting) {
  return rows_case(
      draw, setting, setting.loops.row_scans, false,
      [](auto w, auto& x, auto& y) { return launcher(row_scans<w.value>, x, y); }, 1,
      [](float const* row, std::int64_t, std::int64_t j) { return sum_of(row, j + 1, 1); });
}

constexpr auto column_scans = kernel("column_scans", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid(ceil_div(x.extent(1), 256));
  (void)loop(ceil_div(x.extent(0), 16), zeros<float>(shape<1, 256>), [&](auto i, auto before) {
    tile part = load(x, shape<16, 256>, i, g[0]);
    store(y, shape<16, 256>, cumsum(part, axis<0>) + before, i, g[0]);
    return before + sum(part, axis<0>);
  });
});

Case column_scans_case(Draw& draw, Setting const& setting) {
  std::int64_t const n = draw.extent(32, 4096), rows = rows_for(draw, n, std::int64_t{1} << 21);
  Tensors const t(filled<float, 2>(1, rows, n), samples::poisoned<float, 2>(device::host(), rows, n),
                  samples::poisoned<float, 2>(device::host(), rows, n));
  auto &x = t.get<0>(), &y = t.get<1>(), &z = t.get<2>();
  return {extents_text(rows, n), "OpenMP", keeping(t, launcher(column_scans, x, y)),
          keeping(t, [&x, &z, rows, n, threads = setting.threads,
                      loop = setting.loops.column_scans] { loop(x.data(), z.data(), rows, n, threads); }),
          keeping(t, [&x, &y, rows, n] {
            return spread(y, 1e-3, std::sqrt(double(rows)), [&](std::int64_t i) {
              double total = 0;
              for (std::int64_t row = 0; row <= i / n; ++row) total += x.data()[row * n + i % n];
              return total;
            });
          })};
}

}  // namespace

std::vector<Row> drawn_rows() {
  return {{"product f32", "products", product_case<float>},
          {"product f64", "products", product_case<double>},
          {"softmax", "rows", softmax_case},
          {"layernorm", "rows", layernorm_case},
          {"rmsnorm", "rows", rmsnorm_case},
          {"row sums", "reductions", sums_case},
          {"row maxima", "reductions", maxima_case},
          {"column sums", "reductions", column_sums_case},
          {"transpose f32", "transposes", transpose_case<float>},
          {"transpose bf16", "transposes", transpose_case<bf16>},
          {"gathered rows", "gathers", gathered_rows_case},
          {"gathered", "gathers", gathered_case},
          {"row scans", "scans", row_scans_case},
          {"column scans", "scans", column_scans_case}};
}

}  // namespace tegula::bench
