// Exports kernels: one as it is, one with options, one of two configurations, and variants.
#include <tegula/exporter/exporter.hpp>

#include "kernels.hpp"

namespace {

using namespace tegula;

CompileOptions two_stages() {
  CompileOptions options;
  options.stages = 2;
  return options;
}

exported const scaled_sum_entry("scaled_sum", test::scaled_sum);
exported const softmax_entry("row_softmax", test::row_softmax);
exported const product_entry("product", configuration(test::product<64, 64, 64>, two_stages()).up_to(0, 0, 64),
                             configuration(test::product<128, 64, 64>));
exported const tuned_entry("tuned_product", test::tuned_product());
exported const copy_entry("checked_copy", test::checked_copy);

}  // namespace
