// Tests that each compile option has a rule, and that values outside of it are refused before anything computes with
// them.
#include <fmt/format.h>

#include <climits>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "abi/pass_options.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"
#include "transform/check_options.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::transform;
using test::ContainsSubstring;

TEST_CASE("compile options: the defaults and the documented values are sound", "[B19]") {
  CHECK(mistakes_of({}).empty());
  auto const sound = [](auto CompileOptions::*member, std::vector<int> const& values) {
    for (int const value : values) {
      CompileOptions options;
      options.*member = value;
      INFO(value);
      CHECK(mistakes_of(options).empty());
    }
  };
  sound(&CompileOptions::warps, {0, 1, 2, 4, 8, 16, 32});
  sound(&CompileOptions::stages, {0, 1, 64});
  sound(&CompileOptions::distance, {0, 1, 63});
  sound(&CompileOptions::unroll, {0, 1, 64});
  sound(&CompileOptions::split, {0, 1, 2, 4, 8, 16});
  sound(&CompileOptions::share, {0, 1, 2, 4});
}

TEST_CASE("compile options: extremes of every number are refused with value and remedy, or are sound", "[B19]") {
  // Visits the numbers one by one: an option that is added has a rule, or this throws an InternalError.
  int numbers = 0;
  CompileOptions const defaults;
  abi::for_each_pass_option(defaults, [&](std::string_view, std::string_view, auto value) {
    numbers += std::is_signed_v<decltype(value)> && !std::is_enum_v<decltype(value)> ? 1 : 0;
  });
  for (int at = 0; at < numbers; ++at)
    for (std::int64_t const extreme : {std::int64_t{-1}, std::int64_t{1} << 30, std::int64_t{INT_MAX},
                                       std::int64_t{INT_MIN}, std::numeric_limits<std::int64_t>::min()}) {
      CompileOptions options;
      int number = 0;
      std::string changed;
      std::int64_t value = 0;
      abi::for_each_pass_option(options, [&](std::string_view name, std::string_view, auto& field) {
        using Field = std::remove_reference_t<decltype(field)>;
        if constexpr (std::is_signed_v<Field> && !std::is_enum_v<Field>) {
          if (number++ != at) return;
          field = static_cast<Field>(extreme);
          value = field;
          changed = name;
        }
      });
      INFO(changed << " " << value);
      if (value != extreme) continue;  // it does not fit the field
      if (value < 0 || !changed.starts_with("profile_"))
        CHECK_THROWS_WITH(check_options(options),
                          ContainsSubstring(fmt::format("compile options: {} is {}; take ", changed, value)));
    }
}

TEST_CASE("compile options: values of no enumerator are refused", "[B19]") {
  CompileOptions options;
  options.epilogue = static_cast<Choice>(7);
  CHECK_THROWS_WITH(check_options(options), "compile options: epilogue is 7; take automatic, off, on");
  options = {};
  options.target = static_cast<Target>(9);
  CHECK_THROWS_WITH(check_options(options), "compile options: target is 9; take Target::host or Target::cuda");
  options = {};
  options.profile.strategy = static_cast<ProfileStrategy>(200);
  CHECK_THROWS_WITH(check_options(options), "compile options: profile_strategy is 200; take shared, device");
}

TEST_CASE("compile options: a pipeline refuses them before its first pass", "[B19]") {
  ir::ParseResult parsed = ir::parse("tegula-ir 1\nkernel @k() {\n  return\n}\n");
  CompileOptions options;
  options.warps = INT_MAX;
  CHECK_THROWS_WITH(
      run_pipeline(parsed.module, "", options),
      "compile options: warps is 2147483647; take one of 1, 2, 4, 8, 16, 32, or 0 for the compiler's choice");
}
