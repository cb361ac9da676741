// Compares memory-bound kernels with copies on a CUDA device: vector addition, softmax over rows, and a plain copy
// kernel, beside the driver's device-to-device copy. All in one run, in interleaved bursts; medians. Rates count bytes
// read and written. Prints "skipped" where there is no device.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "../../samples/support/compare.hpp"
#include "rig/result_file.hpp"
#include "tune/sm_clock.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/runtime/timer.hpp"
#include "tegula/tegula.hpp"
#include "tune/timing.hpp"

using namespace tegula;

namespace {

using tuning::median;

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

template <int BN>
inline constexpr auto copy_tiles = kernel("copy", [](in<float, 1> a, out<float, 1> c) {
  auto g = grid_over(c, shape<BN>);
  store(c, shape<BN>, load(a, shape<BN>, g[0]), g[0]);
});

inline constexpr auto relu_bf16 = kernel("relu_bf16", [](in<bf16, 1> a, out<bf16, 1> c) {
  auto g = grid_over(c, shape<2048>);
  store(c, shape<2048>, max(load(a, shape<2048>, g[0]), 0), g[0]);
});

/// Computes tanh-GELU as x / (1 + exp(-2u)).
inline constexpr auto gelu_bf16 = kernel("gelu_bf16", [](in<bf16, 1> a, out<bf16, 1> c) {
  auto g = grid_over(c, shape<2048>);
  tile x = cast<float>(load(a, shape<2048>, g[0]));
  tile u = 0.7978845608F * (x + 0.044715F * x * x * x);
  store(c, shape<2048>, cast<bf16>(x / (1.F + exp(-2.F * u))), g[0]);
});

/// Adds a bias to rows and computes the same.
inline constexpr auto bias_gelu_bf16 = kernel("bias_gelu_bf16", [](in<bf16, 2> a, in<bf16, 1> bias, out<bf16, 2> c) {
  auto g = grid_over(c, shape<4, 1024>);
  tile b = expand_dims(load(bias, shape<1024>, g[1]), axis<0>);
  tile x = cast<float>(load(a, shape<4, 1024>, g[0], g[1])) + cast<float>(b);
  tile u = 0.7978845608F * (x + 0.044715F * x * x * x);
  store(c, shape<4, 1024>, cast<bf16>(x / (1.F + exp(-2.F * u))), g[0], g[1]);
});

template <class T, int N>
inline constexpr auto transpose = kernel("transpose", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<N, N>);
  store(y, shape<N, N>, trans(load(x, shape<N, N>, g[1], g[0])), g[0], g[1]);
});

/// Divides rows by the root of their mean square.
template <class T>
inline constexpr auto rmsnorm = kernel("rmsnorm", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<1, 4096>);
  require(y.extent(1) <= 4096, "rmsnorm: a row must fit one tile");
  tile v = cast<float>(load(x, shape<1, 4096>, g[0], 0));
  tile n = full(shape<1, 1>, cast<float>(x.extent(1)));
  store(y, shape<1, 4096>, cast<T>(v * rsqrt(sum(v * v, axis<1>) / n + 1e-5F)), g[0], 0);
});

/// Does the same and scales columns.
template <class T>
inline constexpr auto scaled_rmsnorm = kernel("scaled_rmsnorm", [](in<T, 2> x, in<T, 1> scales, out<T, 2> y) {
  auto g = grid_over(y, shape<1, 4096>);
  require(y.extent(1) <= 4096, "rmsnorm: a row must fit one tile");
  tile v = cast<float>(load(x, shape<1, 4096>, g[0], 0));
  tile n = full(shape<1, 1>, cast<float>(x.extent(1)));
  tile s = cast<float>(expand_dims(load(scales, shape<4096>, 0), axis<0>));
  store(y, shape<1, 4096>, cast<T>(v * rsqrt(sum(v * v, axis<1>) / n + 1e-5F) * s), g[0], 0);
});

template <int BN>
inline constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, BN>);
  require(y.extent(1) <= BN, "softmax: a row must fit one tile");
  tile v = load(x, shape<1, BN>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, BN>, e / sum(e, axis<1>), g[0], 0);
});

/// Holds one line of the table.
struct Variant {
  std::string name;
  double bytes = 0;  ///< read and written by one launch
  std::function<void(stream const&)> go;
  std::function<samples::Comparison()> compare;  ///< of the output with float64
  std::vector<double> seconds;                   ///< per launch, one per burst
  std::optional<double> clock;                   ///< MHz right after the last burst
};

/// Launches with a given number of warps, to find the best one.
template <class F>
std::function<void(stream const&)> with_warps(device where, int warps, Kernel<F> const& kernel,
                                              std::vector<Argument> const& arguments) {
  CompileOptions options;
  options.target = Target::cuda;
  options.warps = warps;
  options.facts.assign(arguments.size(), TensorFacts{true, true});
  auto const loaded = runtime::load_on(compile(kernel, options), where);
  auto const prepared = std::make_shared<runtime::PreparedLaunch>(loaded, arguments);
  return [prepared](stream const& order) { prepared->run(order); };
}

Argument argument(buffer<float, 1>& memory, bool read_only) {
  Argument result;
  result.element = Element::f32;
  result.read_only = read_only;
  result.rank = 1;
  result.space = DeviceKind::cuda;
  result.device_number = memory.where().number();
  result.address = memory.data();
  result.extents[0] = memory.size();
  result.strides[0] = 1;
  result.allocation = memory.allocation();
  return result;
}

class Bench {
 public:
  Bench(std::int64_t elements, bool sweep)
      : order_(device::cuda()),
        elements_(elements),
        a_(order_.where(), elements),
        b_(order_.where(), elements),
        c_(order_.where(), elements) {
    std::mt19937_64 random(seed_);
    std::uniform_real_distribution<float> uniform(-4, 4);
    host_a_.resize(static_cast<std::size_t>(elements));
    host_b_.resize(static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < host_a_.size(); ++i)
      host_a_[i] = i < 4096 * 4096 ? uniform(random) : host_a_[i % (4096 * 4096)];
    for (std::size_t i = 0; i < host_b_.size(); ++i) host_b_[i] = 1 + host_a_[host_a_.size() - 1 - i];
    a_.copy_from(host_a_);
    b_.copy_from(host_b_);
    add_copies();
    add_vadd(sweep);
    add_softmax<1024>(sweep);
    add_softmax<4096>(sweep);
    add_softmax<8192>(sweep);
    add_softmax<16384>(sweep);
  }

  void run(int rounds, double burst_seconds) {
    timer clock(order_);
    for (Variant& variant : variants_) {
      c_.fill(order_, samples::poison<float>());
      half_c_.fill(order_, samples::poison<bf16>());
      variant.go(order_);
      order_.synchronize();
      samples::Comparison const all = variant.compare();
      if (!all.right()) fmt::print("WRONG: {}: {}\n", variant.name, all.str());
      wrong_ = wrong_ || !all.right();
    }
    for (int round = 0; round < rounds; ++round)
      for (Variant& variant : variants_) {
        int const launches = std::max(1, static_cast<int>(burst_seconds / (variant.bytes / 4e12)));
        variant.go(order_);
        clock.start();
        for (int i = 0; i < launches; ++i) variant.go(order_);
        clock.stop();
        variant.seconds.push_back(clock.seconds() / launches);
        variant.clock = tuning::sm_clock(order_.where().number());
      }
  }

  int report(bench::ResultFile& results) const {
    double const driver = variants_[0].bytes / median(variants_[0].seconds);
    double const copy = variants_[1].bytes / median(variants_[1].seconds);
    fmt::print("{} elements of f32 per array, {}\n\n", elements_, order_.where().name());
    fmt::print("| kernel | us | GB/s | of the driver's copy | of the copy kernel |\n|---|---|---|---|---|\n");
    for (Variant const& variant : variants_) {
      double const seconds = median(variant.seconds);
      double const rate = variant.bytes / seconds;
      write(results, variant);
      fmt::print("| {} | {:.1f} | {:.0f} | {:.3f} | {:.3f} |\n", variant.name, seconds * 1e6, rate * 1e-9,
                 rate / driver, rate / copy);
    }
    return wrong_ ? 1 : 0;
  }

 private:
  void write(bench::ResultFile& results, Variant const& variant) const {
    Variant const& rival = variants_[0];
    std::string const shape = fmt::format("{}", elements_);
    std::string const kernel = variant.name.substr(0, variant.name.find(','));
    bench::Result result{kernel, shape, variant.name,  "GB/s", {}, &variant == &rival ? "" : rival.name,
                         {},     {},    variant.clock, seed_};
    for (std::size_t i = 0; i < variant.seconds.size(); ++i) {
      result.rates.push_back(variant.bytes / variant.seconds[i] * 1e-9);
      if (&variant != &rival)
        result.ratios.push_back(variant.bytes / variant.seconds[i] / (rival.bytes / rival.seconds[i]));
    }
    results.write(result);
  }
  void add(std::string name, double bytes, std::function<void(stream const&)> go,
           std::function<samples::Comparison()> compare) {
    variants_.push_back({std::move(name), bytes, std::move(go), std::move(compare), {}, {}});
  }
  /// Compares every element of C with `expected(i)`.
  template <class Expected>
  samples::Comparison compare_all(double bound, Expected const& expected) {
    c_.copy_to(host_c_);
    samples::Comparison all(bound);
    for (std::size_t i = 0; i < host_c_.size(); ++i)
      all.add(static_cast<std::int64_t>(i), host_c_[i], static_cast<double>(expected(i)));
    return all;
  }

  void add_copies() {
    double const bytes = 2.0 * sizeof(float) * static_cast<double>(elements_);
    std::int64_t const size = elements_ * static_cast<std::int64_t>(sizeof(float));
    auto const same = [this] { return compare_all(0, [this](std::size_t i) { return host_a_[i]; }); };
    add(
        "driver copy", bytes,
        [this, size](stream const& order) { detail::copy(c_.allocation(), a_.allocation(), size, &order); }, same);
    add("copy, 1024 per block", bytes, prepare(copy_tiles<1024>, a_, c_), same);
    add("copy, 2048 per block", bytes, prepare(copy_tiles<2048>, a_, c_), same);
    add("copy, 4096 per block", bytes, prepare(copy_tiles<4096>, a_, c_), same);
    half_a_ = buffer<bf16, 1>(order_.where(), elements_);
    half_c_ = buffer<bf16, 1>(order_.where(), elements_);
    std::vector<bf16> half(static_cast<std::size_t>(elements_));
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = bf16(host_a_[i]);
    half_a_.copy_from(half);
    add("relu bf16, 2048 per block", bytes / 2, prepare(relu_bf16, half_a_, half_c_), [this, half] {
      std::vector<bf16> found(static_cast<std::size_t>(elements_));
      half_c_.copy_to(found);
      samples::Comparison all;
      for (std::size_t i = 0; i < found.size(); ++i)
        all.add(static_cast<std::int64_t>(i), found[i], std::max(static_cast<double>(half[i]), 0.0));
      return all;
    });
    add("gelu bf16, 2048 per block", bytes / 2, prepare(gelu_bf16, half_a_, half_c_), [this, half] {
      std::vector<bf16> found(static_cast<std::size_t>(elements_));
      half_c_.copy_to(found);
      samples::Comparison all(4.1e-3);  // a bf16 has 8 bits
      for (std::size_t i = 0; i < found.size(); ++i) {
        double const x = static_cast<double>(half[i]);
        double const u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
        double const expected = x / (1 + std::exp(-2 * u));
        all.add(static_cast<std::int64_t>(i), found[i], expected, std::abs(expected) + 1e-4);
      }
      return all;
    });
    add_bias(half);
    add_transposes<bf16, 64>("bf16", half, half_a_, half_c_);
    add_transposes<bf16, 128>("bf16", half, half_a_, half_c_);
    add_transposes<float, 64>("f32", host_a_, a_, c_);
    add_rmsnorm<bf16>("bf16", 4.1e-3, half, half_a_, half_c_);
    add_rmsnorm<float>("f32", 1e-5, host_a_, a_, c_);
  }

  template <class T>
  static device_view<T, 2> rows_of(buffer<T, 1>& memory, std::int64_t columns) {
    return device_view<T, 2>(memory.data(), memory.size() / columns, columns);
  }
  template <class T>
  static std::vector<T> contents(buffer<T, 1> const& memory) {
    std::vector<T> found(static_cast<std::size_t>(memory.size()));
    memory.copy_to(found);
    return found;
  }

  void add_bias(std::vector<bf16> const& half) {
    constexpr std::int64_t columns = 4096;
    bias_ = buffer<bf16, 1>(order_.where(), columns);
    std::vector<bf16> bias(half.begin(), half.begin() + columns);
    bias_.copy_from(bias);
    add("bias and gelu bf16, 4 x 1024 per block", 2.0 * sizeof(bf16) * static_cast<double>(elements_),
        prepare(bias_gelu_bf16, rows_of(half_a_, columns), bias_, rows_of(half_c_, columns)), [this, half, bias] {
          std::vector<bf16> const found = contents(half_c_);
          samples::Comparison all(4.1e-3);
          for (std::size_t i = 0; i < found.size(); ++i) {
            double const x = static_cast<double>(half[i]) + static_cast<double>(bias[i % bias.size()]);
            double const u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
            double const expected = x / (1 + std::exp(-2 * u));
            all.add(static_cast<std::int64_t>(i), found[i], expected, std::abs(expected) + 1e-4);
          }
          return all;
        });
  }

  template <class T, int N>
  void add_transposes(std::string const& element, std::vector<T> const& given, buffer<T, 1>& a, buffer<T, 1>& c) {
    constexpr std::int64_t columns = 8192;
    std::int64_t const rows = elements_ / columns;
    add(fmt::format("transpose {}, tiles of {}", element, N), 2.0 * sizeof(T) * static_cast<double>(elements_),
        prepare(transpose<T, N>, rows_of(a, columns), rows_of(c, rows)), [&given_back = c, given, rows] {
          std::vector<T> const found = contents(given_back);
          samples::Comparison all;
          for (std::int64_t i = 0; i < rows * columns; ++i)
            all.add(i, found[static_cast<std::size_t>(i)],
                    static_cast<double>(given[static_cast<std::size_t>(i % rows * columns + i / rows)]));
          return all;
        });
  }

  template <class T>
  void add_rmsnorm(std::string const& element, double bound, std::vector<T> const& given, buffer<T, 1>& a,
                   buffer<T, 1>& c) {
    constexpr std::int64_t columns = 4096;
    std::int64_t const rows = elements_ / columns;
    double const bytes = 2.0 * sizeof(T) * static_cast<double>(elements_);
    auto const right = [&given_back = c, given, rows, bound](bool scaled) {
      return [&given_back, given, rows, bound, scaled] {
        std::vector<T> const found = contents(given_back);
        samples::Comparison all(bound);
        for (std::int64_t row = 0; row < rows; ++row) {
          T const* const from = given.data() + row * columns;
          double squares = 0;
          for (std::int64_t j = 0; j < columns; ++j)
            squares += static_cast<double>(from[j]) * static_cast<double>(from[j]);
          double const factor = 1 / std::sqrt(squares / columns + 1e-5);
          for (std::int64_t j = 0; j < columns; ++j) {
            double const scale = scaled ? static_cast<double>(given[static_cast<std::size_t>(j)]) : 1;
            double const expected = static_cast<double>(from[j]) * factor * scale;
            all.add(row * columns + j, found[static_cast<std::size_t>(row * columns + j)], expected,
                    std::abs(expected) + 1e-4);
          }
        }
        return all;
      };
    };
    add("rmsnorm " + element + ", rows of 4096", bytes, prepare(rmsnorm<T>, rows_of(a, columns), rows_of(c, columns)),
        right(false));
    device_view<T, 1> const scales(a.data(), columns);
    add("rmsnorm " + element + " with scales, rows of 4096", bytes,
        prepare(scaled_rmsnorm<T>, rows_of(a, columns), scales, rows_of(c, columns)), right(true));
  }

  void add_vadd(bool sweep) {
    double const bytes = 3.0 * sizeof(float) * static_cast<double>(elements_);
    auto const right = [this] { return compare_all(0, [this](std::size_t i) { return host_a_[i] + host_b_[i]; }); };
    add("vadd", bytes, prepare(vadd, a_, b_, c_), right);
    for (int warps : {1, 2, 4, 8})
      if (sweep)
        add(fmt::format("vadd, {} warps", warps), bytes,
            with_warps(order_.where(), warps, vadd, {argument(a_, true), argument(b_, true), argument(c_, false)}),
            right);
  }

  template <int BN>
  void add_softmax(bool sweep) {
    std::int64_t const rows = elements_ / BN;
    double const bytes = 2.0 * sizeof(float) * static_cast<double>(rows * BN);
    auto const rows_of = [rows](buffer<float, 1>& memory) { return device_view<float, 2>(memory.data(), rows, BN); };
    auto const right = [this, rows] {
      c_.copy_to(host_c_);
      samples::Comparison all(1e-5);
      for (std::int64_t i = 0; i < rows * BN; ++i)  // written everywhere; the values of some rows
        if (float const found = host_c_[static_cast<std::size_t>(i)]; !std::isfinite(found)) all.add(i, found, 0);
      for (std::int64_t row = 0; row < rows; row += std::max<std::int64_t>(rows / 50, 1)) {
        float const* const from = host_a_.data() + row * BN;
        double sum = 0, max = from[0];
        for (int j = 0; j < BN; ++j) max = std::max(max, static_cast<double>(from[j]));
        for (int j = 0; j < BN; ++j) sum += std::exp(static_cast<double>(from[j]) - max);
        for (int j = 0; j < BN; ++j) {
          double const expected = std::exp(static_cast<double>(from[j]) - max) / sum;
          all.add(row * BN + j, host_c_[static_cast<std::size_t>(row * BN + j)], expected, expected);
        }
      }
      return all;
    };
    add(fmt::format("softmax, rows of {}", BN), bytes, prepare(softmax<BN>, rows_of(a_), rows_of(c_)), right);
    if (!sweep) return;
    for (int warps : {4, 8, 16, 32}) {
      Argument x = argument(a_, true), y = argument(c_, false);
      for (Argument* tensor : {&x, &y}) {
        tensor->rank = 2;
        tensor->extents[0] = rows;
        tensor->extents[1] = tensor->strides[0] = BN;
        tensor->strides[1] = 1;
      }
      add(fmt::format("softmax, rows of {}, {} warps", BN, warps), bytes,
          with_warps(order_.where(), warps, softmax<BN>, {x, y}), right);
    }
  }

  cuda_stream order_;
  std::int64_t elements_;
  std::uint64_t seed_ = std::random_device{}();
  buffer<float, 1> a_, b_, c_;
  buffer<bf16, 1> half_a_, half_c_, bias_;
  std::vector<float> host_a_, host_b_, host_c_ = std::vector<float>(static_cast<std::size_t>(elements_));
  std::vector<Variant> variants_;
  bool wrong_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::int64_t mega = 64;
  int rounds = 15;
  bool sweep = false;
  std::string json;
  CLI::App app("Rates of memory-bound kernels beside a copy");
  app.add_option("--mega", mega, "elements per array, in units of 2^20");
  app.add_option("--rounds", rounds, "interleaved bursts of each kernel");
  app.add_flag("--sweep", sweep, "also with other numbers of warps than the compiler's choice");
  app.add_option("--json", json, "append the results to this file, one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  if (device::cuda_count() == 0) {
    fmt::print("skipped: {}\n", device::cuda_status());
    return 0;
  }
  try {
    bench::ResultFile results(json, "device_memory_rate", device::cuda().name());
    Bench rates(mega << 20, sweep);
    rates.run(rounds, 4e-3);
    return rates.report(results);
  } catch (std::exception const& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
