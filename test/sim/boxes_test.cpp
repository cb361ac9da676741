// Boxes with axes of one element, in any order, slices of loaded tiles and tiles that depend on no argument: right on
// the host, as tiles and warp by warp, by the paths that the plain spelling takes.
#include <tegula/tegula.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/each_way.hpp"

using namespace tegula;
using tegula::test::at;
using tegula::test::drawn;

namespace {

using Numbers = std::vector<double>;

/// Runs a kernel every way: `run(way, output)`. `bound`: the largest error.
template <class T, class Run>
void check_everywhere(Numbers const& expected, double bound, Run const& run) {
  test::each_way<T>(expected.size(), run, [&](std::vector<T> const& found) {
    double worst = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst = std::max(worst, std::fabs(static_cast<double>(static_cast<float>(found[i])) - expected[i]));
    CHECK(worst <= bound);
  });
}

/// Weights values by relu(q k)^2 of all keys; tensors are (token, head, dimension).
constexpr auto of_heads = kernel("of_heads", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, out<float, 3> O) {
  auto g = grid(ceil_div(O.extent(0), 64), O.extent(1));
  auto rows = [&](auto const& x, auto at) {
    return tile(reshape(load(x, shape<64, 1, 64>, at, g[1], 0), shape<64, 64>));
  };
  tile q = rows(Q, g[0]);
  tile o = loop(
      ceil_div(K.extent(0), 64), zeros<float>(shape<64, 64>),
      [&](auto j, auto sum) {
        tile s = max(dot(q, trans(rows(K, j))), 0);
        return dot(cast<bf16>(s * s), rows(V, j), sum);
      },
      stages<2>);
  store(O, shape<64, 1, 64>, reshape(o, shape<64, 1, 64>), g[0], g[1], 0);
});

/// The same of pages (page, token, head, dimension), converted before they are reshaped.
constexpr auto of_pages =
    kernel("of_pages", [](in<float, 2> Q, in<std::int32_t, 1> pages, in<float, 4> K, out<float, 2> O) {
      auto g = grid(ceil_div(O.extent(0), 16), K.extent(2));
      tile q = load(Q, shape<16, 32>, g[0], 0);
      tile o = loop(pages.extent(0), zeros<float>(shape<16, 32>), [&](auto j, auto sum) {
        tile k = load(K, shape<1, 16, 1, 32>, elem(cast<std::int64_t>(load(pages, elem(j)))), 0, g[1], 0) * 0.5F;
        tile keys = reshape(k, shape<16, 32>);
        return dot(dot(q, trans(keys)), keys, sum);
      });
      store(O, shape<16, 32>, o, g[0], g[1]);
    });

/// Values are the first columns of the keys.
constexpr auto latent = kernel("latent", [](in<bf16, 2> Q, in<bf16, 2> KV, out<float, 2> O) {
  auto g = grid(ceil_div(O.extent(0), 64));
  tile q = load(Q, shape<64, 192>, g[0], 0);
  tile o = loop(
      ceil_div(KV.extent(0), 64), zeros<float>(shape<64, 128>),
      [&](auto j, auto sum) {
        tile kv = load(KV, shape<64, 192>, j, 0);
        tile s = max(dot(q, trans(kv)), 0);
        return dot(cast<bf16>(s), slice(kv, shape<64, 128>, offset<0, 0>), sum);
      },
      stages<2>);
  store(O, shape<64, 128>, o, g[0], 0);
});

/// Moves (token, head, dimension) to (head, token, dimension), a box at a time.
constexpr auto to_heads = kernel("to_heads", [](in<float, 3> x, out<float, 3> y) {
  auto g = grid(ceil_div(x.extent(0), 16), ceil_div(x.extent(1), 4));
  store(y, shape<4, 16, 32>, trans(load(x, shape<16, 4, 32>, g[0], g[1], 0), axis<1, 0, 2>) + 1.0F, g[1], g[0], 0);
});

/// Convolves images (image, row, column, channel) with 3 x 3 weights: 4 x 16 places are 64 rows.
constexpr auto convolved = kernel("convolved", [](in<bf16, 4> x, in<bf16, 4> w, out<float, 4> y) {
  auto g = grid(x.extent(0), ceil_div(y.extent(1), 4), ceil_div(y.extent(2), 16));
  tile acc = loop(
      9 * ceil_div(x.extent(3), 32), zeros<float>(shape<64, 32>),
      [&](auto i, auto sum) {
        auto tap = i % 9, c = i / 9;
        tile rows = load(x, shape<1, 4, 16, 32>, g[0], elem(g[1] * 4 + tap / 3), elem(g[2] * 16 + tap % 3), c);
        tile weights = reshape(load(w, shape<1, 1, 32, 32>, tap / 3, tap % 3, c, 0), shape<32, 32>);
        return dot(reshape(rows, shape<64, 32>), weights, sum);
      },
      stages<3>);
  store(y, shape<1, 4, 16, 32>, reshape(acc, shape<1, 4, 16, 32>), g[0], g[1], g[2], 0);
});

/// Weights values by relu(q k)^2, for queries of four heads that share keys: 16 tokens x 4 heads are 64 rows.
constexpr auto grouped = kernel("grouped", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, out<bf16, 3> O) {
  auto g = grid(ceil_div(O.extent(0), 16), K.extent(1));
  tile q = reshape(load(Q, shape<16, 4, 64>, g[0], g[1], 0), shape<64, 64>);
  auto rows = [&](auto const& x, auto at) {
    return tile(reshape(load(x, shape<64, 1, 64>, at, g[1], 0), shape<64, 64>));
  };
  tile o = loop(
      ceil_div(K.extent(0), 64), zeros<float>(shape<64, 64>),
      [&](auto j, auto sum) {
        tile s = max(dot(q, trans(rows(K, j))), 0);
        return dot(cast<bf16>(s * s), rows(V, j), sum);
      },
      stages<2>);
  store(O, shape<16, 4, 64>, reshape(cast<bf16>(o), shape<16, 4, 64>), g[0], g[1], 0);
});

/// Multiplies boxes of three axes and a depth: all axes of a box but the last are rows.
template <class T>
constexpr auto batches = kernel("batches", [](in<bf16, 3> A, in<bf16, 2> B, out<T, 3> C) {
  auto g = grid(ceil_div(C.extent(0), 2), ceil_div(C.extent(1), 64), ceil_div(C.extent(2), 128));
  tile sums = loop(
      ceil_div(A.extent(2), 64), zeros<float>(shape<128, 128>),
      [&](auto k, auto sum) {
        return dot(reshape(load(A, shape<2, 64, 64>, g[0], g[1], k), shape<128, 64>), load(B, shape<64, 128>, k, g[2]),
                   sum);
      },
      stages<2>);
  store(C, shape<2, 64, 128>, reshape(cast<T>(sums), shape<2, 64, 128>), g[0], g[1], g[2]);
});
constexpr auto volumes = kernel("volumes", [](in<bf16, 4> A, in<bf16, 2> B, out<float, 4> C) {
  auto g = grid(ceil_div(C.extent(0), 2), ceil_div(C.extent(1), 8), ceil_div(C.extent(2), 16));
  tile sums = loop(
      ceil_div(A.extent(3), 64), zeros<float>(shape<256, 64>),
      [&](auto k, auto sum) {
        tile rows = load(A, shape<2, 8, 16, 64>, g[0], g[1], g[2], k);
        return dot(reshape(rows, shape<256, 64>), load(B, shape<64, 64>, k, 0), sum);
      },
      stages<2>);
  store(C, shape<2, 8, 16, 64>, reshape(sums, shape<2, 8, 16, 64>), g[0], g[1], g[2], 0);
});
/// Stores a box in each iteration.
constexpr auto in_turns = kernel("in_turns", [](in<bf16, 3> A, in<bf16, 2> B, out<bf16, 3> C) {
  auto g = grid(ceil_div(C.extent(0), 16), ceil_div(C.extent(1), 8));
  tile a = reshape(load(A, shape<16, 8, 64>, g[0], g[1], 0), shape<128, 64>);
  loop(ceil_div(C.extent(2), 64), [&](auto j) {
    tile sums = dot(a, load(B, shape<64, 64>, 0, j), zeros<float>(shape<128, 64>));
    store(C, shape<16, 8, 64>, reshape(cast<bf16>(sums), shape<16, 8, 64>), g[0], g[1], j);
  });
});
/// 64 rows are not a box of 32 x 6.
constexpr auto sixes = kernel("sixes", [](in<bf16, 3> A, in<bf16, 2> B, out<bf16, 3> C) {
  auto g = grid(ceil_div(C.extent(0), 32), ceil_div(C.extent(1), 6), ceil_div(C.extent(2), 64));
  tile sums = loop(
      ceil_div(A.extent(2), 64), zeros<float>(shape<192, 64>),
      [&](auto k, auto sum) {
        return dot(reshape(load(A, shape<32, 6, 64>, g[0], g[1], k), shape<192, 64>), load(B, shape<64, 64>, k, g[2]),
                   sum);
      },
      stages<2>);
  store(C, shape<32, 6, 64>, reshape(cast<bf16>(sums), shape<32, 6, 64>), g[0], g[1], g[2]);
});
/// Adds boxes to what is in memory.
constexpr auto added = kernel("added", [](in<bf16, 3> A, in<bf16, 2> B, inout<float, 3> C) {
  auto g = grid(ceil_div(C.extent(0), 16), ceil_div(C.extent(1), 4), ceil_div(C.extent(2), 64));
  tile sums = loop(
      ceil_div(A.extent(2), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) {
        return dot(reshape(load(A, shape<16, 4, 64>, g[0], g[1], k), shape<64, 64>), load(B, shape<64, 64>, k, g[2]),
                   sum);
      },
      stages<2>);
  atomic_add(C, shape<16, 4, 64>, reshape(sums, shape<16, 4, 64>), g[0], g[1], g[2]);
});
/// Sums of which warpgroups hold parts of the columns.
template <class T, int rows, int columns>
constexpr auto wide = kernel("wide", [](in<bf16, 2> A, in<bf16, 2> B, out<T, 2> C) {
  auto g = grid(ceil_div(C.extent(0), rows));
  tile sums = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<rows, columns>),
      [&](auto k, auto sum) { return dot(load(A, shape<rows, 64>, g[0], k), load(B, shape<64, columns>, k, 0), sum); },
      stages<2>);
  store(C, shape<rows, columns>, cast<T>(sums), g[0], 0);
});
constexpr auto wide_boxes = kernel("wide_boxes", [](in<bf16, 3> A, in<bf16, 2> B, out<bf16, 3> C) {
  auto g = grid(ceil_div(C.extent(0), 16), ceil_div(C.extent(1), 4));
  tile sums = loop(
      ceil_div(A.extent(2), 64), zeros<float>(shape<64, 512>),
      [&](auto k, auto sum) {
        return dot(reshape(load(A, shape<16, 4, 64>, g[0], g[1], k), shape<64, 64>), load(B, shape<64, 512>, k, 0),
                   sum);
      },
      stages<2>);
  store(C, shape<16, 4, 512>, reshape(cast<bf16>(sums), shape<16, 4, 512>), g[0], g[1], 0);
});

/// Checks that a kernel stores results by copies, or adds them so.
template <class K>
void check_copied(K const& kernel) {
  KernelFacts const found = facts(kernel);
  INFO(found.str());
  CHECK(found.stores.size() + found.indexed.size() == 1);
  for (AccessPath const& store : found.stores) CHECK(store.path == Path::tma);
  for (AccessPath const& update : found.indexed) CHECK(update.path == Path::tma);
  for (DotPath const& dot : found.dots) CHECK(dot.path == Path::wgmma);
}

/// Multiplies (rows..., depth) by (depth, columns) every way. `before`: what is in memory, and stays there in a sum.
template <class T, class K, class... Rows>
void check_product(K const& kernel, double before, std::int64_t depth, std::int64_t columns, Rows... extents) {
  std::int64_t const rows = (extents * ...);
  INFO(rows << " x " << columns);
  auto const a = drawn<bf16>(rows * depth, 21), b = drawn<bf16>(depth * columns, 22);
  Numbers expected(static_cast<std::size_t>(rows * columns));
  double largest = before;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      double sum = before;
      for (std::int64_t k = 0; k < depth; ++k) sum += at(a, i * depth + k) * at(b, k * columns + j);
      expected[static_cast<std::size_t>(i * columns + j)] = sum;
      largest = std::max(largest, std::fabs(sum));
    }
  check_everywhere<T>(expected, largest * (sizeof(T) == 2 ? 0x1p-8 : 0x1p-16), [&](auto const& way, T* c) {
    way(kernel, view(a.data(), extents..., depth), view(b.data(), depth, columns), view(c, extents..., columns));
  });
}

/// A Hann window, and a transform by a matrix of cosines: both follow from coordinates.
constexpr auto windowed = kernel("windowed", [](in<float, 2> x, out<float, 2> y, out<float, 2> z) {
  auto g = grid(ceil_div(y.extent(0), 16));
  tile w = 0.5F - 0.5F * cos(cast<float>(iota<int>(shape<1, 64>, axis<1>)) * 0.0981747704F);
  tile i = cast<float>(iota<int>(shape<64, 1>, axis<0>));
  tile j = cast<float>(iota<int>(shape<1, 64>, axis<1>));
  tile row = load(x, shape<16, 64>, g[0], 0) * w;
  store(y, shape<16, 64>, row, g[0], 0);
  store(z, shape<16, 64>, dot(row, cos((i + 0.5F) * j * 0.0490873852F)), g[0], 0);
});

}  // namespace

TEST_CASE("boxes with axes of one element take the paths of boxes without them", "[sim]") {
  KernelFacts const found = facts(of_heads);
  INFO(found.str());
  for (AccessPath const& load : found.loads) CHECK(load.path == Path::tma);
  for (DotPath const& dot : found.dots) CHECK(dot.path == Path::wgmma);
  for (std::int64_t const tokens : {64, 100, 129}) {
    constexpr std::int64_t heads = 3, dim = 64;
    INFO(tokens << " tokens");
    auto const q = drawn<bf16>(tokens * heads * dim, 1), k = drawn<bf16>(tokens * heads * dim, 2),
               v = drawn<bf16>(tokens * heads * dim, 3);
    Numbers expected(q.size());
    double largest = 0;
    auto const place = [&](std::int64_t t, std::int64_t h, std::int64_t d) { return (t * heads + h) * dim + d; };
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = 0; i < tokens; ++i)
        for (std::int64_t j = 0; j < tokens; ++j) {
          double s = 0;
          for (std::int64_t d = 0; d < dim; ++d) s += at(q, place(i, h, d)) * at(k, place(j, h, d));
          s = std::max(s, 0.0);
          for (std::int64_t d = 0; d < dim; ++d) {
            double& sum = expected[static_cast<std::size_t>(place(i, h, d))];
            sum += s * s * at(v, place(j, h, d));
            largest = std::max(largest, std::fabs(sum));
          }
        }
    check_everywhere<float>(expected, largest * 0x1p-7, [&](auto const& way, float* o) {
      way(of_heads, view(q.data(), tokens, heads, dim), view(k.data(), tokens, heads, dim),
          view(v.data(), tokens, heads, dim), view(o, tokens, heads, dim));
    });
  }
}

TEST_CASE("pages of tokens and heads are boxes in any order of arithmetic and reshapes", "[sim]") {
  constexpr std::int64_t rows = 20, heads = 2, page = 16, dim = 32, count = 5;
  auto const q = drawn<float>(rows * dim, 4), k = drawn<float>(count * page * heads * dim, 5);
  std::vector<std::int32_t> const pages = {3, 0, 4};
  Numbers expected(static_cast<std::size_t>(rows * heads * dim));
  double largest = 0;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int32_t const p : pages)
        for (std::int64_t t = 0; t < page; ++t) {
          auto const key = [&](std::int64_t d) { return 0.5 * at(k, ((p * page + t) * heads + h) * dim + d); };
          double s = 0;
          for (std::int64_t d = 0; d < dim; ++d) s += at(q, i * dim + d) * key(d);
          for (std::int64_t d = 0; d < dim; ++d) {
            double& sum = expected[static_cast<std::size_t>((i * heads + h) * dim + d)];
            sum += s * key(d);
            largest = std::max(largest, std::fabs(sum));
          }
        }
  check_everywhere<float>(expected, largest * 0x1p-9, [&](auto const& way, float* o) {
    way(of_pages, view(q.data(), rows, dim), view(pages.data(), static_cast<std::int64_t>(pages.size())),
        view(k.data(), count, page, heads, dim), view(o, rows, heads * dim));
  });
}

TEST_CASE("a product reads a slice of a copied tile where it lies", "[sim]") {
  KernelFacts const found = facts(latent);
  INFO(found.str());
  CHECK(found.loads.size() == 2);
  for (DotPath const& dot : found.dots) CHECK(dot.path == Path::wgmma);
  constexpr std::int64_t rows = 70, keys = 130, columns = 192, values = 128;
  auto const q = drawn<bf16>(rows * columns, 6), kv = drawn<bf16>(keys * columns, 7);
  Numbers expected(static_cast<std::size_t>(rows * values));
  double largest = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < keys; ++j) {
      double s = 0;
      for (std::int64_t d = 0; d < columns; ++d) s += at(q, i * columns + d) * at(kv, j * columns + d);
      s = std::max(s, 0.0);
      for (std::int64_t d = 0; d < values; ++d) {
        double& sum = expected[static_cast<std::size_t>(i * values + d)];
        sum += s * at(kv, j * columns + d);
        largest = std::max(largest, std::fabs(sum));
      }
    }
  check_everywhere<float>(expected, largest * 0x1p-7, [&](auto const& way, float* o) {
    way(latent, view(q.data(), rows, columns), view(kv.data(), keys, columns), view(o, rows, values));
  });
}

TEST_CASE("several axes of a box are the rows of a product", "[sim]") {
  KernelFacts const found = facts(convolved);
  INFO(found.str());
  for (AccessPath const& load : found.loads) CHECK(load.path == Path::tma);
  for (AccessPath const& store : found.stores) CHECK(store.path == Path::tma);
  REQUIRE(found.dots.size() == 1);
  CHECK(found.dots[0].path == Path::wgmma);
  for (std::int64_t const channels : {32, 40}) {
    constexpr std::int64_t images = 2, height = 7, width = 21, outputs = 32;
    auto const x = drawn<bf16>(images * height * width * channels, 11), w = drawn<bf16>(9 * channels * outputs, 12);
    constexpr std::int64_t rows = height - 2, columns = width - 2;
    Numbers expected(static_cast<std::size_t>(images * rows * columns * outputs));
    double largest = 0;
    for (std::int64_t n = 0; n < images; ++n)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j)
          for (std::int64_t o = 0; o < outputs; ++o) {
            double sum = 0;
            for (std::int64_t tap = 0; tap < 9; ++tap)
              for (std::int64_t c = 0; c < channels; ++c)
                sum += at(x, ((n * height + i + tap / 3) * width + j + tap % 3) * channels + c) *
                       at(w, (tap * channels + c) * outputs + o);
            expected[static_cast<std::size_t>(((n * rows + i) * columns + j) * outputs + o)] = sum;
            largest = std::max(largest, std::fabs(sum));
          }
    INFO(channels << " channels");
    check_everywhere<float>(expected, largest * 0x1p-16, [&](auto const& way, float* y) {
      way(convolved, view(x.data(), images, height, width, channels), view(w.data(), 3, 3, channels, outputs),
          view(y, images, rows, columns, outputs));
    });
  }
}

TEST_CASE("queries of several heads are rows of results that one copy stores", "[sim]") {
  check_copied(grouped);
  constexpr std::int64_t tokens = 37, heads = 6, groups = 2, keys = 70, dim = 64;
  auto const q = drawn<bf16>(tokens * heads * dim, 13), k = drawn<bf16>(keys * groups * dim, 14),
             v = drawn<bf16>(keys * groups * dim, 15);
  Numbers expected(q.size());
  double largest = 0;
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t j = 0; j < keys; ++j) {
        auto const key = [&](std::int64_t d) { return (j * groups + h / 4) * dim + d; };
        double s = 0;
        for (std::int64_t d = 0; d < dim; ++d) s += at(q, (t * heads + h) * dim + d) * at(k, key(d));
        s = std::max(s, 0.0);
        for (std::int64_t d = 0; d < dim; ++d) {
          double& sum = expected[static_cast<std::size_t>((t * heads + h) * dim + d)];
          sum += s * s * at(v, key(d));
          largest = std::max(largest, std::fabs(sum));
        }
      }
  check_everywhere<bf16>(expected, largest * 0x1p-6, [&](auto const& way, bf16* o) {
    way(grouped, view(q.data(), tokens, heads, dim), view(k.data(), keys, groups, dim),
        view(v.data(), keys, groups, dim), view(o, tokens, heads, dim));
  });
}

TEST_CASE("several axes of a stored box are the rows of a product", "[sim]") {
  check_copied(batches<bf16>);
  check_copied(batches<float>);
  check_copied(volumes);
  check_copied(in_turns);
  check_copied(added);
  check_product<bf16>(batches<bf16>, 0, 72, 136, 3, 70);
  check_product<float>(batches<float>, 0, 64, 132, 1, 130);
  check_product<float>(volumes, 0, 72, 64, 3, 11, 19);
  check_product<float>(volumes, 0, 64, 40, 1, 3, 5);
  check_product<bf16>(in_turns, 0, 64, 136, 17, 11);
  check_product<float>(added, 99, 64, 72, 19, 6);
}

TEST_CASE("rows that are not a box are stored by pointers, with the reason", "[sim]") {
  KernelFacts const found = facts(sixes);
  INFO(found.str());
  REQUIRE(found.stores.size() == 1);
  CHECK(found.stores[0].path == Path::pointer);
  CHECK(found.stores[0].reason.find("64 rows, which are not a box of 32x6x64") != std::string::npos);
  check_product<bf16>(sixes, 0, 64, 72, 35, 7);
}

TEST_CASE("copies store results of which warpgroups hold parts of the columns", "[sim]") {
  check_copied(wide<bf16, 64, 512>);
  check_copied(wide<float, 64, 384>);
  check_copied(wide_boxes);
  check_product<bf16>(wide<bf16, 64, 512>, 0, 64, 512, 70);
  check_product<bf16>(wide<bf16, 64, 512>, 0, 64, 328, 64);
  check_product<float>(wide<float, 64, 384>, 0, 72, 380, 90);
  check_product<bf16>(wide<bf16, 128, 384>, 0, 64, 384, 130);
  check_product<bf16>(wide_boxes, 0, 64, 456, 17, 6);
}

TEST_CASE("axes of a box change places as it is loaded and stored", "[sim]") {
  constexpr std::int64_t tokens = 37, heads = 6, dim = 32;
  auto const x = drawn<float>(tokens * heads * dim, 8);
  Numbers expected(x.size());
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t d = 0; d < dim; ++d)
        expected[static_cast<std::size_t>((h * tokens + t) * dim + d)] = at(x, (t * heads + h) * dim + d) + 1;
  check_everywhere<float>(expected, 1e-6, [&](auto const& way, float* y) {
    way(to_heads, view(x.data(), tokens, heads, dim), view(y, heads, tokens, dim));
  });
}

TEST_CASE("tiles that depend on no argument are tables with the bits of the arithmetic", "[sim]") {
  constexpr std::int64_t rows = 21, n = 64;
  auto const x = drawn<float>(rows * n, 9);
  Numbers windows(static_cast<std::size_t>(rows * n)), sums(windows.size());
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      windows[static_cast<std::size_t>(i * n + j)] = at(x, i * n + j) * (0.5 - 0.5 * std::cos(j * 0.0981747704));
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t k = 0; k < n; ++k)
        sums[static_cast<std::size_t>(i * n + j)] +=
            windows[static_cast<std::size_t>(i * n + k)] * std::cos((k + 0.5) * j * 0.0490873852);
  std::vector<float> ignored(windows.size());
  check_everywhere<float>(windows, 1e-6, [&](auto const& way, float* y) {
    way(windowed, view(x.data(), rows, n), view(y, rows, n), view(ignored.data(), rows, n));
  });
  check_everywhere<float>(sums, 1e-4, [&](auto const& way, float* z) {
    way(windowed, view(x.data(), rows, n), view(ignored.data(), rows, n), view(z, rows, n));
  });
}
