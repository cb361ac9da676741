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
static_assert(find_target("sm_90a") == &sm_90a && find_target("") == &sm_90a && find_target("sm_70") == nullptr);
static_assert(isa::setmaxnreg.has(24) && isa::setmaxnreg.has(256) && !isa::setmaxnreg.has(28) &&
              !isa::setmaxnreg.has(264) && !isa::setmaxnreg.has(16));

TEST_CASE("target: options name a GPU") {
  CompileOptions options;
  options.target = Target::cuda;
  CHECK(&target::gpu_target(options) == &sm_90a);
  options.architecture = "sm_90a";
  CHECK(&target::gpu_target(options) == &sm_90a);
  options.architecture = "sm_70";
  CHECK_THROWS_WITH(target::gpu_target(options),
                    "compile: no code generation for sm_70; the GPU targets are: sm_90a, sm_80, sm_86, sm_89");
  options.target = Target::host;
  CHECK(&target::gpu_target(options) == &sm_90a);
}

// Abilities are those of the PTX ISA's notes on targets.
static_assert(sm_90a.has(Ability::wgmma) && sm_90a.has(Ability::tma) && sm_90a.has(Ability::clusters));
static_assert(!sm_80.has(Ability::wgmma) && !sm_80.has(Ability::tma) && !sm_80.has(Ability::expect_tx));
static_assert(sm_80.has(Ability::cp_async) && sm_80.has(Ability::ldmatrix) && !sm_80.has(Ability::stmatrix));
static_assert(sm_80.multiplies(Element::f64) && !sm_80.multiplies(Element::e4m3) && sm_89.multiplies(Element::e4m3));
static_assert(!sm_86.has(Ability::f8_conversions) && sm_89.has(Ability::f8_conversions));
static_assert(sm_90a.f8_conversion_ptx == 80 && sm_89.f8_conversion_ptx == 81);
static_assert(sm_86.shared == 99 * 1024 && sm_86.resident_threads == 1536);

// A GPU takes its own text; else the one with the most shared memory that it has.
constexpr std::int64_t kib = 1024;
static_assert(target_for(90, 227 * kib) == &sm_90a);
static_assert(target_for(80, 163 * kib) == &sm_80);
static_assert(target_for(86, 99 * kib) == &sm_86);
static_assert(target_for(87, 163 * kib) == &sm_80);
static_assert(target_for(89, 99 * kib) == &sm_89);
static_assert(target_for(100, 227 * kib) == &sm_80);
static_assert(target_for(120, 99 * kib) == &sm_89);
static_assert(target_for(75, 64 * kib) == nullptr);

TEST_CASE("target: each one states the PTX of its texts, and of conversions", "[target]") {
  for (TargetInfo const* target : gpu_targets) {
    CHECK(target->ptx_version >= 80);
    CHECK(target->f8_conversion_ptx >= target->ptx_version);
  }
}

TEST_CASE("target: each ability has a name of its own", "[target]") {
  for (int i = 0; i < ability_count; ++i)
    for (int j = 0; j < i; ++j)
      CHECK(ability_names[static_cast<std::size_t>(i)] != ability_names[static_cast<std::size_t>(j)]);
}

// A set says of each value whether it was named, and no more.
constexpr ElementSet few{Element::f64, Element::boolean};
static_assert(few.has(Element::f64) && few.has(Element::boolean) && !few.has(Element::f32) &&
              !ElementSet().has(Element::f64));
static_assert(few.and_also(Element::f32).has(Element::f32) && few.and_also() == few &&
              few != few.and_also(Element::i8));
