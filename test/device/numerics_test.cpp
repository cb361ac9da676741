// Tests elementwise and row kernels on a device: every element, ragged extents, strides and offsets, fresh random data
// and poisoned outputs, against float64. TEGULA_DEVICE=host runs the same cases on the host.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string_view>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

bool host_is_asked_for() {
  char const* const choice = std::getenv("TEGULA_DEVICE");
  return choice != nullptr && std::string_view(choice) == "host";
}

#define TEGULA_NEED_DEVICE() \
  if (device::cuda_count() == 0 && !host_is_asked_for()) TEGULA_SKIP(device::cuda_status().c_str())

std::mt19937_64& engine() {
  static std::mt19937_64 instance(test::data_seed);
  return instance;
}

template <class T>
T draw() {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::int64_t>(engine()() % 2001) - 1000);
  else
    return static_cast<T>(std::uniform_real_distribution<float>(-4, 4)(engine()));
}

/// Returns the unit in the last place of an element, relative.
template <class T>
constexpr double precision() {
  if constexpr (std::is_same_v<T, f16>)
    return 0x1p-11;
  else if constexpr (std::is_same_v<T, bf16>)
    return 0x1p-8;
  else if constexpr (std::is_same_v<T, float>)
    return 0x1p-24;
  else if constexpr (std::is_same_v<T, double>)
    return 0x1p-53;
  else
    return 0;
}

/// Describes a matrix inside a larger one: `first` elements before it, rows `pitch` apart, columns `step` apart.
struct Place {
  std::int64_t rows, columns, pitch, first, step;
};

template <class T>
class Matrix {
 public:
  Matrix(device where, Place place, bool random)
      : place_(place),
        values_(static_cast<std::size_t>(place.first + place.rows * place.pitch + 64)),
        memory_(where, static_cast<std::int64_t>(values_.size())) {
    for (T& value : values_) value = random ? draw<T>() : samples::poison<T>();
    memory_.copy_from(values_);
  }
  void fetch() { memory_.copy_to(values_); }
  double operator()(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(values_[at(row, column)]);
  }
  bool unwritten(std::int64_t row, std::int64_t column) const { return samples::is_poison(values_[at(row, column)]); }
  /// Checks that nothing around the matrix was written.
  bool untouched_outside() const {
    std::vector<bool> inside(values_.size(), false);
    for (std::int64_t r = 0; r < place_.rows; ++r)
      for (std::int64_t c = 0; c < place_.columns; ++c) inside[at(r, c)] = true;
    for (std::size_t i = 0; i < values_.size(); ++i)
      if (!inside[i] && !samples::is_poison(values_[i])) return false;
    return true;
  }
  /// Calls f with a view of the matrix on its device.
  template <class F>
  void with_view(F const& f) {
    if (memory_.where().is_cuda())
      f(device_view<T, 2>(memory_.data() + place_.first, {place_.rows, place_.columns}, {place_.pitch, place_.step}));
    else
      f(view<T, 2>(memory_.data() + place_.first, {place_.rows, place_.columns}, {place_.pitch, place_.step}));
  }

 private:
  std::size_t at(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(place_.first + row * place_.pitch + column * place_.step);
  }

  Place place_;
  std::vector<T> values_;
  buffer<T, 1> memory_;
};

/// Runs a kernel of one input and one output matrix and compares with `expected(x, row, column)`.
template <class T, class U, class F, class Expected>
void check(Kernel<F> const& kernel, Place in_place, Place out_place, double bound, Expected const& expected) {
  device const where = device::best();
  stream const order(where);
  Matrix<T> x(where, in_place, true);
  Matrix<U> y(where, out_place, false);
  x.with_view([&](auto from) { y.with_view([&](auto to) { launch(order, kernel, from, to); }); });
  order.synchronize();
  y.fetch();
  samples::Comparison all(bound);
  for (std::int64_t r = 0; r < out_place.rows; ++r)
    for (std::int64_t c = 0; c < out_place.columns; ++c) {
      double const wanted = expected(x, r, c);
      all.add(r * out_place.columns + c, y(r, c), wanted, std::max(1.0, std::abs(wanted)), y.unwritten(r, c));
    }
  INFO(kernel.name() << " on " << where.str() << ", " << in_place.rows << " x " << in_place.columns << ", pitch "
                     << in_place.pitch << ", first " << in_place.first << ", step " << in_place.step);
  CHECK(all.failure() == "");
  CHECK(y.untouched_outside());
}

std::vector<Place> places(std::int64_t columns) {
  std::int64_t const aligned = (columns + 15) / 16 * 16;
  return {{5, columns, aligned, 0, 1},
          {3, columns, columns, 0, 1},
          {4, columns - 1, aligned, 0, 1},
          {3, columns, aligned, 1, 1},
          {2, columns / 2, aligned, 0, 2}};
}

template <class T>
inline constexpr auto polynomial = kernel("polynomial", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<2, 256>);
  tile v = load(x, shape<2, 256>, g[0], g[1]);
  tile w = v * v - v;
  store(y, shape<2, 256>, select(v > 0, max(w, v), -w), g[0], g[1]);
});

template <class T>
double rounded(double value) {
  return static_cast<double>(static_cast<T>(value));
}

template <class T>
void check_polynomial() {
  for (std::int64_t columns : {256, 1000, 30})
    for (Place place : places(columns))
      check<T, T>(polynomial<T>, place, {place.rows, place.columns, place.columns + 3, 2, 1}, precision<T>(),
                  [](auto const& x, std::int64_t r, std::int64_t c) {
                    double const v = x(r, c);
                    // The product of f32 or f64 meets the sum unrounded (lib/doc/arithmetic.md).
                    bool const contracts = std::is_same_v<T, float> || std::is_same_v<T, double>;
                    double const w = rounded<T>(contracts ? std::fma(v, v, -v) : rounded<T>(v * v) - v);
                    return v > 0 ? std::max(w, v) : -w;
                  });
}

template <int BN>
inline constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, BN>);
  require(y.extent(1) <= BN, "softmax: a row must fit one tile");
  tile v = load(x, shape<1, BN>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, BN>, e / sum(e, axis<1>), g[0], 0);
});

template <int BN>
void check_softmax() {
  for (Place place : places(BN))
    check<float, float>(softmax<BN>, place, {place.rows, place.columns, BN + 8, 4, 1}, 1e-6,
                        [&](auto const& x, std::int64_t r, std::int64_t c) {
                          static double sum, max;
                          if (c == 0) {
                            max = x(r, 0);
                            sum = 0;
                            for (std::int64_t j = 0; j < place.columns; ++j) max = std::max(max, x(r, j));
                            for (std::int64_t j = 0; j < place.columns; ++j) sum += std::exp(x(r, j) - max);
                          }
                          return std::exp(x(r, c) - max) / sum;
                        });
}

template <class T>
inline constexpr auto normalize = kernel("normalize", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<4, 512>);
  require(y.extent(1) <= 512, "normalize: a row must fit one tile");
  tile v = cast<float>(load(x, shape<4, 512>, g[0], 0));
  tile n = cast<float>(full<std::int64_t>(shape<4, 1>, x.extent(1)));
  tile mean = sum(v, axis<1>) / n;
  tile inside = iota<std::int64_t>(shape<4, 512>, axis<1>) < full<std::int64_t>(shape<4, 512>, x.extent(1));
  tile d = select(inside, v - mean, 0);
  tile scale = rsqrt(sum(d * d, axis<1>) / n + 1e-5F);
  store(y, shape<4, 512>, cast<T>(d * scale), g[0], 0);
});

template <class T>
void check_normalize() {
  for (Place place : places(512))
    check<T, T>(normalize<T>, place, {place.rows, place.columns, 520, 0, 1}, 2 * precision<T>() * 4 + 2e-6,
                [&](auto const& x, std::int64_t r, std::int64_t c) {
                  static double mean, scale;
                  if (c == 0) {
                    double sum = 0, squares = 0;
                    auto const n = static_cast<double>(place.columns);
                    for (std::int64_t j = 0; j < place.columns; ++j) sum += x(r, j);
                    mean = sum / n;
                    for (std::int64_t j = 0; j < place.columns; ++j) squares += (x(r, j) - mean) * (x(r, j) - mean);
                    scale = 1 / std::sqrt(squares / n + 1e-5);
                  }
                  return (x(r, c) - mean) * scale;
                });
}

inline constexpr auto transpose = kernel("transpose", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(x, shape<64, 32>);
  store(y, shape<32, 64>, trans(load(x, shape<64, 32>, g[0], g[1])), g[1], g[0]);
});

inline constexpr auto row_pieces = kernel("row_pieces", [](in<float, 2> x, out<double, 2> y) {
  auto g = grid_over(y, shape<1, 1>);
  tile total = loop(ceil_div(x.extent(1), 128), zeros<double>(shape<1, 128>),
                    [&](auto j, auto s) { return s + cast<double>(load(x, shape<1, 128>, g[0], j)); });
  store(y, shape<1, 1>, sum(total, axis<1>), g[0], 0);
});

inline constexpr auto narrowing = kernel("narrowing", [](in<float, 2> x, out<std::int32_t, 2> y) {
  auto g = grid_over(y, shape<1, 512>);
  store(y, shape<1, 512>, cast<std::int32_t>(load(x, shape<1, 512>, g[0], g[1]) * 100), g[0], g[1]);
});

}  // namespace

TEST_CASE("elementwise arithmetic of every element on a device", "[device]") {
  TEGULA_NEED_DEVICE();
  check_polynomial<float>();
  check_polynomial<double>();
  check_polynomial<f16>();
  check_polynomial<bf16>();
  check_polynomial<std::int32_t>();
  check_polynomial<std::int64_t>();
}

TEST_CASE("softmax on a device at rows of 64 to 16384", "[device]") {
  TEGULA_NEED_DEVICE();
  check_softmax<64>();
  check_softmax<1024>();
  check_softmax<4096>();
  check_softmax<16384>();
}

TEST_CASE("row normalisation in three elements on a device", "[device]") {
  TEGULA_NEED_DEVICE();
  check_normalize<float>();
  check_normalize<f16>();
  check_normalize<bf16>();
}

TEST_CASE("transposition, loops and narrowing on a device", "[device]") {
  TEGULA_NEED_DEVICE();
  for (Place place : places(500)) {
    check<float, float>(transpose, place, {place.columns, place.rows, place.rows + 5, 0, 1}, 0,
                        [](auto const& x, std::int64_t r, std::int64_t c) { return x(c, r); });
    check<float, double>(row_pieces, place, {place.rows, 1, 3, 0, 1}, 1e-12,
                         [&](auto const& x, std::int64_t r, std::int64_t) {
                           double sum = 0;
                           for (std::int64_t j = 0; j < place.columns; ++j) sum += x(r, j);
                           return sum;
                         });
    check<float, std::int32_t>(narrowing, place, {place.rows, place.columns, place.columns, 0, 1}, 0,
                               [](auto const& x, std::int64_t r, std::int64_t c) {
                                 return std::trunc(static_cast<double>(static_cast<float>(x(r, c)) * 100.0F));
                               });
  }
}

TEST_CASE("kernels compile for sm_90a where there is no device, for both sets of facts", "[device]") {
  auto const check_ptx = [](auto const& kernel, int parameters) {
    for (bool aligned : {false, true}) {
      CompileOptions options;
      options.target = Target::cuda;
      options.architecture = "sm_90a";
      options.facts.assign(static_cast<std::size_t>(parameters), TensorFacts{aligned, aligned});
      CompiledKernel const compiled = compile(kernel, options);
      INFO(compiled.image);
      CHECK(compiled.image.find(".visible .entry " + compiled.entry) != std::string::npos);
      CHECK(compiled.image.find(".target sm_90a") != std::string::npos);
      CHECK((compiled.image.find("ld.global.nc.v4.b32") != std::string::npos) == aligned);
      CHECK(compiled.threads_per_cta % 32 == 0);
      CHECK(compiled.parameters.size() == static_cast<std::size_t>(parameters));
    }
  };
  check_ptx(polynomial<float>, 2);
  check_ptx(polynomial<bf16>, 2);
  check_ptx(softmax<4096>, 2);
  check_ptx(normalize<f16>, 2);
  check_ptx(transpose, 2);
  check_ptx(row_pieces, 2);
}
