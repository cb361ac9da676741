// Lists the accesses of each op.
#include "analysis/effects.hpp"
#include "analysis/shared_accesses.hpp"
#include "ir/exchange.hpp"
#include "ir/shared_frame.hpp"
#include "tegula/support/error.hpp"

namespace tegula::analysis {

using namespace ir;

using Holders = Access::Holders;

void SharedAccesses::set_offset(Slice::Axis& axis, Value const& value) {
  axis.offset = axis.offset + affines_.of(value);
  std::erase_if(axis.offset.terms, [&](auto const& term) {
    bool const warp = term.first->template defined_by<WarpIndexOp>() != nullptr;
    if (warp) axis.per_warp += term.second;
    return warp;
  });
}

Slice SharedAccesses::slice_of(Value const& value) {
  Op const* const op = value.defining_op();
  if (op != nullptr && op->is<SharedAllocOp>()) {
    Slice slice;
    slice.root = &value;
    Extents const& shape = value.type().shape();
    for (int axis = 0; axis < shape.size(); ++axis) {
      Slice::Axis place;
      place.extent = shape[axis];
      slice.axes.push_back(place);
      slice.axis_of.push_back(axis);
    }
    return slice;
  }
  if (op != nullptr && op->is<TransViewOp>()) {
    Slice slice = slice_of(*op->operand());
    if (slice.axis_of.size() >= 2) std::swap(slice.axis_of.end()[-1], slice.axis_of.end()[-2]);
    return slice;
  }
  if (op != nullptr && op->is<ViewOp>()) {
    Slice slice = slice_of(*op->in<ViewOp>("source"));
    if (slice.whole) return slice;
    Extents const& shape = value.type().shape();
    std::size_t const drop = slice.axis_of.size() - static_cast<std::size_t>(shape.size());
    for (std::size_t i = 0; i < slice.axis_of.size(); ++i) {
      Slice::Axis& place = slice.axes[static_cast<std::size_t>(slice.axis_of[i])];
      set_offset(place, *op->in<ViewOp>("offsets", static_cast<int>(i)));
      place.extent = i < drop ? 1 : shape[static_cast<int>(i - drop)];
    }
    slice.axis_of.erase(slice.axis_of.begin(), slice.axis_of.begin() + static_cast<std::ptrdiff_t>(drop));
    return slice;
  }
  // Carried by a loop or chosen by a branch: some part of a buffer, if there is but one.
  Slice slice;
  slice.whole = true;
  if (auto const buffers = buffers_of(value); buffers.size() == 1) slice.root = buffers.front()->result();
  return slice;
}

Slice SharedAccesses::slice_of_tensor(Value const& tensor, std::span<Value* const> offsets, Extents const& shape) {
  Slice slice;
  slice.root = &tensor;
  std::size_t const lead = offsets.size() - static_cast<std::size_t>(shape.size());
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    Slice::Axis place;
    place.extent = i < lead ? 1 : shape[static_cast<int>(i - lead)];
    set_offset(place, *offsets[i]);
    slice.axes.push_back(place);
    if (i >= lead) slice.axis_of.push_back(static_cast<int>(i));
  }
  return slice;
}

void SharedAccesses::place_bytes(Access& access) {
  if (access.space != Space::shared) return;
  if (access.slice.root == nullptr) {
    access.begin = 0;
    access.end = std::numeric_limits<std::int64_t>::max();
    return;
  }
  auto const found = offsets_.find(access.slice.root->defining_op());
  if (found == offsets_.end() || found->second < 0) return;
  access.begin = found->second;
  access.end = access.begin + buffer_bytes(access.slice.root->type());
}

Access SharedAccesses::shared_access(Op const& op, Value const& value, bool write) {
  Access access;
  access.op = &op;
  access.write = write;
  access.elected = elected_around(op);
  access.holders = access.elected == Access::not_elected ? Holders::every : Holders::lane;
  access.slice = slice_of(value);
  place_bytes(access);
  return access;
}

void SharedAccesses::add(Op const& op, std::vector<Access>& into) {
  auto const distributed = [&](Access& access, Type const& tile, bool owners) {
    if (!tile.is_tile()) return;
    access.holders = owners ? Holders::owners : Holders::layout;
    access.layout = tile.layout();
  };
  auto const global = [&](Value const& tensor, Extents const& shape, bool write) {
    Access access;
    access.op = &op;
    access.space = Space::global;
    access.write = write;
    access.elected = elected_around(op);
    access.holders = access.elected == Access::not_elected ? Holders::every : Holders::lane;
    access.slice = slice_of_tensor(tensor, op.all("offsets"), shape);
    return access;
  };
  auto const asynchronous = [&](Access access) {
    access.proxy = op.is<CpAsyncOp>() ? Proxy::generic : Proxy::async;
    access.completion = completion_of(op);
    into.push_back(std::move(access));
  };
  auto const written_by_someone = [&](Value const& tensor) {
    return parameter_of(tensor).direction != Direction::in || !function_.is_kernel();
  };
  auto const tensor = [&]() -> Value const& {
    bool const by_map = op.is<TmaLoadOp>() || op.is<TmaStoreOp>() || op.is<TmaReduceOp>();
    return by_map ? *op.in("map")->defining_op()->in<TensorMapOp>("tensor") : *op.in("tensor");
  };

  // Elements at indices that are not known here: some part of the tensor.
  auto const somewhere = [&](Type const& tile, bool write) {
    Access access;
    access.op = &op;
    access.space = Space::global;
    access.write = write;
    access.slice.root = &tensor();
    access.slice.whole = true;
    distributed(access, tile, write);
    return access;
  };

  switch (op.kind()) {
    case OpKind::SharedLoadOp: {
      Access access = shared_access(op, *op.operand(), false);
      distributed(access, op.result()->type(), false);
      into.push_back(access);
      break;
    }
    case OpKind::SharedStoreOp: {
      Access access = shared_access(op, *op.in<SharedStoreOp>("destination"), true);
      distributed(access, op.in<SharedStoreOp>("value")->type(), true);
      into.push_back(access);
      break;
    }
    case OpKind::LoadOp:
      if ((op.result()->type().is_scalar() || op.result()->type().layout() != nullptr) &&
          written_by_someone(tensor())) {
        Access access = global(tensor(), op.result()->type().shape(), false);
        distributed(access, op.result()->type(), false);
        into.push_back(access);
      }
      break;
    case OpKind::StoreOp: {
      Type const& tile = op.in<StoreOp>("tile")->type();
      if (tile.is_tile() && tile.layout() != nullptr) {
        Access access = global(tensor(), tile.shape(), true);
        distributed(access, tile, true);
        into.push_back(access);
      }
      break;
    }
    case OpKind::AtomicOp: {
      Access access = global(tensor(), {}, true);
      access.atomic = true;
      into.push_back(access);
      break;
    }
    case OpKind::TmaLoadOp:
    case OpKind::BulkLoadOp: {
      Value const& view = *op.in("destination");
      into.push_back(shared_access(op, *op.in("mbarrier"), false));
      if (written_by_someone(tensor())) asynchronous(global(tensor(), view.type().shape(), false));
      asynchronous(shared_access(op, view, true));
      break;
    }
    case OpKind::TmaStoreOp:
    case OpKind::TmaReduceOp:
    case OpKind::BulkStoreOp: {
      Value const& view = *op.in("source");
      asynchronous(shared_access(op, view, false));
      Access access = global(tensor(), view.type().shape(), true);
      access.atomic = op.is<TmaReduceOp>();
      asynchronous(access);
      break;
    }
    case OpKind::CpAsyncOp: {
      Value const& view = *op.in<CpAsyncOp>("destination");
      if (written_by_someone(tensor())) asynchronous(global(tensor(), view.type().shape(), false));
      Access access = shared_access(op, view, true);
      if (access.elected == Access::not_elected) {
        access.holders = Holders::chunks;
        access.vector = op.as<CpAsyncOp>().vector;
      }
      asynchronous(access);
      break;
    }
    case OpKind::WgmmaOp:
      if (op.lhs()->type().is_shared()) {
        Access access = shared_access(op, *op.lhs(), false);
        access.holders = Holders::rows;
        access.layout = op.result()->type().layout();
        asynchronous(access);
      }
      if (op.rhs()->type().is_shared()) asynchronous(shared_access(op, *op.rhs(), false));
      break;
    case OpKind::MbarrierInitOp:
    case OpKind::MbarrierInvalOp:
      into.push_back(shared_access(op, *op.in("mbarrier"), true));
      break;
    case OpKind::MbarrierArriveOp:
      if (!op.all<MbarrierArriveOp>("rank").empty()) break;  // another CTA's
      into.push_back(shared_access(op, *op.in("mbarrier"), false));
      break;
    case OpKind::MbarrierExpectOp:
    case OpKind::MbarrierWaitOp:
    case OpKind::CpAsyncArriveOp:
      into.push_back(shared_access(op, *op.in("mbarrier"), false));
      break;
    case OpKind::FetchOp:  // circular-buffer makes its copy
      break;
    case OpKind::PeerStoreOp:
      // Writes bytes of another CTA, counted by that CTA's mbarrier. Here they are written whenever a peer gets there:
      // Liveness keeps the buffer's bytes for it alone, and readers wait for the phase.
      break;
    case OpKind::AssertOp:
    case OpKind::PrintOp:
      break;  // do not access memory
    default:
      if (op.info().effects.count == 0) break;
      if (op.info().has(one_layout)) {  // elements at indices
        bool const write = op.info().effects.writes(Space::global);
        if (!write && !written_by_someone(tensor())) break;
        into.push_back(somewhere(write ? op.in("tile")->type() : op.result()->type(), write));
        into.back().atomic = op.info().atomic();
        break;
      }
      throw InternalError("accesses: " + std::string(op.info().mnemonic) + " has effects that no analysis models");
  }
}

std::vector<Access> const& SharedAccesses::of(Op const& op) {
  auto const [slot, fresh] = accesses_.try_emplace(&op);
  if (fresh) add(op, slot->second);
  return slot->second;
}

Access const* SharedAccesses::scratch(Op const& op, bool write) {
  auto const found = offsets_.find(&op);
  if (found == offsets_.end() || op.is<SharedAllocOp>() || op.is<CallOp>() || found->second < 0) return nullptr;
  auto& slot = scratch_[{&op, write}];
  if (!slot) {
    slot = std::make_unique<Access>();
    slot->op = &op;
    slot->write = write;
    slot->begin = found->second;
    slot->end = found->second + scratch_bytes(op);
  }
  return slot.get();
}

}  // namespace tegula::analysis
