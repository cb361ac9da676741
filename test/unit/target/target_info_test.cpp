// Descriptions of GPU architectures.
#include "tegula/target/target_info.hpp"

#include "support/catch.hpp"
#include "target/gpu_target.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;

// CUDA C++ Programming Guide: 64 Ki registers, at most 255 a thread, handed out in steps of 8.
static_assert(sm_90a.registers_at_start(4) == 255);
static_assert(sm_90a.registers_at_start(8) == 255);
static_assert(sm_90a.registers_at_start(12) == 168);
static_assert(sm_90a.registers_at_start(16) == 128);
static_assert(sm_90a.registers_at_start(32) == 64);
static_assert(find_target("sm_90a") == &sm_90a && find_target("") == &sm_90a && find_target("sm_80") == nullptr);
static_assert(isa::setmaxnreg.has(24) && isa::setmaxnreg.has(256) && !isa::setmaxnreg.has(28) &&
              !isa::setmaxnreg.has(264) && !isa::setmaxnreg.has(16));

TEST_CASE("target: options name a GPU") {
  CompileOptions options;
  options.target = Target::cuda;
  CHECK(&target::gpu_target(options) == &sm_90a);
  options.architecture = "sm_90a";
  CHECK(&target::gpu_target(options) == &sm_90a);
  options.architecture = "sm_70";
  CHECK_THROWS_WITH(target::gpu_target(options), "compile: no code generation for sm_70; the GPU targets are: sm_90a");
  options.target = Target::host;
  CHECK(&target::gpu_target(options) == &sm_90a);
}
