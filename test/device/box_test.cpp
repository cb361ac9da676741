// Boxes of a tensor by TMA from blocks of any number of warps, on the device, with guard bytes around the result.
#include <algorithm>

#include "kernels/box_kernels.hpp"

#include "compiler/compile.hpp"
#include "device/hand_written_ptx.hpp"
#include "ir/text/text.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr std::int64_t guard = 1024;
constexpr std::byte poison{0xFF};

Argument scalar_argument(std::int64_t value) {
  Argument argument;
  argument.kind = ParameterKind::scalar;
  argument.element = Element::i64;
  argument.scalar = value;
  return argument;
}

/// Runs on the device. Returns the guards as they are afterwards, and Y.
std::vector<std::byte> run_box(std::shared_ptr<runtime::LoadedKernel const> const& kernel, TargetArguments& data,
                               std::array<std::int64_t, 2> const& start) {
  cuda_stream const order;
  std::vector<std::byte> guarded(data[1].data.size() + 2 * guard, poison);
  buffer<std::byte> x(order.where(), data[0].data);
  buffer<std::byte> y(order.where(), guarded);
  Extents const strides = {box_tensor[1], 1};
  Argument from = tensor(x.data(), Element::f32, box_tensor, strides);
  from.read_only = true;
  runtime::PreparedLaunch(kernel,
                          std::vector<Argument>{from, tensor(y.data() + guard, Element::f32, box_tensor, strides),
                                                scalar_argument(start[0]), scalar_argument(start[1])})
      .run(order);
  y.copy_to(order, guarded);
  order.synchronize();
  std::copy(guarded.begin() + guard, guarded.end() - guard, data[1].data.begin());
  guarded.erase(guarded.begin() + guard, guarded.end() - guard);
  return guarded;
}

}  // namespace

TEST_CASE("TMA moves a part of a tensor for 1, 32, 128 and 384 threads on the device", "[device][sanitize][B15][B26]") {
  TEGULA_NEED_HOPPER();
  for (BoxKernel const& box : box_kernels()) {
    auto const parsed = ir::parse(box.text);
    REQUIRE(parsed.ok());
    CompileOptions options;
    options.target = tegula::Target::cuda;
    options.architecture = gpu_targets.front()->architecture;
    auto const kernel = runtime::load_on(compiler::compile(parsed.module, options), device::cuda());
    for (auto const& start : box_starts()) {
      TargetArguments data = box_arguments(start);
      std::vector<std::byte> const guards = run_box(kernel, data, start);
      INFO(box.threads << " threads, start " << start[0] << ", " << start[1]);
      CHECK(box_error(data, start, box.factor) == "");
      CHECK(std::count(guards.begin(), guards.end(), poison) == static_cast<std::ptrdiff_t>(guards.size()));
    }
  }
}
