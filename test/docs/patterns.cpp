// Runs the recipes of lib/doc/patterns.md and compares their results with plain loops.
#include <tegula/tegula.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

using namespace tegula;

namespace {

// [begin: scalar]
/// Scales a vector to a sum of 1. A tile without positive elements is copied.
constexpr auto normalized = kernel("normalized", [](in<float, 1> x, out<float, 1> y, out<int, 1> largest) {
  auto g = grid_over(y, shape<256>);
  tile v = load(x, shape<256>, g[0]);
  auto total = sum(v);  // without an axis: a scalar, the same for all threads
  if_(
      any(v > 0), [&] { store(y, shape<256>, v / total, g[0]); }, [&] { store(y, shape<256>, v, g[0]); });
  store(largest, shape<1>, cast<int>(full(shape<1>, argmax(v))), elem(g[0]));
});
// [end]

// [begin: item]
/// Copies the row of x whose number stands at the place of the largest score.
constexpr auto best_row = kernel("best_row", [](in<float, 2> x, in<float, 1> scores, in<int, 1> rows, out<float, 1> y) {
  auto g = grid_over(y, shape<128>);
  tile found = argmax(load(scores, shape<64>, 0, pad(-inf)), axis<0>);  // a tile of one element
  auto row = load(rows, item(found));                                   // item makes it an index
  store(y, shape<128>, load(x, shape<128>, row, g[0]), g[0]);
});
// [end]

// [begin: converge]
/// Takes square roots by Newton's method, until no element of the tile changes by more than 1e-6 of itself.
constexpr auto roots = kernel("roots", [](in<float, 1> x, out<float, 1> y, out<int, 1> turns) {
  auto g = grid_over(y, shape<128>);
  tile a = load(x, shape<128>, g[0], pad(1));
  auto [root, count, going] = while_(
      carry(full<float>(shape<128>, 1), 0, true), [](auto, auto n, auto go) { return (n < 50) & go; },
      [&](auto r, auto n, auto) {
        tile next = (r + a / r) * 0.5F;
        return carry(next, n + 1, any(abs(next - r) > next * 1e-6F));
      });
  store(y, shape<128>, root, g[0]);
  store(turns, shape<1>, full(shape<1>, count), elem(g[0]));
});
// [end]

// [begin: last]
/// Sums a vector in one launch. Each block leaves its sum, and the last block that arrives adds all of them.
constexpr auto total =
    kernel("total", [](in<float, 1> x, inout<float, 1> partials, inout<int, 1> arrived, out<float, 1> y) {
      auto g = grid_over(x, shape<256>);
      auto blocks = partials.extent(0);
      require(blocks == ceil_div(x.extent(0), 256), "total: partials has an element for each block");
      store(partials, shape<1>, sum(load(x, shape<256>, g[0]), axis<0>), elem(g[0]));
      auto turn = atomic_add(arrived, 1, 0, order::acq_rel, scope::device);  // after the store, ahead of the loads
      if_(turn == blocks - 1, [&] {
        tile all = loop(ceil_div(blocks, 32), zeros<float>(shape<32>),
                        [&](auto k, auto before) { return before + load(partials, shape<32>, k); });
        store(y, shape<1>, sum(all, axis<0>), elem(0));
        atomic_exchange(arrived, 0, 0);  // for the next launch
      });
    });
// [end]

// [begin: ragged]
/// Softmax over each sequence of a batch. Sequence s has the elements offsets[s] ... offsets[s + 1] - 1, at most 512.
constexpr auto ragged_softmax = kernel("ragged_softmax", [](in<float, 1> x, in<int, 1> offsets, out<float, 1> y) {
  auto g = grid(offsets.extent(0) - 1);
  auto first = load(offsets, g[0]), last = load(offsets, g[0] + 1);
  auto scores = slice(x, axis<0>, first, last);  // a tensor of its own: its borders are those of the sequence
  auto result = slice(y, axis<0>, first, last);
  tile v = load(scores, shape<512>, 0, pad(-inf));
  tile e = exp(v - max(v));
  store(result, shape<512>, e / sum(e), 0, may_be_outside);  // an empty sequence stores nothing
});
// [end]

// [begin: persistent]
/// Scales rows. Each of `blocks` blocks takes row after row from a counter, until none is left.
constexpr auto scaled_rows =
    kernel("scaled_rows", [](in<float, 2> x, out<float, 2> y, inout<int, 1> next, arg<int> blocks) {
      [[maybe_unused]] auto g = grid(blocks);
      while_(
          carry(atomic_add(next, 1, 0)), [&](auto row) { return row < x.extent(0); },
          [&](auto row) {
            store(y, shape<1, 256>, load(x, shape<1, 256>, row, 0) * 2, row, 0);
            return carry(atomic_add(next, 1, 0));
          });
    });
// [end]

// [begin: top]
/// Finds the 8 largest elements of each row, and their columns. Rows have at most 256 elements.
constexpr auto top8 = kernel("top8", [](in<float, 2> x, out<float, 2> values, out<int, 2> columns) {
  auto g = grid_over(values, shape<4, 8>);
  auto [v, c] = top_k<8>(load(x, shape<4, 256>, g[0], 0, pad(-inf)), axis<1>);
  store(values, shape<4, 8>, v, g[0], 0);
  store(columns, shape<4, 8>, c, g[0], 0);
});
// [end]

// [begin: long]
/// Divides rows of any length by the root of the mean of their squares (RMSNorm), and scales the columns.
constexpr auto rms_norm = kernel("rms_norm", [](in<bf16, 2> x, in<bf16, 1> weight, out<bf16, 2> y, arg<float> epsilon) {
  require(weight.extent(0) == x.extent(1), "rms_norm: weight must have an element for each column of x");
  auto g = grid(y.extent(0));  // one block for each row
  auto parts = ceil_div(x.extent(1), 1024);
  tile squares = loop(parts, zeros<float>(shape<1, 1024>), [&](auto k, auto before) {
    tile v = cast<float>(load(x, shape<1, 1024>, g[0], k));  // zeros outside add nothing
    return before + v * v;
  });
  tile scale = rsqrt(sum(squares, axis<1>) / cast<float>(x.extent(1)) + epsilon);  // 1 x 1
  loop(parts, [&](auto k) {
    tile v = cast<float>(load(x, shape<1, 1024>, g[0], k));  // again, from L2
    tile w = cast<float>(expand_dims(load(weight, shape<1024>, k), axis<0>));
    store(y, shape<1, 1024>, cast<bf16>(v * scale * w), g[0], k);
  });
});
// [end]

// [begin: three]
/// Adds a bias of each head to a batch of matrices: axes batch x head, rows, columns.
constexpr auto add_bias = kernel("add_bias", [](in<float, 3> x, in<float, 1> bias, out<float, 3> y) {
  auto g = grid_over(y, shape<16, 64>);  // two axes of a tile for three of a tensor: one block for each matrix
  auto b = load(bias, g[0] % bias.extent(0));
  store(y, shape<16, 64>, load(x, shape<16, 64>, g[0], g[1], g[2]) + b, g[0], g[1], g[2]);
});
// [end]

// [begin: split]
/// Multiplies with the depth split over `parts` blocks. The last block of each tile adds the partial products.
template <int parts>
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, inout<float, 3> partials,
                                              inout<int, 2> arrived, out<float, 2> C) {
  auto g = grid(ceil_div(C.extent(0), 64), ceil_div(C.extent(1), 64), parts);
  auto steps = ceil_div(A.extent(1), 64 * parts);
  tile own = loop(
      steps, zeros<float>(shape<64, 64>),
      [&](auto k, auto before) {
        auto at = g[2] * steps + k;
        return dot(load(A, shape<64, 64>, g[0], at, pad(0)), load(B, shape<64, 64>, at, g[1], pad(0)), before);
      },
      stages<3>);
  store(partials, shape<64, 64>, own, g[2], g[0], g[1]);
  auto turn = atomic_add(arrived, 1, g[0], g[1], order::acq_rel);
  if_(turn == parts - 1, [&] {
    tile all = loop(parts, zeros<float>(shape<64, 64>), [&](auto p, auto before) {
      return before + load(partials, shape<64, 64>, p, g[0], g[1]);  // in the order of parts: the same bits each time
    });
    store(C, shape<64, 64>, all, g[0], g[1]);
  });
});
// [end]

int failures = 0;

void check(char const* name, bool right) {
  std::printf("%s: %s\n", name, right ? "right" : "wrong");
  failures += right ? 0 : 1;
}

bool near(float a, double b) { return std::abs(static_cast<double>(a) - b) <= 1e-5 * (1 + std::abs(b)); }

/// Returns n small whole numbers, a different sequence for each seed.
std::vector<float> numbers(std::size_t n, unsigned seed) {
  std::vector<float> v(n);
  for (float& x : v) {
    seed = seed * 1664525 + 1013904223;
    x = static_cast<float>(seed >> 28) - 7;
  }
  return v;
}

void check_normalized(device const& where, stream const& order) {
  auto const x = numbers(1000, 1);
  std::vector<float> y(1000);
  std::vector<int> largest(4);
  buffer<float> const dx(where, x);
  buffer<float> dy(where, 1000);
  buffer<int> dl(where, 4);
  launch(order, normalized, dx, dy, dl);
  dy.copy_to(y), dl.copy_to(largest);
  bool right = true;
  for (std::size_t b = 0; b < 4; ++b) {
    auto const first = x.begin() + static_cast<std::ptrdiff_t>(256 * b);
    auto const last = x.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(1000, 256 * (b + 1)));
    double sum = 0;
    for (auto at = first; at != last; ++at) sum += static_cast<double>(*at);
    for (auto at = first; at != last; ++at)
      right &= near(y[static_cast<std::size_t>(at - x.begin())], static_cast<double>(*at) / sum);
    right &= largest[b] == std::max_element(first, last) - first;
  }
  check("normalized", right);
}

void check_best_row(device const& where, stream const& order) {
  auto const x = numbers(std::size_t{5} * 300, 2), scores = numbers(5, 3);
  std::vector<float> y(300);
  std::vector<int> const rows = {4, 2, 0, 1, 3};
  buffer<float, 2> dx(where, 5, 300);
  dx.copy_from(x);
  buffer<float> const ds(where, scores);
  buffer<int> const dr(where, rows);
  buffer<float> dy(where, 300);
  launch(order, best_row, dx, ds, dr, dy);
  dy.copy_to(y);
  auto const place = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  check("best_row", std::equal(y.begin(), y.end(), x.begin() + rows[place] * 300));
}

void check_roots(device const& where, stream const& order) {
  std::vector<float> x(200), y(200);
  for (std::size_t i = 0; i < 200; ++i) x[i] = static_cast<float>(i + 1);
  std::vector<int> turns(2);
  buffer<float> const dx(where, x);
  buffer<float> dy(where, 200);
  buffer<int> dt(where, 2);
  launch(order, roots, dx, dy, dt);
  dy.copy_to(y), dt.copy_to(turns);
  bool right = turns[0] < 50 && turns[1] < 50;
  for (std::size_t i = 0; i < 200; ++i) right &= near(y[i], std::sqrt(static_cast<double>(x[i])));
  check("roots", right);
}

void check_total(device const& where, stream const& order) {
  auto const x = numbers(10000, 4);
  double sum = 0;
  for (float v : x) sum += static_cast<double>(v);
  std::vector<float> y(1);
  buffer<float> const dx(where, x);
  buffer<float> partials(where, 40), dy(where, 1);
  buffer<int> arrived(where, std::vector<int>{0});
  bool right = true;
  for (int i = 0; i < 2; ++i) {
    launch(order, total, dx, partials, arrived, dy);
    dy.copy_to(y);
    right &= static_cast<double>(y[0]) == sum;
  }
  check("total", right);
}

void check_ragged_softmax(device const& where, stream const& order) {
  auto const x = numbers(600, 5);
  std::vector<float> y(600);
  std::vector<int> const offsets = {0, 3, 3, 500, 600};
  buffer<float> const dx(where, x);
  buffer<int> const offs(where, offsets);
  buffer<float> dy(where, 600);
  launch(order, ragged_softmax, dx, offs, dy);
  dy.copy_to(y);
  bool right = true;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    double sum = 0;
    for (int i = offsets[s]; i < offsets[s + 1]; ++i)
      sum += std::exp(static_cast<double>(x[static_cast<std::size_t>(i)]));
    for (int i = offsets[s]; i < offsets[s + 1]; ++i)
      right &=
          near(y[static_cast<std::size_t>(i)], std::exp(static_cast<double>(x[static_cast<std::size_t>(i)])) / sum);
  }
  check("ragged_softmax", right);
}

void check_scaled_rows(device const& where, stream const& order) {
  auto const x = numbers(std::size_t{30} * 200, 6);
  std::vector<float> y(x.size());
  buffer<float, 2> dx(where, 30, 200), dy(where, 30, 200);
  dx.copy_from(x);
  buffer<int> next(where, std::vector<int>{0});
  launch(order, scaled_rows, dx, dy, next, 4);
  dy.copy_to(y);
  bool right = true;
  for (std::size_t i = 0; i < x.size(); ++i) right &= y[i] == 2 * x[i];
  check("scaled_rows", right);
}

void check_top8(device const& where, stream const& order) {
  auto const x = numbers(std::size_t{10} * 200, 7);
  std::vector<float> values(80);
  std::vector<int> columns(80);
  buffer<float, 2> dx(where, 10, 200), dv(where, 10, 8);
  buffer<int, 2> dc(where, 10, 8);
  dx.copy_from(x);
  launch(order, top8, dx, dv, dc);
  dv.copy_to(values), dc.copy_to(columns);
  bool right = true;
  for (std::size_t i = 0; i < 10; ++i) {
    std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(200 * i),
                           x.begin() + static_cast<std::ptrdiff_t>(200 * (i + 1)));
    for (std::size_t j = 0; j < 8; ++j) right &= row[static_cast<std::size_t>(columns[8 * i + j])] == values[8 * i + j];
    std::sort(row.rbegin(), row.rend());
    right &= std::equal(row.begin(), row.begin() + 8, values.begin() + static_cast<std::ptrdiff_t>(8 * i));
  }
  check("top8", right);
}

void check_rms_norm(device const& where, stream const& order) {
  std::size_t const rows = 3, columns = 2500;
  auto const x = numbers(rows * columns, 12), weight = numbers(columns, 13);
  std::vector<bf16> const narrow_x(x.begin(), x.end()), narrow_weight(weight.begin(), weight.end());
  std::vector<bf16> y(x.size());
  buffer<bf16, 2> dx(where, rows, columns), dy(where, rows, columns);
  dx.copy_from(narrow_x);
  buffer<bf16> const dw(where, narrow_weight);
  launch(order, rms_norm, dx, dw, dy, 1e-5F);
  dy.copy_to(y);
  bool right = true;
  for (std::size_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < columns; ++j) squares += std::pow(static_cast<double>(x[i * columns + j]), 2);
    double const scale = 1 / std::sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (std::size_t j = 0; j < columns; ++j) {
      double const expected = static_cast<double>(x[i * columns + j]) * scale * static_cast<double>(weight[j]);
      right &= std::abs(static_cast<double>(y[i * columns + j]) - expected) <= 4e-3 * std::abs(expected);
    }
  }
  check("rms_norm", right);
}

void check_add_bias(device const& where, stream const& order) {
  auto const x = numbers(std::size_t{6} * 20 * 100, 8), bias = numbers(3, 9);
  std::vector<float> y(x.size());
  buffer<float, 3> dx(where, 6, 20, 100), dy(where, 6, 20, 100);
  dx.copy_from(x);
  buffer<float> const db(where, bias);
  launch(order, add_bias, dx, db, dy);
  dy.copy_to(y);
  bool right = true;
  for (std::size_t i = 0; i < x.size(); ++i) right &= y[i] == x[i] + bias[i / 2000 % 3];
  check("add_bias", right);
}

void check_product(device const& where, stream const& order) {
  std::size_t const m = 70, n = 64, depth = 500;
  auto const a = numbers(m * depth, 10), b = numbers(depth * n, 11);
  std::vector<bf16> const wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
  std::vector<float> c(m * n);
  buffer<bf16, 2> da(where, m, depth), dm(where, depth, n);
  da.copy_from(wide_a), dm.copy_from(wide_b);
  buffer<float, 3> partials(where, 3, m, n);
  buffer<int, 2> arrived(where, 2, 1);
  arrived.copy_from(std::vector<int>{0, 0});
  buffer<float, 2> dc(where, m, n);
  launch(order, product<3>, da, dm, partials, arrived, dc);
  dc.copy_to(c);
  bool right = true;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < depth; ++k) sum += a[i * depth + k] * b[k * n + j];
      right &= c[i * n + j] == sum;
    }
  check("product", right);
}

}  // namespace

int main() {
  device const where = device::best();
  stream const order(where);
  for (auto* const check_one : {check_normalized, check_best_row, check_roots, check_total, check_ragged_softmax,
                                check_scaled_rows, check_top8, check_rms_norm, check_add_bias, check_product})
    check_one(where, order);
  return failures == 0 ? 0 : 1;
}
