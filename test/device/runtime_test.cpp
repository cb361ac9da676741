// Tests the CUDA side of the runtime with hand-written PTX: buffers, streams, loading, launching, errors.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/cache/disk_cache.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/event.hpp"
#include "tegula/runtime/timer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime;
using tegula::test::ContainsSubstring;

#define TEGULA_NEED_DEVICE() \
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str())

namespace {

/// Computes c = a + b with 128 threads per CTA: slots a, n, stride, b, n, stride, c, n, stride, grid.
constexpr char const* add_ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry add(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5,
                    .param .u64 p6, .param .u64 p7, .param .u64 p8, .param .u64 p9, .param .u64 p10, .param .u64 p11)
{
  .reg .pred %p;
  .reg .u32 %r<4>;
  .reg .u64 %d<16>;
  .reg .f32 %f<4>;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %tid.x;
  mad.wide.u32 %d0, %r0, 128, 0;
  cvt.u64.u32 %d1, %r1;
  add.u64 %d0, %d0, %d1;
  ld.param.u64 %d2, [p7];
  setp.ge.u64 %p, %d0, %d2;
  @%p ret;
  ld.param.u64 %d3, [p0];
  ld.param.u64 %d4, [p2];
  mul.lo.u64 %d5, %d0, %d4;
  shl.b64 %d5, %d5, 2;
  add.u64 %d3, %d3, %d5;
  ld.global.f32 %f0, [%d3];
  ld.param.u64 %d6, [p3];
  ld.param.u64 %d7, [p5];
  mul.lo.u64 %d8, %d0, %d7;
  shl.b64 %d8, %d8, 2;
  add.u64 %d6, %d6, %d8;
  ld.global.f32 %f1, [%d6];
  add.f32 %f2, %f0, %f1;
  ld.param.u64 %d9, [p6];
  ld.param.u64 %d10, [p8];
  mul.lo.u64 %d11, %d0, %d10;
  shl.b64 %d11, %d11, 2;
  add.u64 %d9, %d9, %d11;
  st.global.f32 [%d9], %f2;
  ret;
}
)";

/// Writes 7 by thread 0 to the last word of the dynamic shared memory and copies it to c[0].
constexpr char const* shared_ptx = R"(
.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry shared(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4, .param .u64 p5)
{
  .reg .u32 %r<4>;
  .reg .u64 %d<2>;
  mov.u32 %r0, smem;
  add.u32 %r0, %r0, 199996;
  mov.u32 %r1, 7;
  st.shared.u32 [%r0], %r1;
  ld.shared.u32 %r2, [%r0];
  ld.param.u64 %d0, [p0];
  st.global.u32 [%d0], %r2;
  ret;
}
)";

ParameterInfo parameter(Direction direction, Element element) {
  ParameterInfo info;
  info.direction = direction;
  info.element = element;
  info.rank = 1;
  return info;
}

CompiledKernel add_kernel() {
  CompiledKernel kernel;
  kernel.name = "add";
  kernel.architecture = device::cuda().architecture();
  kernel.parameters = {parameter(Direction::in, Element::f32), parameter(Direction::in, Element::f32),
                       parameter(Direction::out, Element::f32)};
  kernel.launch.steps = {
      {LaunchOp::extent, 2, 0, 0, 0}, {LaunchOp::constant, 0, 0, 0, 128}, {LaunchOp::ceil_div, 0, 1, 0, 0}};
  kernel.launch.grid = {2, -1, -1};
  kernel.image_kind = ImageKind::ptx;
  kernel.image = add_ptx;
  kernel.entry = "add";
  kernel.threads_per_cta = 128;
  return kernel;
}

template <class T>
Argument tensor(buffer<T>& from, std::int64_t first, std::int64_t count, std::int64_t stride, Element element) {
  Argument argument;
  argument.element = element;
  argument.rank = 1;
  argument.space = from.where().kind();
  argument.device_number = from.where().number();
  argument.address = from.data() + first;
  argument.extents[0] = count;
  argument.strides[0] = stride;
  argument.allocation = from.allocation();
  return argument;
}

std::vector<float> counting(std::size_t n, float start) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), start);
  return values;
}

/// Provides a cache folder and an assembler of its own.
class Scope {
 public:
  explicit Scope(support::Assembler assembler) : folder_(make_folder()), scope_(options(assembler)) {}
  ~Scope() { std::filesystem::remove_all(folder_); }

 private:
  static std::filesystem::path make_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-device-XXXXXX").string();
    return ::mkdtemp(pattern.data());
  }
  [[nodiscard]] support::Options options(support::Assembler assembler) const {
    support::Options result = support::options();
    result.cache_dir = folder_ / "cache";
    result.cache = support::CacheMode::on;
    result.assembler = assembler;
    return result;
  }
  std::filesystem::path folder_;
  support::ScopedOptions scope_;
};

bool adds_right(std::shared_ptr<LoadedKernel const> const& kernel, std::int64_t n) {
  cuda_stream const order;
  buffer a(order.where(), counting(static_cast<std::size_t>(3 * n), 0));
  buffer b(order.where(), counting(static_cast<std::size_t>(n), 1000));
  buffer<float> c(order.where(), n + 1);
  c.fill(-1);
  std::vector<Argument> const arguments = {tensor(a, 1, n, 3, Element::f32), tensor(b, 0, n, 1, Element::f32),
                                           tensor(c, 0, n, 1, Element::f32)};
  PreparedLaunch(kernel, arguments).run(order);
  std::vector<float> out(static_cast<std::size_t>(n + 1));
  c.copy_to(order, out);
  order.synchronize();
  for (std::int64_t i = 0; i < n; ++i)
    if (out[static_cast<std::size_t>(i)] != static_cast<float>(3 * i + 1) + static_cast<float>(1000 + i)) return false;
  return out.back() == -1;
}

}  // namespace

TEST_CASE("a CUDA device tells name, architecture and limits") {
  TEGULA_NEED_DEVICE();
  device const best = device::best();
  REQUIRE(best.is_cuda());
  CHECK(best.str() == "cuda:0");
  CHECK_FALSE(best.name().empty());
  CHECK_THAT(best.architecture(), ContainsSubstring("sm_"));
  CHECK(best.limits().shared_bytes_per_cta >= 48 * 1024);
  CHECK(best.limits().processors > 0);
  CHECK(best.limits().memory_bytes > 0);
  CHECK_THROWS_WITH(device::cuda(device::cuda_count()), ContainsSubstring("does not exist"));
}

TEST_CASE("device buffers copy, fill and refuse host windows") {
  TEGULA_NEED_DEVICE();
  device const gpu = device::cuda();
  std::vector<float> const values = counting(1000, 5);
  buffer x(gpu, values);
  std::vector<float> out(1000);
  x.copy_to(out);
  CHECK(out == values);
  buffer<float> y(gpu, 1000);
  y.copy_from(x);
  buffer<float> z(device::host(), 1000);
  z.copy_from(y);
  CHECK(z.on_host()(999) == 1004);
  y.copy_from(z);
  y.copy_to(out);
  CHECK(out == values);
  CHECK_THROWS_WITH(y.on_host(), ContainsSubstring("cuda:0"));
  CHECK(y.on_device().extent(0) == 1000);

  auto const filled = [&](auto value) {
    buffer<decltype(value)> f(gpu, 777);
    f.fill(value);
    std::vector<decltype(value)> read(777);
    f.copy_to(read);
    return read == std::vector<decltype(value)>(777, value);
  };
  CHECK(filled(static_cast<unsigned char>(7)));
  CHECK(filled(static_cast<std::uint16_t>(0x1234)));
  CHECK(filled(1.5f));
  CHECK(filled(1.23456789));
  CHECK(filled(std::int64_t{0}));

  y.free();
  CHECK_THROWS_AS(y.copy_to(out), UserError);
  CHECK_THROWS_AS(buffer<char>(gpu, std::int64_t{1} << 45), DriverError);
  buffer<float> const empty(gpu, 0);
  CHECK(empty.data() == nullptr);
}

TEST_CASE("copies ordered on a stream see the work before them") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  buffer<float> x(order.where(), 1 << 20);
  std::vector<float> const values = counting(1 << 20, 0);
  std::vector<float> out(1 << 20);
  x.fill(order, 3);
  x.copy_from(order, values);
  x.copy_to(order, out);
  order.synchronize();
  CHECK(out == values);
  CHECK_THROWS_WITH(x.fill(host_stream(), 1), ContainsSubstring("the stream is of host"));
}

TEST_CASE("events order two streams and the host", "[sanitize]") {
  TEGULA_NEED_DEVICE();
  cuda_stream const first, second;
  constexpr std::size_t n = 1 << 24;
  std::vector<float> const values = counting(n, 0);
  auto from = buffer<float>::pinned(first.where(), std::int64_t{n});
  auto to = buffer<float>::pinned(first.where(), std::int64_t{n});
  from.copy_from(values);
  buffer<float> x(first.where(), std::int64_t{n});
  for (int round = 0; round < 3; ++round) {
    x.fill(first, -1);
    x.copy_from(first, from);
    event const filled(first);
    second.wait(filled);
    to.copy_from(second, x);
    event const read(second);
    read.synchronize();
    CHECK(read.reached());
    CHECK(filled.reached());
    CHECK(std::vector<float>(to.data(), to.data() + n) == values);
    first.wait(read);
  }
  event again(first);
  again.record(second);
  again.synchronize();
  event const adopted(second.where(), again.handle());
  first.wait(adopted);
  host_stream().wait(adopted);
  CHECK(adopted.reached());
  CHECK(adopted.handle() == again.handle());
}

TEST_CASE("memory in the order of a stream is used at once and freed without a wait") {
  TEGULA_NEED_DEVICE();
  cuda_stream const order;
  std::vector<float> out(1 << 20);
  for (int round = 0; round < 100; ++round) {
    buffer<float> x(order, 1 << 20);
    x.fill(order, static_cast<float>(round));
    if (round == 99) x.copy_to(order, out);
  }
  order.synchronize();
  CHECK(out == std::vector<float>(1 << 20, 99.0F));
  CHECK_THROWS_AS(buffer<char>(order, std::int64_t{1} << 45), DriverError);
  buffer<float> after(order, 100);  // a refused allocation leaves the device usable
  after.fill(order, 1);
  order.synchronize();
}

TEST_CASE("a kernel reads memory of another device once it has access") {
  TEGULA_NEED_DEVICE();
  device const here = device::cuda(0);
  CHECK(here.can_access(here));
  CHECK_NOTHROW(here.enable_access(here));
  if (device::cuda_count() < 2) TEGULA_SKIP("one CUDA device");
  device const other = device::cuda(1);
  if (!here.can_access(other)) TEGULA_SKIP("the devices do not reach each other's memory");
  Scope const scope(support::Assembler::driver);
  auto const kernel = load_on(add_kernel(), here);
  cuda_stream const order(here);
  buffer a(other, counting(500, 0));
  buffer b(here, counting(500, 0));
  buffer<float> c(here, 500);
  std::vector<Argument> const arguments = {tensor(a, 0, 500, 1, Element::f32), tensor(b, 0, 500, 1, Element::f32),
                                           tensor(c, 0, 500, 1, Element::f32)};
  CHECK_THROWS_WITH(PreparedLaunch(kernel, arguments), ContainsSubstring("call enable_access() of cuda:0 first"));
  here.enable_access(other);
  PreparedLaunch(kernel, arguments).run(order);
  std::vector<float> out(500);
  c.copy_to(out);
  CHECK(out[499] == 998);
}

TEST_CASE("PTX through the driver's assembler launches right at ragged extents, without ptxas", "[F46]") {
  TEGULA_NEED_DEVICE();
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("the PTX of this test is for sm_90a");
  Scope const scope(support::Assembler::driver);
  auto const kernel = load_on(add_kernel(), device::cuda());
  CHECK(kernel->function.registers > 0);
  CHECK(kernel->function.local_bytes == 0);
  for (std::int64_t n : {1, 127, 128, 129, 100'003}) CHECK(adds_right(kernel, n));
}

TEST_CASE("a cubin from ptxas is kept on disk and found again") {
  TEGULA_NEED_DEVICE();
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("the PTX of this test is for sm_90a");
  if (cuda::find_ptxas(support::options()).empty()) TEGULA_SKIP("no ptxas in PATH");
  Scope const scope(support::Assembler::ptxas);
  auto const stores = cache_counters().stores.load();
  CHECK(adds_right(load_on(add_kernel(), device::cuda()), 1000));
  CHECK(cache_counters().stores == stores + 1);
  auto const hits = cache_counters().hits.load();
  CHECK(adds_right(load_on(add_kernel(), device::cuda()), 1000));
  CHECK(cache_counters().hits == hits + 1);
  CHECK(cache_counters().stores == stores + 1);
}

TEST_CASE("a prepared launch repeats, and knows its device and buffers") {
  TEGULA_NEED_DEVICE();
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("the PTX of this test is for sm_90a");
  Scope const scope(support::Assembler::driver);
  auto const kernel = load_on(add_kernel(), device::cuda());
  cuda_stream const order;
  buffer a(order.where(), counting(500, 0));
  buffer b(order.where(), counting(500, 0));
  buffer<float> c(order.where(), 500);
  std::vector<Argument> const arguments = {tensor(a, 0, 500, 1, Element::f32), tensor(b, 0, 500, 1, Element::f32),
                                           tensor(c, 0, 500, 1, Element::f32)};
  PreparedLaunch const launch(kernel, arguments);
  timer clock(order);
  clock.start();
  for (int i = 0; i < 100; ++i) launch.run(order);
  clock.stop();
  CHECK(clock.seconds() > 0);
  std::vector<float> out(500);
  c.copy_to(out);
  CHECK(out[499] == 998);
  // The same stream under its plain handle, and the default stream.
  cuda_stream const same(order.handle());
  CHECK(same.where() == order.where());
  launch.run(same);
  launch.run(cuda_stream(nullptr));
  order.synchronize();
  CHECK_THROWS_WITH(launch.run(host_stream()), ContainsSubstring("prepared for cuda:0"));
  b.free();
  CHECK_THROWS_WITH(launch.run(order), ContainsSubstring("freed"));
}

TEST_CASE("dynamic shared memory above 48 KiB is opted in to, too much is refused with need and limit") {
  TEGULA_NEED_DEVICE();
  if (device::cuda().architecture() != "sm_90a") TEGULA_SKIP("the PTX of this test is for sm_90a");
  Scope const scope(support::Assembler::driver);
  CompiledKernel compiled = add_kernel();
  compiled.name = compiled.entry = "shared";
  compiled.image = shared_ptx;
  compiled.parameters = {parameter(Direction::out, Element::i32)};
  compiled.launch = {};
  compiled.threads_per_cta = 1;
  compiled.shared_bytes = 200'000;
  cuda_stream const order;
  buffer<std::int32_t> c(order.where(), 1);
  c.fill(0);
  PreparedLaunch(load_on(compiled, order.where()), std::vector<Argument>{tensor(c, 0, 1, 1, Element::i32)}).run(order);
  std::vector<std::int32_t> out(1);
  c.copy_to(out);
  CHECK(out[0] == 7);
  compiled.shared_bytes = 300'000;
  CHECK_THROWS_AS(load_on(compiled, order.where()), UserError);
  CHECK_THROWS_WITH(load_on(compiled, order.where()),
                    ContainsSubstring("shared memory: 300000 bytes needed") && ContainsSubstring("allowed"));
  compiled.shared_bytes = 0;
  compiled.threads_per_cta = 2048;
  CHECK_THROWS_WITH(load_on(compiled, order.where()), ContainsSubstring("2048 threads per CTA needed"));
}

TEST_CASE("a kernel that cannot be loaded or launched on the device is refused with the reason") {
  TEGULA_NEED_DEVICE();
  Scope const scope(support::Assembler::driver);
  device const gpu = device::cuda();
  CompiledKernel compiled = add_kernel();
  compiled.image = "this is no PTX";
  CHECK_THROWS_AS(load_on(compiled, gpu), DriverError);
  CHECK_THROWS_WITH(load_on(compiled, gpu), ContainsSubstring("cuModuleLoadDataEx") && ContainsSubstring("kernel add"));
  compiled = add_kernel();
  compiled.architecture = "sm_100a";
  CHECK_THROWS_WITH(load_on(compiled, gpu), ContainsSubstring("compiled for sm_100a"));
  if (gpu.architecture() != "sm_90a") return;
  compiled = add_kernel();
  compiled.entry = "subtract";
  CHECK_THROWS_WITH(load_on(compiled, gpu), ContainsSubstring("entry subtract"));
  auto const kernel = load_on(add_kernel(), gpu);
  buffer a(gpu, counting(100, 0));
  buffer b(device::host(), counting(100, 0));
  buffer<float> c(gpu, 100);
  std::vector<Argument> arguments = {tensor(a, 0, 100, 1, Element::f32), tensor(b, 0, 100, 1, Element::f32),
                                     tensor(c, 0, 100, 1, Element::f32)};
  CHECK_THROWS_WITH(PreparedLaunch(kernel, arguments),
                    ContainsSubstring("argument 2: host memory on a stream of cuda:0"));
  arguments[1] = arguments[0];
  GridOverride grid{true, {std::int64_t{1} << 31, 1, 1}};
  CHECK_THROWS_WITH(PreparedLaunch(kernel, arguments, grid), ContainsSubstring("more blocks than the limit"));
  grid = {true, {0, 1, 1}};
  c.fill(-1);
  PreparedLaunch(kernel, arguments, grid).run(cuda_stream());
  std::vector<float> out(100);
  c.copy_to(out);
  CHECK(out[0] == -1);
}
