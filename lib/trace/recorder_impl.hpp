// Holds a Recorder's state: the draft, the facts of parameters and stores, and its failures.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "ir/core/builder.hpp"
#include "ir/text/text.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"
#include "trace/draft.hpp"
#include "trace/eager.hpp"

namespace tegula::trace {

// Prints " at file.cpp:12", or nothing for an unknown place.
inline std::string at(location where) {
  std::string const text = support::to_string(where);
  return text.empty() ? text : " at " + text;
}

struct Recorder::Impl {
  std::string name;
  location where;
  RegionKind traces = RegionKind::kernel;  ///< or a function
  std::string kernel;                      ///< the name of the one that is traced
  std::shared_ptr<ir::Module> module;      ///< of the kernel, with the functions that it calls so far
  std::uint32_t trace = 0;
  Recorder* outer = nullptr;
  bool failed = false;
  bool tells_host = false;     ///< asserts, prints or records, also in functions that it calls
  bool orders_memory = false;  ///< has atomics with an order, also in functions that it calls
  Draft draft;
  int region = 0;
  int effects = 0;
  std::vector<ir::ParameterAttributes> attributes;
  std::vector<ParameterInfo> parameters;
  std::map<std::pair<std::uint32_t, Id>, Handle> written_arguments;  ///< of a function: by the caller's trace and value
  struct LastStore {
    int effects_before = -1;
    location where;
  };
  std::map<Id, LastStore> last_store;
  std::map<std::tuple<ir::OpKind, std::vector<std::byte>, std::vector<Id>, std::uint8_t>, Id> scalars;
  std::optional<location> grid;
  struct OpenRecord {
    std::string name;
    location where;
    int region = 0;
  };
  std::vector<OpenRecord> open_records;  ///< parts that have started and not stopped
  /// Throws where a part that started in the current region does not stop in it.
  void check_records();
  std::vector<int> statements;  // nodes of the loops and branches that are open
  std::set<Id> positive;        // steps that are checked at the launch

  // The debug device: ops run as they are recorded.
  Eager* eager = nullptr;        ///< null: they are only recorded
  std::vector<ir::Value*> made;  ///< by Id: the value that the executor holds
  /// Is a loop or branch whose bodies are being called.
  struct Running {
    std::int64_t at = 0, upper = 0, step = 0;  ///< of a loop
    bool runs = true;                          ///< the loop has an iteration; the then branch is taken
    std::vector<Id> then_yields;
  };
  std::vector<Running> running;
  void bind(Id id, ir::Value* to);
  /// Binds a parameter of a function to the value that it gets.
  void bind_to_caller(Id id, Handle in_caller);
  ir::Value* append(ir::OpKind kind, void const* attribute_struct, std::vector<ir::Value*> const& operands,
                    std::vector<ir::Type> const& results, location place);
  /// Runs a node without regions, if there is an executor.
  void run(int node);
  void start_loop(Id lower, Id upper, Id step, Ids inits);
  void bind_counter();
  /// Binds the last arguments of the current region.
  void bind_arguments(std::vector<ir::Value*> const& values);
  [[nodiscard]] std::vector<ir::Value*> made_of(Ids ids) const;
  [[nodiscard]] std::vector<std::int64_t> numbers_of(std::vector<Id> const& ids) const;

  [[noreturn]] void fail(std::string const& text, location place) {
    failed = true;
    throw UserError(fmt::format("{}: {}", title(), text), place);
  }
  std::string title() const {
    return fmt::format("{} '{}'", traces == RegionKind::function ? "function" : "kernel", name);
  }

  /// Throws UserError where an error of this trace was caught before its end.
  void check_whole() const;
  /// Emits the trace as a function of the module.
  ir::Function& emit(std::string const& unique_name);
  /// Emits the trace as a function of the caller's module; returns an earlier one that is equal but for its name.
  ir::Function& emit_once(ir::Module& into, std::string const& wanted, ir::Inline inlining);
  /// Holds what a call passes to a function.
  struct Passed {
    std::vector<Id> operands;
    std::vector<Id> written;  ///< tensors that the function stores to
    bool writes = false;      ///< some tensor is no `in`
  };
  /// Lists the operands of a call; a tensor that is handed over once more is left out.
  template <class Use>
  Passed passed_arguments(Impl const& callee, std::span<Handle const> arguments, Use const& use);
  /// Checks that the last operand, a tensor, shares no bytes with an earlier one where the function writes either.
  void check_passed_tensor(Impl const& callee, std::vector<Id> const& operands);
  /// Adds the results of a call; returns the first one, -1: there is none.
  Id add_results(int node, Impl const& callee, Ids results);

  DraftValue const& value(Id id) const { return draft.values[static_cast<std::size_t>(id)]; }
  Region& current() { return draft.regions[static_cast<std::size_t>(region)]; }
  Region const& region_of(int number) const { return draft.regions[static_cast<std::size_t>(number)]; }

  std::string region_name(int number) const {
    Region const& r = region_of(number);
    switch (r.kind) {
      case RegionKind::kernel:
      case RegionKind::function:
        return "the body of " + title();
      case RegionKind::loop:
        return "the loop" + at(r.where);
      case RegionKind::then_branch:
        return "the then branch of the if_" + at(r.where);
      case RegionKind::else_branch:
        return "the else branch of the if_" + at(r.where);
    }
    return {};
  }

  /// Names a region, and a place in it unless that is the line of its name.
  std::string place_in(int number, location spot) const {
    std::string const named = region_name(number), place = at(spot);
    return named.ends_with(place) ? named : named + place;
  }

  int open_region(RegionKind kind, location place) {
    Region r;
    r.kind = kind;
    r.parent = draft.regions.empty() ? -1 : region;
    r.depth = r.parent < 0 ? 0 : region_of(r.parent).depth + 1;
    if (r.depth >= ir::max_nesting)
      fail(fmt::format("loops and branches nested {} deep{}; a kernel may nest {}", r.depth, at(place),
                       ir::max_nesting - 1),
           place);
    r.where = place;
    draft.regions.push_back(std::move(r));
    region = static_cast<int>(draft.regions.size()) - 1;
    return region;
  }

  static ir::IntegerRange range_of(ir::Type const& type) {
    return type.is_scalar() ? ir::full_range(type.element()) : ir::IntegerRange();
  }
  /// Returns the range of a scalar op's result from those of its operands.
  [[nodiscard]] ir::IntegerRange range_of(ir::OpKind kind, void const* attribute_struct, Ids operands,
                                          ir::Type const& result) const;

  Id add_argument(ir::Type const& type, location place) {
    draft.values.push_back({type, -1, 0, region, place, range_of(type)});
    Id const id = static_cast<Id>(draft.values.size()) - 1;
    current().arguments.push_back(id);
    return id;
  }

  int add_node(ir::OpKind kind, void const* attribute_struct, Ids operands, int in_region, location place) {
    Node node;
    node.kind = kind;
    auto const* bytes = static_cast<std::byte const*>(attribute_struct);
    node.attributes.assign(bytes, bytes + ir::op_info(kind).size);
    node.operands.assign(operands.first, operands.first + operands.count);
    node.region = in_region;
    node.where = place;
    node.effects_before = effects;
    draft.nodes.push_back(std::move(node));
    return static_cast<int>(draft.nodes.size()) - 1;
  }

  Id add_result(int node, ir::Type const& type) {
    Node& n = draft.nodes[static_cast<std::size_t>(node)];
    draft.values.push_back({type, node, n.result_count, n.region, n.where, range_of(type)});
    Id const id = static_cast<Id>(draft.values.size()) - 1;
    if (n.result_count++ == 0) n.first_result = id;
    return id;
  }

  /// Throws where a read written at that epoch can no longer be recorded: outside its region, or after a store.
  void check_epoch(Id source, Epoch written, location place, location recorded);
  /// Returns a pad in the bits of the element; `word` names the function in the message.
  ir::Constant pad_of(char const* word, Literal pad, Element element, location place);
  /// Adds a load or gather whose first operand is the tensor.
  Id add_read(ir::OpKind kind, void const* attribute_struct, std::vector<Id> const& operands, Epoch written,
              ir::Type const& result, location place);

  int add_effect(ir::OpKind kind, void const* attribute_struct, Ids operands, location place) {
    int const node = add_node(kind, attribute_struct, operands, region, place);
    current().effects.push_back(node);
    ++effects;
    return node;
  }

  /// Returns the parameter that a tensor is, or is a slice of.
  [[nodiscard]] Id parameter_behind(Id tensor) const {
    for (;;) {
      Node const* const slice = draft.definition(tensor);
      if (slice == nullptr) return tensor;
      tensor = slice->operands[0];
    }
  }

  /// Marks that a statement, and those around it, store to a tensor.
  void mark_written(int statement, Id named, location place) {
    Id const tensor = parameter_behind(named);
    last_store[tensor] = {effects - 1, place};
    auto const mark = [&](int of) {
      auto& written = draft.nodes[static_cast<std::size_t>(of)].written;
      if (written.empty() || written.back() != tensor) written.push_back(tensor);
    };
    mark(statement);
    for (int around : statements) mark(around);
  }

  /// Marks the same of all tensors that may be written: loads keep their side of an atomic with an order.
  void mark_all_written(int statement, location place) {
    orders_memory = true;
    for (Id const parameter : region_of(0).arguments)
      if (value(parameter).type.is_tensor() &&
          attributes[static_cast<std::size_t>(parameter)].direction != Direction::in)
        mark_written(statement, parameter, place);
  }

  std::optional<std::int64_t> constant_of(Id id) const {
    Node const* node = draft.definition(id);
    if (node == nullptr || node->kind != ir::OpKind::ConstantOp) return std::nullopt;
    ir::Constant number;
    std::memcpy(&number, node->attributes.data(), sizeof number);
    if (!is_integer(number.element) && number.element != Element::boolean) return std::nullopt;
    return ir::to_int(number);
  }

  /// Names the part of an expression that the host cannot know before the launch; empty when it can be evaluated.
  std::string unknown_at_launch(Id expression) const;
  /// Requires that a loop's step is positive. It refuses a step known not to be, and checks it at the launch where the
  /// host knows it then. Loops in branches, which may guard them, and in functions have no check at the launch.
  void require_positive(Id step, location place);
};

}  // namespace tegula::trace
