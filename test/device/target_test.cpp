// Tests the hand-written kernels of test/ir/target through the real launcher: borders, and every trip count of their
// rings that differs, against float64. [sanitize] selects small cases for compute-sanitizer.
#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "kernels/targets.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::test;  // Target is tegula's or the test's: each use says which

#define TEGULA_NEED_HOPPER_AND(name)                                                          \
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());                  \
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("these kernels are for sm_90a"); \
  if (!std::filesystem::exists(file_of(name))) TEGULA_SKIP("test/ir/target has no kernel of this name")

namespace {

test::Target const& target_named(std::string_view name) {
  for (test::Target const& target : targets())
    if (target.name == name) return target;
  FAIL("no target kernel is named " << name);
  throw 0;  // FAIL does not return
}

std::string file_of(std::string_view name) {
  return std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(name) + ".tir";
}

std::shared_ptr<runtime::LoadedKernel const> load(test::Target const& target) {
  std::string const file = file_of(target.name);
  INFO(file);
  std::ifstream stream(file, std::ios::binary);
  REQUIRE(stream.good());
  ir::ParseResult const parsed = ir::parse(std::string(std::istreambuf_iterator<char>(stream), {}));
  REQUIRE(parsed.ok());
  CompileOptions options;
  options.target = tegula::Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  return runtime::load_on(compiler::compile(parsed.module, options), device::cuda());
}

/// Holds a tensor on the device with NaNs behind it: a read there spoils the result, a write shows.
class DeviceCopy {
 public:
  explicit DeviceCopy(TargetArgument const& from) : memory_(device::cuda(), size(from) + guard) {
    memory_.fill(std::byte{0xFF});
    if (size(from) != 0) detail::upload(memory_.allocation(), from.data.data(), size(from), nullptr);
  }

  [[nodiscard]] Argument argument(TargetArgument const& from) {
    Argument result;
    result.element = from.element;
    result.read_only = !from.output && !from.updated;
    result.rank = from.extents.size();
    result.space = DeviceKind::cuda;
    result.device_number = memory_.where().number();
    result.address = memory_.data();
    std::int64_t stride = 1;
    for (int axis = result.rank - 1; axis >= 0; --axis) {
      result.extents[axis] = from.extents[axis];
      result.strides[axis] = stride;
      stride *= from.extents[axis];
    }
    result.allocation = memory_.allocation();
    return result;
  }

  void read(TargetArgument& to) const {
    std::vector<std::byte> all(static_cast<std::size_t>(size(to) + guard));
    memory_.copy_to(all);
    bool intact = true;
    for (auto at = all.begin() + size(to); at != all.end(); ++at) intact = intact && *at == std::byte{0xFF};
    CHECK(intact);
    to.data.assign(all.begin(), all.begin() + size(to));
  }

 private:
  static constexpr std::int64_t guard = 1024;
  static std::int64_t size(TargetArgument const& tensor) { return static_cast<std::int64_t>(tensor.data.size()); }
  buffer<std::byte> memory_;
};

/// Runs on fresh data and compares everything. `ctas` 0: as many as the kernel asks for.
void check(test::Target const& target, std::shared_ptr<runtime::LoadedKernel const> const& kernel, Extents const& shape,
           std::int64_t ctas) {
  std::uint64_t const seed = test::data_seed;
  std::string text;
  for (std::int64_t extent : shape) text += fmt::format("{} ", extent);
  INFO(target.name << " of " << target.axes << " = " << text << "on " << ctas << " CTAs, seed " << seed);
  TargetArguments data = target.arguments(shape, seed);
  std::vector<DeviceCopy> copies;
  std::vector<Argument> arguments;
  copies.reserve(data.size());
  for (TargetArgument const& argument : data) {
    if (argument.is_tensor()) {
      copies.emplace_back(argument);
      arguments.push_back(copies.back().argument(argument));
    } else {
      REQUIRE(argument.element == Element::f32);
      Argument scalar;
      scalar.kind = ParameterKind::scalar;
      scalar.element = argument.element;
      scalar.scalar = std::bit_cast<std::int32_t>(static_cast<float>(argument.scalar));
      copies.emplace_back(argument);  // keeps the numbers of copies and arguments equal
      arguments.push_back(scalar);
    }
  }
  GridOverride grid;
  grid.given = ctas != 0;
  if (grid.given) grid.extents[0] = ctas;
  cuda_stream const order;
  runtime::PreparedLaunch(kernel, arguments, grid).run(order);
  order.synchronize();
  std::size_t const output = target_output(data);
  copies[output].read(data[output]);
  CHECK(target_error(target, shape, data) == "");
}

/// Runs every small shape, each with the kernel's own grid.
void check_small(std::string_view name) {
  test::Target const& target = target_named(name);
  auto const kernel = load(target);
  for (Extents const& shape : target.small) check(target, kernel, shape, 0);
}

/// Runs every small shape and a larger one on few CTAs, so that each works on several tiles in turn.
void check_grids(std::string_view name, Extents const& larger) {
  test::Target const& target = target_named(name);
  auto const kernel = load(target);
  std::vector<Extents> shapes = target.small;
  shapes.push_back(larger);
  for (Extents const& shape : shapes)
    for (std::int64_t ctas : {1, 2, 3, 200})
      if (shape.product() != 0) check(target, kernel, shape, ctas);
  check(target, kernel, larger, 0);
}

}  // namespace

TEST_CASE("gemm.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("gemm");
  check_small("gemm");
}

TEST_CASE("softmax.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("softmax");
  check_small("softmax");
}

TEST_CASE("layernorm.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("layernorm");
  check_small("layernorm");
}

TEST_CASE("gemm_m16.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("gemm_m16");
  check_small("gemm_m16");
}

TEST_CASE("attention.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("attention");
  check_small("attention");
}

TEST_CASE("attention_causal.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("attention_causal");
  check_small("attention_causal");
}

TEST_CASE("attention_d64.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("attention_d64");
  check_small("attention_d64");
}

TEST_CASE("attention_causal_d64.tir is right on the device at small sizes", "[target][sanitize]") {
  TEGULA_NEED_HOPPER_AND("attention_causal_d64");
  check_small("attention_causal_d64");
}

TEST_CASE("gemm.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("gemm");
  check_grids("gemm", {1000, 1032, 200});
}

TEST_CASE("softmax.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("softmax");
  check_grids("softmax", {701, 1000});
}

TEST_CASE("layernorm.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("layernorm");
  check_grids("layernorm", {1403, 1000});
}

TEST_CASE("gemm_m16.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("gemm_m16");
  check_grids("gemm_m16", {13, 1032, 1032});
}

TEST_CASE("attention.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("attention");
  check_grids("attention", {3, 650});
}

TEST_CASE("attention_causal.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("attention_causal");
  check_grids("attention_causal", {3, 650});
}

TEST_CASE("attention_d64.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("attention_d64");
  check_grids("attention_d64", {3, 650});
}

TEST_CASE("attention_causal_d64.tir is right on the device on any number of CTAs", "[target]") {
  TEGULA_NEED_HOPPER_AND("attention_causal_d64");
  check_grids("attention_causal_d64", {3, 650});
}
