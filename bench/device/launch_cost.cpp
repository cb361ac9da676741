// Measures the cost of a launch for the calling thread, in interleaved bursts. Prepared and typed launches run beside
// the driver's own call with the same parameters, launches on the host beside its pool of threads.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "jit/kernel_cache.hpp"
#include "rig/result_file.hpp"
#include "runtime/argument_check.hpp"
#include "runtime/argument_pack.hpp"
#include "runtime/host/thread_pool.hpp"
#include "tegula/tegula.hpp"

namespace {

using namespace tegula;

/// Multiplies tiles that travel by TMA, operands and result: three tensor maps.
constexpr auto product = kernel("launch_cost_product", [](in<bf16, 2> a, in<bf16, 2> b, out<bf16, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sum = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto acc) { return dot(load(a, shape<64, 64>, g[0], k), load(b, shape<64, 64>, k, g[1]), acc); },
      stages<2>);
  store(c, shape<64, 64>, cast<bf16>(sum), g[0], g[1]);
});

constexpr auto nothing = kernel("launch_cost_nothing", [](in<float, 1> x) { grid_over(x, shape<64>); });

/// Holds one way to launch and its times in microseconds, one for each burst.
struct Side {
  std::string name;
  std::function<void()> launch;
  std::vector<double> times;
};

/// Times bursts of all sides in turn. `settle` waits for the work of a burst, outside of its time.
void measure(std::vector<Side>& sides, int rounds, int launches, std::function<void()> const& settle) {
  for (int round = -3; round < rounds; ++round) {
    for (Side& side : sides) {
      settle();
      auto const start = std::chrono::steady_clock::now();
      for (int i = 0; i < launches; ++i) side.launch();
      std::chrono::duration<double, std::micro> const passed = std::chrono::steady_clock::now() - start;
      if (round >= 0) side.times.push_back(passed.count() / launches);
    }
  }
  settle();
}

double quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(at * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Prints quartiles of each side, and of its differences to the first side of the same round.
void report(std::string const& title, std::vector<Side> const& sides, bench::ResultFile& results) {
  fmt::print("{}\n  {:36} {:>8} {:>8} {:>8}   {}\n", title, "microseconds a launch", "quarter", "median", "3/4",
             "over the first, quartiles");
  for (Side const& side : sides) {
    std::vector<double> over, ratios;
    for (std::size_t i = 0; i < side.times.size(); ++i) {
      over.push_back(side.times[i] - sides[0].times[i]);
      ratios.push_back(sides[0].times[i] / side.times[i]);
    }
    fmt::print("  {:36} {:8.3f} {:8.3f} {:8.3f}   {:+.3f} {:+.3f} {:+.3f}\n", side.name, quantile(side.times, 0.25),
               quantile(side.times, 0.5), quantile(side.times, 0.75), quantile(over, 0.25), quantile(over, 0.5),
               quantile(over, 0.75));
    bool const first = &side == &sides[0];
    results.write({"launch",
                   title,
                   side.name,
                   "us",
                   side.times,
                   first ? "" : sides[0].name,
                   first ? std::vector<double>() : ratios,
                   {},
                   {},
                   {}});
  }
}

/// Calls cuLaunchKernel without anything around it.
class BareLaunch {
 public:
  BareLaunch(std::span<Argument const> arguments, cuda_stream const& order) : order_(order) {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) throw std::runtime_error("libcuda.so.1 cannot be opened");
    launch_ = reinterpret_cast<Launch>(::dlsym(driver, "cuLaunchKernel"));
    auto const retain = reinterpret_cast<int (*)(void**, int)>(::dlsym(driver, "cuDevicePrimaryCtxRetain"));
    auto const make_current = reinterpret_cast<int (*)(void*)>(::dlsym(driver, "cuCtxSetCurrent"));
    void* context = nullptr;
    if (launch_ == nullptr || retain == nullptr || make_current == nullptr || retain(&context, 0) != 0 ||
        make_current(context) != 0)
      throw std::runtime_error("the driver lacks cuLaunchKernel or its primary context");
    loaded_ = jit::find_kernel(jit::reference(product), order.where(), arguments).loaded;
    runtime::PreparedLaunch const sized(loaded_, arguments);
    std::int64_t const grid[] = {sized.grid(0), sized.grid(1), sized.grid(2)};
    blocks_ = static_cast<unsigned>(runtime::cuda_blocks(loaded_->compiled, grid));
    pack_.fill(loaded_->compiled, arguments, grid, loaded_->multiprocessors, order.where().number(),
               runtime::cuda::tensor_map_cache());
  }

  void operator()() const {
    CompiledKernel const& compiled = loaded_->compiled;
    int const status =
        launch_(loaded_->function.function, blocks_, 1, 1, static_cast<unsigned>(compiled.threads_per_cta), 1, 1,
                static_cast<unsigned>(compiled.shared_bytes), order_.handle(), pack_.parameters(), nullptr);
    if (status != 0) throw std::runtime_error(fmt::format("cuLaunchKernel returns error {}", status));
  }
  [[nodiscard]] std::size_t maps() const { return pack_.tensor_maps().size(); }

 private:
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                         void**);
  Launch launch_ = nullptr;
  cuda_stream const& order_;
  std::shared_ptr<runtime::LoadedKernel const> loaded_;
  unsigned blocks_ = 0;
  runtime::ArgumentPack pack_;
};

void on_device(int rounds, int launches, bench::ResultFile& results) {
  cuda_stream const order;
  constexpr std::int64_t n = 128;
  buffer<bf16, 2> a(order.where(), n, n), b(order.where(), n, n), c(order.where(), n, n), other(order.where(), n, n);
  a.fill(order, bf16(1));
  b.fill(order, bf16(1));
  auto const argument = [&](auto& tensor, bool read_only) {
    Argument result;
    result.element = Element::bf16;
    result.read_only = read_only;
    result.space = DeviceKind::cuda;
    result.device_number = order.where().number();
    result.rank = 2;
    result.address = const_cast<void*>(static_cast<void const*>(tensor.data()));
    for (int axis = 0; axis < 2; ++axis) {
      result.extents[axis] = n;
      result.strides[axis] = axis == 0 ? n : 1;
    }
    return result;
  };
  std::vector<Argument> const arguments = {argument(a, true), argument(b, true), argument(c, false)};
  BareLaunch const bare(arguments, order);
  prepared const go = prepare(product, a, b, c);
  bool turn = false;
  std::vector<Side> sides = {
      {"cuLaunchKernel", [&] { bare(); }, {}},
      {"prepared", [&] { go(order); }, {}},
      {"launch, equal arguments", [&] { launch(order, product, a, b, c); }, {}},
      {"launch, two results in turn", [&] { turn = !turn, launch(order, product, a, b, turn ? c : other); }, {}},
  };
  measure(sides, rounds, launches, [&] { order.synchronize(); });
  report(fmt::format("{} tensor maps", bare.maps()), sides, results);
}

void on_host(int rounds, int launches, bench::ResultFile& results) {
  for (std::int64_t const blocks : {1, 64}) {
    buffer<float, 1> x(device::host(), blocks * 64);
    prepared const go = prepare(nothing, x);
    std::vector<Side> sides = {
        {"pool of threads", [&] { runtime::host::parallel_for(blocks, [](std::int64_t, std::int64_t) {}); }, {}},
        {"prepared", [&] { go(host_stream()); }, {}},
        {"launch", [&] { launch(host_stream(), nothing, x); }, {}},
    };
    measure(sides, rounds, launches, [] {});
    report(fmt::format("host, empty kernel of {} block{}", blocks, blocks == 1 ? "" : "s"), sides, results);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 101;
  int launches = 200;
  std::string json;
  CLI::App app("Costs of launches beside the driver's own call");
  app.add_option("--rounds", rounds, "bursts of each side")->check(CLI::PositiveNumber);
  app.add_option("--launches", launches, "launches in a burst")->check(CLI::PositiveNumber);
  app.add_option("--json", json, "append the results to this file, one JSON object a line");
  CLI11_PARSE(app, argc, argv);
  try {
    bool const cuda = device::cuda_count() != 0;
    bench::ResultFile results(json, "device_launch_cost", cuda ? device::cuda().name() : device::host().name());
    on_host(rounds, launches, results);
    if (cuda)
      on_device(rounds, launches, results);
    else
      fmt::print("device skipped: {}\n", device::cuda_status());
    return 0;
  } catch (std::exception const& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
