#include "ir/verify/verify_block.hpp"

#include <fmt/format.h>

#include "ir/core/families.hpp"
#include "ir/core/match.hpp"
#include "ir/infer/layout_rules.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/text/text.hpp"
#include "target/block_rules.hpp"
#include "tegula/abi/budget.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::ir {
namespace {

/// Finds the nearest op of this kind around `op`; null when there is none.
template <class OpStruct>
Op const* around(Op const& op) {
  for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
    if (at->is<OpStruct>()) return at;
  return nullptr;
}

std::string in_kernel_body(Op const& op, Function const& function) {
  return function.is_kernel() && op.parent() == &function.body() ? std::string()
                                                                 : "belongs into the outermost block of a kernel";
}

std::string in_function_body(Op const& op, Function const& function) {
  return op.parent() == &function.body() ? std::string() : "belongs into the outermost block of a function";
}

bool constant(Value const& value, std::int64_t& number) {
  Op const* const op = value.defined_by<ConstantOp>();
  if (op == nullptr) return false;
  number = static_cast<std::int64_t>(op->as<ConstantOp>().value.bits);
  return true;
}

/// Checks that constant offsets of a view are inside its source and keep the layout's pattern.
std::string offsets_fit(Op const& view) {
  Type const& source = view.in<ViewOp>("source")->type();
  Type const& result = view.result()->type();
  int const drop = source.rank() - result.rank();
  for (int axis = 0; axis < source.rank(); ++axis) {
    std::int64_t offset = 0;
    if (!constant(*view.in<ViewOp>("offsets", axis), offset)) continue;
    std::int64_t const extent = axis < drop ? 1 : result.shape()[axis - drop];
    if (offset < 0 || offset + extent > source.shape()[axis])
      return fmt::format("offset {} along axis {} leaves {}", offset, axis, to_string(source));
    if (offset % extent != 0)
      return fmt::format("offset {} along axis {} is not a multiple of the {} elements of the view", offset, axis,
                         extent);
  }
  return {};
}

std::string partitions_fit(Op const& op, Function const& function) {
  if (std::string wrong = in_kernel_body(op, function); !wrong.empty()) return wrong;
  WarpSpecializeOp const& attributes = op.as<WarpSpecializeOp>();
  std::int64_t warps = 0;
  for (int i = 0; i < attributes.warps.size(); ++i) {
    if (attributes.registers[i] != 0 && warps % 4 != 0)
      return fmt::format("partition {} starts at warp {}; one with registers starts at a whole warpgroup", i, warps);
    warps += attributes.warps[i] * attributes.replicas[i];
  }
  if (warps != function.warps)
    return fmt::format("its partitions take {} warps but @{} has {}", warps, function.name(), function.warps);
  for (int i = 0; i < op.block_count(); ++i)
    if (op.block(i).argument_count() != 1 || op.block(i).argument(0)->type() != Type::index())
      return "each block takes one i64, the number of its group";
  return {};
}

/// Checks that the map by value is that of the tensor whose slice the built one describes.
std::string of_a_slice(Op const& op) {
  Op const* const map = op.in("map")->defined_by<TensorMapOp>();
  Value const& slice = *op.in("slice");
  if (map != nullptr && map->in<TensorMapOp>("tensor") == &unsliced(slice)) return {};
  return to_string(*op.in("map")) + " is not made by tensor_map of " + to_string(unsliced(slice)) +
         ", the parameter behind " + to_string(slice);
}

std::string barrier_fits(Op const& op) {
  if (op.operand_count() == 0)
    return around<WarpSpecializeOp>(op) == nullptr ? std::string()
                                                   : "the barrier of all threads cannot be reached inside "
                                                     "warp_specialize; use a named barrier with an id and threads";
  std::int64_t id = 0;
  if (constant(*op.in("id"), id) && (id < 1 || id >= target::named_barriers))
    return fmt::format("id {}, but named barriers are 1 to 15 and 0 is the CTA's", id);
  return {};
}

std::string has_log(Op const& op) {
  return op.in("log")->defined_by<ProfileBeginOp>() != nullptr
             ? std::string()
             : "its log is " + to_string(*op.in("log")) + ", which is not the result of a profile_begin";
}

}  // namespace

int block_count_of(Op const& op) {
  if (is_loop(op) || op.is<ElectOp>() || op.is<FillOp>()) return 1;
  if (op.is<IfOp>()) return 2;
  return op.is<WarpSpecializeOp>() ? op.as<WarpSpecializeOp>().warps.size() : 0;
}

std::string why_not_here(Op const& op, Function const& function) {
  if (op.info().has(collective) && around<ElectOp>(op) != nullptr &&
      !(op.is<BufferLoadOp>() && op.result()->type().is_scalar()))
    return "all lanes of a warp take part, but elect leaves one";
  using Where = std::optional<std::string>;
  Where const wrong = match<Where>(
      op, on<BufferAllocOp>([&]() -> Where {
        return op.result()->type().is_global() ? in_kernel_body(op, function) : in_function_body(op, function);
      }),
      on<ProfileBeginOp, TensorMapOp>([&]() -> Where { return in_kernel_body(op, function); }),
      on<ProfileEndOp>([&]() -> Where {
        if (std::string outside = in_kernel_body(op, function); !outside.empty()) return outside;
        return has_log(op);
      }),
      on<ProfileAppendOp>([&]() -> Where { return has_log(op); }),
      on<BuildTensorMapOp, DeviceTensorMapOp>([&]() -> Where { return of_a_slice(op); }),
      on<AcquireTensorMapOp, FreeTensorMapOp>([&]() -> Where {
        return op.operand()->defined_by<DeviceTensorMapOp>() != nullptr
                   ? std::string()
                   : to_string(*op.operand()) + " is passed by value; only the map of device_tensor_map lies in memory";
      }),
      on<ViewOp>([&]() -> Where {
        if (std::string outside = offsets_fit(op); !outside.empty()) return outside;
        return why_layouts_differ(op);
      }),
      on<BarrierOp, BarrierArriveOp>([&]() -> Where { return barrier_fits(op); }), on<FillOp>([&]() -> Where {
        if (around<ElectOp>(op) != nullptr) return "all threads fill, but elect leaves one";
        return op.block().argument_count() == 0 ? std::string() : "its block does not take arguments";
      }),
      on<CpAsyncGatherOp>([&]() -> Where {
        return around<ElectOp>(op) == nullptr ? std::string() : "the owners of rows copy them, but elect leaves one";
      }),
      on<WarpSpecializeOp>([&]() -> Where { return partitions_fit(op, function); }), on<ElectOp>([&]() -> Where {
        if (around<ElectOp>(op) != nullptr) return "one lane is elected already";
        return op.block().argument_count() == 0 ? std::string() : "its block does not take arguments";
      }));
  return wrong ? *wrong : why_layouts_differ(op);
}

bool has_block_ops(Function const& function) {
  auto const found = [](auto const& self, Block const& block) -> bool {
    for (Op const& op : block) {
      if (op.info().is_block_op()) return true;
      for (int i = 0; i < op.block_count(); ++i)
        if (self(self, op.block(i))) return true;
    }
    return false;
  };
  return found(found, function.body());
}

}  // namespace tegula::ir
