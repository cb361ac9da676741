// Defines structured control flow and calls.
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

/// Names the parts of a kernel around a loop whose copies run ahead of their readers. The passes that make these parts
/// mark the loops, branches and elected regions that they make; nothing else reads it.
enum class LoopRegion : std::uint8_t {
  none,
  pre_prologue,   ///< barriers are initialised
  prologue,       ///< the first iterations' copies are begun
  main,           ///< iterations that begin the copies of later ones
  epilogue,       ///< the last iterations, without copies
  post_epilogue,  ///< barriers are invalidated
};
template <>
inline constexpr std::array enum_names<LoopRegion>{"none"sv, "pre_prologue"sv, "prologue"sv,
                                                   "main"sv, "epilogue"sv,     "post_epilogue"sv};

/// Loops: `%r = for %i = %lo to %hi step %step carry (%a = %init, ...) : types { ... yield ... }`
/// One block with arguments (i: i64, carried...). Runs for i = lo, lo + step, ... < hi, for none if step <= 0. Results
/// are the carried values after the last iteration, or the inits when there is none.
struct ForOp : OpDefaults<Family::control> {
  static constexpr std::string_view mnemonic = "for";
  static constexpr auto operands = names("lower", "upper", "step", "inits");
  static constexpr unsigned traits = has_regions | variadic;
  static constexpr std::int64_t max_stages = 64;
  static constexpr std::int64_t max_unrolled = 64;
  std::int64_t stages = 0;  ///< circular-buffer depth that stages<n> asks for; 0: not said
  bool exactly = false;     ///< a kernel in which the depth does not fit is refused
  /// Distance by which copies run ahead; 0: the depth, one less if a stage is freed an iteration later.
  std::int64_t distance = 0;
  std::int64_t unroll = 0;  ///< iterations that code generation joins to one; 0: not said, which is 1
  /// True where its iterations were blocks of the grid: no other iteration touches the global memory that one writes.
  bool tiles = false;
  LoopRegion region = LoopRegion::none;
  Symbol by_lanes;  ///< the reason, for messages, that a dot became this loop of multiply-adds
  static constexpr auto attributes() {
    return fields(field("stages", &ForOp::stages, {0, max_stages}), field("exactly", &ForOp::exactly),
                  field("distance", &ForOp::distance, {0, max_stages - 1}),
                  field("unroll", &ForOp::unroll, {0, max_unrolled}), field("tiles", &ForOp::tiles),
                  field("region", &ForOp::region), field("by_lanes", &ForOp::by_lanes));
  }
};

/// Repeats: `%r = repeat carry (%a = %init, ...) : types { ... yield %again, ... }` runs its block, whose arguments are
/// the carried values. It runs it again as long as the first value yielded, a bool, is true; the others are carried on.
/// Results are the carried values after the last run. In block IR each warp counts for itself, as with every scalar.
struct RepeatOp : OpDefaults<Family::control> {
  static constexpr std::string_view mnemonic = "repeat";
  static constexpr auto operands = names("inits");
  static constexpr unsigned traits = has_regions | variadic;
};

/// Branches: `%r = if %c : types { ... yield } else { ... yield }`. Two blocks without arguments; the second may be
/// empty but for its yield.
struct IfOp : OpDefaults<Family::control> {
  static constexpr std::string_view mnemonic = "if";
  static constexpr auto operands = names("condition");
  static constexpr unsigned traits = has_regions;
  LoopRegion region = LoopRegion::none;
  static constexpr auto attributes() { return fields(field("region", &IfOp::region)); }
};

/// Ends the block of a for or if and yields its values.
struct YieldOp : OpDefaults<Family::control> {
  static constexpr std::string_view mnemonic = "yield";
  static constexpr auto operands = names("values");
  static constexpr unsigned traits = terminator | variadic;
};

/// Ends a function's body and returns its results (none for kernels).
struct ReturnOp : OpDefaults<Family::control> {
  static constexpr std::string_view mnemonic = "return";
  static constexpr auto operands = names("values");
  static constexpr unsigned traits = terminator | variadic;
};

/// Calls: `%r = call %a, %b {callee = @f} : types`. The callee is a function of the same module; its effects are the
/// call's. Shared-memory allocation decides `virtual`, the bytes of shared memory that the callee uses (-1: not
/// decided, or none needed). They are the same at each of its calls. The last argument says where they begin.
struct CallOp : OpDefaults<Family::control> {
  static constexpr std::string_view mnemonic = "call";
  static constexpr auto operands = names("arguments");
  static constexpr unsigned traits = variadic;
  Symbol callee;
  std::int64_t virtual_bytes = -1;
  static constexpr auto attributes() {
    return fields(field("callee", &CallOp::callee), field("virtual", &CallOp::virtual_bytes, bounds::shared_offset));
  }
};

}  // namespace tegula::ir
