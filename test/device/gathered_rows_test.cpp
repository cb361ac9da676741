// Tests products of rows at indices on a device, where threads copy the rows into rings of stages.
#include "kernels/gathered_rows.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("products of gathered rows are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  constexpr Executor on = Executor::device;
  for (std::int64_t const depth : {0, 16, 64, 80, 320, 4096}) {
    check_rows_of_operands<bf16, true, false>(on, 70, 66, depth);
    check_rows_of_operands<f16, false, true>(on, 70, 66, depth);
    check_rows_of_operands<e4m3, true, true>(on, 70, 66, depth);
    check_rows_of_operands<bf16, true, false, 128, 256, 64, 4>(on, 1000, 520, depth);
    check_rows_of_operands<bf16, true, true, 16, 128, 64, 4>(on, 33, 300, depth);
    check_converted_rows(on, 70, 72, depth);
    check_computed_rows(on, 70, 72, depth);
    check_added_products<false>(on, 70, 72, depth);
    check_added_products<true>(on, 70, 72, depth);
    CompileOptions options;
    options.specialization = Choice::off;
    check_rows_of_operands<bf16, true, true, 128, 128>(on, 1000, 520, depth, options);
  }
}

TEST_CASE("products over gathered rows are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  for (std::int64_t const length : {0, 8, 64, 72, 264, 4096}) {
    check_summed_rows<bf16, false>(Executor::device, 70, 72, length);
    check_summed_rows<f16, true>(Executor::device, 70, 72, length);
  }
  for (std::int64_t const length : {0, 1, 65, 330}) check_chosen_keys(Executor::device, 70, length);
}
