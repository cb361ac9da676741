// Tests how kernels start on the device, by hand-written PTX: clusters, dependent launches, the number of
// multiprocessors, and the assembler's report at loading.
#include <random>
#include <string>
#include <vector>

#include "device/hand_written_ptx.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/options.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime;
using namespace tegula::test;

namespace {

/// Adds 1 to c[b] in CTA b after the kernels before it. Writes its rank and its cluster's size to c[n + b], c[2n + b],
/// the number of multiprocessors to c[3n + b]; n is the grid's extent.
std::string count_ptx() {
  return entry_ptx("count", 3 + launch_slots, false, R"(
  griddepcontrol.launch_dependents;
  griddepcontrol.wait;
  setp.ne.u32 p, tid, 0;
  @p bra DONE;
  ld.param.u64 g, [p0];
  mov.u32 i, %ctaid.x;
  mad.wide.u32 d0, i, 4, g;
  ld.global.u32 v, [d0];
  add.u32 v, v, 1;
  st.global.u32 [d0], v;
  ld.param.u64 d1, [p3];
  shl.b64 d1, d1, 2;
  add.u64 d0, d0, d1;
  mov.u32 v, %cluster_ctarank;
  st.global.u32 [d0], v;
  add.u64 d0, d0, d1;
  mov.u32 v, %cluster_nctarank;
  st.global.u32 [d0], v;
  add.u64 d0, d0, d1;
  ld.param.u64 d2, [p6];
  st.global.u32 [d0], d2;
DONE:
)");
}

CompiledKernel count_kernel(int cluster, bool dependent) {
  CompiledKernel kernel;
  kernel.name = kernel.entry = "count";
  kernel.architecture = "sm_90a";
  kernel.image_kind = ImageKind::ptx;
  kernel.image = count_ptx();
  kernel.threads_per_cta = 64;
  kernel.parameters = {parameter(Direction::inout, Element::i32, 1)};
  kernel.launch.steps = {{LaunchOp::extent, 0, 0, 0, 0},
                         {LaunchOp::constant, 0, 0, 0, 4},
                         {LaunchOp::div, 0, 1, 0, 0},
                         {LaunchOp::multiprocessors, 0, 0, 0, 0},
                         {LaunchOp::min, 2, 3, 0, 0}};
  kernel.launch.grid = {4, -1, -1};
  kernel.cluster = cluster;
  kernel.dependent_launch = dependent;
  return kernel;
}

std::vector<std::int32_t> counted(CompiledKernel const& kernel, std::int64_t blocks, int runs) {
  cuda_stream const order;
  buffer<std::int32_t> c(order.where(), 4 * blocks);
  c.fill(order, 0);
  PreparedLaunch const launch(load_on(kernel, order.where()),
                              std::vector{tensor(c.data(), Element::i32, {c.size()}, {1})});
  for (int i = 0; i < runs; ++i) launch.run(order);
  std::vector<std::int32_t> out(static_cast<std::size_t>(4 * blocks));
  c.copy_to(order, out);
  order.synchronize();
  return out;
}

}  // namespace

TEST_CASE("the hand-written counting kernel assembles") {
  support::Options const options;
  if (runtime::cuda::find_ptxas(options).empty()) TEGULA_SKIP("no ptxas in PATH");
  CHECK_FALSE(runtime::cuda::assemble(options, count_ptx(), "sm_90a", "count").cubin.empty());
}

TEST_CASE("kernels run in clusters and read the number of multiprocessors") {
  TEGULA_NEED_HOPPER();
  std::int64_t const processors = device::cuda().limits().processors;
  for (int const cluster : {1, 2, 4, 8}) {
    std::vector<std::int32_t> const out = counted(count_kernel(cluster, false), 16, 3);
    bool right = true;
    for (std::size_t b = 0; b < 16; ++b)
      right = right && out[b] == 3 && out[16 + b] == static_cast<int>(b) % cluster && out[32 + b] == cluster &&
              out[48 + b] == processors;
    CHECK(right);
  }
  auto const loaded = load_on(count_kernel(4, false), device::cuda());
  CHECK(loaded->function.active_clusters > 0);
  cuda_stream const order;
  buffer<std::int32_t> c(order.where(), 8192);
  PreparedLaunch const staying(load_on(count_kernel(1, false), order.where()),
                               std::vector{tensor(c.data(), Element::i32, {8192}, {1})});
  CHECK(staying.grid(0) == processors);
  CHECK_THROWS_WITH(PreparedLaunch(loaded, std::vector{tensor(c.data(), Element::i32, {24}, {1})}),
                    ContainsSubstring("grid 6x1x1 has 6 blocks, not a multiple of the cluster of 4"));
  CHECK_THROWS_WITH(load_on(count_kernel(17, false), order.where()), ContainsSubstring("17 are requested"));
  CompiledKernel wide = count_kernel(16, false);
  wide.shared_bytes = 200'000;
  try {
    CHECK(load_on(wide, order.where())->function.active_clusters > 0);
  } catch (UserError const& error) {
    CHECK_THAT(error.what(), ContainsSubstring("no cluster of 16 CTAs"));
  }
}

TEST_CASE("dependent launches wait for the previous kernels") {
  TEGULA_NEED_HOPPER();
  for (bool const dependent : {false, true})
    for (int const cluster : {1, 2}) {
      std::vector<std::int32_t> const out = counted(count_kernel(cluster, dependent), 64, 200);
      for (std::size_t b = 0; b < 64; ++b) REQUIRE(out[b] == 200);
    }
}

TEST_CASE("the driver's assembler notes about serialised wgmma reach the user") {
  TEGULA_NEED_HOPPER();
  std::string ptx = entry_ptx("bad_wgmma", 3 + launch_slots, false, R"(
  .reg .f32 f<8>;
  ld.param.u64 g, [p0];
  mov.f32 f0, 0f00000000; mov.f32 f1, 0f00000000; mov.f32 f2, 0f00000000; mov.f32 f3, 0f00000000;
  mov.f32 f4, 0f00000000; mov.f32 f5, 0f00000000; mov.f32 f6, 0f00000000; mov.f32 f7, 0f00000000;
  wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {f0,f1,f2,f3,f4,f5,f6,f7}, g, g, 1, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  st.global.v4.f32 [g], {f0,f1,f2,f3};
  st.global.v4.f32 [g+16], {f4,f5,f6,f7};
)");
  CompiledKernel kernel = count_kernel(1, false);
  kernel.name = kernel.entry = "bad_wgmma";
  kernel.threads_per_cta = 128;
  support::Options options = support::options();
  options.cache = support::CacheMode::off;
  options.ptxas_notes = support::NotePolicy::error;
  for (support::Assembler const assembler : {support::Assembler::driver, support::Assembler::ptxas}) {
    if (assembler == support::Assembler::ptxas && runtime::cuda::find_ptxas(options).empty()) continue;
    options.assembler = assembler;
    support::ScopedOptions const scoped(options);
    // Text that the driver has not seen: it takes kept code without a message.
    kernel.image = ptx + "// " + number(std::random_device{}()) + "\n";
    INFO((assembler == support::Assembler::driver ? "driver" : "ptxas"));
    CHECK_THROWS_WITH(load_on(kernel, device::cuda()), ContainsSubstring("(C7519)"));
  }
}
