#include "transform/check_options.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "abi/pass_options.hpp"
#include "support/string_buffer.hpp"
#include "tegula/ir/ops.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/common/kernel_plan.hpp"

namespace tegula::transform {
namespace {

/// States the values of one number among the options.
struct Rule {
  std::string_view name;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::span<int const> values = {};  ///< the only ones, if there are any
  std::string_view otherwise = {};   ///< the meaning of the default
};

constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t max_slots = std::int64_t{1} << 20;
constexpr std::array warps{0, 1, 2, 4, 8, 16, 32};
constexpr std::array split{0, 1, 2, 3, 4, 5, 6, 7, 8, 16};
constexpr std::array share{0, 1, 2, 4};

constexpr Rule rules[] = {
    {"warps", 0, 0, warps, "0 for the compiler's choice"},
    {"stages", 0, ir::ForOp::max_stages, {}, "0 to keep the kernel's own"},
    {"distance", 0, ir::ForOp::max_stages - 1, {}, "0 to keep the kernel's own"},
    {"unroll", 0, ir::ForOp::max_unrolled, {}, "0 to keep the kernel's own"},
    {"split", 0, 0, split, "0 or 1 not to split"},
    {"share", 0, 0, share, "0 or 1 not to share"},
    {"profile_slots", 1, max_slots, {}, {}},
    {"profile_rows", 1, std::numeric_limits<std::int32_t>::max(), {}, {}},
    {"profile_first_cta", 0, any, {}, {}},
    {"profile_cta_step", 1, any, {}, {}},
    {"profile_cta_count", 0, any, {}, {}},
};

std::string why_not_number(std::string_view name, std::int64_t value) {
  for (Rule const& rule : rules) {
    if (rule.name != name) continue;
    bool sound = rule.values.empty() && value >= rule.min && value <= rule.max;
    for (int const allowed : rule.values) sound = sound || value == allowed;
    if (sound) return {};
    std::string text = fmt::format("compile options: {} is {}; take ", name, value);
    if (rule.values.empty())
      text += rule.max == any ? fmt::format("{} or more", rule.min)
                              : fmt::format("{} to {}", rule.otherwise.empty() ? rule.min : 1, rule.max);
    else
      text +=
          fmt::format("one of {}", fmt::join(rule.values.subspan(rule.otherwise.starts_with("0 or 1") ? 2 : 1), ", "));
    return rule.otherwise.empty() ? text : text + fmt::format(", or {}", rule.otherwise);
  }
  throw InternalError(fmt::format("compile options: {} has no rule in check_options.cpp", name));
}

}  // namespace

support::Diagnostics mistakes_of(CompileOptions const& options) {
  support::Diagnostics found;
  if (options.target != Target::host && options.target != Target::cuda)
    found.error(fmt::format("compile options: target is {}; take Target::host or Target::cuda",
                            static_cast<int>(options.target)));
  abi::for_each_pass_option(options, [&](std::string_view name, std::string_view, auto value) {
    using Value = decltype(value);
    if constexpr (std::is_enum_v<Value>) {
      auto const& names = abi::names_of(Value{});
      auto const number = static_cast<std::size_t>(value);
      if (number >= names.size())
        found.error(fmt::format("compile options: {} is {}; take {}", name, number, fmt::join(names, ", ")));
    } else if constexpr (std::is_same_v<Value, std::string>) {
      std::string why;
      if (!value.empty() && !parse_plan(value, why))
        found.error(fmt::format("compile options: {} is {}: {}", name, support::quoted(value), why));
    } else if constexpr (std::is_signed_v<Value>) {
      if (std::string why = why_not_number(name, value); !why.empty()) found.error(std::move(why));
    }
  });
  return found;
}

void check_options(CompileOptions const& options) { support::throw_user_error(mistakes_of(options)); }

}  // namespace tegula::transform
