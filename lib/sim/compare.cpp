#include "sim/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ir/text/text.hpp"
#include "sim/elements.hpp"
#include "tegula/support/error.hpp"

namespace tegula::sim {

namespace {

ir::Constant element_at(std::byte const* address, Element element) {
  std::uint64_t raw = 0;
  std::memcpy(&raw, address, static_cast<std::size_t>(bytes(element)));
  return is_integer(element) ? ir::make_constant(element, static_cast<std::int64_t>(raw)) : ir::Constant{element, raw};
}

/// Counts units in the last place of the greater of two finite floats that lie between them.
double ulps_between(double a, double b, Element element) {
  if (a == b) return 0;
  int const digits = info(element).mantissa + 1;
  int exponent = 0;
  std::frexp(std::max(std::fabs(a), std::fabs(b)), &exponent);
  return std::fabs(a - b) / std::ldexp(1.0, std::max(exponent - digits, min_exponent(element)));
}

}  // namespace

std::string coordinates_text(std::int64_t const* coordinates, int rank) {
  std::string text = "[";
  for (int i = 0; i < rank; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", coordinates[i]);
  return text + "]";
}

Difference compare(Tensor const& found, Tensor const& expected, Tolerance tolerance) {
  if (found.element != expected.element || !(found.extents == expected.extents))
    throw UserError("compare: the tensors differ in element or extents");
  Difference result;
  Element const element = found.element;
  each_element(found, [&](std::byte const* address, std::int64_t const* coordinates) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < expected.extents.size(); ++axis) offset += coordinates[axis] * expected.strides[axis];
    std::byte const* const other = static_cast<std::byte const*>(expected.data) + offset * bytes(element);
    if (std::memcmp(address, other, static_cast<std::size_t>(bytes(element))) == 0) return;
    ir::Constant const f = element_at(address, element), e = element_at(other, element);
    if (f == e) return;
    if (is_float(element)) {
      double const a = ir::to_double(f), b = ir::to_double(e);
      if ((std::isnan(a) && std::isnan(b)) || (a == 0 && b == 0)) return;
      if (tolerance.nonfinite && !std::isfinite(b)) return;
      if (std::isfinite(a) && std::isfinite(b)) {
        double const ulps = ulps_between(a, b, element);
        result.worst_ulps = std::max(result.worst_ulps, ulps);
        if (ulps <= tolerance.ulps || std::fabs(a - b) <= tolerance.absolute) return;
      }
    }
    if (result.elements++ == 0)
      result.text = "element " + coordinates_text(coordinates, found.extents.size()) + " is " + ir::to_string(f) +
                    " but should be " + ir::to_string(e);
  });
  return result;
}

std::vector<std::byte> contents(Tensor const& tensor) {
  std::vector<std::byte> result;
  each_element(tensor, [&](std::byte const* address, std::int64_t const*) {
    result.insert(result.end(), address, address + bytes(tensor.element));
  });
  return result;
}

void set_contents(Tensor const& tensor, std::vector<std::byte> const& from) {
  auto at = from.begin();
  each_element(tensor, [&](std::byte* address, std::int64_t const*) {
    std::copy_n(at, bytes(tensor.element), address);
    at += bytes(tensor.element);
  });
}

}  // namespace tegula::sim
