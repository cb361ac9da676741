#include "tegula/trace/recorder.hpp"

#include <array>
#include <atomic>
#include <cctype>
#include <cmath>
#include <cstring>
#include <mutex>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "ir/builder.hpp"
#include "ir/verifier.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"
#include "trace/draft.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula::trace {

namespace {

thread_local Recorder* active_recorder = nullptr;

// Names of the latest traces, for messages about tiles that strayed into another kernel.
class TraceNames {
 public:
  void add(std::uint32_t trace, std::string name) {
    std::scoped_lock const lock(mutex_);
    names_[trace % names_.size()] = {trace, std::move(name)};
  }
  std::string find(std::uint32_t trace) {
    std::scoped_lock const lock(mutex_);
    auto const& [number, name] = names_[trace % names_.size()];
    return number == trace && trace != 0 ? "kernel '" + name + "'" : "another kernel";
  }

 private:
  std::mutex mutex_;
  std::array<std::pair<std::uint32_t, std::string>, 256> names_;
};

TraceNames& trace_names() {
  static TraceNames names;
  return names;
}

std::uint32_t next_trace() {
  static std::atomic<std::uint32_t> count = 0;
  return ++count;
}

// " at file.cpp:12", or nothing for an unknown place.
std::string at(location where) {
  std::string const text = support::to_string(where);
  return text.empty() ? text : " at " + text;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return false;
  for (char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return true;
}

std::string describe(Literal value) {
  if (value.kind == Literal::Kind::floating) return fmt::format("{}", value.floating);
  if (value.kind == Literal::Kind::boolean) return value.integer != 0 ? "true" : "false";
  return fmt::format("{}", value.integer);
}

std::optional<ir::Constant> fit(Literal value, Element element) {
  bool const boolean = value.kind == Literal::Kind::boolean;
  if (boolean != (element == Element::boolean)) return std::nullopt;
  if (boolean || value.kind == Literal::Kind::integer) {
    if (element == Element::i32 && value.integer != static_cast<std::int32_t>(value.integer)) return std::nullopt;
    if (element == Element::f64 || is_float(element))
      return ir::make_constant(element, static_cast<double>(value.integer));
    return ir::make_constant(element, value.integer);
  }
  if (!is_float(element)) return std::nullopt;
  return ir::make_constant(element, value.floating);
}

// The attributes of a scalar op as bytes that compare equal when the fields do; the struct itself has padding.
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

std::int64_t wrap_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t wrap_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Value of an i64 op on constants; none where folding would only repeat what the passes know.
std::optional<std::int64_t> fold(ir::OpKind kind, std::int64_t a, std::int64_t b) {
  bool const divides = b > 0 && a >= 0;
  switch (kind) {
    case ir::OpKind::AddOp:
      return wrap_add(a, b);
    case ir::OpKind::SubOp:
      return wrap_add(a, wrap_mul(b, -1));
    case ir::OpKind::MulOp:
      return wrap_mul(a, b);
    case ir::OpKind::MinOp:
      return a < b ? a : b;
    case ir::OpKind::MaxOp:
      return a < b ? b : a;
    case ir::OpKind::DivOp:
      return divides ? std::optional(a / b) : std::nullopt;
    case ir::OpKind::RemOp:
      return divides ? std::optional(a % b) : std::nullopt;
    case ir::OpKind::CeilDivOp:
      return divides ? std::optional(a / b + (a % b != 0 ? 1 : 0)) : std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace

struct Recorder::Impl {
  std::string name;
  location where;
  std::uint32_t trace = 0;
  Recorder* outer = nullptr;
  bool failed = false;
  Draft draft;
  int region = 0;
  int effects = 0;
  std::vector<ir::ParameterAttributes> attributes;
  std::vector<ParameterInfo> parameters;
  struct LastStore {
    int effects_before = -1;
    location where;
  };
  std::map<Id, LastStore> last_store;
  std::map<std::tuple<ir::OpKind, std::vector<std::byte>, std::vector<Id>, std::uint8_t>, Id> scalars;
  std::optional<location> grid;
  std::vector<int> statements;  // nodes of the loops and branches that are open

  [[noreturn]] void fail(std::string const& text, location place) {
    failed = true;
    throw UserError(fmt::format("kernel '{}': {}", name, text), place);
  }

  DraftValue const& value(Id id) const { return draft.values[static_cast<std::size_t>(id)]; }
  Region& current() { return draft.regions[static_cast<std::size_t>(region)]; }
  Region const& region_of(int number) const { return draft.regions[static_cast<std::size_t>(number)]; }

  std::string region_name(int number) const {
    Region const& r = region_of(number);
    switch (r.kind) {
      case RegionKind::kernel:
        return fmt::format("the body of kernel '{}'", name);
      case RegionKind::loop:
        return "the loop" + at(r.where);
      case RegionKind::then_branch:
        return "the then branch of the if_" + at(r.where);
      case RegionKind::else_branch:
        return "the else branch of the if_" + at(r.where);
    }
    return {};
  }

  int open_region(RegionKind kind, location place) {
    Region r;
    r.kind = kind;
    r.parent = draft.regions.empty() ? -1 : region;
    r.depth = r.parent < 0 ? 0 : region_of(r.parent).depth + 1;
    r.where = place;
    draft.regions.push_back(std::move(r));
    region = static_cast<int>(draft.regions.size()) - 1;
    return region;
  }

  Id add_argument(ir::Type const& type, location place) {
    draft.values.push_back({type, -1, 0, region, place});
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
    draft.values.push_back({type, node, n.result_count, n.region, n.where});
    Id const id = static_cast<Id>(draft.values.size()) - 1;
    if (n.result_count++ == 0) n.first_result = id;
    return id;
  }

  int add_effect(ir::OpKind kind, void const* attribute_struct, Ids operands, location place) {
    int const node = add_node(kind, attribute_struct, operands, region, place);
    current().effects.push_back(node);
    ++effects;
    return node;
  }

  std::optional<std::int64_t> constant_of(Id id) const {
    Node const* node = draft.definition(id);
    if (node == nullptr || node->kind != ir::OpKind::ConstantOp) return std::nullopt;
    ir::Constant number;
    std::memcpy(&number, node->attributes.data(), sizeof number);
    if (!is_integer(number.element) && number.element != Element::boolean) return std::nullopt;
    return ir::to_int(number);
  }

  // Names the part of an expression that the host cannot know before the launch; empty when it can be evaluated.
  std::string unknown_at_launch(Id id) const {
    DraftValue const& v = value(id);
    if (!v.type.is_scalar()) return "a tile";
    if (is_float(v.type.element())) return "a floating value";
    Node const* node = draft.definition(id);
    if (node == nullptr) return v.region == 0 ? "" : "a loop index";
    if (node->kind == ir::OpKind::BlockIndexOp) return "a block index";
    if (node->kind == ir::OpKind::ExtentOp) return "";
    for (Id operand : node->operands)
      if (std::string found = unknown_at_launch(operand); !found.empty()) return found;
    return "";
  }
};

Recorder::Recorder(char const* name, location where) : impl_(new Impl) {
  impl_->name = name;
  impl_->where = where;
  if (!is_identifier(impl_->name)) {
    std::string const text =
        fmt::format("kernel name '{}' must be letters, digits and _, not starting with a digit", name);
    delete impl_;
    throw UserError(text, where);
  }
  impl_->trace = next_trace();
  trace_names().add(impl_->trace, impl_->name);
  impl_->open_region(RegionKind::kernel, where);
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
  return handle(impl_->add_argument(ir::Type::tensor(element, rank), impl_->where));
}

Handle Recorder::scalar_parameter(Element element) {
  impl_->attributes.emplace_back();
  impl_->parameters.push_back({ParameterKind::scalar, Direction::in, element, 0, {}});
  return handle(impl_->add_argument(ir::Type::scalar(element), impl_->where));
}

Handle Recorder::handle(Id value) const { return {value, impl_->trace}; }

Id Recorder::use(Handle value, location where) {
  if (value.trace != impl_->trace || value.value < 0) {
    if (value.value < 0)
      impl_->fail("a value that was never made (a moved-from or default one) is used" + at(where), where);
    impl_->fail(fmt::format("a value of {} is used{}: tiles, indices and parameters live in the kernel that made them",
                            trace_names().find(value.trace), at(where)),
                where);
  }
  DraftValue const& v = impl_->value(value.value);
  if (!impl_->draft.lies_in(impl_->region, v.region)) {
    bool const branch = impl_->region_of(v.region).kind != RegionKind::loop;
    impl_->fail(fmt::format("a value made in {}{} is used outside of it, in {}{}: {}", impl_->region_name(v.region),
                            v.where.known() ? " (line " + std::to_string(v.where.line()) + ")" : "",
                            impl_->region_name(impl_->region), at(where),
                            branch ? "return it from both branches and use the result of if_"
                                   : "carry it, and use the result of loop"),
                where);
  }
  return value.value;
}

void Recorder::check_assign(std::uint32_t trace, std::int32_t home, location where) {
  if (trace != impl_->trace || home < 0 || home == impl_->region || !impl_->draft.lies_in(impl_->region, home)) return;
  impl_->fail(fmt::format("a tile variable of {} is assigned in {}{}: carry it: pass it to loop or return it from if_, "
                          "and assign the result",
                          impl_->region_name(home), impl_->region_name(impl_->region), at(where)),
              where);
}

Id Recorder::emit_op(ir::OpKind kind, void const* attributes, Ids operands, ir::Type const& result, location where) {
  return impl_->add_result(impl_->add_node(kind, attributes, operands, impl_->region, where), result);
}

Id Recorder::emit_scalar_op(ir::OpKind kind, void const* attributes, Ids operands, ir::Type const& result,
                            location where) {
  if (operands.count == 2 && result == ir::Type::index()) {
    auto const a = impl_->constant_of(operands.first[0]);
    auto const b = impl_->constant_of(operands.first[1]);
    if (a && b)
      if (auto const folded = fold(kind, *a, *b)) return constant({Literal::Kind::integer, *folded, 0}, result, where);
    if (b == 1 && (kind == ir::OpKind::MulOp || kind == ir::OpKind::DivOp || kind == ir::OpKind::CeilDivOp))
      return operands.first[0];
    if (b == 0 && (kind == ir::OpKind::AddOp || kind == ir::OpKind::SubOp)) return operands.first[0];
    if (a == 1 && kind == ir::OpKind::MulOp) return operands.first[1];
    if (a == 0 && kind == ir::OpKind::AddOp) return operands.first[1];
  }
  auto const key =
      std::tuple(kind, field_bytes(kind, attributes), std::vector<Id>(operands.first, operands.first + operands.count),
                 static_cast<std::uint8_t>(result.element()));
  auto const found = impl_->scalars.find(key);
  if (found != impl_->scalars.end()) return found->second;
  int deepest = 0;
  for (int i = 0; i < operands.count; ++i) {
    int const region = impl_->value(operands.first[i]).region;
    if (impl_->region_of(region).depth > impl_->region_of(deepest).depth) deepest = region;
  }
  Id const id = impl_->add_result(impl_->add_node(kind, attributes, operands, deepest, where), result);
  impl_->scalars.emplace(key, id);
  return id;
}

Id Recorder::constant(Literal value, ir::Type const& type, location where) {
  auto const bits = fit(value, type.element());
  if (!bits)
    impl_->fail(
        fmt::format("the scalar {} does not fit the element {}{}", describe(value), name(type.element()), at(where)),
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
  return emit_scalar(ir::make_op<ir::ExtentOp>(std::int64_t{axis < 0 ? axis + rank : axis}), {tensor},
                     ir::Type::index(), where);
}

Id Recorder::index_value(Coordinate const& coordinate, location where) {
  if (!coordinate.is_traced) return constant({Literal::Kind::integer, coordinate.number, 0}, ir::Type::index(), where);
  return adapt(use(coordinate.traced, where), ir::Type::index(), where);
}

Epoch Recorder::epoch() const { return {impl_->effects, impl_->region}; }

Id Recorder::load(Handle tensor, Epoch written, Coordinate const* coordinates, int rank, Literal pad,
                  ir::Type const& result, location where, location recorded) {
  Id const source = use(tensor, where);
  if (!impl_->draft.lies_in(impl_->region, written.region))
    impl_->fail(fmt::format("a load written in {}{} is recorded outside of it{}: bind it with `tile x = load(...)`",
                            impl_->region_name(written.region), at(where), at(recorded)),
                where);
  auto const stored = impl_->last_store.find(source);
  if (stored != impl_->last_store.end() && stored->second.effects_before >= written.effects)
    impl_->fail(
        fmt::format("the load{} is recorded{}, after the store{} that may alias it: bind it before the store with "
                    "`tile x = load(...)`",
                    at(where), at(recorded), at(stored->second.where)),
        where);
  std::vector<Id> operands = {source};
  for (int i = 0; i < rank; ++i) {
    int const axis = i - (rank - result.rank());
    std::int64_t const step = axis < 0 || coordinates[i].in_elements ? 1 : result.shape()[axis];
    Id const index = index_value(coordinates[i], where);
    Id const scale = constant({Literal::Kind::integer, step, 0}, ir::Type::index(), where);
    operands.push_back(emit_scalar(ir::MulOp{}, {index, scale}, ir::Type::index(), where));
  }
  auto const bits = fit(pad, result.element());
  if (!bits)
    impl_->fail(
        fmt::format("load: pad {} does not fit the element {}{}", describe(pad), name(result.element()), at(where)),
        where);
  ir::LoadOp const op = ir::make_op<ir::LoadOp>(*bits);
  int const node = impl_->add_node(ir::OpKind::LoadOp, &op, {operands.data(), static_cast<int>(operands.size())},
                                   written.region, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].effects_before = written.effects;
  if (impl_->attributes[static_cast<std::size_t>(source)].direction == Direction::inout)
    impl_->draft.regions[static_cast<std::size_t>(written.region)].loads.push_back(node);
  return impl_->add_result(node, result);
}

void Recorder::store(Handle tensor, Id tile, Coordinate const* coordinates, int rank, location where) {
  Id const target = use(tensor, where);
  ir::Type const type = impl_->value(tile).type;
  std::vector<Id> operands = {target, tile};
  for (int i = 0; i < rank; ++i) {
    int const axis = i - (rank - type.rank());
    std::int64_t const step = axis < 0 || coordinates[i].in_elements ? 1 : type.shape()[axis];
    Id const index = index_value(coordinates[i], where);
    Id const scale = constant({Literal::Kind::integer, step, 0}, ir::Type::index(), where);
    operands.push_back(emit_scalar(ir::MulOp{}, {index, scale}, ir::Type::index(), where));
  }
  impl_->last_store[target] = {impl_->effects, where};
  ir::StoreOp const op;
  int const node =
      impl_->add_effect(ir::OpKind::StoreOp, &op, {operands.data(), static_cast<int>(operands.size())}, where);
  auto const mark = [&](int statement) {
    auto& written = impl_->draft.nodes[static_cast<std::size_t>(statement)].written;
    if (written.empty() || written.back() != target) written.push_back(target);
  };
  mark(node);
  for (int statement : impl_->statements) mark(statement);
}

void Recorder::grid(char const* word, Id const* extents, int rank, Handle* indices, location where) {
  if (impl_->grid)
    impl_->fail(
        fmt::format("{}{}: the grid is already stated{}; a kernel states it once", word, at(where), at(*impl_->grid)),
        where);
  if (impl_->region != 0)
    impl_->fail(fmt::format("{}{}: the grid is stated outside of loops and branches", word, at(where)), where);
  for (int i = 0; i < rank; ++i) {
    if (auto const known = impl_->constant_of(extents[i]); known && *known <= 0)
      impl_->fail(fmt::format("{}{}: extent {} of axis {} gives no block", word, at(where), *known, i), where);
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
  for (int d = 0; d < direct; ++d)
    indices[rank - 1 - d] = handle(emit_scalar(ir::make_op<ir::BlockIndexOp>(std::int64_t{d}), {}, index, where));
  if (rank > 3) {
    Id rest = emit_scalar(ir::make_op<ir::BlockIndexOp>(std::int64_t{2}), {}, index, where);
    for (int i = rank - 3; i > 0; --i) {
      indices[i] = handle(emit_scalar(ir::RemOp{}, {rest, extents[i]}, index, where));
      rest = emit_scalar(ir::DivOp{}, {rest, extents[i]}, index, where);
    }
    indices[0] = handle(rest);
  }
}

void Recorder::refuse_grid_axis(int which, int rank) {
  impl_->fail(fmt::format("the grid stated{} has {} {}, but axis {} of it is used",
                          at(impl_->grid.value_or(location())), rank, rank == 1 ? "axis" : "axes", which),
              impl_->grid.value_or(location()));
}

void Recorder::require(Id condition, char const* message, location where) {
  if (impl_->region != 0)
    impl_->fail(
        fmt::format("require{}: it is evaluated at the launch, so it stands outside of loops and branches", at(where)),
        where);
  if (std::string const unknown = impl_->unknown_at_launch(condition); !unknown.empty())
    impl_->fail(fmt::format("require{}: the condition uses {}, which is not known at the launch", at(where), unknown),
                where);
  if (auto const known = impl_->constant_of(condition)) {
    if (*known == 0) impl_->fail(fmt::format("require{}: {}", at(where), message), where);
    return;
  }
  ir::RequireOp const op = ir::make_op<ir::RequireOp>(Symbol(message));
  impl_->add_effect(ir::OpKind::RequireOp, &op, {condition}, where);
}

void Recorder::begin_loop(Id lower, Id upper, Id step, Ids inits, std::int64_t stages, location where) {
  if (auto const known = impl_->constant_of(step); known && *known <= 0)
    impl_->fail(fmt::format("loop{}: the step is {}, but must be positive", at(where), *known), where);
  std::vector<Id> operands = {lower, upper, step};
  operands.insert(operands.end(), inits.first, inits.first + inits.count);
  ir::ForOp const op = ir::make_op<ir::ForOp>(stages);
  int const node =
      impl_->add_effect(ir::OpKind::ForOp, &op, {operands.data(), static_cast<int>(operands.size())}, where);
  impl_->statements.push_back(node);
  int const body = impl_->open_region(RegionKind::loop, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(body);
  impl_->add_argument(ir::Type::index(), where);
  for (int i = 0; i < inits.count; ++i) impl_->add_argument(ir::Type(impl_->value(inits.first[i]).type), where);
}

Id Recorder::region_argument(int i) const { return impl_->current().arguments[static_cast<std::size_t>(i)]; }

Id Recorder::end_loop(Ids yields) {
  int const node = impl_->statements.back();
  impl_->statements.pop_back();
  Region& body = impl_->current();
  body.yields.assign(yields.first, yields.first + yields.count);
  body.open = false;
  impl_->region = body.parent;
  Id first = -1;
  for (int i = 0; i < yields.count; ++i) {
    Id const id = impl_->add_result(node, ir::Type(impl_->value(yields.first[i]).type));
    if (i == 0) first = id;
  }
  return first;
}

void Recorder::begin_if(Id condition, location where) {
  ir::IfOp const op;
  int const node = impl_->add_effect(ir::OpKind::IfOp, &op, {condition}, where);
  impl_->statements.push_back(node);
  int const branch = impl_->open_region(RegionKind::then_branch, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(branch);
}

void Recorder::begin_else(Ids then_yields) {
  int const node = impl_->statements.back();
  Region& then = impl_->current();
  then.yields.assign(then_yields.first, then_yields.first + then_yields.count);
  then.open = false;
  location const where = then.where;
  impl_->region = then.parent;
  int const branch = impl_->open_region(RegionKind::else_branch, where);
  impl_->draft.nodes[static_cast<std::size_t>(node)].regions.push_back(branch);
}

Id Recorder::end_if(Ids else_yields) { return end_loop(else_yields); }

TracedKernel Recorder::finish() {
  if (impl_->failed)
    throw UserError(fmt::format("kernel '{}': an error of its trace was swallowed", impl_->name), impl_->where);
  if (!impl_->grid)
    impl_->fail("no grid is stated; write `auto g = grid_over(output, shape<...>)` or `auto g = grid(...)` first",
                impl_->where);
  auto* traced = new TracedKernel::Impl;
  TracedKernel result(traced);
  traced->name = impl_->name;
  traced->where = impl_->where;
  traced->parameters = impl_->parameters;
  ir::Function& function = traced->module.add_function(impl_->name, ir::FunctionKind::kernel);
  function.where = impl_->where;
  static constexpr std::string_view prefix[] = {"in", "out", "inout"};
  for (std::size_t i = 0; i < impl_->attributes.size(); ++i) {
    bool const scalar = impl_->parameters[i].kind == ParameterKind::scalar;
    std::string const word(scalar ? "arg" : prefix[static_cast<int>(impl_->attributes[i].direction)]);
    function.add_parameter(impl_->value(impl_->draft.regions[0].arguments[i]).type, impl_->attributes[i],
                           word + std::to_string(i));
  }
  emit_draft(impl_->draft, function);
  support::throw_internal_error(ir::verify(traced->module), "trace of kernel '" + impl_->name + "'");
  return result;
}

}  // namespace tegula::trace
