// Emits buffers. One thread runs a CTA, so its accesses need no barriers. Shared memory is scratch; elements lie
// row-major, whatever layout the type states, which shows in no view.
#include <algorithm>

#include "codegen/host/emitter.hpp"
#include "codegen/host/host.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/row_major.hpp"
#include "ir/values/table.hpp"

namespace tegula::codegen::host {
namespace {

constexpr std::uint64_t buffer_alignment = 64;

Buffer dense(ir::Type const& type) {
  Buffer buffer;
  buffer.element = type.element();
  buffer.shape = type.shape();
  buffer.strides = ir::row_major_strides(type.shape());
  buffer.exact = true;
  return buffer;
}

bool is_first_warp(ir::Op const& elect) { return elect.as<ir::ElectOp>().warp >= 0; }

}  // namespace

bool touches_buffer(ir::Op const& op) {
  bool const of_blocks = op.info().is_block_op() && op.is(ir::Family::memory) && op.info().runs(ir::on_host);
  return of_blocks || op.is<ir::BufferAllocOp>() || op.is<ir::BufferDeallocOp>();
}

bool is_cta_wide(ir::Op const& op) {
  return op.is<ir::WarpBarrierOp>() || (op.is<ir::BarrierOp>() && op.operand_count() == 0) ||
         (op.is<ir::ElectOp>() && is_first_warp(op));
}

/// Makes a variable of a module.
static llvm::GlobalVariable* module_variable(llvm::Module& module, llvm::Constant* value, bool constant,
                                             llvm::GlobalValue::LinkageTypes linkage, std::string const& name) {
  auto* const memory = new llvm::GlobalVariable(module, value->getType(), constant, linkage, value, name);
  memory->setAlignment(llvm::Align(buffer_alignment));
  return memory;
}

llvm::Value* FunctionEmitter::global_buffer(ir::Op const& alloc) {
  // A vector that starts inside may be read to its end.
  std::int64_t const bytes =
      std::max(buffer_bytes(dense(alloc.result()->type())), ir::buffer_bytes(alloc.result()->type())) +
      context.target.vector_bytes;
  llvm::Type* const type = llvm::ArrayType::get(b.getInt8Ty(), static_cast<std::uint64_t>(bytes));
  Symbol const symbol = alloc.as<ir::BufferAllocOp>().symbol;
  return module_variable(context.module, llvm::ConstantAggregateZero::get(type), false,
                         symbol.empty() ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage,
                         symbol.empty() ? "tegula_buffer" : std::string(symbol.view()));
}

llvm::Value* FunctionEmitter::table(ir::Op const& op) {
  llvm::GlobalVariable*& memory = tables_[&op];
  if (memory != nullptr) return memory;
  std::vector<std::byte> bytes = ir::table_bytes(op.as<ir::TableOp>());
  // A vector that starts inside may be read to its end.
  bytes.resize(bytes.size() + static_cast<std::size_t>(context.target.vector_bytes));
  llvm::StringRef const raw(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  llvm::Constant* const data = llvm::ConstantDataArray::getRaw(raw, bytes.size(), b.getInt8Ty());
  memory = module_variable(context.module, data, true, llvm::GlobalValue::InternalLinkage, "tegula_table");
  return memory;
}

void FunctionEmitter::buffer_op(ir::Op const& op) {
  if (op.is<ir::BufferDeallocOp>()) return;
  if (op.is<ir::BufferAllocOp>()) {
    Buffer buffer = dense(op.result()->type());
    buffer.pointer = op.result()->type().is_global() ? global_buffer(op)
                                                     : scratch(buffer_bytes(buffer) + context.target.vector_bytes, &op);
    return set_buffer(*op.result(), buffer);
  }
  if (op.is<ir::BufferStoreOp>()) {
    Buffer const to = *buffer_of(*op.in<ir::BufferStoreOp>("destination"));
    ir::Value const& value = *op.in<ir::BufferStoreOp>("value");
    if (value.type().is_tile()) return materialise(value, to);
    llvm::Value* element = scalar(value);
    if (to.element == Element::boolean) element = b.CreateZExt(element, b.getInt8Ty());
    b.CreateStore(element, to.pointer);
    return;
  }
  Buffer const from = *buffer_of(*op.operand(0));
  ir::Value const& result = *op.result();
  if (op.is<ir::BufferLoadOp>()) {
    if (result.type().is_scalar()) {
      llvm::Value* const element = b.CreateLoad(storage_type(from), from.pointer);
      return set_scalar(result, from.element == Element::boolean ? b.CreateTrunc(element, b.getInt1Ty()) : element);
    }
    Buffer const to = target_of(result, &op);
    set_buffer(result, from);
    materialise(result, to);
    return set_buffer(result, to);
  }
  Buffer view = from;
  if (op.is<ir::TransViewOp>()) {
    int const last = view.shape.size() - 1;
    std::swap(view.shape[last - 1], view.shape[last]);
    std::swap(view.strides[last - 1], view.strides[last]);
    return set_buffer(result, view);
  }
  llvm::Value* offset = i64(0);
  for (int axis = 0; axis < from.shape.size(); ++axis) {
    llvm::Value* const at = b.CreateSExt(scalar(*op.in<ir::ViewOp>("offsets", axis)), b.getInt64Ty());
    offset = b.CreateAdd(offset, b.CreateMul(at, i64(from.strides[axis])));
  }
  view.pointer = b.CreateGEP(storage_type(from), from.pointer, offset);
  int const drop = from.shape.size() - result.type().rank();
  view.shape = result.type().shape();
  view.strides = {};
  for (int axis = drop; axis < from.shape.size(); ++axis) view.strides.push_back(from.strides[axis]);
  set_buffer(result, view);
}

}  // namespace tegula::codegen::host

namespace tegula::codegen {

using namespace host;

bool runs_on_host(ir::Op const& op) {
  if (!op.info().is_block_op() && !op.is<ir::BufferAllocOp>()) return true;
  if (!op.info().runs(ir::on_host)) return false;
  bool mbarriers = false;
  for (ir::Value const* operand : op.operands()) mbarriers = mbarriers || operand->type().is_mbarrier();
  for (int i = 0; i < op.result_count(); ++i) mbarriers = mbarriers || op.result(i)->type().is_mbarrier();
  return !mbarriers && (touches_buffer(op) || is_cta_wide(op));
}

}  // namespace tegula::codegen
