#include "transform/staged/build_tensor_maps.hpp"

#include <set>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/memory/accesses.hpp"
#include "layout/shared_layouts.hpp"
#include "transform/common/tensor_maps.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// A copy of an empty slice begins so far outside: behind the one element of its descriptor, and at a multiple of 16
/// bytes.
constexpr std::int64_t outside = 16;

class Build {
 public:
  explicit Build(ir::Function& function) : function_(function) {}

  bool run() {
    std::vector<Op*> maps;
    for (Op& op : function_.body())
      if (op.is<ir::TensorMapOp>() && op.in<ir::TensorMapOp>("tensor")->defined_by<ir::SliceOp>() != nullptr)
        maps.push_back(&op);
    if (maps.empty()) return false;
    // One barrier is enough for those that stand after each other.
    for (std::size_t first = 0; first < maps.size();) {
      std::size_t last = first + 1;
      while (last < maps.size() && between_is_pure(*maps[first], *maps[last])) ++last;
      replace({maps.begin() + static_cast<std::ptrdiff_t>(first), maps.begin() + static_cast<std::ptrdiff_t>(last)});
      first = last;
    }
    free();
    return true;
  }

 private:
  /// Tells whether the ops from one map to another only compute values and name buffers.
  bool between_is_pure(Op const& from, Op const& to) const {
    bool inside = false;
    for (Op const& op : function_.body()) {
      if (&op == &to) return true;
      inside = inside || &op == &from;
      if (inside && !op.pure() && !op.is<ir::LoadOp>() && !op.is<ir::BufferAllocOp>()) return false;
    }
    return false;
  }

  void replace(std::vector<Op*> const& maps) {
    ir::Builder builder = ir::Builder::before(*maps.back());
    builder.set_where(maps.back()->where());
    std::vector<std::vector<Value*>> parts;  // by value, slice, home
    for (Op* map : maps) {
      Value* const slice = map->in<ir::TensorMapOp>("tensor");
      auto& whole = const_cast<Value&>(ir::unsliced(*slice));
      Value* const by_value =
          tensor_map_at_start(function_, whole, map->as<ir::TensorMapOp>(), map->result()->type().shape());
      Value* const home = builder.value(ir::make_op<ir::BufferAllocOp>(std::int64_t{8}), {},
                                        Type::shared(Element::i64, {1}, layout::dense_layout({1})));
      home->set_name("home");
      parts.push_back({by_value, slice, home});
    }
    Op& elect = builder.op(ir::make_op<ir::ElectOp>(std::int64_t{0}), {}, {});
    ir::Builder lane(elect.add_block());
    for (auto const& operands : parts) lane.op(ir::BuildTensorMapOp{}, operands, {});
    lane.op(ir::ReleaseTensorMapsOp{}, {}, {});
    lane.op(ir::YieldOp{}, {}, {});
    builder.op(ir::BarrierOp{}, {}, {});
    for (std::size_t i = 0; i < maps.size(); ++i) {
      Value* const built =
          builder.value(ir::DeviceTensorMapOp{}, {parts[i][0], parts[i][1], parts[i][2]}, maps[i]->result()->type());
      built->set_name(maps[i]->result()->name());
      builder.op(ir::AcquireTensorMapOp{}, {built}, {});
      keep_outside(builder, *maps[i]->result(), *parts[i][1]);
      maps[i]->result()->replace_all_uses_with(*built);
      maps[i]->erase();
      built_.push_back(built);
    }
  }

  /// Lets copies of a slice without elements begin outside of the one element that its descriptor has.
  static void keep_outside(ir::Builder& builder, Value& map, Value& slice) {
    std::set<std::int64_t> axes;
    for (Value* at = &slice; Op* const op = at->defined_by<ir::SliceOp>(); at = op->in<ir::SliceOp>("tensor"))
      axes.insert(op->as<ir::SliceOp>().axis);
    std::vector<Op*> users;
    for (ir::Use const& use : map.uses()) users.push_back(use.user);
    std::vector<Value*> empty;
    for (std::int64_t const axis : axes) {
      Value* const extent = builder.value(ir::make_op<ir::ExtentOp>(axis), {&slice}, Type::index());
      empty.push_back(builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {extent, builder.index(0)},
                                    Type::scalar(Element::boolean)));
    }
    for (Op* user : users) {
      if (user->is<ir::PrefetchTensorMapOp>()) {
        user->erase();
        continue;
      }
      ir::Builder before = ir::Builder::before(*user);
      before.set_where(user->where());
      int const first = user->position("offsets");
      std::size_t i = 0;
      for (std::int64_t const axis : axes) {
        Value* const offset = user->operand(first + static_cast<int>(axis));
        Value* const far = before.constant(ir::make_constant(offset->type().element(), outside), offset->type());
        user->set_operand(first + static_cast<int>(axis),
                          before.value(ir::SelectOp{}, {empty[i++], far, offset}, offset->type()));
      }
    }
  }

  void free() {
    ir::Builder end = ir::Builder::before(function_.body().back());
    end.op(ir::BarrierOp{}, {}, {});
    Op& elect = end.op(ir::make_op<ir::ElectOp>(std::int64_t{0}), {}, {});
    ir::Builder lane(elect.add_block());
    for (Value* map : built_) lane.op(ir::FreeTensorMapOp{}, {map}, {});
    lane.op(ir::YieldOp{}, {}, {});
  }

  ir::Function& function_;
  std::vector<Value*> built_;
};

}  // namespace

PassResult build_tensor_maps(ir::Function& function, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  return result_of(Build(function).run());
}

}  // namespace tegula::transform
