#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/advice_rules.hpp"
#include "analysis/register_need.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/op_info.hpp"
#include "ir/values/elementary.hpp"
#include "layout/element_offsets.hpp"

namespace tegula::analysis {

using ir::Op;
using ir::OpKind;
using Kind = SlowSpot::Kind;

namespace {

/// Notes a function that does `more` than the one that replaces it.
void note(AdvisedLaunch& launch, std::size_t i, std::string what, std::string remedy, Work more) {
  Work less;
  add(less, more, -1);
  add_to(launch.best, i, less);
  launch.lose(Kind::function, launch.best.ops[i].where, "", std::move(what), std::move(remedy),
              [i, more](Estimate& other) { add_to(other, i, more); });
}

}  // namespace

void find_slow_functions(AdvisedLaunch& launch) {
  for (std::size_t i = 0; i < launch.best.ops.size(); ++i) {
    WorkOfOp const& op = launch.best.ops[i];
    if (op.work.functions <= 0 || op.element == Element::f64) continue;
    Work const more_now = more_of_function(op);
    if (op.kind == OpKind::TanhOp) {
      // fast_tanh is one function, and costs nothing besides.
      note(launch, i, "tanh takes two special functions and a quotient an element", "take fast_tanh, to 11 bits",
           more_now);
    } else if (ir::device_formula(op.kind) == ir::DeviceFormula::expansion) {
      Work more = more_now;
      more.functions = 0;
      note(launch, i,
           fmt::format("{} takes about {:.0f} instructions an element", ir::op_info(op.kind).mnemonic,
                       expansion_instructions),
           "load a table of its values, or compute it for fewer elements (before a broadcast, outside of the loop)",
           more);
    }
  }
}

void find_spills(AdvisedLaunch& launch) {
  RegisterNeed const need = register_need(*launch.about.lowered, *launch.about.target);
  RegisterNeed::Part const part = need.tightest();
  bool const measured = launch.about.spill_bytes > 0;
  if (launch.about.spill_bytes == 0 || (!measured && !need.surely_spills())) return;
  double const bytes = measured ? static_cast<double>(launch.about.spill_bytes) : 8.0 * (part.registers - part.allowed);
  double iterations = 1;
  for (Ring const& ring : launch.best.rings) iterations = std::max(iterations, ring.times * ring.trips);
  Work more;
  more.operand_bytes = bytes * iterations * launch.about.lowered->warps * launch.about.target->lanes;
  more.arithmetic = more.operand_bytes / 4;
  ir::Value const* const largest = part.largest;
  Op const* const made = largest == nullptr ? nullptr : largest->defining_op();
  std::string what = fmt::format("{:.0f} bytes of a thread go to local memory and back", bytes);
  if (largest != nullptr)
    what += fmt::format("; the most registers, {}, take a tile of {}", registers_of(*largest),
                        layout::shape_text(largest->type().shape()));
  bool const more_warps = launch.about.lowered->warps * launch.about.target->lanes < launch.about.target->threads;
  launch.lose(Kind::spills, made == nullptr ? launch.about.where : made->where(), "", std::move(what),
              more_warps ? "take fewer rows or columns of it, or more warps" : "take fewer rows or columns of it",
              [more](Estimate& other) { add(other, more, 1); });
}

void find_checks(AdvisedLaunch& launch) {
  CompileOptions const& options = launch.about.options;
  if (!options.checks.any() && !options.ranges) return;
  Work more;
  more.arithmetic = 2 * launch.best.arithmetic;
  double const accesses = (launch.best.loaded_bytes + launch.best.stored_bytes) / 4;
  more.arithmetic += 4 * accesses;
  launch.lose(Kind::checks, launch.about.where, "", "checks of indices and values run with the kernel",
              "launch without TEGULA_CHECKS", [more](Estimate& other) { add(other, more, 1); });
}

void find_roundings(AdvisedLaunch& launch) {
  CompileOptions const& options = launch.about.options;
  if (!options.exact && options.contraction != Choice::off) return;
  Work more;
  more.arithmetic = launch.contracted();
  launch.lose(Kind::rounding, launch.about.where, "", "products are rounded before they are added, as the options ask",
              "leave out exact and contraction = off", [more](Estimate& other) { add(other, more, 1); });
}

}  // namespace tegula::analysis
