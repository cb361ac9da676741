#include "ir/verify/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include "abi/tensor_facts.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/match.hpp"
#include "ir/infer/infer.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/verify/verify_block.hpp"
#include "ir/verify/verify_buffers.hpp"
#include "ir/verify/verify_mbarriers.hpp"
#include "support/string_buffer.hpp"

namespace tegula::ir {
namespace {

constexpr std::size_t max_errors = 20;

std::vector<Type> types_of(std::span<Value* const> values) {
  std::vector<Type> result;
  for (Value const* value : values) result.push_back(value->type());
  return result;
}

std::vector<Type> result_types(Op const& op) {
  std::vector<Type> result;
  for (int i = 0; i < op.result_count(); ++i) result.push_back(op.result(i)->type());
  return result;
}

std::string text_of(std::vector<Type> const& types) {
  std::string text = "(";
  for (Type const& type : types) text += (text.size() > 1 ? ", " : "") + to_string(type);
  return text + ")";
}

class Verifier {
 public:
  Verifier(Module const& module, Positions const* positions) : module_(module), positions_(positions) {}

  Diagnostics run() {
    std::set<std::string_view> names;
    for (auto const& function : module_.functions()) {
      if (!names.insert(function->name()).second) error("@" + function->name() + " is defined twice", function->where);
      check_function(*function);
    }
    check_recursion();
    return std::move(found_);
  }

 private:
  void error(std::string text, location where) {
    if (found_.size() < max_errors) found_.error(std::move(text), where);
  }
  void error(Op const& op, std::string text, std::vector<support::Note> notes = {}) {
    if (found_.size() >= max_errors) return;
    support::TextPosition position;
    if (positions_ != nullptr)
      if (auto const at = positions_->find(&op); at != positions_->end()) position = at->second;
    support::Diagnostic& result = found_.error_at(position, std::move(text));
    result.where = op.where();
    result.notes = std::move(notes);
  }
  static std::string named(Op const& op, std::string const& text) {
    return std::string(op.info().mnemonic) + ": " + text;
  }

  // ---- functions

  void check_parameters(Function const& function, std::string const& at) {
    for (int i = 0; i < function.parameter_count(); ++i) {
      Type const& type = function.parameter(i)->type();
      if (std::string const wrong = why_not_a_type(type); !wrong.empty())
        error(fmt::format("{}parameter {}: {}", at, i, wrong), function.where);
      bool const taken = type.is_tensor() || type.is_scalar() || (type.is_tile() && !function.is_kernel());
      if (!taken)
        error(fmt::format("{}parameter {} is {}{}", at, i, to_string(type),
                          function.is_kernel() ? "; kernels take tensors and scalars"
                                               : "; functions take tensors, scalars and tiles"),
              function.where);
    }
  }

  void check_function(Function const& function) {
    function_ = &function;
    visible_.clear();
    grid_ = nullptr;
    std::string const at = "@" + function.name() + ": ";
    if (function.name().empty()) error("a function without a name", function.where);
    if (function.parameter_attributes().size() != static_cast<std::size_t>(function.parameter_count()))
      return error(at + "parameters and their attributes differ in number", function.where);
    check_parameters(function, at);
    if (function.shared >= 0 && (function.is_kernel() || function.parameter_count() == 0 ||
                                 function.parameter(function.parameter_count() - 1)->type() != Type::index()))
      error(fmt::format("{}shared = {}{}", at, function.shared,
                        function.is_kernel() ? ", but only functions state it"
                                             : ", but the last parameter, the offset of that memory, is not an i64"),
            function.where);
    if (function.is_kernel() && !function.results.empty()) error(at + "a kernel does not give results", function.where);
    for (Type const& type : function.results)
      if (type.is_tensor()) error(at + "a result cannot be " + to_string(type), function.where);
    if (is_declaration(function)) return;
    std::size_t const before = found_.size();
    check_block(function.body(), nullptr, 1);
    if (found_.size() != before) return;
    for (MbarrierError const& found : mbarrier_errors(function)) error(*found.op, named(*found.op, found.text));
    for (BufferError const& found : buffer_errors(function)) error(*found.op, named(*found.op, found.text));
  }

  void check_recursion() {
    enum class State : std::uint8_t { fresh, open, done };
    std::unordered_map<Function const*, State> state;
    std::vector<Function const*> path;
    auto const visit = [&](auto const& self, Function const& function) -> void {
      state[&function] = State::open;
      path.push_back(&function);
      auto const calls = [&](auto const& walk, Block const& block) -> void {
        for (Op const& op : block) {
          if (op.is<CallOp>()) {
            Function const* const callee = module_.find(op.as<CallOp>().callee.view());
            if (callee != nullptr && state[callee] == State::open) {
              std::string text = "recursion is not supported: ";
              auto from = std::find(path.begin(), path.end(), callee);
              for (; from != path.end(); ++from) text += "@" + (*from)->name() + " calls ";
              error(op, text + "@" + callee->name());
            } else if (callee != nullptr && state[callee] == State::fresh) {
              self(self, *callee);
            }
          }
          for (int i = 0; i < op.block_count(); ++i) walk(walk, op.block(i));
        }
      };
      calls(calls, function.body());
      path.pop_back();
      state[&function] = State::done;
    };
    for (auto const& function : module_.functions())
      if (state[function.get()] == State::fresh) visit(visit, *function);
  }

  // ---- blocks

  void check_block(Block const& block, Op const* parent, int depth) {
    if (depth > max_nesting) return error(*parent, fmt::format("blocks nested deeper than {}", max_nesting));
    std::vector<Value const*> mine;
    auto const show = [&](Value const& value) {
      visible_.insert(&value);
      mine.push_back(&value);
    };
    for (int i = 0; i < block.argument_count(); ++i) show(*block.argument(i));
    Op const* last = nullptr;
    for (Op const& op : block) {
      if (last != nullptr && last->info().has(terminator)) error(op, named(*last, "ops follow it in its block"));
      check_op(op, depth);
      for (int i = 0; i < op.result_count(); ++i) show(*op.result(i));
      last = &op;
    }
    check_end(last, parent);
    for (Value const* value : mine) visible_.erase(value);
  }

  void check_end(Op const* last, Op const* parent) {
    std::string const wanted = parent == nullptr ? "return" : "yield";
    std::string const where = parent == nullptr ? "@" + function_->name() : std::string(parent->info().mnemonic);
    if (last == nullptr || last->info().mnemonic != wanted) {
      std::string const text = where + ": a block must end with " + wanted +
                               (last == nullptr ? "" : ", not " + std::string(last->info().mnemonic));
      return parent == nullptr ? error(text, function_->where) : error(*parent, text);
    }
    for (Value const* value : last->operands())
      if (value == nullptr) return;
    auto const given = types_of(last->operands());
    auto asked = parent == nullptr ? function_->results : result_types(*parent);
    if (parent != nullptr && parent->is<RepeatOp>()) {
      asked.insert(asked.begin(), Type::scalar(Element::boolean));
      if (given != asked)
        error(*last, "yield: gives " + text_of(given) + " but repeat takes " + text_of(asked) +
                         ": the condition to continue, then the carried values");
      return;
    }
    if (given != asked)
      error(*last, wanted + ": gives " + text_of(given) + " but " + where + " has results " + text_of(asked));
  }

  // ---- ops

  void check_op(Op const& op, int depth) {
    bool operands_good = true;
    for (int i = 0; i < op.operand_count(); ++i) {
      Value const* const value = op.operand(i);
      if (value == nullptr)
        error(op, named(op, fmt::format("operand {} is missing", i)));
      else if (visible_.count(value) == 0)
        error(op, named(op, fmt::format("operand {} ({}) is not visible here", i, to_string(*value))));
      operands_good = operands_good && value != nullptr;
    }
    if (!operands_good) return;
    bool const typed = check_types(op);
    int const blocks = block_count_of(op);
    if (op.block_count() != blocks)
      return error(op, named(op, fmt::format("{} blocks but has {}", op.block_count(), blocks)));
    match<void>(op, on<ForOp>([&] { check_loop(op); }),
                on<RepeatOp>([&] { check_arguments(op, types_of(op.operands())); }), on<IfOp>([&] {
                  if (op.block(0).argument_count() + op.block(1).argument_count() != 0)
                    error(op, "if: its blocks do not take arguments");
                }),
                on<CallOp>([&] { check_call(op); }), on<GridOp, RequireOp>([&] { check_launch_statement(op); }));
    if (typed) check_directions(op);
    if (typed && (op.info().is_block_op() || op.is<BufferAllocOp>() || is_log_op(op)))
      if (std::string const wrong = why_not_here(op, *function_); !wrong.empty()) error(op, named(op, wrong));
    for (int i = 0; i < op.block_count(); ++i) check_block(op.block(i), &op, depth + 1);
  }

  bool check_types(Op const& op) {
    auto const stated = result_types(op);
    for (Type const& type : stated) {
      std::string const wrong = why_not_a_type(type);
      if (!wrong.empty()) return error(op, named(op, wrong)), false;
      if (type.is_tensor() && !op.is(Family::symbolic))
        return error(op, named(op, "a result cannot be " + to_string(type) + "; only slice and permute give tensors")),
               false;
    }
    Inferred const inferred = infer(op.kind(), op.attributes(), types_of(op.operands()), stated);
    if (!inferred.ok()) return error(op, inferred.error), false;
    if (inferred.types == stated) return true;
    error(op, named(op, "gives " + text_of(inferred.types) + " but its results are " + text_of(stated)));
    return false;
  }

  void check_loop(Op const& op) {
    std::vector<Type> wanted = {Type::index()};
    for (Value const* init : Loop(op).inits()) wanted.push_back(init->type());
    check_arguments(op, wanted);
    if (Op const* const step = Loop(op).step()->defined_by<ConstantOp>(); step != nullptr) {
      auto const value = static_cast<std::int64_t>(step->as<ConstantOp>().value.bits);
      if (value < 1) error(op, fmt::format("for: step is {} but must be at least 1", value));
    }
  }

  void check_arguments(Op const& op, std::vector<Type> const& wanted) {
    std::vector<Type> given;
    for (int i = 0; i < op.block().argument_count(); ++i) given.push_back(op.block().argument(i)->type());
    if (given != wanted)
      error(op, named(op, "its block takes " + text_of(given) + " but must take " + text_of(wanted)));
  }

  void check_call(Op const& op) {
    Symbol const name = op.as<CallOp>().callee;
    Function const* const callee = module_.find(name.view());
    if (callee == nullptr) {
      std::string known;
      for (auto const& function : module_.functions())
        if (!function->is_kernel()) known += (known.empty() ? "; there are @" : ", @") + function->name();
      return error(op, "call: @" + std::string(name.view()) + " is not defined" +
                           (known.empty() ? "; the module has no functions" : known));
    }
    if (callee->is_kernel()) return error(op, "call: @" + callee->name() + " is a kernel; only functions are called");
    std::vector<Type> wanted;
    for (int i = 0; i < callee->parameter_count(); ++i) wanted.push_back(callee->parameter(i)->type());
    auto const given = types_of(op.operands());
    if (given != wanted)
      return error(op, "call: @" + callee->name() + " takes " + text_of(wanted) + " but is given " + text_of(given));
    if (op.as<CallOp>().virtual_bytes != callee->shared)
      return error(op, fmt::format("call: virtual = {}, but @{} says shared = {}", op.as<CallOp>().virtual_bytes,
                                   callee->name(), callee->shared));
    if (callee->results != result_types(op))
      return error(op, "call: @" + callee->name() + " returns " + text_of(callee->results) + " but the results are " +
                           text_of(result_types(op)));
    check_aliases(op, *callee);
    for (int i = 0; i < op.operand_count(); ++i) {
      if (!op.operand(i)->type().is_tensor()) continue;
      Direction const needed = callee->parameter_attributes()[static_cast<std::size_t>(i)].direction;
      auto const had = direction_of(*op.operand(i));
      if (had && *had != needed && *had != Direction::inout)
        error(op, "call: " + to_string(*op.operand(i)) + " is an " + std::string(tegula::name(*had)) +
                      " parameter but @" + callee->name() + " takes it as " + std::string(tegula::name(needed)));
    }
  }

  /// Checks that tensors of a function do not share memory unless all are only read. Kernels' arguments are checked at
  /// the launch, so it is enough that a call never hands a tensor over twice.
  void check_aliases(Op const& op, Function const& callee) {
    auto const direction = [&](int i) { return callee.parameter_attributes()[static_cast<std::size_t>(i)].direction; };
    auto const parameter = [&](int i) {
      return to_string(*callee.parameter(i)) + " (" + std::string(tegula::name(direction(i))) + ")";
    };
    for (int i = 0; i < op.operand_count(); ++i)
      for (int j = i + 1; j < op.operand_count(); ++j) {
        if (!op.operand(i)->type().is_tensor() || !op.operand(j)->type().is_tensor() ||
            &parameter_behind(*op.operand(i)) != &parameter_behind(*op.operand(j)))
          continue;
        if (direction(i) == Direction::in && direction(j) == Direction::in) continue;
        return error(op,
                     "call: " + to_string(parameter_behind(*op.operand(i))) + " is given as " + parameter(i) +
                         " and as " + parameter(j) + " of @" + callee.name() +
                         ", where a load of one would not see a store to the other; take it as one inout parameter",
                     {{"@" + callee.name() + " is defined here", callee.where}});
      }
  }

  std::optional<Direction> direction_of(Value const& value) const {
    Value const& tensor = parameter_behind(value);
    if (tensor.owner_block() != &function_->body()) return std::nullopt;
    return function_->parameter_attributes()[static_cast<std::size_t>(tensor.index())].direction;
  }

  /// Requires that the parameters whose memory an op reads and writes, by its record, may be read and written.
  void check_directions(Op const& op) {
    for (Effect const& effect : op.info().effects) {
      if (effect.space != Space::global || effect.operand < 0 || effect.operand >= op.operand_count()) continue;
      Value const& tensor = *op.operand(effect.operand);
      if (!tensor.type().is_tensor()) continue;
      std::optional<Direction> const direction = direction_of(tensor);
      if (effect.access == Access::read && direction == Direction::out)
        error(op, named(op, to_string(tensor) + " is an out parameter; only in and inout are read"));
      if (effect.access == Access::write && direction == Direction::in)
        error(op, named(op, to_string(tensor) + " is an in parameter; only out and inout are written"));
    }
  }

  void check_launch_statement(Op const& op) {
    if (!function_->is_kernel() || op.parent() != &function_->body())
      return error(op, named(op, "belongs into the outermost block of a kernel"));
    for (int i = 0; i < op.operand_count() && !found_.has_errors(); ++i)  // reads ops that must be well-formed
      if (std::string const reason = why_not_launchable(*op.operand(i)); !reason.empty()) error(op, named(op, reason));
    if (!op.is<GridOp>()) return;
    if (grid_ != nullptr) error(op, "grid: @" + function_->name() + " has two grids");
    grid_ = &op;
  }

  Module const& module_;
  Positions const* positions_;
  Diagnostics found_;
  Function const* function_ = nullptr;
  Op const* grid_ = nullptr;
  std::unordered_set<Value const*> visible_;
};

}  // namespace

Diagnostics verify(Module const& module, Positions const* positions) { return Verifier(module, positions).run(); }

}  // namespace tegula::ir
