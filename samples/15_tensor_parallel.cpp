// Splits a network of two layers, y = relu(x w1) w2, over all GPUs of the machine: each holds a part of the columns of
// w1 and the same rows of w2, and computes a partial y. NCCL adds the parts up, chunk by chunk of rows, while the next
// chunk is computed. Without NCCL, as on the host, two parts share one device, and a kernel adds them up.
#include <dlfcn.h>

#include <chrono>
#include <memory>
#include <optional>

#include <tegula/runtime/event.hpp>

#include "support/report.hpp"

using namespace tegula;

namespace {

/// Computes c = a b, or relu(a b).
template <bool Relu>
inline constexpr auto layer = kernel("layer", [](in<bf16, 2> A, in<bf16, 2> B,
                                                 out<std::conditional_t<Relu, bf16, float>, 2> C) {
  require(A.extent(1) == B.extent(0), "layer: A is M x K and B is K x N, but the two K differ");
  auto g = grid_over(C, shape<128, 128>);
  tile sum = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>),
      [&](auto k, auto before) {
        return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), before);
      },
      stages<4>);
  if constexpr (Relu) {
    store(C, shape<128, 128>, cast<bf16>(max(sum, 0)), g[0], g[1]);
  } else {
    store(C, shape<128, 128>, sum, g[0], g[1]);
  }
});

inline constexpr auto add_to = kernel("add_to", [](inout<float, 2> y, in<float, 2> x) {
  auto g = grid_over(y, shape<16, 128>);
  store(y, shape<16, 128>, load(y, shape<16, 128>, g[0], g[1]) + load(x, shape<16, 128>, g[0], g[1]), g[0], g[1]);
});

/// Calls NCCL, which is opened when the program runs. Values and signatures are those of nccl.h, version 2.
class Nccl {
 public:
  explicit Nccl(int devices) : communicators_(static_cast<std::size_t>(devices)) {
    check(function<int(void**, int, int const*)>("ncclCommInitAll")(communicators_.data(), devices, nullptr));
  }
  Nccl(Nccl const&) = delete;
  Nccl& operator=(Nccl const&) = delete;
  ~Nccl() {
    for (void* communicator : communicators_) static_cast<void>(function<int(void*)>("ncclCommDestroy")(communicator));
  }

  static bool found() { return library() != nullptr; }

  /// Adds up `count` floats of all devices, in place, on one stream of each.
  void all_reduce(std::vector<float*> const& memory, std::int64_t count, std::vector<cuda_stream> const& order) const {
    constexpr int type_f32 = 7, sum = 0;  // ncclFloat32, ncclSum
    check(group_start_());
    for (std::size_t i = 0; i < memory.size(); ++i)
      check(all_reduce_(memory[i], memory[i], static_cast<std::size_t>(count), type_f32, sum, communicators_[i],
                        order[i].handle()));
    check(group_end_());
  }

 private:
  static void* library() {
    static void* const opened = ::dlopen("libnccl.so.2", RTLD_NOW);
    return opened;
  }
  template <class F>
  static F* function(char const* name) {
    if (!found()) throw std::runtime_error("several GPUs need NCCL: libnccl.so.2 cannot be opened");
    void* const symbol = ::dlsym(library(), name);
    if (symbol == nullptr) throw std::runtime_error(std::string("libnccl.so.2 has no ") + name);
    return reinterpret_cast<F*>(symbol);
  }
  static void check(int status) {
    if (status != 0)
      throw std::runtime_error(std::string("NCCL: ") + function<char const*(int)>("ncclGetErrorString")(status));
  }

  std::vector<void*> communicators_;
  int (*group_start_)() = function<int()>("ncclGroupStart");
  int (*group_end_)() = function<int()>("ncclGroupEnd");
  int (*all_reduce_)(void const*, void*, std::size_t, int, int, void*, CUstream_st*) =
      function<int(void const*, void*, std::size_t, int, int, void*, CUstream_st*)>("ncclAllReduce");
};

/// Holds the sizes: x is rows x inputs, the hidden layer rows x hidden.
struct Sizes {
  std::int64_t rows, inputs, hidden, outputs;
  int chunks;
  [[nodiscard]] std::int64_t chunk_rows() const { return rows / chunks; }
};

/// Holds one part of the network on its device.
struct Part {
  stream compute;
  buffer<bf16, 2> x, w1, w2, h;
  buffer<float, 2> y;

  Part(device where, Sizes const& s, std::int64_t share, std::vector<bf16> const& all_x)
      : compute(where),
        x(samples::filled<bf16, 2>(where, all_x, s.rows, s.inputs)),
        w1(where, s.inputs, share),
        w2(where, share, s.outputs),
        h(where, s.rows, share),
        y(samples::poisoned<float, 2>(where, s.rows, s.outputs)) {}
};

/// Views `count` rows from `first` on, of a buffer on any device.
template <class T>
tensor_view<T, 2> rows_of(buffer<T, 2>& all, std::int64_t first, std::int64_t count) {
  return tensor_view<T, 2>(all).slice(0, first, first + count);
}

/// Holds a network that is split over devices.
class Network {
 public:
  Network(std::vector<device> const& devices, Sizes const& sizes, std::vector<bf16> const& x,
          std::vector<bf16> const& w1, std::vector<bf16> const& w2)
      : sizes_(sizes) {
    bool const each_its_own = devices.size() > 1 || (devices.front().is_cuda() && Nccl::found());
    int const parts = each_its_own ? static_cast<int>(devices.size()) : 2;
    std::int64_t const share = sizes.hidden / parts;
    for (int i = 0; i < parts; ++i) {
      parts_.push_back(
          std::make_unique<Part>(devices[each_its_own ? static_cast<std::size_t>(i) : 0], sizes, share, x));
      Part& part = *parts_.back();
      std::vector<bf16> columns;
      for (std::int64_t row = 0; row < sizes.inputs; ++row) {
        auto const first = w1.begin() + row * sizes.hidden + i * share;
        columns.insert(columns.end(), first, first + share);
      }
      part.w1.copy_from(columns);
      auto const first = w2.begin() + i * share * sizes.outputs;
      part.w2.copy_from(std::vector<bf16>(first, first + share * sizes.outputs));
    }
    if (!each_its_own) return;
    nccl_.emplace(parts);
    for (auto const& part : parts_) reduce_.emplace_back(part->compute.where());
  }

  /// Gives all work of one pass to the streams, and returns.
  void run() {
    std::int64_t const rows = sizes_.chunk_rows();
    for (int chunk = 0; chunk < sizes_.chunks; ++chunk) {
      std::int64_t const first = chunk * rows;
      for (auto const& part : parts_) {
        auto h = rows_of(part->h, first, rows);
        launch(part->compute, layer<true>, rows_of(part->x, first, rows), part->w1, h);
        launch(part->compute, layer<false>, h, part->w2, rows_of(part->y, first, rows));
      }
      add_up(first, rows);
    }
    // The next pass overwrites y, so it comes after the last sum.
    for (std::size_t i = 0; i < reduce_.size(); ++i) parts_[i]->compute.wait(event(reduce_[i]));
  }

  void synchronize() {
    for (auto const& part : parts_) part->compute.synchronize();
  }

  [[nodiscard]] std::vector<float> result(std::size_t part) const {
    std::vector<float> y(static_cast<std::size_t>(sizes_.rows * sizes_.outputs));
    parts_[part]->y.copy_to(y);
    return y;
  }
  [[nodiscard]] std::size_t results() const { return nccl_ ? parts_.size() : 1; }

 private:
  void add_up(std::int64_t first, std::int64_t rows) {
    if (!nccl_) {
      Part& sum = *parts_.front();
      for (std::size_t i = 1; i < parts_.size(); ++i) {
        sum.compute.wait(event(parts_[i]->compute));
        launch(sum.compute, add_to, rows_of(sum.y, first, rows), rows_of(parts_[i]->y, first, rows));
        parts_[i]->compute.wait(event(sum.compute));
      }
      return;
    }
    std::vector<float*> memory;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      reduce_[i].wait(event(parts_[i]->compute));
      memory.push_back(parts_[i]->y.data() + first * sizes_.outputs);
    }
    nccl_->all_reduce(memory, rows * sizes_.outputs, reduce_);
  }

  Sizes sizes_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::optional<Nccl> nccl_;
  std::vector<cuda_stream> reduce_;  ///< one for each part, with NCCL
};

/// Returns random weights whose results are about as large as the inputs.
std::vector<bf16> weights(std::int64_t inputs, std::int64_t outputs) {
  auto const uniform = samples::random_values<float>(inputs * outputs);
  float const scale = std::sqrt(3.0F / static_cast<float>(inputs));
  std::vector<bf16> result;
  result.reserve(uniform.size());
  for (float const value : uniform) result.push_back(static_cast<bf16>(scale * value));
  return result;
}

/// Returns the min seconds of a pass.
double seconds_of(Network& network, int repeats) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repeats; ++i) {
    auto const start = std::chrono::steady_clock::now();
    network.run();
    network.synchronize();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (i > 0) best = std::min(best, seconds);  // the first compiles
  }
  return best;
}

/// Compares some rows of y with float64. The hidden layer is rounded to bf16, as the kernel does.
samples::Comparison compared(std::vector<float> const& y, Sizes const& s, std::vector<double> const& x,
                             std::vector<double> const& w1, std::vector<double> const& w2) {
  samples::Comparison all(5e-3);
  auto const at = [](std::vector<double> const& values, std::int64_t place) {
    return values[static_cast<std::size_t>(place)];
  };
  for (std::int64_t row = 0; row < s.rows; row += std::max<std::int64_t>(1, s.rows / 8 - 1)) {
    std::vector<double> h(static_cast<std::size_t>(s.hidden)), expected(static_cast<std::size_t>(s.outputs));
    for (std::int64_t i = 0; i < s.inputs; ++i)
      for (std::int64_t j = 0; j < s.hidden; ++j)
        h[static_cast<std::size_t>(j)] += at(x, row * s.inputs + i) * at(w1, i * s.hidden + j);
    for (std::int64_t j = 0; j < s.hidden; ++j) {
      double const rounded = static_cast<double>(bf16(static_cast<float>(std::max(at(h, j), 0.0))));
      for (std::int64_t k = 0; k < s.outputs; ++k)
        expected[static_cast<std::size_t>(k)] += rounded * at(w2, j * s.outputs + k);
    }
    for (std::int64_t k = 0; k < s.outputs; ++k)
      all.add(row * s.outputs + k, y[static_cast<std::size_t>(row * s.outputs + k)], at(expected, k),
              1 + std::abs(at(expected, k)));
  }
  return all;
}

}  // namespace

int main() {
  return samples::guarded("15_tensor_parallel", [] {
    device const best = device::best();
    std::vector<device> devices = {best};
    for (int i = 0; best.is_cuda() && i < device::cuda_count(); ++i)
      if (i != best.number() && device::cuda(i).architecture() == best.architecture())
        devices.push_back(device::cuda(i));
    auto const count = static_cast<std::int64_t>(devices.size());
    std::int64_t const hidden = best.is_host() ? 512 : (8192 + 2 * count - 1) / (2 * count) * (2 * count);
    Sizes const s = best.is_host() ? Sizes{256, 128, hidden, 192, 4} : Sizes{8192, 2048, hidden, 2048, 4};
    auto const x = samples::random_values<bf16>(s.rows * s.inputs);
    auto const w1 = weights(s.inputs, s.hidden), w2 = weights(s.hidden, s.outputs);
    auto const exact_x = samples::exact(x), exact_w1 = samples::exact(w1), exact_w2 = samples::exact(w2);
    samples::Comparison right(5e-3);
    std::string scaling;
    double first_seconds = 0, seconds = 0;
    for (std::size_t used = 1; used <= devices.size();
         used = used == devices.size() ? used + 1 : std::min(2 * used, devices.size())) {
      Network network({devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(used)}, s, x, w1, w2);
      seconds = seconds_of(network, 10);
      if (used == 1) first_seconds = seconds;
      for (std::size_t part = 0; part < network.results(); ++part)
        right.join(compared(network.result(part), s, exact_x, exact_w1, exact_w2));
      char text[64];
      std::snprintf(text, sizeof text, "%s%zu: %.2f", used == 1 ? ", speed by devices " : ", ", used,
                    first_seconds / seconds);
      scaling += text;
    }
    double const flops = 2e-9 * static_cast<double>(s.rows * s.hidden * (s.inputs + s.outputs));
    return samples::report("15_tensor_parallel", samples::text(s.rows, " rows, hidden ", s.hidden, scaling), best,
                           seconds, flops / seconds, "GFLOP/s", right);
  });
}
