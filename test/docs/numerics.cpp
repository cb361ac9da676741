// Measures what lib/doc/numerics.md promises for hosts: the bounds are read from the page, so a changed number changes
// this test. The argument is the page.
#include <fmt/format.h>
#include <tegula/tegula.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace tegula;

namespace {

int failures = 0;

void check(std::string const& what, bool right) {
  if (right) return;
  std::printf("%s: wrong\n", what.c_str());
  ++failures;
}

/// Holds the numbers of each row of the tables "Exact results" and "Error bounds", by the row's first cell.
class Page {
 public:
  explicit Page(char const* path) {
    std::ifstream file(path);
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("## ")) inside = line == "## Exact results" || line == "## Error bounds";
      std::size_t const end = line.find(" |", 2);
      if (!inside || !line.starts_with("| ") || end == std::string::npos) continue;
      std::vector<double>& row = rows_[line.substr(2, end - 2)];
      row = numbers(line.substr(0, end));
      for (double const number : numbers(line.substr(end))) row.push_back(number);
    }
  }

  /// Returns one number of a row, in the order of the page.
  [[nodiscard]] double number(std::string const& row, std::size_t at) {
    auto const found = rows_.find(row);
    if (found == rows_.end() || at >= found->second.size()) {
      check(fmt::format("number {} of the page's row \"{}\"", at, row), false);
      return 0;
    }
    used_.emplace(row, at);
    return found->second[at];
  }
  /// Checks that each number was asked for.
  void check_all_used() const {
    for (auto const& [row, numbers] : rows_)
      for (std::size_t i = 0; i < numbers.size(); ++i)
        check(fmt::format("a check of number {} of \"{}\"", i, row), used_.contains({row, i}));
  }

 private:
  /// Reads 2^-24, 2^32, 0.5, 14. Digits in names of elements, as f32, are none.
  static std::vector<double> numbers(std::string const& cells) {
    static std::regex const number(R"((?:^|[^\w.])(?:2\^(-?\d+)|(\d+(?:\.\d+)?)(?![\w^])))");
    std::vector<double> result;
    for (std::sregex_iterator it(cells.begin(), cells.end(), number), end; it != end; ++it)
      result.push_back((*it)[1].matched ? std::ldexp(1.0, std::stoi((*it)[1])) : std::stod((*it)[2]));
    return result;
  }

  std::map<std::string, std::vector<double>> rows_;
  std::set<std::pair<std::string, std::size_t>> used_;
};

std::mt19937_64 engine(7);

template <class T>
std::vector<T> random_values(std::size_t count, double size = 1) {
  std::uniform_real_distribution<double> uniform(-size, size);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<T>(static_cast<float>(uniform(engine))));
  return values;
}
template <class T>
std::vector<T> whole_values(std::size_t count, int most) {
  std::uniform_int_distribution<int> uniform(-most, most);
  std::vector<T> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<T>(static_cast<float>(uniform(engine))));
  return values;
}

template <class T>
double ulp(T exact) {
  T const size = std::abs(exact);
  return static_cast<double>(std::nextafter(size, std::numeric_limits<T>::infinity()) - size);
}

// --- elementwise ---------------------------------------------------------------------------------------------

template <class T, int op>
constexpr auto binary = kernel("binary", [](in<T, 1> a, in<T, 1> b, out<T, 1> c) {
  auto g = grid_over(c, shape<256>);
  tile x = load(a, shape<256>, g[0]);
  tile y = load(b, shape<256>, g[0], pad(1));
  if constexpr (op == '+') store(c, shape<256>, x + y, g[0]);
  if constexpr (op == '-') store(c, shape<256>, x - y, g[0]);
  if constexpr (op == '*') store(c, shape<256>, x * y, g[0]);
  if constexpr (op == '/') store(c, shape<256>, x / y, g[0]);
  if constexpr (op == 'r') store(c, shape<256>, sqrt(abs(x)), g[0]);
});

/// Returns the greatest error of an op in ulp, beside the same in a wider type.
template <class T, class Wide, int op>
double error_of() {
  std::vector<T> const a = random_values<T>(3000, 100), b = random_values<T>(3000, 3);
  std::vector<T> c(a.size());
  launch(host_stream(), binary<T, op>, a, b, c);
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    Wide const x = a[i], y = b[i];
    Wide const exact = op == '+'   ? x + y
                       : op == '-' ? x - y
                       : op == '*' ? x * y
                       : op == '/' ? x / y
                                   : std::sqrt(std::abs(x));
    most = std::max(most, static_cast<double>(std::abs(c[i] - exact)) / ulp(static_cast<T>(exact)));
  }
  return most;
}

/// Checks that a narrow op is the op of f32, rounded once.
template <class T>
void check_narrow(std::string const& name) {
  std::vector<T> const a = random_values<T>(3000, 100), b = random_values<T>(3000, 3);
  std::vector<T> sums(a.size()), products(a.size());
  launch(host_stream(), binary<T, '+'>, a, b, sums);
  launch(host_stream(), binary<T, '*'>, a, b, products);
  bool right = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    float const x = static_cast<float>(a[i]), y = static_cast<float>(b[i]);
    right &= static_cast<float>(sums[i]) == static_cast<float>(T(x + y));
    right &= static_cast<float>(products[i]) == static_cast<float>(T(x * y));
  }
  check(name + " is f32 rounded once", right);
}

// --- sums ----------------------------------------------------------------------------------------------------

template <int rows, bool pairwise>
constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(x, shape<rows, 4096>);
  tile v = load(x, shape<rows, 4096>, g[0], 0);
  if constexpr (pairwise)
    store(y, shape<rows, 1>, sum(v, axis<1>, order::pairwise), g[0], 0);
  else
    store(y, shape<rows, 1>, sum(v, axis<1>), g[0], 0);
});

constexpr std::size_t sum_rows = 16, sum_columns = 4096;

template <int rows, bool pairwise>
std::vector<float> sums_of(std::vector<float> const& x, bool simulated = false) {
  std::vector<float> y(sum_rows);
  view<float const, 2> const in(x.data(), sum_rows, sum_columns);
  view<float, 2> const out(y.data(), sum_rows, 1);
  if (simulated)
    check("the simulation of sums is clean", simulate(row_sums<rows, pairwise>, in, out).clean);
  else
    launch(host_stream(), row_sums<rows, pairwise>, in, out);
  return y;
}

// --- products ------------------------------------------------------------------------------------------------

template <class T, class Sum, int precision>
constexpr auto product = kernel("product", [](in<T, 2> a, in<T, 2> b, out<Sum, 2> c) {
  auto g = grid_over(c, shape<16, 16>);
  tile sums = loop(ceil_div(a.extent(1), 64), zeros<Sum>(shape<16, 16>), [&](auto k, auto before) {
    tile x = load(a, shape<16, 64>, g[0], k);
    tile y = load(b, shape<64, 16>, k, g[1]);
    if constexpr (precision == 1)
      return dot(x, y, before, tf32);
    else if constexpr (precision == 3)
      return dot(x, y, before, tf32x3);
    else
      return dot(x, y, before);
  });
  store(c, shape<16, 16>, sums, g[0], g[1]);
});

constexpr std::size_t side = 32;

/// Returns the greatest error of a product's elements over the sum of abs(a b), and whether each is exact. A precision
/// is that of tensor cores: the simulator multiplies as they do, where hosts multiply in full.
template <class T, class Sum, int precision>
std::pair<double, bool> product_error(std::vector<T> const& a, std::vector<T> const& b) {
  std::size_t const depth = a.size() / side;
  std::vector<Sum> c(side * side);
  view<T const, 2> const left(a.data(), side, depth), right(b.data(), depth, side);
  view<Sum, 2> const out(c.data(), side, side);
  if constexpr (precision == 0)
    launch(host_stream(), product<T, Sum, precision>, left, right, out);
  else
    check("the simulation of a product is clean",
          simulate(product<T, Sum, precision>, left, right, out, schedule::seed(1)).clean);
  double most = 0;
  bool exact = true;
  for (std::size_t i = 0; i < side; ++i)
    for (std::size_t j = 0; j < side; ++j) {
      double sum = 0, size = 0;
      for (std::size_t k = 0; k < depth; ++k) {
        double const one = static_cast<double>(static_cast<float>(a[i * depth + k])) *
                           static_cast<double>(static_cast<float>(b[k * side + j]));
        sum += one;
        size += std::abs(one);
      }
      double const error = std::abs(static_cast<double>(c[i * side + j]) - sum);
      exact &= error == 0;
      most = std::max(most, error / size);
    }
  return {most, exact};
}

/// Checks products of equal numbers, whose sums are the largest, and of drawn ones.
template <class T>
void check_whole(std::string const& name, std::size_t depth, int most) {
  std::vector<T> const equal(side * depth, T(static_cast<float>(most)));
  check("products of equal whole numbers in " + name + " are exact", product_error<T, float, 0>(equal, equal).second);
  check("products of whole numbers in " + name + " are exact",
        product_error<T, float, 0>(whole_values<T>(side * depth, most), whole_values<T>(side * depth, most)).second);
}

/// Checks that sums of products of bytes keep their lowest bits.
void check_whole_bytes(double modulus) {
  std::size_t const depth = (std::size_t{1} << 17) + 64;
  std::vector<std::int8_t> const a(side * depth, -128);
  std::vector<std::int32_t> c(side * side);
  launch(host_stream(), product<std::int8_t, std::int32_t, 0>, view<std::int8_t const, 2>(a.data(), side, depth),
         view<std::int8_t const, 2>(a.data(), depth, side), view<std::int32_t, 2>(c.data(), side, side));
  double const sum = 128.0 * 128.0 * static_cast<double>(depth);  // more than an i32 holds
  check("sums of products of bytes wrap",
        std::ranges::all_of(c, [&](std::int32_t found) { return static_cast<double>(found) == sum - modulus; }));
}

// --- integers ------------------------------------------------------------------------------------------------

/// Checks that products and sums of integers keep their lowest bits: as many as the page's power of two has.
template <class T>
void check_wraps(double modulus) {
  using U = std::make_unsigned_t<T>;
  check(fmt::format("integers of {} bytes have the page's modulus", sizeof(T)),
        std::ldexp(1.0, 8 * static_cast<int>(sizeof(T))) == modulus);
  std::vector<T> a, b;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(static_cast<T>(engine()));
    b.push_back(static_cast<T>(engine()));
  }
  std::vector<T> sums(a.size()), products(a.size());
  launch(host_stream(), binary<T, '+'>, a, b, sums);
  launch(host_stream(), binary<T, '*'>, a, b, products);
  bool right = true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    right &= sums[i] == static_cast<T>(static_cast<U>(a[i]) + static_cast<U>(b[i]));
    right &= products[i] == static_cast<T>(static_cast<U>(a[i]) * static_cast<U>(b[i]));
  }
  check("sums and products of integers wrap", right);
}

/// Lists the bounds of functions in ulp, on hosts and on Hopper, without those of one coarse instruction.
std::vector<double> function_bounds() {
  std::vector<double> bounds;
#define TEGULA_EXPANDED(op, name, device, f32, f64, gpu) \
  if (std::string(#device) != "coarse") bounds.insert(bounds.end(), {f32, f64, gpu});
#define TEGULA_EXPANDED_2(op, name, f32, f64, gpu) bounds.insert(bounds.end(), {f32, f64, gpu});
#include "tegula/math/elementary.def"
  std::erase(bounds, 0.0);  // exact
  return bounds;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::puts("usage: doc_numerics <lib/doc/numerics.md>");
    return 2;
  }
  Page page(arguments[1]);

  double const rounded = page.number("`+`, `-`, `*` of f32 and f64", 0);
  check("+, - and * of f32", std::max({error_of<float, double, '+'>(), error_of<float, double, '-'>(),
                                       error_of<float, double, '*'>()}) <= rounded);
  check("+, - and * of f64", std::max({error_of<double, long double, '+'>(), error_of<double, long double, '-'>(),
                                       error_of<double, long double, '*'>()}) <= rounded);
  check_narrow<f16>("f16");
  check_narrow<bf16>("bf16");
  std::string const quotients = "quotients and square roots of f32";
  check("quotients and roots",
        std::max(error_of<float, double, '/'>(), error_of<float, double, 'r'>()) <= page.number(quotients, 0));
  double on_gpu = 0;
#define TEGULA_EXACT(op, name, intrinsic, gpu) \
  if (std::string(#name) == "sqrt") on_gpu = gpu;
#include "tegula/math/elementary.def"
  check("the bound of roots on a GPU", on_gpu == page.number(quotients, 1));
  auto const bounds = function_bounds();
  check("the least bound of a function", *std::ranges::min_element(bounds) == page.number("functions", 0));
  check("the greatest bound of a function", *std::ranges::max_element(bounds) == page.number("functions", 1));

  std::string const sum_row = "a sum of n numbers x in f32";
  std::vector<float> const x = random_values<float>(sum_rows * sum_columns);
  std::vector<float> const y = sums_of<1, false>(x);
  double const of_sum = (static_cast<double>(sum_columns) - page.number(sum_row, 0)) * page.number(sum_row, 1);
  for (std::size_t i = 0; i < sum_rows; ++i) {
    double sum = 0, size = 0;
    for (std::size_t j = 0; j < sum_columns; ++j) {
      sum += static_cast<double>(x[i * sum_columns + j]);
      size += std::abs(static_cast<double>(x[i * sum_columns + j]));
    }
    check("a sum", std::abs(static_cast<double>(y[i]) - sum) <= of_sum * size);
  }
  std::vector<float> const ordered = sums_of<1, true>(x);
  check("pairwise sums again", ordered == sums_of<1, true>(x));
  check("pairwise sums in other tiles", ordered == sums_of<4, true>(x));
  check("pairwise sums in the simulator", ordered == sums_of<1, true>(x, true));

  double const most = page.number("`sum` of whole numbers in f32, all partial sums below 2^24", 0);
  auto const whole = static_cast<float>(most / static_cast<double>(sum_columns) - 1);
  std::vector<float> const large = sums_of<1, false>(std::vector<float>(sum_rows * sum_columns, whole));
  check("sums of whole numbers are exact", std::ranges::all_of(large, [&](float sum) {
          return static_cast<double>(sum) == static_cast<double>(whole) * static_cast<double>(sum_columns);
        }));

  double const each_sum = page.number("a product with depth K, f16 and bf16", 0);
  auto const error = []<class T, int precision>(std::type_identity<T>, std::integral_constant<int, precision>,
                                                std::size_t depth) {
    return product_error<T, float, precision>(random_values<T>(side * depth), random_values<T>(depth * side)).first;
  };
  using Full = std::integral_constant<int, 0>;
  std::type_identity<float> const f32;
  double const of_f32 = page.number("the same with f32 operands, no precision stated", 0);
  for (std::size_t const depth : {1, 8, 1000}) {
    double const sums = static_cast<double>(depth) * each_sum;
    check("a product of f16", error(std::type_identity<f16>{}, Full{}, depth) <= sums);
    check("a product of bf16", error(std::type_identity<bf16>{}, Full{}, depth) <= sums);
    check("a product of f32", error(f32, Full{}, depth) <= sums + of_f32);
  }

  std::string const by_tf32 = "`tf32`, `tf32x3`";
  double const of_sums = 8 * each_sum;
  double const of_tf32 = error(f32, std::integral_constant<int, 1>{}, 8);
  double const of_tf32x3 = error(f32, std::integral_constant<int, 3>{}, 8);
  check("a product by tf32", of_tf32 <= of_sums + page.number(by_tf32, 0));
  check("a product by tf32x3", of_tf32x3 <= of_sums + page.number(by_tf32, 1));

  check_wraps<std::int32_t>(page.number("sums and products of integers", 0));
  check_wraps<std::int64_t>(page.number("sums and products of integers", 1));
  double const below =
      page.number("`dot` of f16, bf16, e4m3 or e5m2 whose products and partial sums are whole numbers below 2^24", 0);
  int const factor = 127;  // exact in 8 bits of fraction
  auto const terms = static_cast<std::size_t>(below / (factor * factor));
  check_whole<f16>("f16", terms, factor);
  check_whole<bf16>("bf16", terms, factor);
  check_whole<e4m3>("e4m3", 500, 16);
  check_whole<e5m2>("e5m2", 500, 8);
  check_whole_bytes(page.number("`dot` of i8 and u8", 0));
  // Tensor cores alone: test/device/elements_test.cpp compares them, with more error than 14 bits make.
  check("bits of sums on a GPU", page.number("e4m3 and e5m2 on a GPU", 0) == 14);

  page.check_all_used();
  return failures == 0 ? 0 : 1;
}
