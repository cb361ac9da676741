// Emits regions: groups of ops that run together in one nest, loops, branches, balanced-tree reductions.
#include <algorithm>

#include "codegen/host/nest.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/values/loop_step.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

using ir::OpKind;

namespace {

bool is_grouped(ir::Op const& op, Plan const& plan) {
  if (op.is<ir::StoreOp>()) return true;
  if (op.is<ir::ReduceOp>()) return op.as<ir::ReduceOp>().order == ir::Order::any;
  return is_inlineable(op) && (plan.kept(*op.result()) || plan.kept_as_panels(*op.result()));
}

/// Returns the value whose shape a grouped op runs over.
ir::Value const& nest_value(ir::Op const& op) {
  if (op.is<ir::StoreOp>()) return *op.in<ir::StoreOp>("tile");
  if (op.is<ir::ReduceOp>()) return *op.operand();
  return *op.result();
}

/// Returns the tensor parameter that a grouped op accesses, when the kernel writes it.
ir::Value const* ordered_tensor(ir::Op const& op, Plan const& plan) {
  bool const accesses = op.is<ir::StoreOp>() || reads_tensor(op);
  return accesses && plan.written(*op.in("tensor")) ? &ir::parameter_behind(*op.in("tensor")) : nullptr;
}

/// True for an op outside of nests that tells the host something, records, returns an element of a tile, or accesses a
/// buffer or a tensor which the kernel writes. Other accesses do not pass it.
bool is_ordered(ir::Op const& op, Plan const& plan) {
  return changes_elements(op) || tells_host(op) || logs(op) || touches_buffer(op) || gives_item(op) ||
         (reads_tensor(op) && op.result()->type().is_scalar() && plan.written(*op.in("tensor")));
}

bool same_type_of_storage(ir::Type const& a, ir::Type const& b) {
  return a.element() == b.element() && a.shape() == b.shape();
}

}  // namespace

// --- grouping ------------------------------------------------------------------------------------------------

bool FunctionEmitter::available(ir::Value const& value, bool same_index, std::vector<ir::Op const*> const& members,
                                std::map<std::pair<ir::Value const*, bool>, bool>& known) const {
  if (buffer_of(value) != nullptr || panels_of(value) != nullptr) return true;
  ir::Op const* const op = value.defining_op();
  if (op == nullptr || !is_inlineable(*op)) return false;
  auto const key = std::make_pair(&value, same_index);
  if (auto const found = known.find(key); found != known.end()) return found->second;
  bool result = true;
  if (std::find(members.begin(), members.end(), op) != members.end()) {
    result = same_index && !context.plan.is_cut(value);
  } else if (context.plan.kept(value) || context.plan.kept_as_panels(value)) {
    result = false;
  } else {
    bool const keeps_index = op->is(ir::Family::elementwise);
    for (ir::Value const* operand : op->operands())
      if (operand->type().is_tile() && !available(*operand, same_index && keeps_index, members, known)) result = false;
  }
  known[key] = result;
  return result;
}

bool FunctionEmitter::joins(ir::Op const& candidate, Extents const& shape,
                            std::vector<ir::Op const*> const& members) const {
  if (nest_value(candidate).type().shape() != shape) return false;
  // Accesses of tensors that the kernel writes keep their order: two ops of one such tensor never share a nest.
  if (ir::Value const* const tensor = ordered_tensor(candidate, context.plan))
    for (ir::Op const* member : members)
      if (ordered_tensor(*member, context.plan) == tensor) return false;
  std::map<std::pair<ir::Value const*, bool>, bool> known;
  if (!candidate.is<ir::StoreOp>() && !candidate.is<ir::ReduceOp>()) {
    bool const keeps_index = candidate.is(ir::Family::elementwise);
    for (ir::Value const* operand : candidate.operands())
      if (operand->type().is_tile() && !available(*operand, keeps_index, members, known)) return false;
    return true;
  }
  return available(nest_value(candidate), true, members, known);
}

std::vector<ir::Op const*> FunctionEmitter::members_of_group(ir::Block::iterator first, ir::Block const& region) const {
  Plan const& plan = context.plan;
  std::vector<ir::Op const*> members = {&*first};
  std::vector<ir::Value const*> passed;
  Extents const shape = nest_value(*first).type().shape();
  for (auto at = ++ir::Block::iterator(first); at != region.end(); ++at) {
    ir::Op const& op = *at;
    if (op.info().has(ir::terminator) || op.block_count() != 0 || op.is<ir::CallOp>() || is_ordered(op, plan)) break;
    if (done_.contains(&op) || !is_grouped(op, plan)) continue;
    // An op that joins runs before the ops that were skipped, so it must not access the same tensor.
    ir::Value const* const tensor = ordered_tensor(op, plan);
    bool const in_order = tensor == nullptr || std::find(passed.begin(), passed.end(), tensor) == passed.end();
    if (in_order && joins(op, shape, members)) {
      members.push_back(&op);
    } else if (op.is<ir::StoreOp>()) {
      break;
    } else if (tensor != nullptr) {
      passed.push_back(tensor);
    }
  }
  return members;
}

void FunctionEmitter::add_sinks(ir::Op const& op, std::vector<ir::Op const*> const& members, std::vector<Sink>& sinks) {
  Plan const& plan = context.plan;
  if (op.is<ir::StoreOp>()) {
    sinks.push_back({Sink::Kind::store, op.in<ir::StoreOp>("tile"), &op, {}});
    return;
  }
  ir::Value const& value = *op.result();
  if (op.is<ir::ReduceOp>()) {
    sinks.push_back({Sink::Kind::reduce, op.operand(), &op, target_of(value, &op)});
    return;
  }
  if (plan.kept_as_panels(value)) {
    if (value.type().rank() != 2) throw InternalError("host codegen: operand of dot is not of rank 2");
    Buffer const panels = allocate(panels_layout(value.type().element(), value.type().shape()), &op);
    sinks.push_back({Sink::Kind::buffer, &value, &op, panels});
  }
  std::vector<ir::Op const*> const& consumers = plan.consumers(value);
  bool const only_here = std::all_of(consumers.begin(), consumers.end(), [&](ir::Op const* consumer) {
    return std::find(members.begin(), members.end(), consumer) != members.end();
  });
  if (plan.kept(value) && !only_here) sinks.push_back({Sink::Kind::buffer, &value, &op, target_of(value, &op)});
}

/// Returns the reductions of the axis ahead that alone take the results of a nest of reductions of the last axis; empty
/// if one has another user. Sums of 16 bits are rounded for each axis.
std::vector<ir::Op const*> FunctionEmitter::next_reductions(std::vector<Sink> const& sinks) {
  std::vector<ir::Op const*> result;
  for (Sink const& sink : sinks) {
    if (sink.kind != Sink::Kind::reduce) return {};
    ir::ReduceOp const inner = sink.op->as<ir::ReduceOp>();
    ir::Value const& value = *sink.op->result();
    int const rank = value.type().rank();
    if (rank < 2 || inner.axis != rank - 1 || bits(value.type().element()) < 32 || value.uses().size() != 1) return {};
    ir::Op const& user = *value.uses().begin()->user;
    if (!user.is<ir::ReduceOp>() || user.parent() != sink.op->parent()) return {};
    ir::ReduceOp const outer = user.as<ir::ReduceOp>();
    if (outer.axis != rank - 2 || outer.combine != inner.combine || outer.order != ir::Order::any) return {};
    result.push_back(&user);
  }
  return result;
}

void FunctionEmitter::group(ir::Block::iterator first, ir::Block const& region) {
  std::vector<ir::Op const*> const members = members_of_group(first, region);
  std::vector<Sink> sinks;
  for (ir::Op const* op : members) {
    done_[op] = true;
    add_sinks(*op, members, sinks);
  }
  if (sinks.empty()) return;
  Nest nest(*this, nest_value(*first).type().shape(), sinks);
  // Sums over the last two axes, as sum(x, axis<1, 2>), are one: the vectors are joined once.
  std::vector<ir::Op const*> const outer = next_reductions(sinks);
  std::vector<Buffer> targets;
  for (ir::Op const* op : outer) targets.push_back(target_of(*op->result(), op));
  bool const joined = !outer.empty() && nest.join(targets);
  nest.emit();
  if (joined) {
    for (std::size_t i = 0; i < outer.size(); ++i) {
      done_[outer[i]] = true;
      set_buffer(*outer[i]->result(), targets[i]);
    }
    return;
  }
  for (Sink const& sink : sinks) {
    if (sink.kind == Sink::Kind::reduce) set_buffer(*sink.op->result(), sink.target);
    if (sink.kind != Sink::Kind::buffer) continue;
    if (sink.target.panel != 0) {
      set_panels(*sink.value, sink.target);
    } else {
      set_buffer(*sink.value, sink.target);
    }
  }
}

void FunctionEmitter::materialise(ir::Value const& value, Buffer const& to, std::vector<llvm::Value*> limits) {
  Nest nest(*this, value.type().shape(), {{Sink::Kind::buffer, &value, nullptr, to}});
  nest.limit(std::move(limits));
  nest.emit();
}

void FunctionEmitter::copy(Buffer const& from, Buffer const& to) {
  b.CreateMemCpy(to.pointer, llvm::Align(4), from.pointer, llvm::Align(4),
                 static_cast<std::uint64_t>(buffer_bytes(from)));
}

// --- regions -------------------------------------------------------------------------------------------------

bool FunctionEmitter::control_op(ir::Op const& op) {
  if (Contraction const* whole = op.is<ir::ForOp>() ? context.plan.contraction(op) : nullptr) {
    contract(*whole);
  } else if (ir::is_loop(op)) {
    loop_op(op);
  } else if (op.is<ir::IfOp>()) {
    if_op(op);
  } else if (op.is<ir::CallOp>()) {
    call(op);
  } else {
    return false;
  }
  return true;
}

bool FunctionEmitter::effect_op(ir::Op const& op) {
  if (changes_elements(op)) {
    change_elements(op);
  } else if (tells_host(op)) {
    tell_host(op);
  } else if (logs(op)) {
    log_op(op);
  } else if (touches_buffer(op)) {
    buffer_op(op);
  } else if (is_cta_wide(op)) {
    if (op.is<ir::ElectOp>()) block(op.block());
  } else {
    return false;
  }
  return true;
}

bool FunctionEmitter::tile_op(ir::Op const& op) {
  if (op.is<ir::DotOp>()) {
    dot(op);
  } else if (op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().order == ir::Order::pairwise) {
    pairwise(op);
  } else if (op.is<ir::ScanOp>()) {
    scan(op);
  } else if (uses_places(op)) {
    places_op(op);
  } else if (regroups(op)) {
    regroup(op);
  } else {
    return false;
  }
  return true;
}

bool FunctionEmitter::scalar_op(ir::Op const& op) {
  if (gives_item(op)) {
    item(op);
  } else if (op.result_count() == 1 && op.result()->type().is_scalar()) {
    scalar(*op.result());
  } else if (ir::is_view_op(op)) {
    tensor(*op.result());
  } else {
    return false;
  }
  return true;
}

void FunctionEmitter::scalars_of_group(ir::Block::iterator first, ir::Block const& region) {
  for (auto at = first; at != region.end(); ++at) {
    if (at->block_count() != 0 || at->is<ir::CallOp>() || is_ordered(*at, context.plan)) return;
    if (at->result_count() == 1 && at->result()->type().is_scalar()) scalar(*at->result());
    if (ir::is_view_op(*at)) tensor(*at->result());
  }
}

void FunctionEmitter::block(ir::Block const& region) {
  for (auto at = region.begin(); at != region.end(); ++at) {
    ir::Op const& op = *at;
    if (op.info().has(ir::terminator) || op.is(ir::Family::launch) || done_.contains(&op)) continue;
    AtLine const at_line(*this, op);
    if (control_op(op) || effect_op(op) || tile_op(op)) continue;
    if (is_grouped(op, context.plan)) {
      scalars_of_group(at, region);
      group(at, region);
    } else if (!scalar_op(op) && !is_inlineable(op)) {
      throw UserError(why_not_run(op.info(), ir::on_host), op.where());
    }
  }
}

void FunctionEmitter::if_op(ir::Op const& op) {
  std::vector<llvm::AllocaInst*> scalars;
  std::vector<Buffer> tiles;
  for (int i = 0; i < op.result_count(); ++i) {
    ir::Type const& type = op.result(i)->type();
    scalars.push_back(type.is_scalar() ? variable(arith.register_type(type.element())) : nullptr);
    tiles.push_back(type.is_tile() ? target_of(*op.result(i), &op) : Buffer{});
  }
  std::int64_t const used = scratch_used_;
  auto const branch = [&](ir::Block const& region) {
    ir::Op const& yield = region.back();
    for (int i = 0; i < op.result_count(); ++i)
      if (tiles[static_cast<std::size_t>(i)].pointer != nullptr && yield.operand(i)->defining_op() != nullptr &&
          yield.operand(i)->defining_op()->parent() == &region)
        targets_.emplace(yield.operand(i), tiles[static_cast<std::size_t>(i)]);
    block(region);
    for (int i = 0; i < op.result_count(); ++i) {
      auto const at = static_cast<std::size_t>(i);
      if (scalars[at] != nullptr) {
        b.CreateStore(scalar(*yield.operand(i)), scalars[at]);
      } else {
        Buffer const* const source = buffer_of(*yield.operand(i));
        if (source == nullptr || source->pointer != tiles[at].pointer) materialise(*yield.operand(i), tiles[at]);
      }
    }
    scratch_used_ = used;
  };
  when(
      scalar(*op.in<ir::IfOp>("condition")), [&] { branch(op.block(0)); }, [&] { branch(op.block(1)); });
  for (int i = 0; i < op.result_count(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    if (scalars[at] != nullptr) {
      set_scalar(*op.result(i), get(scalars[at]));
    } else {
      set_buffer(*op.result(i), tiles[at]);
    }
  }
}

FunctionEmitter::Range FunctionEmitter::range(ir::Loop const& loop) {
  Range over{scalar(*loop.lower()), scalar(*loop.upper()), scalar(*loop.step())};
  if (ir::has_positive_step(loop.op())) return over;
  over.upper = b.CreateSelect(b.CreateICmpSGT(over.step, i64(0)), over.upper, over.lower);
  over.step = smax(over.step, i64(1));
  return over;
}

// Keeps carried tiles in two buffers that swap their pointers in each iteration; tiles of one element and scalars in
// registers.
class FunctionEmitter::Carried {
 public:
  /// Allocates the places of a loop's carried value, and sets them to its initial one.
  Carried(FunctionEmitter& emitter, ir::Loop const& loop, int number) : e_(emitter), loop_(loop), number_(number) {
    ir::Type const& type = loop.result(number)->type();
    ir::Value const& init = *loop.init(number);
    if (type.is_scalar()) {
      scalar_ = e_.variable(e_.arith.register_type(type.element()), e_.scalar(init));
      return;
    }
    now_ = e_.rows(type, &loop.op());
    next_ = e_.rows(type, &loop.op());
    e_.materialise(init, now_);
    if (type.elements() == 1) return;
    now_pointer_ = e_.variable(e_.b.getPtrTy(), now_.pointer);
    next_pointer_ = e_.variable(e_.b.getPtrTy(), next_.pointer);
  }

  /// Gives the loop's body its value, and the place where it may compute the next one.
  void begin_iteration() {
    if (scalar_ != nullptr) {
      e_.set_scalar(*loop_.carried(number_), e_.get(scalar_));
      return;
    }
    now_here_ = now_;
    next_here_ = next_;
    if (now_pointer_ != nullptr) {
      now_here_.pointer = e_.get(now_pointer_);
      next_here_.pointer = e_.get(next_pointer_);
    }
    e_.set_buffer(*loop_.carried(number_), now_here_);
    ir::Value const& yielded = *loop_.yielded(number_);
    ir::Op const* const producer = yielded.defining_op();
    if (producer != nullptr && producer->parent() == &loop_.body() &&
        same_type_of_storage(yielded.type(), loop_.result(number_)->type()))
      e_.targets_.emplace(&yielded, next_here_);
  }
  /// Computes the next value where the body has not. No value changes before all are computed.
  void compute_next() {
    ir::Value const& value = *loop_.yielded(number_);
    if (scalar_ != nullptr) {
      next_scalar_ = e_.scalar(value);
      return;
    }
    Buffer const* const source = e_.buffer_of(value);
    if (source == nullptr || source->pointer != next_here_.pointer) e_.materialise(value, next_here_);
  }
  void end_iteration() {
    if (scalar_ != nullptr) {
      e_.b.CreateStore(next_scalar_, scalar_);
    } else if (now_pointer_ != nullptr) {
      e_.b.CreateStore(next_here_.pointer, now_pointer_);
      e_.b.CreateStore(now_here_.pointer, next_pointer_);
    } else {
      llvm::Type* const type = e_.storage_type(next_here_.element);
      e_.b.CreateStore(e_.b.CreateLoad(type, next_here_.pointer), now_here_.pointer);
    }
  }
  /// Gives the ops after the loop its result.
  void set_result() {
    ir::Value const& result = *loop_.result(number_);
    if (scalar_ != nullptr) {
      e_.set_scalar(result, e_.get(scalar_));
      return;
    }
    Buffer last = now_;
    if (now_pointer_ != nullptr) last.pointer = e_.get(now_pointer_);
    e_.set_buffer(result, last);
  }

 private:
  FunctionEmitter& e_;
  ir::Loop const& loop_;
  int number_;
  llvm::AllocaInst* scalar_ = nullptr;
  Buffer now_, next_;                        // one element: fixed
  llvm::AllocaInst* now_pointer_ = nullptr;  // else
  llvm::AllocaInst* next_pointer_ = nullptr;
  llvm::Value* next_scalar_ = nullptr;  // in the iteration being emitted, like the next two
  Buffer now_here_, next_here_;
};

void FunctionEmitter::loop_op(ir::Op const& op) {
  ir::Loop const whole(op);
  std::vector<Carried> carried;
  for (int i = 0; i < whole.count(); ++i) carried.emplace_back(*this, whole, i);
  std::int64_t const used = scratch_used_;
  auto const iteration = [&] {
    for (Carried& each : carried) each.begin_iteration();
    block(whole.body());
    for (Carried& each : carried) each.compute_next();
    for (Carried& each : carried) each.end_iteration();
  };
  if (op.is<ir::ForOp>()) {
    Range const over = range(whole);
    loop(over.lower, over.upper, over.step, [&](llvm::Value* index) {
      set_scalar(*whole.counter(), index);
      iteration();
    });
  } else {
    repeat([&] {
      iteration();
      return scalar(*whole.condition());
    });
  }
  scratch_used_ = used;
  for (Carried& each : carried) each.set_result();
}

// --- balanced trees ------------------------------------------------------------------------------------------

void FunctionEmitter::pairwise(ir::Op const& op) {
  ir::Value const& value = *op.operand();
  ir::ReduceOp const reduce = op.as<ir::ReduceOp>();
  auto const axis = static_cast<int>(reduce.axis);
  Element const element = value.type().element();
  Extents const shape = value.type().shape();
  Buffer const result = target_of(*op.result(), &op);
  std::int64_t const used = scratch_used_;
  Buffer const tree = rows(value.type(), &op);
  materialise(value, tree);
  llvm::Type* const storage = storage_type(element);
  // For every other coordinate: pair neighbours in place until one element is left.
  Index index(static_cast<std::size_t>(shape.size()), Axis{i64(0), false});
  std::function<void(int)> const over = [&](int level) {
    if (level < shape.size()) {
      if (level == axis || shape[level] == 1) return over(level + 1);
      loop(i64(0), i64(shape[level]), i64(1), [&](llvm::Value* i) {
        index[static_cast<std::size_t>(level)].at = i;
        over(level + 1);
        index[static_cast<std::size_t>(level)].at = i64(0);
      });
      return;
    }
    auto const element_at = [&](llvm::Value* i) {
      Index one = index;
      one[static_cast<std::size_t>(axis)].at = i;
      return address(tree, one);
    };
    for (std::int64_t n = shape[axis]; n > 1; n = (n + 1) / 2) {
      loop(i64(0), i64(n / 2), i64(1), [&](llvm::Value* i) {
        llvm::Value* const twice = b.CreateShl(i, 1);
        llvm::Value* const x = b.CreateLoad(storage, element_at(twice));
        llvm::Value* const y = b.CreateLoad(storage, element_at(b.CreateAdd(twice, i64(1))));
        b.CreateStore(arith.combine(reduce.combine, element, x, y), element_at(i));
      });
      if (n % 2 != 0) b.CreateStore(b.CreateLoad(storage, element_at(i64(n - 1))), element_at(i64(n / 2)));
    }
    b.CreateStore(arith.round_to(element, b.CreateLoad(storage, element_at(i64(0)))), address(result, index));
  };
  over(0);
  scratch_used_ = used;
  set_buffer(*op.result(), result);
}

}  // namespace tegula::codegen::host
