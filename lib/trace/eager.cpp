// Executes ops while they are recorded; calls the body of a loop once per iteration.
#include "trace/eager.hpp"

#include "support/checked_integer.hpp"
#include "trace/recorder_impl.hpp"

namespace tegula::trace {
namespace {

thread_local Eager* executor = nullptr;

}  // namespace

EagerScope::EagerScope(Eager* next) : former_(executor) { executor = next; }
EagerScope::~EagerScope() { executor = former_; }

Eager* eager() { return executor; }

void Recorder::Impl::bind(Id id, ir::Value* to) {
  if (made.size() < draft.values.size()) made.resize(draft.values.size());
  made[static_cast<std::size_t>(id)] = to;
  if (to != nullptr) eager->name({id, trace}, *to);
}

void Recorder::Impl::bind_to_caller(Id id, Handle in_caller) {
  if (eager != nullptr) bind(id, outer->impl_->made[static_cast<std::size_t>(in_caller.value)]);
}

ir::Value* Recorder::Impl::append(ir::OpKind kind, void const* attribute_struct,
                                  std::vector<ir::Value*> const& operands, std::vector<ir::Type> const& results,
                                  location place) {
  ir::Builder builder(eager->function().body());
  builder.set_where(place);
  ir::Op& op = builder.create(kind, attribute_struct, operands, results);
  eager->run(op);
  return op.result_count() == 0 ? nullptr : op.result(0);
}

void Recorder::Impl::run(int node) {
  if (eager == nullptr) return;
  Node const& source = draft.nodes[static_cast<std::size_t>(node)];
  std::vector<ir::Value*> operands;
  for (Id const operand : source.operands) operands.push_back(made[static_cast<std::size_t>(operand)]);
  std::vector<ir::Type> types;
  for (int i = 0; i < source.result_count; ++i) types.push_back(value(source.first_result + i).type);
  ir::Value* const result = append(source.kind, source.attributes.data(), operands, types, source.where);
  if (result != nullptr) bind(source.first_result, result);
}

void Recorder::Impl::bind_arguments(std::vector<ir::Value*> const& values) {
  std::vector<Id> const arguments = current().arguments;  // bind() grows what the draft holds beside it
  std::size_t const first = arguments.size() - values.size();
  for (std::size_t i = 0; i < values.size(); ++i) bind(arguments[first + i], values[i]);
}

std::vector<ir::Value*> Recorder::Impl::made_of(Ids ids) const {
  std::vector<ir::Value*> result;
  for (int i = 0; i < ids.count; ++i) result.push_back(made[static_cast<std::size_t>(ids.first[i])]);
  return result;
}

std::vector<std::int64_t> Recorder::Impl::numbers_of(std::vector<Id> const& ids) const {
  std::vector<std::int64_t> result;
  for (Id const id : ids) result.push_back(eager->number(*made[static_cast<std::size_t>(id)]));
  return result;
}

void Recorder::Impl::bind_counter() {
  ir::ConstantOp const op = ir::make_op<ir::ConstantOp>(ir::make_constant(Element::i64, running.back().at));
  bind(current().arguments.front(), append(ir::OpKind::ConstantOp, &op, {}, {ir::Type::index()}, current().where));
}

void Recorder::Impl::start_loop(Id lower, Id upper, Id step, Ids inits) {
  if (eager == nullptr) return;
  std::vector<std::int64_t> const range = numbers_of({lower, upper, step});
  running.push_back({range[0], range[1], range[2], true, {}});
  running.back().runs = running.back().step > 0 && running.back().at < running.back().upper;
  bind_arguments(made_of(inits));
  bind_counter();
}

bool Recorder::enters() const { return impl_->eager == nullptr || impl_->running.back().runs; }

bool Recorder::again(Ids yields) {
  if (impl_->eager == nullptr) return false;
  Impl::Running& loop = impl_->running.back();
  if (!support::has_next(loop.at, loop.upper, loop.step)) return false;
  loop.at += loop.step;
  impl_->bind_arguments(impl_->made_of(yields));
  impl_->bind_counter();
  return true;
}

bool Recorder::again(Id condition, Ids yields) {
  if (impl_->eager == nullptr || impl_->numbers_of({condition}).front() == 0) return false;
  impl_->bind_arguments(impl_->made_of(yields));
  return true;
}

bool Recorder::takes(bool then_branch) const {
  return impl_->eager == nullptr || impl_->running.back().runs == then_branch;
}

}  // namespace tegula::trace
