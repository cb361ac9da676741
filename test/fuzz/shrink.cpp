// Makes a wrong case small. Every step edits a copy, tidies it and keeps it if it is still wrong after the same pass,
// in the same way.
#include <algorithm>

#include "fuzz/pipeline_case.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "abi/pass_options.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {

std::string_view kind_of(std::string_view reason) {
  if (reason.starts_with("schedule ")) reason.remove_prefix(std::min(reason.find(": ") + 2, reason.size()));
  return reason.substr(0, reason.find_first_of("%0123456789"));
}

namespace {

using ir::Op;
using ir::Value;

std::vector<Op*> ops_of(ir::Module const& module) {
  std::vector<Op*> result;
  for (auto const& function : module.functions())
    ir::walk_pre_order(*function, [&](Op& op) {
      result.push_back(&op);
      return ir::Walk::advance;
    });
  return result;
}

bool is_kept(Op const& op) { return op.info().has(ir::terminator) || op.is<ir::GridOp>(); }

/// Replaces an op by the ops of a block of it, with these values for its arguments and for the op's results.
void unfold(Op& op, ir::Block& block, std::vector<Value*> const& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    block.argument(static_cast<int>(i))->replace_all_uses_with(*arguments[i]);
  std::vector<Value*> const results(block.back().operands().begin(), block.back().operands().end());
  ir::splice_before(op, block);
  ir::replace(op, results);
}

/// Removes an op in one of several ways; false: there is no such way.
constexpr int ways = 4;
bool without(Op& op, int way) {
  if (is_kept(op)) return false;
  if (op.is<ir::IfOp>()) {
    if (way > 1) return false;
    unfold(op, op.block(way), {});
    return true;
  }
  if (op.is<ir::ForOp>()) {
    std::vector<Value*> const inits(op.operands().begin() + 3, op.operands().end());
    if (way == 0) {
      ir::replace(op, inits);
      return true;
    }
    if (way != 1) return false;
    std::vector<Value*> arguments = {op.operand(0)};
    arguments.insert(arguments.end(), inits.begin(), inits.end());
    unfold(op, op.block(), arguments);
    return true;
  }
  if (op.block_count() != 0) return false;
  if (op.result_count() == 0) {
    if (way != 0) return false;
    op.erase();
    return true;
  }
  if (op.result_count() != 1) return false;
  Value& result = *op.result();
  if (way == 0) {
    if (op.is<ir::ConstantOp>() || !(result.type().is_tile() || result.type().is_scalar())) return false;
    ir::replace(op, ir::Builder::before(op).constant(ir::Constant{result.type().element(), 0}, result.type()));
    return true;
  }
  int place = 0;  // the operand of this type that stands in for the result
  for (Value* operand : op.operands())
    if (operand->type() == result.type() && ++place == way) {
      ir::replace(op, operand);
      return true;
    }
  return false;
}

/// Makes one place of a yield pass its carried value on unchanged.
bool without_carried(Op& op, int place) {
  if (!op.is<ir::ForOp>() || place >= op.result_count()) return false;
  Op& yield = op.block().back();
  if (yield.operand(place) == op.block().argument(place + 1)) return false;
  yield.set_operand(place, op.block().argument(place + 1));
  return true;
}

class Shrink {
 public:
  Shrink(PipelineCase const& one, std::function<bool(PipelineCase const&)> const& wrong, int judgements)
      : best_(one.clone()), is_wrong_(wrong), left_(judgements) {}

  PipelineCase run() {
    bool better = wrong(best_);
    while (better && left_ > 0) {
      better = false;
      better = options() || better;
      better = ops() || better;
      better = numbers() || better;
    }
    return std::move(best_);
  }

 private:
  bool wrong(PipelineCase const& candidate) {
    --left_;
    try {
      return is_wrong_(candidate);
    } catch (std::exception const&) {
      return false;
    }
  }

  template <class Edit>
  bool attempt(Edit&& edit) {
    if (left_ <= 0) return false;
    PipelineCase candidate = best_.clone();
    if (!edit(candidate)) return false;
    tidy(candidate);
    if (!wrong(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  /// Removes dead ops and parameters.
  static void tidy(PipelineCase& candidate) {
    transform::run_pipeline(candidate.module, "eliminate-dead-code", {}, support::Options());
    ir::Function& kernel = candidate.module.kernel();
    for (int i = kernel.parameter_count(); i-- > 0;) {
      if (!kernel.parameter(i)->unused()) continue;
      kernel.body().erase_argument(i);
      kernel.parameter_attributes().erase(kernel.parameter_attributes().begin() + i);
      candidate.parameters.erase(candidate.parameters.begin() + i);
    }
  }

  bool options() {
    bool better = false;
    abi::for_each_pass_option(best_.options, [&](std::string_view name, std::string_view, auto const&) {
      better = attempt([&](PipelineCase& c) {
                 bool differs = false;
                 abi::for_each_pass_option(c.options, [&](std::string_view own, std::string_view, auto& value) {
                   if (own == name) differs = std::exchange(value, {}) != std::decay_t<decltype(value)>{};
                 });
                 return differs;
               }) ||
               better;
    });
    better = attempt([](PipelineCase& c) { return std::exchange(c.ctas, 1) > 1; }) || better;
    return better;
  }

  bool ops() {
    bool better = false;
    for (int at = static_cast<int>(ops_of(best_.module).size()); at-- > 0;) {
      auto const edited = [&](auto&& edit) {
        return attempt([&](PipelineCase& c) {
          auto const all = ops_of(c.module);
          return at < static_cast<int>(all.size()) && edit(*all[static_cast<std::size_t>(at)]);
        });
      };
      bool gone = false;
      for (int way = 0; way < ways && !gone; ++way) gone = edited([&](Op& op) { return without(op, way); });
      for (int place = 0; place < ways && !gone; ++place)
        better = edited([&](Op& op) { return without_carried(op, place); }) || better;
      better = better || gone;
    }
    return better;
  }

  static std::vector<std::int64_t> smaller(std::int64_t value) {
    std::vector<std::int64_t> result;
    for (std::int64_t const candidate : {std::int64_t{0}, std::int64_t{1}, value / 2, value - 1})
      if (candidate >= 0 && candidate < value && (result.empty() || candidate > result.back()))
        result.push_back(candidate);
    return result;
  }

  /// Shrinks trip counts, extents, constants.
  bool numbers() {
    bool better = false;
    for (std::size_t p = 0; p < best_.parameters.size(); ++p) {
      test::RandomParameter const now = best_.parameters[p];
      if (!now.is_tensor) {
        if (is_float(now.element)) continue;
        for (std::int64_t const value : smaller(ir::to_int(now.scalar)))
          if (attempt_parameter(p, better,
                                [&](test::RandomParameter& q) { q.scalar = ir::make_constant(q.element, value); }))
            break;
        continue;
      }
      for (std::size_t axis = 0; axis < now.extents.size(); ++axis)
        for (std::int64_t const value : smaller(now.extents[axis]))
          if (attempt_parameter(p, better, [&](test::RandomParameter& q) {
                if (axis + 1 == q.extents.size()) q.gap += (q.extents[axis] - value) * q.inner;
                q.extents[axis] = value;
              }))
            break;
    }
    std::size_t const count = ops_of(best_.module).size();
    for (std::size_t i = 0; i < count; ++i) {
      auto const value_of = [&](ir::Module const& module) -> ir::Constant* {
        auto const all = ops_of(module);
        return i < all.size() && all[i]->is<ir::ConstantOp>() ? &all[i]->as<ir::ConstantOp>().value : nullptr;
      };
      ir::Constant const* const now = value_of(best_.module);
      if (now == nullptr || !is_integer(now->element)) continue;
      for (std::int64_t const value : smaller(ir::to_int(*now)))
        if (attempt([&](PipelineCase& c) {
              ir::Constant* const constant = value_of(c.module);
              *constant = ir::make_constant(constant->element, value);
              return true;
            })) {
          better = true;
          break;
        }
    }
    return better;
  }
  template <class Edit>
  bool attempt_parameter(std::size_t p, bool& better, Edit&& edit) {
    bool const done = attempt([&](PipelineCase& c) {
      if (p >= c.parameters.size()) return false;
      edit(c.parameters[p]);
      return true;
    });
    better = better || done;
    return done;
  }

  PipelineCase best_;
  std::function<bool(PipelineCase const&)> const& is_wrong_;
  int left_;  ///< judgements
};

}  // namespace

PipelineCase shrink(PipelineCase const& one, Judgement const& found, JudgeOptions const& options) {
  JudgeOptions own = options;
  own.until = found.pass;
  own.each_pass = false;
  std::function<bool(PipelineCase const&)> const wrong = [&](PipelineCase const& candidate) {
    Judgement const again = judge(candidate, own);
    return again.wrong() && again.pass == found.pass && kind_of(again.reason) == kind_of(found.reason);
  };
  auto const fails = [&] {
    try {
      return wrong(one);
    } catch (std::exception const&) {
      return false;
    }
  };
  if (!fails()) own.each_pass = true;  // some schedules show what the first few do not
  return shrink(one, wrong);
}

PipelineCase shrink(PipelineCase const& one, std::function<bool(PipelineCase const&)> const& wrong, int judgements) {
  return Shrink(one, wrong, judgements).run();
}

}  // namespace tegula::fuzz
