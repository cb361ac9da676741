#include "codegen/nvptx/emitter.hpp"

#include <fmt/format.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "codegen/line_table.hpp"
#include "codegen/nvptx/chain_code.hpp"
#include "codegen/nvptx/arith.hpp"
#include "codegen/nvptx/global_address.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/kernel_properties.hpp"
#include "codegen/nvptx/lowerings.hpp"
#include "codegen/nvptx/profile_logs.hpp"
#include "codegen/nvptx/ptx/math.hpp"
#include "codegen/nvptx/ptx/sync.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/needed_ability.hpp"
#include "ir/core/visit_op.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Returns the extent that a requirement of the kernel states; each launch checks it.
std::optional<std::int64_t> required_extent(ir::Value const& tensor, int axis) {
  for (ir::Use const& of_tensor : tensor.uses()) {
    ir::Op const& extent = *of_tensor.user;
    if (!extent.is<ir::ExtentOp>() || extent.as<ir::ExtentOp>().axis != axis) continue;
    for (ir::Use const& of_extent : extent.result()->uses()) {
      ir::Op const& test = *of_extent.user;
      if (!test.is<ir::CompareOp>() || test.as<ir::CompareOp>().predicate != ir::Predicate::eq) continue;
      auto const number = ir::constant_int(test.lhs() == extent.result() ? *test.rhs() : *test.lhs());
      auto const& uses = test.result()->uses();
      if (number &&
          std::any_of(uses.begin(), uses.end(), [](ir::Use const& use) { return use.user->is<ir::RequireOp>(); }))
        return number;
    }
  }
  return std::nullopt;
}

std::string entry_name(std::string const& kernel) {
  std::string result = "tegula_";
  for (char c : kernel)
    result += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ? c : '_';
  return result;
}

template <class Test>
bool any_op(ir::Function const& function, Test test) {
  bool found = false;
  ir::walk_pre_order(function.body(), [&](ir::Op& op) {
    found = found || test(op);
    return ir::Walk::advance;
  });
  return found;
}

bool has_calls(ir::Function const& function) {
  return any_op(function, [](ir::Op const& op) { return op.is<ir::CallOp>(); });
}

/// True if the function has block ops besides the barriers that its tile ops need.
bool has_more_than_barriers(ir::Function const& function) {
  return any_op(function, [](ir::Op const& op) { return op.info().is_block_op() && !op.is<ir::BarrierOp>(); });
}
bool has_more_than_barriers(ir::Module const& module) {
  return std::any_of(module.functions().begin(), module.functions().end(),
                     [](auto const& function) { return has_more_than_barriers(*function); });
}

template <class OpStruct>
constexpr bool runs = (OpStruct::support & ir::on_gpu) != 0;
template <class OpStruct>
concept HasLowering = requires(OpStruct const& attributes, ir::Op const& op, Emitter& emitter) {
  lower(attributes, op, emitter);
};
#define TEGULA_OP(name)                                                                                           \
  static_assert(!runs<ir::name> || ir::ElementwiseOp<ir::name> || ir::ShapeOp<ir::name> || HasLowering<ir::name>, \
                #name " must have a lowering for GPUs: add an overload of lower to codegen/nvptx/lowerings.hpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

template <class OpStruct>
void lower_op(ir::Op const& op, Emitter& emitter) {
  if constexpr (!runs<OpStruct>)
    throw UserError(why_not_run(op.info(), ir::on_gpu), op.where());
  else if constexpr (ir::ElementwiseOp<OpStruct>)
    lower_elementwise(op, emitter);
  else if constexpr (ir::ShapeOp<OpStruct>)
    lower_shape(op, emitter);
  else
    lower(op.as<OpStruct>(), op, emitter);
}

unsigned slots_of(ir::Type const& parameter) {
  return parameter.is_tensor() ? 1 + 2 * static_cast<unsigned>(parameter.rank()) : 1;
}

}  // namespace

Emitter::Emitter(llvm::Module& module, ir::Function const& kernel, TargetInfo const& gpu)
    : Emitter(module, kernel, kernel, gpu) {}

Emitter::Emitter(llvm::Module& module, ir::Function const& kernel, ir::Function const& source, TargetInfo const& gpu)
    : b(module.getContext()),
      target(gpu),
      warps(kernel.warps),
      coordinates(b, lane, warp),
      logs(std::make_unique<ProfileLogs>()),
      module_(module),
      kernel_(kernel),
      source_(source),
      chains_(std::make_unique<ChainCode>(*this)) {
  block_kernel_ = has_calls(kernel) ? has_more_than_barriers(*kernel.parent()) : has_more_than_barriers(kernel);
  if (warps < 1)
    throw InternalError("nvptx: @" + kernel.name() + " does not state its warps; layouts are not assigned");
}

Emitter::~Emitter() = default;

llvm::Function& Emitter::emit_kernel() {
  first_launch_slot_ = 0;
  for (int i = 0; i < kernel_.parameter_count(); ++i) first_launch_slot_ += slots_of(kernel_.parameter(i)->type());
  std::vector<llvm::Type*> parameters(first_launch_slot_ + launch_slots, b.getInt64Ty());
  std::vector<ir::Op const*> const maps = tensor_maps_of(kernel_);
  KernelProperties properties{
      .threads = warps * target.lanes, .cluster = kernel_.cluster, .ctas = kernel_.ctas, .tensor_maps = {}};
  for (std::size_t i = 0; i < maps.size(); ++i) {
    properties.tensor_maps.push_back(static_cast<unsigned>(parameters.size()));
    parameters.push_back(llvm::PointerType::get(b.getContext(), 0));
  }
  llvm::FunctionType* const signature = llvm::FunctionType::get(b.getVoidTy(), parameters, false);
  function_ =
      llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage, entry_name(kernel_.name()), module_);
  describe_kernel(*function_, properties);
  for (std::size_t i = 0; i < maps.size(); ++i) set(*maps[i]->result(), {function_->getArg(properties.tensor_maps[i])});

  begin_body();
  llvm::Argument* argument = function_->arg_begin();
  for (int i = 0; i < kernel_.parameter_count(); ++i) {
    ir::Value const& parameter = *kernel_.parameter(i);
    if (parameter.type().is_tensor()) {
      add_tensor(parameter, argument);
      continue;
    }
    llvm::Value* const slot = argument++;
    Element const element = parameter.type().element();
    unsigned const width = static_cast<unsigned>(bytes(element)) * 8;
    llvm::Value* value = width == 64 ? slot : b.CreateTrunc(slot, b.getIntNTy(width));
    set(parameter, {from_bits(value, element)});
  }
  emit_block_after_coordinates(kernel_.body());
  return *function_;
}

void Emitter::begin_body() {
  llvm::BasicBlock* const entry = block("entry");
  b.SetInsertPoint(entry);
  coordinates.begin(entry);
  if (lines != nullptr) b.SetCurrentDebugLocation(lines->begin(*function_, source_));
  llvm::Value* const thread = intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  lane = b.CreateAnd(thread, i32(warp_lanes - 1), "lane");
  warp = b.CreateLShr(thread, i32(warp_lane_bits), "warp");
  // Shuffles the warp index, so that ptxas knows that branches on it are taken by whole warps (else C7518, C7520).
  if (block_kernel_) warp = ptx::shuffle_idx(b, warp, i32(0));
}

void Emitter::add_tensor(ir::Value const& parameter, llvm::Argument*& argument) {
  TensorParts parts;
  parts.address = argument++;
  for (int a = 0; a < parameter.type().rank(); ++a) parts.extents.push_back(argument++);
  for (int a = 0; a < parameter.type().rank(); ++a) parts.strides.push_back(argument++);
  parts.attributes = source_.parameter_attributes()[static_cast<std::size_t>(parameter.index())];
  for (int axis = 0; axis < parameter.type().rank(); ++axis)
    if (auto const extent = required_extent(parameter, axis))
      parts.extents[static_cast<std::size_t>(axis)] = i64(*extent);
  parts.constant = constant_for_kernel(kernel_, parameter);
  tensors.set(parameter, std::move(parts));
}

void Emitter::emit_block_after_coordinates(ir::Block const& ops) {
  // Thread coordinates of layouts go to the end of the entry block when they are first asked for.
  llvm::BasicBlock* const body = block("body");
  b.CreateBr(body);
  b.SetInsertPoint(body);
  emit_block(ops);
}

void Emitter::emit_block(ir::Block const& ops) {
  auto next = ops.begin();
  for (ir::ElementChain const& chain : chains_of(ops)) {
    if (chain.by_elements()) {
      for (std::size_t i = 0; i < chain.all.size(); ++i) ++next;
      next_ = next == ops.end() ? nullptr : &*next;
      chains_->emit(chain);
      continue;
    }
    for (ir::Op const* op : chain.all) {
      ++next;
      next_ = next == ops.end() ? nullptr : &*next;
      emit(*op);
    }
  }
}

void Emitter::emit(ir::Op const& op) {
  current_ = &op;
  if (std::string const why = ir::why_not_on(op, target); !why.empty()) refuse(op, why);
  llvm::DebugLoc const around = b.getCurrentDebugLocation();
  if (lines != nullptr) b.SetCurrentDebugLocation(lines->at(*function_, op.where()));
  ir::visit_op(op.kind(), [&](auto type) { lower_op<typename decltype(type)::type>(op, *this); });
  b.SetCurrentDebugLocation(around);
}

llvm::Type* Emitter::type(Element element) { return type_of(b, info(element).gpu); }

llvm::Value* Emitter::constant(ir::Constant value) {
  if (value.element == Element::boolean) return b.getInt1(value.bits != 0);
  unsigned const width = static_cast<unsigned>(bits(value.element));
  std::uint64_t const mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return b.CreateBitCast(llvm::ConstantInt::get(b.getIntNTy(width), value.bits & mask), type(value.element));
}

llvm::Value* Emitter::intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments,
                                llvm::ArrayRef<llvm::Type*> types) {
#if LLVM_VERSION_MAJOR >= 20
  llvm::Function* const callee = llvm::Intrinsic::getOrInsertDeclaration(&module_, id, types);
#else
  llvm::Function* const callee = llvm::Intrinsic::getDeclaration(&module_, id, types);
#endif
  return b.CreateCall(callee, arguments);
}

llvm::Value* Emitter::to_bits(llvm::Value* value, Element element) {
  if (element == Element::boolean) return b.CreateZExt(value, b.getInt8Ty());
  return b.CreateBitCast(value, b.getIntNTy(static_cast<unsigned>(bits(element))));
}

llvm::Value* Emitter::from_bits(llvm::Value* bits, Element element) {
  if (element == Element::boolean) return b.CreateICmpNE(bits, llvm::ConstantInt::get(bits->getType(), 0));
  return b.CreateBitCast(bits, type(element));
}

llvm::Value* Emitter::widen(llvm::Value* value, Element element) {
  if (element == Element::f16) return b.CreateFPExt(value, b.getFloatTy());
  if (is_f8(element)) return ptx::widen_f8(b, element, value);
  if (element == Element::bf16) {
    // The upper half of a word needs no shift.
    if (auto const* const part = llvm::dyn_cast<llvm::ExtractElementInst>(value))
      if (auto const* const pair = llvm::dyn_cast<llvm::BitCastInst>(part->getVectorOperand()))
        if (auto const* const index = llvm::dyn_cast<llvm::ConstantInt>(part->getIndexOperand());
            index != nullptr && index->isOne() && pair->getOperand(0)->getType()->isIntegerTy(32))
          return b.CreateBitCast(b.CreateAnd(pair->getOperand(0), i32(0xFFFF0000)), b.getFloatTy());
    return b.CreateBitCast(b.CreateShl(b.CreateZExt(value, b.getInt32Ty()), i32(16)), b.getFloatTy());
  }
  return value;
}

llvm::Value* Emitter::narrow(llvm::Value* value, Element element) {
  if (element == Element::f16) return b.CreateFPTrunc(value, b.getHalfTy());
  if (is_f8(element)) return ptx::narrow_f8(b, element, value);
  if (element == Element::bf16) return inline_ptx(b, b.getInt16Ty(), "cvt.rn.bf16.f32 $0, $1;", "=h,f", {value});
  return value;
}

llvm::Value* Emitter::combine(ir::Combine operation, Element element, llvm::Value* lhs, llvm::Value* rhs) {
  return DeviceArith(*this).combine(operation, element, lhs, rhs);
}

llvm::Value* Emitter::shuffle_xor(llvm::Value* value, std::uint32_t mask) {
  llvm::Type* const type = value->getType();
  auto const word = [&](llvm::Value* bits) {
    return intrinsic(llvm::Intrinsic::nvvm_shfl_sync_bfly_i32, {i32(-1), bits, i32(mask), i32(31)});
  };
  if (type->getPrimitiveSizeInBits() == 32) return b.CreateBitCast(word(b.CreateBitCast(value, b.getInt32Ty())), type);
  if (type->getPrimitiveSizeInBits() != 64) throw InternalError("nvptx: a shuffle of neither 32 nor 64 bits");
  llvm::Value* const bits = b.CreateBitCast(value, b.getInt64Ty());
  llvm::Value* const low = b.CreateZExt(word(b.CreateTrunc(bits, b.getInt32Ty())), b.getInt64Ty());
  llvm::Value* const high =
      b.CreateZExt(word(b.CreateTrunc(b.CreateLShr(bits, i64(32)), b.getInt32Ty())), b.getInt64Ty());
  return b.CreateBitCast(b.CreateOr(low, b.CreateShl(high, i64(32))), type);
}

llvm::Value* Emitter::shuffle_from(llvm::Value* value, Element element, llvm::Value* from) {
  llvm::Value* const bits = to_bits(value, element);
  auto const word = [&](llvm::Value* part) { return ptx::shuffle_idx(b, part, from); };
  if (bytes(element) < 8) {
    llvm::Value* const moved = word(b.CreateZExtOrTrunc(bits, b.getInt32Ty()));
    return from_bits(b.CreateTrunc(moved, bits->getType()), element);
  }
  llvm::Value* const low = b.CreateZExt(word(b.CreateTrunc(bits, b.getInt32Ty())), b.getInt64Ty());
  llvm::Value* const high =
      b.CreateZExt(word(b.CreateTrunc(b.CreateLShr(bits, i64(32)), b.getInt32Ty())), b.getInt64Ty());
  return from_bits(b.CreateOr(low, b.CreateShl(high, i64(32))), element);
}

void Emitter::in_group(llvm::Value* group_warp, int group_warps, std::function<void()> const& body) {
  llvm::Value* const outer_warp = std::exchange(warp, group_warp);
  int const outer_warps = std::exchange(warps, group_warps);
  bool const outer_cta = std::exchange(whole_cta, false);
  ThreadCoordinates::Group outer_coordinates = coordinates.begin(b.GetInsertBlock());
  llvm::BasicBlock* const inner = block("group");
  b.CreateBr(inner);
  b.SetInsertPoint(inner);
  body();
  warp = outer_warp;
  warps = outer_warps;
  whole_cta = outer_cta;
  coordinates.resume(std::move(outer_coordinates));
}

void Emitter::in_elected_lane(std::function<void()> const& body) {
  bool const outer = std::exchange(elected, true);
  body();
  elected = outer;
}

llvm::Value* Emitter::is_chosen_lane() {
  return target.has(Ability::elect) ? ptx::elect(b) : b.CreateICmpEQ(lane, i32(0));
}

llvm::Value* Emitter::thread() { return elected ? i32(0) : b.CreateAdd(b.CreateShl(warp, i32(warp_lane_bits)), lane); }

void Emitter::barrier() {
  if (!whole_cta || elected)
    refuse(
        *current_,
        "warps exchange elements through shared memory here, which needs a barrier of all threads of the CTA, but only "
        "a part of them executes it; take a layout in which the exchange stays within warps, or stage it through a "
        "buffer_alloc with a named barrier");
  ptx::barrier_cta(b);
}

llvm::Value* Emitter::shared(llvm::Value* offset) {
  if (ir::Value const* const base = ir::shared_base(source_))
    offset = b.CreateAdd(offset, b.CreateTrunc(scalar(*base), b.getInt32Ty()));
  llvm::GlobalVariable* memory = module_.getGlobalVariable("tegula_shared");
  if (memory == nullptr) {
    memory = new llvm::GlobalVariable(module_, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                      llvm::GlobalValue::ExternalLinkage, nullptr, "tegula_shared", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, 3);
    memory->setAlignment(llvm::Align(1024));
  }
  return b.CreateGEP(b.getInt8Ty(), memory, offset);
}

void refuse(ir::Op const& op, std::string const& why) {
  std::string text = std::string(op.info().mnemonic) + ": " + why;
  if (op.where().known()) text = fmt::format("{}:{}: {}", op.where().file(), op.where().line(), text);
  throw UserError(text, op.where());
}

std::vector<ir::Op const*> tensor_maps_of(ir::Function const& kernel) {
  std::vector<ir::Op const*> result;
  for (ir::Op const& op : kernel.body())
    if (op.is<ir::TensorMapOp>()) {
      if (op.in<ir::TensorMapOp>("tensor")->defined_by<ir::SliceOp>() != nullptr)
        refuse(op, ir::to_string(*op.in<ir::TensorMapOp>("tensor")) +
                       " is a slice, which the host cannot describe; run build-tensor-maps");
      result.push_back(&op);
    }
  return result;
}

llvm::BasicBlock* Emitter::block(char const* name) { return llvm::BasicBlock::Create(b.getContext(), name, function_); }

int Emitter::grid_axes() const {
  for (ir::Op const& op : kernel_.body())
    if (op.is<ir::GridOp>()) return op.operand_count();
  return 3;
}

llvm::Value* Emitter::launch_slot(int number) {
  return function_->getArg(first_launch_slot_ + static_cast<unsigned>(number));
}

llvm::Value* Emitter::grid_extent(int axis) { return b.CreateTrunc(launch_slot(axis), b.getInt32Ty()); }

}  // namespace tegula::codegen::nvptx
