#include "tegula/trace/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>

#include "abi/launch_steps.hpp"
#include "support/float_range.hpp"
#include "support/identifier.hpp"
#include "support/locks.hpp"
#include "trace/recorder_impl.hpp"

namespace tegula::trace {

namespace {

thread_local Recorder* active_recorder = nullptr;

constinit support::Lock trace_names_lock;

// Keeps the names of the latest traces, for messages about tiles that strayed into another kernel.
class TraceNames {
 public:
  void add(std::uint32_t trace, std::string name) {
    std::scoped_lock const lock(trace_names_lock);
    names_[trace % names_.size()] = {trace, std::move(name)};
  }
  std::string find(std::uint32_t trace) {
    std::scoped_lock const lock(trace_names_lock);
    auto const& [number, name] = names_[trace % names_.size()];
    return number == trace && trace != 0 ? name : "another kernel";
  }

 private:
  std::array<std::pair<std::uint32_t, std::string>, 256> names_;
};

TraceNames& trace_names() {
  static constinit support::Lasting<TraceNames> names;
  return names.get();
}

/// Places tiles outside of every tensor, with room for sums of a few such places.
constexpr std::int64_t far_outside = std::int64_t{1} << 61;

std::uint32_t next_trace() {
  static constinit std::atomic<std::uint32_t> count = 0;
  return ++count;
}

std::string describe(Literal value) {
  if (value.kind == Literal::Kind::floating) return fmt::format("{}", value.floating);
  if (value.kind == Literal::Kind::boolean) return value.integer != 0 ? "true" : "false";
  if (value.kind == Literal::Kind::natural) return fmt::format("{}", static_cast<std::uint64_t>(value.integer));
  return fmt::format("{}", value.integer);
}

// Holds a number of the kernel's text, rounded to the nearest of the element; or why it does not fit.
struct Fitted {
  std::optional<ir::Constant> bits;
  std::string reason;
};

Fitted fit(Literal value, Element element) {
  bool const boolean = value.kind == Literal::Kind::boolean, floating = value.kind == Literal::Kind::floating,
             natural = value.kind == Literal::Kind::natural;
  if (boolean != (element == Element::boolean) || (floating && !is_float(element))) return {};
  if (!is_float(element)) {
    ir::Constant const result = ir::make_constant(element, value.integer);
    if (element == Element::u64) return natural || value.integer >= 0 ? Fitted{result, ""} : Fitted{};
    if (boolean || (!natural && ir::to_int(result) == value.integer)) return {result, ""};
    return {};
  }
  bool const negative = !natural && value.integer < 0;
  auto const raw = static_cast<std::uint64_t>(value.integer);
  double const exact = floating                  ? value.floating
                       : element != Element::f64 ? support::shortened_integer(negative, negative ? 0 - raw : raw)
                       : natural                 ? static_cast<double>(raw)
                                                 : static_cast<double>(value.integer);
  ir::Constant const result = ir::make_constant(element, exact);
  auto const [max, beyond] = support::float_range(element);
  if (std::isfinite(exact) && std::abs(exact) >= beyond) return {{}, fmt::format(", which ends at {:.6g}", max)};
  if (exact != 0 && ir::to_double(result) == 0) return {{}, ", which would round it to 0"};
  return {result, ""};
}

// Returns the attributes of a scalar op as bytes that compare equal when the fields do; the struct itself has padding.
std::vector<std::byte> field_bytes(ir::OpKind kind, void const* attributes) {
  std::vector<std::byte> result;
  auto const append = [&](auto const& value) {
    auto const* bytes = reinterpret_cast<std::byte const*>(&value);
    result.insert(result.end(), bytes, bytes + sizeof value);
  };
  for (ir::FieldRef const& field : ir::fields_of(kind, const_cast<void*>(attributes))) {
    switch (field.kind) {
      case ir::FieldKind::boolean:
        append(*static_cast<bool const*>(field.data));
        break;
      case ir::FieldKind::integer:
        append(*static_cast<std::int64_t const*>(field.data));
        break;
      case ir::FieldKind::enumeration:
      case ir::FieldKind::element:
        append(*static_cast<std::uint8_t const*>(field.data));
        break;
      case ir::FieldKind::constant:
        append(static_cast<ir::Constant const*>(field.data)->bits);
        break;
      case ir::FieldKind::extents:
        for (std::int64_t extent : *static_cast<Extents const*>(field.data)) append(extent);
        break;
      case ir::FieldKind::symbol:
        append(static_cast<Symbol const*>(field.data)->c_str());
        break;
    }
  }
  return result;
}

// Folds an i64 op on constants; none where folding would only repeat work of the passes.
std::optional<std::int64_t> fold(ir::OpKind kind, std::int64_t a, std::int64_t b) {
  std::optional<LaunchOp> const step = ir::op_info(kind).launch;
  if (!step) return std::nullopt;
  auto const is_one_of = [&](std::initializer_list<LaunchOp> ops) {
    return std::find(ops.begin(), ops.end(), *step) != ops.end();
  };
  bool const divides = is_one_of({LaunchOp::div, LaunchOp::rem, LaunchOp::ceil_div}) && b > 0 && a >= 0;
  bool const folds = divides || is_one_of({LaunchOp::add, LaunchOp::sub, LaunchOp::mul, LaunchOp::min, LaunchOp::max});
  return folds ? std::optional(abi::apply(*step, a, b)) : std::nullopt;
}

// Tell whether an op of i64 returns its other operand when this one is the number.
bool is_neutral_right(ir::OpKind kind, std::optional<std::int64_t> number) {
  if (number == 1) return kind == ir::OpKind::MulOp || kind == ir::OpKind::DivOp || kind == ir::OpKind::CeilDivOp;
  return number == 0 && (kind == ir::OpKind::AddOp || kind == ir::OpKind::SubOp);
}
bool is_neutral_left(ir::OpKind kind, std::optional<std::int64_t> number) {
  return (number == 1 && kind == ir::OpKind::MulOp) || (number == 0 && kind == ir::OpKind::AddOp);
}

}  // namespace

Recorder::Recorder(char const* name, location where) : impl_(new Impl) {
  impl_->name = name;
  impl_->where = where;
  if (!support::is_identifier(impl_->name)) {
    std::string const text =
        fmt::format("kernel name '{}' must be letters, digits and _, not starting with a digit", name);
    delete impl_;
    throw UserError(text, where);
  }
  impl_->kernel = impl_->name;
  impl_->module = std::make_shared<ir::Module>();
  begin(RegionKind::kernel);
}

Recorder::Recorder(Recorder& caller, char const* name, location where) : impl_(new Impl) {
  impl_->name = name;
  impl_->where = where;
  impl_->kernel = caller.impl_->kernel;
  impl_->module = caller.impl_->module;
  begin(RegionKind::function);
}

void Recorder::begin(RegionKind kind) {
  impl_->traces = kind;
  impl_->eager = eager();
  impl_->trace = next_trace();
  trace_names().add(impl_->trace, impl_->title());
  impl_->open_region(kind, impl_->where);
  impl_->outer = active_recorder;
  active_recorder = this;
}

Recorder::~Recorder() {
  active_recorder = impl_->outer;
  delete impl_;
}

Recorder& Recorder::current(char const* word, location where) {
  if (active_recorder == nullptr)
    throw UserError(
        fmt::format("{}: no kernel is being traced here; tiles live in the lambda given to kernel(...)", word), where);
  return *active_recorder;
}

Recorder* Recorder::active() noexcept { return active_recorder; }

std::int32_t Recorder::home() noexcept { return active_recorder == nullptr ? -1 : active_recorder->impl_->region; }

Handle Recorder::tensor_parameter(Element element, int rank, Direction direction, std::int64_t multiple_of) {
  ir::ParameterAttributes attributes;
  attributes.direction = direction;
  attributes.multiple_of = multiple_of;
  impl_->attributes.push_back(attributes);
  impl_->parameters.push_back({ParameterKind::tensor, direction, element, rank, {}});
  Id const id = impl_->add_argument(ir::Type::tensor(element, rank), impl_->where);
  if (impl_->eager != nullptr && impl_->traces == RegionKind::kernel)
    impl_->bind(id, &impl_->eager->parameter(impl_->value(id).type, attributes));
  return handle(id);
}

Handle Recorder::tensor_argument(Handle in_caller, Element element, int rank, Direction direction,
                                 std::int64_t multiple_of) {
  auto const fresh_parameter = [&] {
    Handle const made = tensor_parameter(element, rank, direction, multiple_of);
    impl_->bind_to_caller(made.value, in_caller);
    return made;
  };
  if (direction == Direction::in) return fresh_parameter();
  auto const [entry, fresh] = impl_->written_arguments.try_emplace({in_caller.trace, in_caller.value});
  if (fresh) entry->second = fresh_parameter();
  return entry->second;
}

Handle Recorder::scalar_parameter(Element element, Handle in_caller) {
  impl_->attributes.emplace_back();
  impl_->parameters.push_back({ParameterKind::scalar, Direction::in, element, 0, {}});
  Id const id = impl_->add_argument(ir::Type::scalar(element), impl_->where);
  if (impl_->traces == RegionKind::function)
    impl_->bind_to_caller(id, in_caller);
  else if (impl_->eager != nullptr)
    impl_->bind(id, &impl_->eager->parameter(impl_->value(id).type, impl_->attributes.back()));
  return handle(id);
}

Handle Recorder::tile_parameter(ir::Type const& type, Handle in_caller) {
  impl_->attributes.emplace_back();
  Id const id = impl_->add_argument(type, impl_->where);
  impl_->bind_to_caller(id, in_caller);
  return handle(id);
}

Handle Recorder::handle(Id value) const { return {value, impl_->trace}; }

ir::Type Recorder::type(Id value) const { return impl_->value(value).type; }

Id Recorder::use(Handle value, location where) {
  if (value.trace != impl_->trace || value.value < 0) {
    if (value.value < 0)
      impl_->fail("an undefined value (moved-from or default-constructed) is used" + at(where), where);
    impl_->fail(
        fmt::format("a value of {} is used{}: tiles, indices and parameters belong to the kernel that defines them",
                    trace_names().find(value.trace), at(where)),
        where);
  }
  DraftValue const& v = impl_->value(value.value);
  if (!impl_->draft.lies_in(impl_->region, v.region)) {
    bool const branch = impl_->region_of(v.region).kind != RegionKind::loop;
    impl_->fail(
        fmt::format(
            "a value defined in {}{} is used outside of it, in {}: {}", impl_->region_name(v.region),
            v.where.known() ? fmt::format(" (line {})", v.where.line()) : "", impl_->place_in(impl_->region, where),
            branch ? "return it from both branches and use the result of if_" : "carry it, and use the result of loop"),
        where);
  }
  return value.value;
}

void Recorder::check_assign(std::uint32_t trace, std::int32_t home, location where) {
  if (trace != impl_->trace || home < 0 || home == impl_->region || !impl_->draft.lies_in(impl_->region, home)) return;
  impl_->fail(fmt::format("a tile variable of {} is assigned in {}: carry it: pass it to loop or return it from if_, "
                          "and assign the result",
                          impl_->region_name(home), impl_->place_in(impl_->region, where)),
              where);
}

Id Recorder::emit_op(ir::OpKind kind, void const* attributes, Ids operands, ir::Type const& result, location where) {
  int const node = impl_->add_node(kind, attributes, operands, impl_->region, where);
  Id const id = impl_->add_result(node, result);
  impl_->run(node);
  return id;
}

Id Recorder::emit_scalar_op(ir::OpKind kind, void const* attributes, Ids operands, ir::Type const& result,
                            location where) {
  if (operands.count == 2 && result == ir::Type::index()) {
    auto const a = impl_->constant_of(operands.first[0]);
    auto const b = impl_->constant_of(operands.first[1]);
    if (a && b)
      if (auto const folded = fold(kind, *a, *b)) return constant({Literal::Kind::integer, *folded, 0}, result, where);
    if (is_neutral_right(kind, b)) return operands.first[0];
    if (is_neutral_left(kind, a)) return operands.first[1];
  }
  auto const key =
      std::tuple(kind, field_bytes(kind, attributes), std::vector<Id>(operands.first, operands.first + operands.count),
                 static_cast<std::uint8_t>(result.element()));
  auto const found = impl_->scalars.find(key);
  // Where ops run at once, a value of an earlier iteration is another one.
  if (found != impl_->scalars.end() && impl_->eager == nullptr) return found->second;
  int deepest = 0;
  for (int i = 0; i < operands.count; ++i) {
    int const region = impl_->value(operands.first[i]).region;
    if (impl_->region_of(region).depth > impl_->region_of(deepest).depth) deepest = region;
  }
  int const node = impl_->add_node(kind, attributes, operands, deepest, where);
  Id const id = impl_->add_result(node, result);
  impl_->draft.values.back().range = impl_->range_of(kind, attributes, operands, result);
  impl_->run(node);
  impl_->scalars.emplace(key, id);
  return id;
}

ir::IntegerRange Recorder::Impl::range_of(ir::OpKind kind, void const* attribute_struct, Ids operands,
                                          ir::Type const& result) const {
  Element const element = result.element();
  if (!is_integer(element)) return range_of(result);
  if (auto const source = ir::source_range(kind)) return *source;
  auto const operand = [&](int i) -> DraftValue const& { return value(operands.first[i]); };
  if (kind == ir::OpKind::ConstantOp) {
    ir::ConstantOp number;
    std::memcpy(&number, attribute_struct, sizeof number);
    return {ir::to_int(number.value), ir::to_int(number.value)};
  }
  if (kind == ir::OpKind::CastOp && is_integer(operand(0).type.element()))
    return ir::cast_range(operand(0).range, element).range;
  if (operands.count != 2) return range_of(result);
  return ir::arithmetic_range(kind, operand(0).range, operand(1).range, element).range;
}

Id Recorder::constant(Literal value, ir::Type const& type, location where) {
  auto const [bits, reason] = fit(value, type.element());
  if (!bits)
    impl_->fail(fmt::format("the scalar {} does not fit the element {}{}{}", describe(value), name(type.element()),
                            reason, at(where)),
                where);
  ir::ConstantOp const op = ir::make_op<ir::ConstantOp>(*bits);
  return type.is_scalar() ? emit_scalar(op, {}, type, where) : emit(op, {}, type, where);
}

Id Recorder::adapt(Id value, ir::Type const& wanted, location where) {
  ir::Type const type = impl_->value(value).type;
  if (type == wanted) return value;
  if (type.is_scalar()) {
    Id const scalar = type.element() == wanted.element()
                          ? value
                          : emit_scalar(ir::CastOp{}, {value}, ir::Type::scalar(wanted.element()), where);
    return wanted.is_scalar() ? scalar : emit(ir::SplatOp{}, {scalar}, wanted, where);
  }
  return emit(ir::BroadcastOp{}, {value}, wanted, where);
}

Id Recorder::extent(Id tensor, int axis, location where) {
  int const rank = impl_->value(tensor).type.rank();
  if (axis < -rank || axis >= rank)
    impl_->fail(fmt::format("extent({}): the tensor has {} axes{}", axis, rank, at(where)), where);
  std::int64_t const along = axis < 0 ? axis + rank : axis;
  // A slice has the extents of its tensor along the other axes.
  for (;;) {
    Node const* const slice = impl_->draft.definition(tensor);
    if (slice == nullptr) break;
    ir::SliceOp op;
    std::memcpy(&op, slice->attributes.data(), sizeof op);
    if (op.axis == along) break;
    tensor = slice->operands[0];
  }
  return emit_scalar(ir::make_op<ir::ExtentOp>(along), {tensor}, ir::Type::index(), where);
}

Id Recorder::slice(Id tensor, int axis, Id begin, Id end, location where) {
  return emit_scalar(ir::make_op<ir::SliceOp>(std::int64_t{axis}), {tensor, begin, end},
                     ir::Type(impl_->value(tensor).type), where);
}

Id Recorder::index_value(Coordinate const& coordinate, location where) {
  if (!coordinate.is_traced) return constant({coordinate.kind, coordinate.number, 0}, ir::Type::index(), where);
  return adapt(use(coordinate.traced, where), ir::Type::index(), where);
}

void refuse_blocks(std::uint64_t count, location where) {
  throw UserError(
      fmt::format("grid: {} blocks, at most {} can be counted", count, std::numeric_limits<std::int64_t>::max()),
      where);
}

Epoch Recorder::epoch() const { return {impl_->effects, impl_->region}; }

void Recorder::Impl::check_epoch(Id source, Epoch written, location place, location recorded) {
  if (!draft.lies_in(region, written.region))
    fail(fmt::format("a load written in {} is recorded outside of it{}: bind it with `tile x = load(...)`",
                     place_in(written.region, place), at(recorded)),
         place);
  auto const stored = last_store.find(parameter_behind(source));
  if (stored != last_store.end() && stored->second.effects_before >= written.effects)
    fail(fmt::format("the load{} is recorded{}, after the store{} that may alias it: bind it before the store with "
                     "`tile x = load(...)`",
                     at(place), at(recorded), at(stored->second.where)),
         place);
}

ir::Constant Recorder::Impl::pad_of(char const* word, Literal pad, Element element, location place) {
  auto const [bits, reason] = fit(pad, element);
  if (!bits)
    fail(fmt::format("{}: pad {} does not fit the element {}{}{}", word, describe(pad), tegula::name(element), reason,
                     at(place)),
         place);
  return *bits;
}

Id Recorder::Impl::add_read(ir::OpKind kind, void const* attribute_struct, std::vector<Id> const& operands,
                            Epoch written, ir::Type const& result, location place) {
  int const node =
      add_node(kind, attribute_struct, {operands.data(), static_cast<int>(operands.size())}, written.region, place);
  draft.nodes[static_cast<std::size_t>(node)].effects_before = written.effects;
  Id const parameter = parameter_behind(operands[0]);
  draft.nodes[static_cast<std::size_t>(node)].memory = parameter;
  if (attributes[static_cast<std::size_t>(parameter)].direction == Direction::inout)
    draft.regions[static_cast<std::size_t>(written.region)].loads.push_back(node);
  Id const id = add_result(node, result);
  run(node);
  return id;
}

Id Recorder::load(Handle tensor, Epoch written, Coordinate const* coordinates, int rank, Literal pad,
                  ir::Type const& result, location where, location recorded) {
  Id const source = use(tensor, where);
  impl_->check_epoch(source, written, where, recorded);
  std::vector<Id> operands = {source};
  for (int i = 0; i < rank; ++i)
    operands.push_back(box_offset(coordinates[i], i - (rank - result.rank()), result, where));
  ir::LoadOp op = ir::make_op<ir::LoadOp>(impl_->pad_of("load", pad, result.element(), where));
  op.stated_pad = pad.stated && op.pad.bits == 0;
  return impl_->add_read(ir::OpKind::LoadOp, &op, operands, written, result, where);
}

Id Recorder::gather(Handle tensor, Epoch written, Ids indices, Literal pad, ir::Type const& result, location where,
                    location recorded) {
  Id const source = use(tensor, where);
  impl_->check_epoch(source, written, where, recorded);
  std::vector<Id> operands = {source};
  operands.insert(operands.end(), indices.first, indices.first + indices.count);
  ir::GatherOp const op = ir::make_op<ir::GatherOp>(impl_->pad_of("gather", pad, result.element(), where));
  return impl_->add_read(ir::OpKind::GatherOp, &op, operands, written, result, where);
}

/// Tells whether the op orders other accesses than its own.
static bool orders_memory(ir::OpKind kind, void const* attributes) {
  if (kind == ir::OpKind::AtomicUpdateOp)
    return static_cast<ir::AtomicUpdateOp const*>(attributes)->order != ir::MemoryOrder::relaxed;
  return kind == ir::OpKind::CompareExchangeOp &&
         static_cast<ir::CompareExchangeOp const*>(attributes)->order != ir::MemoryOrder::relaxed;
}

Id Recorder::change_op(ir::OpKind kind, void const* attributes, Handle tensor, Ids values, Ids indices,
                       location where) {
  Id const target = use(tensor, where);
  std::vector<Id> operands = {target};
  operands.insert(operands.end(), values.first, values.first + values.count);
  operands.insert(operands.end(), indices.first, indices.first + indices.count);
  int const node = impl_->add_effect(kind, attributes, {operands.data(), static_cast<int>(operands.size())}, where);
  impl_->mark_written(node, target, where);
  if (orders_memory(kind, attributes)) impl_->mark_all_written(node, where);
  Id const id = kind == ir::OpKind::ScatterOp
                    ? -1
                    : impl_->add_result(node, ir::Type(impl_->value(values.first[values.count - 1]).type));
  impl_->run(node);
  return id;
}

void Recorder::change_box_op(ir::OpKind kind, void const* attributes, Handle tensor, Id tile,
                             Coordinate const* coordinates, int rank, location where) {
  ir::Type const type = ir::Type(impl_->value(tile).type).with_element(Element::i64);
  std::vector<Id> indices;
  for (int i = 0; i < rank; ++i) {
    int const axis = i - (rank - type.rank());
    Id const first = box_offset(coordinates[i], axis, type, where);
    indices.push_back(first);
    if (axis < 0) continue;
    Extents shape = type.shape();
    for (int other = 0; other < shape.size(); ++other)
      if (other != axis) shape[other] = 1;
    ir::Type const line = type.with_shape(shape);
    Id const counted = emit(ir::make_op<ir::IotaOp>(std::int64_t{axis}), {}, line, where);
    indices.back() = adapt(emit(ir::AddOp{}, {counted, adapt(first, line, where)}, line, where), type, where);
  }
  change_op(kind, attributes, tensor, {tile}, {indices.data(), static_cast<int>(indices.size())}, where);
}

/// Returns the element offset of a box along an axis of its tile; axes before those have elements of their own.
Id Recorder::box_offset(Coordinate const& coordinate, int axis, ir::Type const& tile, location where) {
  return first_element(coordinate, axis < 0 ? 1 : tile.shape()[axis], where);
}

Id Recorder::first_element(Coordinate const& coordinate, std::int64_t extent, location where) {
  Id index = index_value(coordinate, where);
  std::int64_t const step = coordinate.in_elements ? 1 : extent;
  auto const number = [&](std::int64_t value) {
    return constant({Literal::Kind::integer, value, 0}, ir::Type::index(), where);
  };
  // The offset of a tile far outside would wrap, into the tensor.
  std::int64_t const bound = far_outside / step;
  if (step != 1 && !impl_->value(index).range.within(bound)) {
    index = emit_scalar(ir::MinOp{}, {index, number(bound)}, ir::Type::index(), where);
    index = emit_scalar(ir::MaxOp{}, {index, number(-bound)}, ir::Type::index(), where);
  }
  return emit_scalar(ir::MulOp{}, {index, number(step)}, ir::Type::index(), where);
}

void Recorder::store(Handle tensor, Id tile, Coordinate const* coordinates, int rank, location where, bool may_miss) {
  Id const target = use(tensor, where);
  ir::Type const type = impl_->value(tile).type;
  std::vector<Id> operands = {target, tile};
  for (int i = 0; i < rank; ++i) operands.push_back(box_offset(coordinates[i], i - (rank - type.rank()), type, where));
  ir::StoreOp op;
  op.may_miss = may_miss;
  int const node =
      impl_->add_effect(ir::OpKind::StoreOp, &op, {operands.data(), static_cast<int>(operands.size())}, where);
  impl_->mark_written(node, target, where);
  impl_->run(node);
}

}  // namespace tegula::trace
