// Tests that text for each target has no instruction that the target lacks, and that ptxas assembles it for the target
// and for later architectures.
#include <string>
#include <vector>

#include "../../samples/kernels.hpp"
#include "codegen/ptxas.hpp"
#include "support/catch.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

constexpr int block = 32;

/// A product, whatever the elements are.
template <class T, class Sum, int depth>
inline constexpr auto product = kernel("product", [](in<T, 2> a, in<T, 2> b, out<Sum, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sum = loop(
      ceil_div(a.extent(1), depth), zeros<Sum>(shape<64, 64>),
      [&](auto k, auto acc) {
        return dot(load(a, shape<64, depth>, g[0], k), load(b, shape<depth, 64>, k, g[1]), acc);
      },
      stages<3>);
  store(c, shape<64, 64>, sum, g[0], g[1]);
});

/// Adds to memory.
inline constexpr auto sums = kernel("sums", [](in<int, 1> places, in<bf16, 1> x, inout<bf16, 1> y) {
  auto g = grid_over(x, shape<1024>);
  tile at = load(places, shape<1024>, g[0]);
  atomic_add(y, load(x, shape<1024>, g[0]), at);
});

/// Converts between elements whose instructions some targets lack.
inline constexpr auto conversions =
    kernel("conversions", [](in<double, 1> x, in<std::int64_t, 1> n, out<bf16, 1> y, out<e4m3, 1> z) {
      auto g = grid_over(x, shape<block>);
      tile wide = load(x, shape<block>, g[0]);
      store(y, shape<block>, cast<bf16>(wide) + cast<bf16>(load(n, shape<block>, g[0])), g[0]);
      store(z, shape<block>, cast<e4m3>(cast<float>(wide)), g[0]);
    });

/// Lists words of instructions with the ability that they need.
struct Word {
  Ability ability;
  char const* text;
};
constexpr Word words[] = {
    {Ability::tma, "cp.async.bulk"},
    {Ability::tma, "fence.proxy.async"},
    {Ability::expect_tx, "expect_tx"},
    {Ability::suspended_wait, "try_wait"},
    {Ability::clusters, "cluster"},
    {Ability::clusters, "mapa"},
    {Ability::setmaxnreg, "setmaxnreg"},
    {Ability::elect, "elect.sync"},
    {Ability::dependent_launch, "griddepcontrol"},
    {Ability::wgmma, "wgmma"},
    {Ability::stmatrix, "stmatrix"},
    {Ability::f8_conversions, "e4m3x2"},
    {Ability::bf16_conversions, "bf16.s64"},
    {Ability::bf16_conversions, "bf16.f64"},
    {Ability::bf16_atomics, "add.noftz.bf16"},
    {Ability::whole_f64_mma, "m16n8k4.row.col.f64"},
};

struct Text {
  std::string kernel, ptx;
};
std::vector<Text> texts_for(TargetInfo const& target) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = std::string(target.architecture);
  std::vector<Text> result;
  auto const add = [&](char const* name, auto const& kernel) {
    result.push_back({std::string(name) + " for " + options.architecture, compile(kernel, options).image});
  };
  add("vadd", samples::vadd);
  add("softmax", samples::softmax<1024>);
  add("gemm", samples::gemm<128, 128, 64>(samples::bias_relu));
  add("attention", samples::attention<64, 64, 64>);
  add("product of f16", product<f16, float, 64>);
  add("product of bf16", product<bf16, float, 64>);
  add("product of i8", product<std::int8_t, int, 64>);
  add("product of f64", product<double, double, 16>);
  add("product of e4m3", product<e4m3, float, 64>);
  add("sums", sums);
  add("conversions", conversions);
  return result;
}

}  // namespace

TEST_CASE("text for a target has no instruction that it lacks", "[codegen][B32]") {
  for (TargetInfo const* target : gpu_targets)
    for (Text const& text : texts_for(*target)) {
      INFO(text.kernel);
      CHECK(text.ptx.find(".target " + std::string(target->architecture) + "\n") != std::string::npos);
      for (Word const& word : words)
        if (!target->has(word.ability)) {
          INFO(word.text);
          CHECK(text.ptx.find(word.text) == std::string::npos);
        }
    }
}

TEST_CASE("products on a target without wgmma go by mma from rings that threads fill", "[codegen][B32]") {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_80";
  std::string const text = compile(product<bf16, float, 64>, options).image;
  for (char const* word :
       {"mma.sync.aligned.m16n8k16", "ldmatrix", "cp.async.cg", "cp.async.mbarrier.arrive", "test_wait"}) {
    INFO(word);
    CHECK(text.find(word) != std::string::npos);
  }
}

TEST_CASE("ptxas assembles text for a target, and for later architectures", "[codegen][B32]") {
  std::string const ptxas = test::find_ptxas();
  if (ptxas.empty()) TEGULA_SKIP("there is no ptxas");
  auto const assembles = [&](Text const& text, std::string const& architecture) {
    INFO(text.kernel << " as " << architecture);
    CHECK(test::ptxas_complaints(test::assemble(ptxas, text.ptx, architecture), false) == "");
  };
  constexpr char const* later[] = {"sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
  for (TargetInfo const* target : gpu_targets)
    for (Text const& text : texts_for(*target)) {
      assembles(text, std::string(target->architecture));
      // Texts for the oldest target are those that later GPUs without one of their own run; sm_89 adds products of
      // e4m3.
      bool const oldest = target->capability == 80 && text.kernel.find("attention") == std::string::npos;
      bool const added = target->capability == 89 && text.kernel.find("e4m3") != std::string::npos;
      for (char const* other : later)
        if ((oldest || added) && std::stoi(other + 3) > target->capability) assembles(text, other);
    }
}
