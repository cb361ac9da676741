// Compares simulated columns with an independent computation; the tests of all ops share it.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "sim_support.hpp"

namespace tegula::test {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;
constexpr Element floats[] = {Element::f16, Element::bf16, Element::f32, Element::f64};

inline void check_same(HostTensor const& found, std::function<ir::Constant(std::int64_t)> const& expected) {
  long wrong = 0;
  std::string first;
  for (std::int64_t i = 0; i < found.count(); ++i) {
    ir::Constant const e = expected(i), f = found.get(i);
    bool const zeros = is_float(e.element) && ir::to_double(e) == 0 && ir::to_double(f) == 0;
    if (HostTensor::same(e, f) || zeros) continue;
    if (wrong++ == 0) first = fmt::format("element {} is {} but should be {}", i, ir::to_string(f), ir::to_string(e));
  }
  INFO(first);
  CHECK(wrong == 0);
}

/// List the checks of elementwise_ops_test.cpp, shape_ops_test.cpp and memory_ops_test.cpp, so that the test of
/// untested ops can run them too.
std::vector<void (*)()> elementwise_checks();
std::vector<void (*)()> shape_checks();
std::vector<void (*)()> memory_checks();

}  // namespace tegula::test
