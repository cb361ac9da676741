// Checks that each C++ type of the elements has the name and the size of its element's row.
#include <cstdint>

#include "support/catch.hpp"
#include "tegula/dsl/element.hpp"

using namespace tegula;

namespace {

template <class T>
void check_type(char const* cpp_name) {
  Element const element = element_v<T>;
  INFO(name(element));
  CHECK(info(element).cpp_name == cpp_name);
  CHECK(static_cast<std::size_t>(bytes(element)) == sizeof(T));
}

}  // namespace

TEST_CASE("each C++ type is one element's", "[element]") {
  check_type<bool>("bool");
  check_type<std::int8_t>("std::int8_t");
  check_type<std::uint8_t>("std::uint8_t");
  check_type<std::int16_t>("std::int16_t");
  check_type<std::uint16_t>("std::uint16_t");
  check_type<std::int32_t>("std::int32_t");
  check_type<std::uint32_t>("std::uint32_t");
  check_type<std::int64_t>("std::int64_t");
  check_type<std::uint64_t>("std::uint64_t");
  check_type<e4m3>("tegula::e4m3");
  check_type<e5m2>("tegula::e5m2");
  check_type<f16>("tegula::f16");
  check_type<bf16>("tegula::bf16");
  check_type<float>("float");
  check_type<double>("double");
}
