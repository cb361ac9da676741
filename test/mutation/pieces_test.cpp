// Deletes each op that orders accesses from products whose rows are no multiples of 16 bytes: the simulator notices.
#include "compiler/compile.hpp"
#include "kernels/gemm_kernel.hpp"
#include "kernels/odd_rows.hpp"
#include "support/deletion.hpp"
#include "support/module.hpp"
#include "trace/traced_kernel.hpp"

using namespace tegula;
using namespace tegula::test;
using namespace tegula::test::target_detail;

TEST_CASE("deletion: products of rows that threads copy by pieces need each synchronising op", "[sim][block]") {
  auto const arguments = [](bool turned, std::int64_t k) {
    return TargetArguments{input("a", Element::bf16, {1, 64, k}, 1),
                           input("b", Element::bf16, turned ? Extents{1, 65, k} : Extents{1, k, 65}, 2),
                           tensor("c", Element::f32, {1, 64, 65}, true)};
  };
  for (Choice const specialization : {Choice::automatic, Choice::off}) {
    CompileOptions options = gemm_options();
    options.specialization = specialization;
    options.facts = {{true, false}, {true, false}, {true, false}};
    auto const check = [&](auto const& kernel, bool turned) {
      return check_each_op_counts(compiler::lower(trace::module(kernel.trace()), options),
                                  {arguments(turned, 331), arguments(turned, 0)});
    };
    CHECK(check(odd_product<bf16, false, false>, false) > 10);
    // Where no warps are specialised, the fence of zeros ahead of the first product is not missed: one in the loop
    // stands between, too.
    if (specialization == Choice::automatic) CHECK(check(odd_product<bf16, false, true>, true) > 10);
  }
}
