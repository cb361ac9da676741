#include "ir/values/index_values.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/call.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"

namespace tegula::ir {
namespace {

/// Names the operands that are places.
constexpr std::array<std::string_view, 9> places = {"offsets", "indices", "places", "begin",  "end",
                                                    "lower",   "upper",   "step",   "extents"};

bool is_integer(Value const& value) {
  Type const& type = value.type();
  return (type.is_scalar() || type.is_tile()) && (type.element() == Element::i32 || type.element() == Element::i64);
}

class Search {
 public:
  explicit Search(Function const& function) {
    if (function.parent() == nullptr)
      begin(function);
    else
      for (auto const& each : function.parent()->functions()) begin(*each);
  }

  std::set<Value const*> run() {
    while (!open_.empty()) {
      Value const* const value = open_.back();
      open_.pop_back();
      if (Op const* const op = value->defining_op())
        follow_result(*op, value->index());
      else
        follow_argument(*value);
    }
    return std::move(found_);
  }

 private:
  void begin(Function const& function) {
    walk(function.body(), [&](Op& op) {
      if (op.is<CallOp>()) calls_.push_back(&op);
      for (Value const* value : place_operands(op)) add(*value);
    });
  }

  void add(Value const& value) {
    if (is_integer(value) && found_.insert(&value).second) open_.push_back(&value);
  }

  void follow_result(Op const& op, int k) {
    if (is_loop(op)) {
      add(*Loop(op).init(k));
      add(*Loop(op).yielded(k));
    } else if (op.is<CallOp>()) {
      Function const* const callee = callee_of(op);
      Op const* const end = callee == nullptr ? nullptr : callee->body().terminator();
      if (end != nullptr && k < end->operand_count()) add(*end->operand(k));
    } else if (op.block_count() > 0) {
      for (int b = 0; b < op.block_count(); ++b) add(*op.block(b).back().operand(k));
    } else if (op.pure()) {
      for (Value const* operand : op.operands()) add(*operand);
    }
  }

  void follow_argument(Value const& value) {
    Op const* const around = value.owner_block()->parent_op();
    if (around == nullptr) {
      for (Op const* call : calls_)
        if (callee_of(*call) == value.owner_block()->parent_function()) add(*call->operand(value.index()));
    } else if (is_loop(*around)) {
      Loop const loop(*around);
      int const k = loop.carry_of(value);
      if (k < 0) return;
      add(*loop.init(k));
      add(*loop.yielded(k));
    }
  }

  std::vector<Op const*> calls_;
  std::set<Value const*> found_;
  std::vector<Value const*> open_;
};

}  // namespace

std::vector<Value*> place_operands(Op const& op) {
  std::vector<Value*> result;
  for (std::string_view const name : places) {
    if (!op.info().names(name)) continue;
    bool const several = op.info().has(variadic) && op.info().operands.back() == name;
    for (Value* value : op.all(name).first(several ? op.all(name).size() : 1))
      if (is_integer(*value)) result.push_back(value);
  }
  return result;
}

std::set<Value const*> index_values(Function const& function) { return Search(function).run(); }

}  // namespace tegula::ir
