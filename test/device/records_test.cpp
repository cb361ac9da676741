// Tests records and buffers on a GPU: the same entries under both strategies, unchanged results, and the kernel of
// buffers in both spaces.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.hpp"
#include "ir/text/text.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "kernels/buffer_kernel.hpp"
#include "support/catch.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

#define TEGULA_NEED_HOPPER()                                                 \
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str()); \
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("these kernels are for sm_90a")

namespace {

std::vector<float> waves(std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i) * 1.7F) * 9;
  return x;
}

Argument argument_of(buffer<float, 2> const& tensor, std::int64_t rows, std::int64_t columns, bool read_only) {
  Argument result;
  result.element = Element::f32;
  result.read_only = read_only;
  result.rank = 2;
  result.space = DeviceKind::cuda;
  result.device_number = device::cuda().number();
  result.address = const_cast<float*>(tensor.data());
  result.extents[0] = rows;
  result.extents[1] = columns;
  result.strides[0] = columns;
  result.strides[1] = 1;
  return result;
}

}  // namespace

TEST_CASE("buffers of both spaces on the device", "[P17]") {
  TEGULA_NEED_HOPPER();
  constexpr std::int64_t m = buffer_kernel_rows, n = buffer_kernel_columns;
  ir::ParseResult const parsed = ir::parse(std::string("tegula-ir 1\n") + buffer_kernel);
  REQUIRE(parsed.ok());
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  auto const loaded = runtime::load_on(compiler::compile(parsed.module, options), device::cuda());
  std::vector<float> const x = waves(m * n);
  buffer<float, 2> from(device::cuda(), m, n), y(device::cuda(), n, m), z(device::cuda(), m, n);
  from.copy_from(x);
  std::vector<Argument> const arguments = {argument_of(from, m, n, true), argument_of(y, n, m, false),
                                           argument_of(z, m, n, false)};
  cuda_stream const order;
  for (int turn = 0; turn < 2; ++turn) runtime::PreparedLaunch(loaded, arguments, GridOverride()).run(order);
  order.synchronize();
  std::vector<float> transposed(x.size()), twice(x.size());
  y.copy_to(transposed);
  z.copy_to(twice);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      float const at = x[static_cast<std::size_t>(i * n + j)];
      CHECK(transposed[static_cast<std::size_t>(j * m + i)] == 5 * at);
      CHECK(twice[static_cast<std::size_t>(i * n + j)] == at + at);
    }
}
