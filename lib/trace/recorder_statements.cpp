// Records the statements of a trace: grid, requirements, loops and branches; and the end of the trace.
#include <fmt/format.h>

#include <algorithm>

#include "abi/tensor_facts.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/equal.hpp"
#include "ir/verify/verifier.hpp"
#include "trace/recorder_impl.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::trace {

void Recorder::grid(char const* word, Id const* extents, int rank, Handle* indices, location where) {
  if (impl_->traces == RegionKind::function)
    impl_->fail(fmt::format("{}{}: the grid is stated in the kernel, not in a function that it calls", word, at(where)),
                where);
  if (impl_->grid)
    impl_->fail(
        fmt::format("{}{}: the grid is already stated{}; a kernel states it once", word, at(where), at(*impl_->grid)),
        where);
  if (impl_->region != 0)
    impl_->fail(fmt::format("{}{}: the grid is stated outside of loops and branches", word, at(where)), where);
  for (int i = 0; i < rank; ++i) {
    if (auto const known = impl_->constant_of(extents[i]); known && *known <= 0)
      impl_->fail(fmt::format("{}{}: extent {} of axis {} does not give a block", word, at(where), *known, i), where);
    if (std::string const unknown = impl_->unknown_at_launch(extents[i]); !unknown.empty())
      impl_->fail(
          fmt::format("{}{}: extent of axis {} uses {}, which is not known at the launch", word, at(where), i, unknown),
          where);
  }
  // Grid dimension 0 is the last axis, which runs fastest; axes beyond three share dimension 2.
  auto const index = ir::Type::index();
  int const direct = rank <= 3 ? rank : 2;
  std::vector<Id> dimensions;
  for (int d = 0; d < direct; ++d) dimensions.push_back(extents[rank - 1 - d]);
  if (rank > 3) {
    Id product = extents[rank - 3];
    for (int i = rank - 4; i >= 0; --i) product = emit_scalar(ir::MulOp{}, {product, extents[i]}, index, where);
    dimensions.push_back(product);
  }
  ir::GridOp const op;
  impl_->add_effect(ir::OpKind::GridOp, &op, {dimensions.data(), static_cast<int>(dimensions.size())}, where);
  impl_->grid = where;
  if (impl_->eager != nullptr) impl_->eager->grid(impl_->numbers_of(dimensions));
  for (int d = 0; d < direct; ++d) indices[rank - 1 - d] = handle(block_index(d, where));
  if (rank > 3) {
    Id rest = block_index(2, where);
    for (int i = rank - 3; i > 0; --i) {
      indices[i] = handle(emit_scalar(ir::RemOp{}, {rest, extents[i]}, index, where));
      rest = emit_scalar(ir::DivOp{}, {rest, extents[i]}, index, where);
    }
    indices[0] = handle(rest);
  }
}

void Recorder::refuse_grid_axis(int axis, int rank) {
  impl_->fail(fmt::format("the grid stated{} has {} {}, but axis {} of it is used",
                          at(impl_->grid.value_or(location())), rank, rank == 1 ? "axis" : "axes", axis),
              impl_->grid.value_or(location()));
}

void Recorder::require(Id condition, char const* message, location where) {
  if (impl_->traces == RegionKind::function)
    impl_->fail(
        fmt::format("require{}: it is evaluated at the launch; write it in the kernel, not in a function", at(where)),
        where);
  if (impl_->region != 0)
    impl_->fail(
        fmt::format("require{}: it is evaluated at the launch; write it outside of loops and branches", at(where)),
        where);
  if (std::string const unknown = impl_->unknown_at_launch(condition); !unknown.empty())
    impl_->fail(fmt::format("require{}: the condition uses {}, which is not known at the launch", at(where), unknown),
                where);
  if (auto const known = impl_->constant_of(condition)) {
    if (*known == 0) impl_->fail(fmt::format("require{}: {}", at(where), message), where);
    return;
  }
  if (impl_->eager != nullptr && impl_->numbers_of({condition}).front() == 0)
    impl_->fail(fmt::format("require{}: {}", at(where), message), where);
  ir::RequireOp const op = ir::make_op<ir::RequireOp>(Symbol(message));
  impl_->add_effect(ir::OpKind::RequireOp, &op, {condition}, where);
}

void Recorder::require_fact(Handle parameter, int number, char const* fact, std::int64_t n, int axis) {
  location const where = impl_->where;
  Id const given = use(parameter, where);
  Id const value = axis < 0 ? given : extent(given, axis, where);
  ir::Type const own = type(value);
  auto const literal = [&](std::int64_t x) { return constant({Literal::Kind::integer, x, 0}, own, where); };
  bool const multiple = std::string_view(fact) == "multiple_of";
  Id const compared = multiple ? emit_scalar(ir::RemOp{}, {value, literal(n)}, own, where) : value;
  Id const condition = emit_scalar(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {compared, literal(multiple ? 0 : n)},
                                   ir::Type::scalar(Element::boolean), where);
  std::string const subject = axis < 0 ? std::string("the number") : fmt::format("the extent of axis {}", axis);
  std::string const expected = multiple ? fmt::format("a multiple of {}", n) : fmt::format("{}", n);
  require(
      condition,
      Symbol(fmt::format("argument {}: {} is not {}, as {}<{}> in its type states; pass {}, or leave the fact out of "
                         "the type",
                         number, subject, expected, fact, n, expected))
          .c_str(),
      where);
}

Id Recorder::block_index(int axis, location where) {
  return emit_scalar(ir::make_op<ir::BlockIndexOp>(std::int64_t{axis}), {}, ir::Type::index(), where);
}

void Recorder::device_assert(Id condition, char const* message, location where) {
  assert_that(condition, message, {}, false, where);
}

void Recorder::assert_that(Id condition, char const* message, Ids values, bool range, location where) {
  if (impl_->constant_of(condition).value_or(0) != 0) return;
  ir::AssertOp const op =
      ir::make_op<ir::AssertOp>(Symbol(message), Symbol(where.file()), std::int64_t{where.line()}, range);
  std::vector<Id> operands = {condition, block_index(0, where), block_index(1, where), block_index(2, where)};
  operands.insert(operands.end(), values.first, values.first + values.count);
  impl_->run(impl_->add_effect(ir::OpKind::AssertOp, &op, {operands.data(), static_cast<int>(operands.size())}, where));
  impl_->tells_host = true;
}

Id Recorder::stated_range(Id value, std::int64_t min, std::int64_t max, std::int64_t multiple, location where) {
  ir::Type const own = type(value), boolean = ir::Type::scalar(Element::boolean);
  auto const number = [&](std::int64_t x) { return constant({Literal::Kind::integer, x, 0}, own, where); };
  auto const compare = [&](ir::Predicate predicate, Id x, std::int64_t y) {
    return emit_scalar(ir::make_op<ir::CompareOp>(predicate), {x, number(y)}, boolean, where);
  };
  Id holds = emit_scalar(ir::AndOp{}, {compare(ir::Predicate::ge, value, min), compare(ir::Predicate::le, value, max)},
                         boolean, where);
  if (multiple > 1) {
    Id const rest = emit_scalar(ir::RemOp{}, {value, number(multiple)}, own, where);
    holds = emit_scalar(ir::AndOp{}, {holds, compare(ir::Predicate::eq, rest, 0)}, boolean, where);
  }
  std::string text = fmt::format("the loaded element is not in {} .. {}", min, max);
  if (multiple > 1) text += fmt::format(", or not a multiple of {}", multiple);
  assert_that(holds, (text + ": found").c_str(), {value}, true, where);
  Id const above = emit_scalar(ir::MaxOp{}, {value, number(min)}, own, where);
  Id const inside = emit_scalar(ir::MinOp{}, {above, number(max)}, own, where);
  if (multiple <= 1) return inside;
  Id const whole = emit_scalar(ir::DivOp{}, {inside, number(multiple)}, own, where);
  return emit_scalar(ir::MulOp{}, {whole, number(multiple)}, own, where);
}

void Recorder::device_print(char const* text, Ids values, location where) {
  ir::PrintOp const op = ir::make_op<ir::PrintOp>(Symbol(text));
  std::vector<Id> operands = {block_index(0, where), block_index(1, where), block_index(2, where)};
  for (int i = 0; i < values.count; ++i) {
    ir::Type const given = type(values.first[i]);
    bool const narrow = is_f8(given.element());
    operands.push_back(narrow ? emit(ir::CastOp{}, {values.first[i]}, given.with_element(Element::f32), where)
                              : values.first[i]);
  }
  impl_->run(impl_->add_effect(ir::OpKind::PrintOp, &op, {operands.data(), static_cast<int>(operands.size())}, where));
  impl_->tells_host = true;
}

void Recorder::record(ir::RecordEvent event, char const* name, Ids value, location where) {
  auto& open = impl_->open_records;
  if (event == ir::RecordEvent::start) {
    open.push_back({name, where, impl_->region});
  } else {
    auto const started = std::find_if(open.rbegin(), open.rend(), [&](Impl::OpenRecord const& part) {
      return part.name == name && part.region == impl_->region;
    });
    if (started == open.rend()) {
      auto const outside =
          std::find_if(open.rbegin(), open.rend(), [&](Impl::OpenRecord const& part) { return part.name == name; });
      if (outside != open.rend())
        impl_->fail(
            fmt::format("record{}: \"{}\" stops in {}, but started{} in {}; stop it there", at(where), name,
                        impl_->region_name(impl_->region), at(outside->where), impl_->region_name(outside->region)),
            where);
      impl_->fail(fmt::format("record{}: \"{}\" stops but has not started in {}; write record(start, \"{}\") before it",
                              at(where), name, impl_->region_name(impl_->region), name),
                  where);
    }
    open.erase(std::next(started).base());
  }
  ir::RecordOp op;
  op.event = event;
  op.name = Symbol(name);
  op.file = Symbol(where.file());
  op.line = where.line();
  impl_->run(impl_->add_effect(ir::OpKind::RecordOp, &op, value, where));
  impl_->tells_host = true;
}

void Recorder::end_region(char const* name, location where) noexcept {
  if (impl_->failed) return;
  try {
    record(ir::RecordEvent::stop, name, {}, where);
  } catch (UserError const&) {  // the end of the trace says so
  }
}

void Recorder::Impl::check_records() {
  for (OpenRecord const& part : open_records)
    if (part.region == region)
      fail(
          fmt::format("record{}: \"{}\" starts in {} but does not stop in it; write record(stop, \"{}\") on each path, "
                      "or use region",
                      at(part.where), part.name, region_name(region), part.name),
          part.where);
}

std::string Recorder::Impl::unknown_at_launch(Id expression) const {
  std::vector<Id> open = {expression};
  std::set<Id> seen;
  while (!open.empty()) {
    Id const id = open.back();
    open.pop_back();
    if (!seen.insert(id).second) continue;
    DraftValue const& v = value(id);
    if (!v.type.is_scalar()) return "a tile";
    if (is_float(v.type.element())) return "a floating value";
    Node const* node = draft.definition(id);
    if (node == nullptr && v.region != 0) return "a loop index";
    if (node == nullptr) continue;
    if (node->kind == ir::OpKind::ExtentOp) {
      if (draft.definition(node->operands[0]) == nullptr) continue;
      return "an extent of a slice";
    }
    if (node->kind == ir::OpKind::BlockIndexOp) return "a block index";
    if (node->kind == ir::OpKind::GridExtentOp) return "an extent of the grid";
    if (node->kind == ir::OpKind::LoadOp) return "an element of a tensor";
    open.insert(open.end(), node->operands.rbegin(), node->operands.rend());
  }
  return "";
}

void Recorder::Impl::require_positive(Id step, location place) {
  if (auto const known = constant_of(step)) {
    if (*known <= 0) fail(fmt::format("loop{}: the step is {}, but must be positive", at(place), *known), place);
    return;
  }
  bool const in_branch = std::any_of(statements.begin(), statements.end(), [&](int statement) {
    return draft.nodes[static_cast<std::size_t>(statement)].kind == ir::OpKind::IfOp;
  });
  if (traces == RegionKind::function || in_branch || !unknown_at_launch(step).empty()) return;
  if (!positive.insert(step).second) return;
  ir::ConstantOp const zero = ir::make_op<ir::ConstantOp>(ir::make_constant(Element::i64, std::int64_t{0}));
  int const bound = add_node(ir::OpKind::ConstantOp, &zero, {}, 0, place);
  ir::CompareOp const above = ir::make_op<ir::CompareOp>(ir::Predicate::gt);
  int const test = add_node(ir::OpKind::CompareOp, &above, {step, add_result(bound, ir::Type::index())}, 0, place);
  ir::RequireOp const op = ir::make_op<ir::RequireOp>(Symbol("loop: the step must be positive"));
  int const check =
      add_node(ir::OpKind::RequireOp, &op, {add_result(test, ir::Type::scalar(Element::boolean))}, 0, place);
  // Inserted before the loop, or the one around it that the kernel's body holds.
  auto& body = draft.regions[0].effects;
  body.insert(body.end() - (statements.empty() ? 0 : 1), check);
}

void Recorder::begin_loop(Id lower, Id upper, Id step, Ids inits, LoopHints const& hints, location where) {
  impl_->require_positive(step, where);
  std::vector<Id> operands = {lower, upper, step};
  operands.insert(operands.end(), inits.first, inits.first + inits.count);
  ir::ForOp const op = ir::make_op<ir::ForOp>(hints.stages, hints.exactly, hints.distance, hints.unroll);
  int const node =
      impl_->add_effect(ir::OpKind::ForOp, &op, {operands.data(), static_cast<int>(operands.size())}, where);
  impl_->statements.push_back(node);
  int const body = impl_->open_region(RegionKind::loop, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(body);
  impl_->draft.values[static_cast<std::size_t>(impl_->add_argument(ir::Type::index(), where))].range =
      ir::counter_range(impl_->value(lower).range, impl_->value(upper).range, impl_->value(step).range);
  for (int i = 0; i < inits.count; ++i) impl_->add_argument(ir::Type(impl_->value(inits.first[i]).type), where);
  impl_->start_loop(lower, upper, step, inits);
}

Id Recorder::region_argument(int i) const { return impl_->current().arguments[static_cast<std::size_t>(i)]; }

void Recorder::begin_repeat(Ids inits, location where) {
  ir::RepeatOp const op;
  int const node = impl_->add_effect(ir::OpKind::RepeatOp, &op, inits, where);
  impl_->statements.push_back(node);
  int const body = impl_->open_region(RegionKind::loop, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(body);
  for (int i = 0; i < inits.count; ++i) impl_->add_argument(ir::Type(impl_->value(inits.first[i]).type), where);
  if (impl_->eager == nullptr) return;
  impl_->running.emplace_back();
  impl_->bind_arguments(impl_->made_of(inits));
}

Id Recorder::end_repeat(Id again, Ids yields) {
  auto& list = impl_->current().yields;
  Id const first = end_loop(yields);
  list.insert(list.begin(), again);
  return first;
}

Id Recorder::end_loop(Ids yields) {
  int const node = impl_->statements.back();
  impl_->statements.pop_back();
  impl_->check_records();
  Region& body = impl_->current();
  body.yields.assign(yields.first, yields.first + yields.count);
  body.open = false;
  impl_->region = body.parent;
  Id first = -1;
  for (int i = 0; i < yields.count; ++i) {
    Id const id = impl_->add_result(node, ir::Type(impl_->value(yields.first[i]).type));
    if (i == 0) first = id;
    if (impl_->eager != nullptr) impl_->bind(id, impl_->made[static_cast<std::size_t>(yields.first[i])]);
  }
  if (impl_->eager != nullptr) impl_->running.pop_back();
  return first;
}

void Recorder::begin_if(Id condition, location where) {
  ir::IfOp const op;
  int const node = impl_->add_effect(ir::OpKind::IfOp, &op, {condition}, where);
  impl_->statements.push_back(node);
  int const branch = impl_->open_region(RegionKind::then_branch, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(branch);
  if (impl_->eager == nullptr) return;
  impl_->running.emplace_back();
  impl_->running.back().runs = impl_->numbers_of({condition}).front() != 0;
}

void Recorder::begin_else(Ids then_yields) {
  impl_->check_records();
  int const node = impl_->statements.back();
  Region& then = impl_->current();
  then.yields.assign(then_yields.first, then_yields.first + then_yields.count);
  then.open = false;
  if (impl_->eager != nullptr) impl_->running.back().then_yields = then.yields;
  location const where = then.where;
  impl_->region = then.parent;
  int const branch = impl_->open_region(RegionKind::else_branch, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(branch);
}

Id Recorder::end_if(Ids else_yields) {
  if (takes(false)) return end_loop(else_yields);
  std::vector<Id> const taken = impl_->running.back().then_yields;
  return end_loop({taken.data(), static_cast<int>(taken.size())});
}

void Recorder::Impl::check_whole() const {
  if (failed) throw UserError(title() + ": the lambda caught an error of its trace and went on", where);
}

ir::Function& Recorder::Impl::emit(std::string const& unique_name) {
  ir::Function& function = module->add_function(
      unique_name, traces == RegionKind::kernel ? ir::FunctionKind::kernel : ir::FunctionKind::device);
  function.where = where;
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    ir::Type const& type = value(draft.regions[0].arguments[i]).type;
    std::string const word(type.is_tile() ? "tile" : type.is_scalar() ? "arg" : tegula::name(attributes[i].direction));
    function.add_parameter(type, attributes[i], fmt::format("{}{}", word, i));
  }
  for (Id const result : draft.regions[0].yields) function.results.push_back(value(result).type);
  emit_draft(draft, function);
  return function;
}

ir::Function& Recorder::Impl::emit_once(ir::Module& into, std::string const& wanted, ir::Inline inlining) {
  auto const numbered = [&](int number) { return number == 0 ? wanted : fmt::format("{}_{}", wanted, number); };
  int number = 0;
  while (into.find(numbered(number)) != nullptr) ++number;
  ir::Function& function = emit(numbered(number));
  function.inlining = inlining;
  for (int i = 0; i < number; ++i)
    if (ir::Function* const earlier = into.find(numbered(i));
        earlier != nullptr && ir::equal_but_name(*earlier, function)) {
      into.erase(function);
      return *earlier;
    }
  return function;
}

void Recorder::Impl::check_passed_tensor(Impl const& callee, std::vector<Id> const& operands) {
  auto const parameter = operands.size() - 1;
  auto const writes = [&](std::size_t i) { return callee.attributes[i].direction != Direction::in; };
  for (std::size_t earlier = 0; earlier < parameter; ++earlier)
    if (value(operands[earlier]).type.is_tensor() &&
        parameter_behind(operands[earlier]) == parameter_behind(operands[parameter]) &&
        (writes(earlier) || writes(parameter)))
      fail(fmt::format("function '{}': arguments {} and {} are slices of one tensor, or a tensor and a slice "
                       "of it, and one of them is written; pass the tensor once and slice it in the function",
                       callee.name, earlier + 1, parameter + 1),
           callee.where);
}

template <class Use>
Recorder::Impl::Passed Recorder::Impl::passed_arguments(Impl const& callee, std::span<Handle const> arguments,
                                                        Use const& use) {
  Passed passed;
  for (Handle const& handle : arguments) {
    Id const argument = use(handle);
    auto const parameter = passed.operands.size();
    bool const is_tensor = value(argument).type.is_tensor();
    auto const named = callee.written_arguments.find({handle.trace, handle.value});
    if (is_tensor && named != callee.written_arguments.end() && named->second.value != static_cast<Id>(parameter))
      continue;  // handed over once more
    passed.operands.push_back(argument);
    if (!is_tensor) continue;
    check_passed_tensor(callee, passed.operands);
    passed.writes = passed.writes || callee.attributes[parameter].direction != Direction::in;
    if (callee.last_store.count(static_cast<Id>(parameter)) != 0) passed.written.push_back(argument);
  }
  return passed;
}

Id Recorder::Impl::add_results(int node, Impl const& callee, Ids results) {
  Id first = -1;
  for (int i = 0; i < results.count; ++i) {
    Id const id = add_result(node, ir::Type(callee.value(results.first[i]).type));
    if (eager != nullptr) bind(id, callee.made[static_cast<std::size_t>(results.first[i])]);
    if (i == 0) first = id;
  }
  return first;
}

Id Recorder::call(Recorder& of, FunctionInline inlining, Handle const* arguments, int count, Ids results) {
  Impl& inside = *of.impl_;
  inside.check_whole();
  inside.check_records();
  inside.draft.regions[0].yields.assign(results.first, results.first + results.count);
  inside.draft.regions[0].open = false;
  if (impl_->eager != nullptr) {  // its ops have run
    ir::CallOp const none;
    int const node = impl_->add_node(ir::OpKind::CallOp, &none, {nullptr, 0}, impl_->region, inside.where);
    return impl_->add_results(node, inside, results);
  }
  std::string const wanted = inside.name == impl_->kernel ? inside.name + "_function" : inside.name;
  ir::Function const& function = inside.emit_once(*impl_->module, wanted, static_cast<ir::Inline>(inlining));
  impl_->tells_host = impl_->tells_host || inside.tells_host;
  auto const passed = impl_->passed_arguments(inside, {arguments, static_cast<std::size_t>(count)},
                                              [&](Handle const& handle) { return use(handle, inside.where); });
  ir::CallOp op;
  op.callee = Symbol(function.name());
  Ids const operands(passed.operands.data(), static_cast<int>(passed.operands.size()));
  bool const statement = results.count == 0 || inside.tells_host || inside.orders_memory || passed.writes;
  int const node = statement ? impl_->add_effect(ir::OpKind::CallOp, &op, operands, inside.where)
                             : impl_->add_node(ir::OpKind::CallOp, &op, operands, impl_->region, inside.where);
  for (Id const tensor : passed.written) impl_->mark_written(node, tensor, inside.where);
  if (inside.orders_memory) impl_->mark_all_written(node, inside.where);
  return impl_->add_results(node, inside, results);
}

TracedKernel Recorder::finish() {
  impl_->check_whole();
  impl_->check_records();
  if (!impl_->grid)
    impl_->fail("no grid is stated; write `auto g = grid_over(output, shape<...>)` or `auto g = grid(...)` first",
                impl_->where);
  if (impl_->eager != nullptr) return TracedKernel(nullptr);
  auto* traced = new TracedKernel::Impl;
  TracedKernel result(traced);
  traced->name = impl_->name;
  traced->where = impl_->where;
  traced->parameters = impl_->parameters;
  impl_->emit(impl_->name);
  traced->module = std::move(*impl_->module);
  support::throw_internal_error(ir::verify(traced->module), "trace of kernel '" + impl_->name + "'");
  return result;
}

}  // namespace tegula::trace
