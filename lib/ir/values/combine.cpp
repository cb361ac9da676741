#include "ir/values/combine.hpp"

#include <limits>

#include "ir/core/builder.hpp"

namespace tegula::ir {

Constant scan_start(Combine combine, Element element) {
  if (combine == Combine::sum || combine == Combine::product)
    return make_constant(element, std::int64_t{combine == Combine::product});
  bool const lowest = combine == Combine::max;
  if (is_float(element)) {
    double const infinity = std::numeric_limits<double>::infinity();
    return make_constant(element, lowest ? -infinity : infinity);
  }
  return make_constant(element, lowest ? min_integer(element) : max_integer(element));
}

Constant neutral(Combine combine, Element element) {
  if (!is_float(element) || combine == Combine::product) return scan_start(combine, element);
  return make_constant(element, combine == Combine::sum ? -0.0 : std::numeric_limits<double>::quiet_NaN());
}

}  // namespace tegula::ir
