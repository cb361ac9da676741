// Tests a hand-written kernel that allocates buffers of both spaces, writes, reads and copies out: host and simulator
// agree with the definition. test/device runs the same text on a GPU.
#include "kernels/buffer_kernel.hpp"

#include "host/driver.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

void check(Array const& x, Array const& y, Array const& z) {
  for (std::int64_t i = 0; i < buffer_kernel_rows; ++i)
    for (std::int64_t j = 0; j < buffer_kernel_columns; ++j) {
      double const at = x.value(i * buffer_kernel_columns + j);
      CHECK(y.value(j * buffer_kernel_rows + i) == double{5 * static_cast<float>(at)});
      CHECK(z.value(i * buffer_kernel_columns + j) == at + at);
    }
}

}  // namespace

TEST_CASE("buffers of both spaces: host and simulated warps give equal results", "[P8][P10][P17]") {
  Array x(Element::f32, {buffer_kernel_rows, buffer_kernel_columns});
  x.randomise(11);
  ir::Module const module = parse(buffer_kernel);
  auto const out = [] {
    return std::pair(Array(Element::f32, {buffer_kernel_columns, buffer_kernel_rows}),
                     Array(Element::f32, {buffer_kernel_rows, buffer_kernel_columns}));
  };
  auto [y, z] = out();
  run_on_host(module, {x, y, z});
  check(x, y, z);

  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  ir::Module const lowered = compiler::lower(module, options);
  for (int seed = 1; seed <= 5; ++seed) {
    auto [v, w] = out();
    auto const result = sim::block::run(lowered.kernel(), simulator_arguments({x, v, w}),
                                        sim::machine::Schedule::seed(static_cast<std::uint64_t>(seed)));
    INFO(result.str());
    CHECK(result.clean());
    check(x, v, w);
  }
  std::string const ptx = compiler::emit(lowered, options).image;
  CHECK(ptx.find(".global .align 128 .b8 copy_of_x[") != std::string::npos);
}

TEST_CASE("buffers in global memory: accesses of several CTAs without an order are reported", "[P8]") {
  ir::Module const module = parse(R"(kernel @k(%y: out tensor<?xf32>) warps = 1 {
  %two = constant {value = 2 : i64} : i64
  grid %two
  %g = buffer_alloc : global<32xf32, dense>
  %0 = constant {value = 0 : i64} : i64
  %a = constant {value = 1 : f32} : tile<32xf32, [register, lane (1) (2) (4) (8) (16)]>
  buffer_store %g, %a
  return
})");
  Array y(Element::f32, {32});
  auto const result = sim::block::run(module.kernel(), simulator_arguments({y}));
  CHECK_FALSE(result.clean());
}

TEST_CASE("buffers: the bytes of a buffer that is deallocated serve the next one", "[P10]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  ir::Module const lowered = compiler::lower(parse(R"(kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 1 {
  %a = buffer_alloc : shared<32xf32, dense>
  %b = buffer_alloc : shared<32xf32, dense>
  %0 = constant {value = 0 : i64} : i64
  %t = load %x, %0 : tile<32xf32, [register, lane (1) (2) (4) (8) (16)]>
  buffer_store %a, %t
  %u = buffer_load %a : tile<32xf32, [register, lane (16) (2) (4) (8) (1)]>
  buffer_dealloc %a
  buffer_store %b, %u
  %v = buffer_load %b : tile<32xf32, [register, lane (1) (2) (4) (8) (16)]>
  store %y, %v, %0
  buffer_dealloc %b
  return
})"),
                                             options);
  CHECK(compiler::emit(lowered, options).shared_bytes == 128);
}
