// Tests products that the copy engine adds up in memory, run warp by warp: clean under many schedules, equal to the
// sum, and reported if any one of the synchronising ops is missing.
#include "compiler/compile.hpp"
#include "gemm_on_grids.hpp"
#include "sim/block/simulate.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

/// Adds the product of each step along K to C: as it lies, or transposed. Two warpgroups where it is transposed.
std::string text_of(bool turned) {
  std::string const m = turned ? "128" : "64", shape = m + "x32";
  std::string text = R"(tegula-ir 1
kernel @parts(%A: in tensor<?x?xbf16> {unit_inner, aligned_16}, %B: in tensor<?x?xbf16> {unit_inner, aligned_16}, %C: inout tensor<?x?xf32> {unit_inner, aligned_16}) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %depth = constant {value = 16 : i64} : i64
  %k = extent %A {axis = 1} : i64
  %steps = ceil_div %k, %depth : i64
  grid %one, %one, %one
  %none = constant {value = 0 : f32} : tile<)" +
                     shape + R"(xf32>
  for %i = %zero to %steps step %one {stages = 2} {
    %at = mul %i, %depth : i64
    %a = load %A, %zero, %at : tile<)" +
                     m + R"(x16xbf16>
    %b = load %B, %at, %zero : tile<16x32xbf16>
    %d = dot %a, %b, %none : tile<)" +
                     shape + "xf32>\n";
  std::string const box = turned ? "32x128" : shape;
  if (turned) text += "    %t = trans %d {permutation = [1, 0]} : tile<32x128xf32>\n";
  text += "    %r = iota : tile<" + box + "xi64>\n    %c = iota {axis = 1} : tile<" + box + "xi64>\n";
  text += std::string("    %old = atomic_update %C, ") + (turned ? "%t" : "%d") + ", %r, %c : tile<" + box +
          "xf32>\n    yield\n  }\n  return\n}\n";
  return text;
}

/// Holds factors of whole numbers, and sums that begin at 1.
struct Sums {
  Sums(bool is_turned, std::int64_t depth)
      : turned(is_turned),
        a(Element::bf16, {is_turned ? 128 : 64, depth}),
        b(Element::bf16, {depth, 32}),
        c(Element::f32, is_turned ? Extents{32, 128} : Extents{64, 32}) {
    for (std::int64_t i = 0; i < a.count(); ++i) a.set_number(i, static_cast<double>(i * 7 % 5 - 2));
    for (std::int64_t i = 0; i < b.count(); ++i) b.set_number(i, static_cast<double>(i * 3 % 7 - 3));
  }
  sim::Arguments arguments() {
    for (std::int64_t i = 0; i < c.count(); ++i) c.set_number(i, 1);
    return {a.view(), b.view(), c.view()};
  }
  [[nodiscard]] bool right() const {
    for (std::int64_t i = 0; i < a.extents()[0]; ++i)
      for (std::int64_t j = 0; j < 32; ++j) {
        double sum = 1;
        for (std::int64_t l = 0; l < a.extents()[1]; ++l) sum += a(i, l) * b(l, j);
        if ((turned ? c(j, i) : c(i, j)) != sum) return false;
      }
    return true;
  }

  bool turned;
  HostTensor a, b, c;
};

CompileOptions options_of(Choice specialization) {
  CompileOptions options = gemm_options();
  options.facts.clear();  // the kernel states its own
  options.specialization = specialization;
  return options;
}

}  // namespace

TEST_CASE("the copy engine adds up a product's parts at every trip count", "[sim][F29]") {
  for (bool const turned : {false, true})
    for (Choice const specialization : {Choice::on, Choice::off}) {
      ir::Module const module = compiler::lower(module_of(text_of(turned)), options_of(specialization));
      REQUIRE(count(module, ir::OpKind::TmaReduceOp) >= 1);
      REQUIRE(count(module, ir::OpKind::AtomicUpdateOp) == 0);
      for (std::int64_t const steps : {0, 1, 2, 3, 6}) {
        INFO((turned ? "transposed, " : "") << steps << " steps");
        Sums sums(turned, steps * 16);
        auto const result = block::run(module.kernel(), sums.arguments(), sim::machine::Schedule::seed(3), {});
        CHECK(result.clean());
        CHECK(sums.right());
      }
    }
}

TEST_CASE("sums in memory without any one of the synchronising ops are reported", "[sim][F29][N1]") {
  for (bool const turned : {false, true}) {
    ir::Module const module = compiler::lower(module_of(text_of(turned)), options_of(Choice::on));
    Sums sums(turned, 16 * 5), no_steps(turned, 0);
    block::Options run;
    run.dependent = true;
    INFO((turned ? "transposed" : "as it lies"));
    check_each_is_missed(module, mutations(module), {&sums, &no_steps}, run);
  }
}
