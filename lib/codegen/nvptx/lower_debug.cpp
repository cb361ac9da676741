// Lowers asserts and prints to CUDA's __assertfail and vprintf. Each message has a function of its own: its code and
// the stack frame of its arguments stay out of the kernel.
#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include "codegen/nvptx/emitter.hpp"
#include "ir/text/text.hpp"
#include "support/console.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Returns the generic address of a text in global memory.
llvm::Constant* text_address(llvm::Module& module, std::string_view text) {
  llvm::Constant* const bytes = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto* const global = new llvm::GlobalVariable(module, bytes->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                                bytes, "tegula_text", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  return llvm::ConstantExpr::getAddrSpaceCast(global, llvm::PointerType::get(module.getContext(), 0));
}

/// Returns the text as a part of a format of vprintf.
std::string escaped(std::string_view text) {
  std::string result;
  for (char const c : text) result += c == '%' ? std::string("%%") : std::string(1, c);
  return result;
}

std::string kernel_name(ir::Op const& op) {
  ir::Function const& function = *op.function();
  return function.is_kernel() || function.parent() == nullptr ? function.name() : function.parent()->kernel().name();
}

/// Returns "name[%lld, %lld, %lld]: ", the start of each line.
std::string line_start(ir::Op const& op) { return escaped(kernel_name(op)) + "[%lld, %lld, %lld]: "; }

/// Makes the functions of one message. Their parameters are i64 and double.
class Message {
 public:
  Message(Emitter& e, char const* name, llvm::ArrayRef<llvm::Value*> arguments)
      : module_(*e.b.GetInsertBlock()->getModule()), b_(module_.getContext()) {
    std::vector<llvm::Type*> types;
    for (llvm::Value* argument : arguments) types.push_back(argument->getType());
    function_ = llvm::Function::Create(llvm::FunctionType::get(b_.getVoidTy(), types, false),
                                       llvm::GlobalValue::InternalLinkage, name, module_);
    function_->addFnAttr(llvm::Attribute::NoInline);
    function_->addFnAttr(llvm::Attribute::Cold);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "entry", function_));
  }

  /// Prints the function's parameters.
  void print(std::string const& format) {
    llvm::Type* const pointer = llvm::PointerType::get(module_.getContext(), 0);
    auto const count = static_cast<std::uint64_t>(function_->arg_size());
    llvm::Value* const list = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), count));
    for (unsigned i = 0; i < count; ++i)
      b_.CreateAlignedStore(function_->getArg(i), b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), list, i),
                            llvm::Align(8));
    b_.CreateCall(external("vprintf", b_.getInt32Ty(), {pointer, pointer}), {text_address(module_, format), list});
  }

  void fail(ir::AssertOp const& attributes, std::string const& kernel) {
    llvm::Type* const pointer = llvm::PointerType::get(module_.getContext(), 0);
    llvm::FunctionCallee const callee =
        external("__assertfail", b_.getVoidTy(), {pointer, pointer, b_.getInt32Ty(), pointer, b_.getInt64Ty()});
    b_.CreateCall(callee,
                  {text_address(module_, attributes.message.view()), text_address(module_, attributes.file.view()),
                   b_.getInt32(static_cast<std::uint32_t>(attributes.line)), text_address(module_, kernel),
                   b_.getInt64(1)});  // bytes of a character
  }

  llvm::Function* end() {
    b_.CreateRetVoid();
    return function_;
  }

 private:
  llvm::FunctionCallee external(char const* name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters) {
    return module_.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
};

/// Calls a message where the condition holds.
void call_where(Emitter& e, llvm::Value* condition, llvm::Function* message, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::BasicBlock *const tell = e.block("tell"), *const join = e.block("told");
  e.b.CreateCondBr(condition, tell, join);
  e.b.SetInsertPoint(tell);
  e.b.CreateCall(message, arguments);
  e.b.CreateBr(join);
  e.b.SetInsertPoint(join);
}

/// Returns the block indices that a message names.
std::vector<llvm::Value*> block_of(ir::Op const& op, Emitter& e) {
  return {e.scalar(*op.in("block0")), e.scalar(*op.in("block1")), e.scalar(*op.in("block2"))};
}

/// Returns a register's value in the 8 bytes that vprintf reads.
llvm::Value* printed(Emitter& e, Element element, llvm::Value* value) {
  if (element == Element::boolean) return e.b.CreateZExt(value, e.b.getInt64Ty());
  if (is_integer(element))
    return is_signed(element) ? e.b.CreateSExt(value, e.b.getInt64Ty()) : e.b.CreateZExt(value, e.b.getInt64Ty());
  if (is_narrow_float(element)) value = e.widen(value, element);
  return element == Element::f64 ? value : e.b.CreateFPExt(value, e.b.getDoubleTy());
}

char const* conversion(Element element) {
  return is_float(element) ? "%g" : is_wide_unsigned(element) ? "%llu" : "%lld";
}

/// Adds a scalar to a message.
void add_scalar(Emitter& e, ir::Value const& value, std::string& format, std::vector<llvm::Value*>& arguments) {
  Element const element = value.type().element();
  format += std::string(" ") + conversion(element);
  arguments.push_back(printed(e, element, e.scalar(value)));
}

llvm::Value* first_thread(Emitter& e) { return e.b.CreateICmpEQ(e.thread(), e.i32(0)); }

std::string with_space(std::string_view text) { return text.empty() ? std::string() : escaped(text) + " "; }

/// Tells whether a register never holds one of the first elements, in any thread.
bool is_beyond(layout::Layout const& layout, std::vector<AxisCoordinate> const& of_thread, int reg) {
  std::int64_t linear = 0;
  for (int axis = 0; axis < layout.rank(); ++axis) {
    std::int64_t const part = layout.part(layout::Dim::reg, reg)[axis];
    if ((of_thread[static_cast<std::size_t>(axis)].thread_bits & part) != 0) return false;
    linear = linear * layout.shape()[axis] + part;
  }
  return linear >= support::max_printed_elements;
}

/// Prints the elements of a tile that come first, each by the thread that owns it.
void print_elements(ir::Op const& op, Emitter& e, int number) {
  ir::Value const& tile = *op.in<ir::PrintOp>("values", number);
  ir::Type const& type = tile.type();
  layout::Layout const& layout = *type.layout();
  Registers const values = e.get(tile);
  std::string format = fmt::format("{}{}v{}(", line_start(op), with_space(op.as<ir::PrintOp>().text.view()), number);
  for (int axis = 0; axis < type.rank(); ++axis) format += axis == 0 ? "%lld" : ", %lld";
  format += std::string(") = ") + conversion(type.element()) + "\n";
  std::uint32_t const copies = layout.free_bits(layout::Dim::reg);
  llvm::Value* const owner = e.coordinates.owns(layout);
  llvm::Function* message = nullptr;
  for (int reg = 0; reg < layout.registers(); ++reg) {
    if ((static_cast<std::uint32_t>(reg) & copies) != 0 || is_beyond(layout, e.coordinates.of(layout), reg)) continue;
    std::vector<llvm::Value*> arguments = block_of(op, e);
    llvm::Value* linear = e.i64(0);
    for (int axis = 0; axis < type.rank(); ++axis) {
      llvm::Value* const at = e.b.CreateZExt(e.coordinates.of_register(layout, axis, reg), e.b.getInt64Ty());
      linear = e.b.CreateAdd(e.b.CreateMul(linear, e.i64(type.shape()[axis])), at);
      arguments.push_back(at);
    }
    arguments.push_back(printed(e, type.element(), values[static_cast<std::size_t>(reg)]));
    if (message == nullptr) {
      Message output(e, "tegula_print_element", arguments);
      output.print(format);
      message = output.end();
    }
    llvm::Value* shown = e.b.CreateICmpULT(linear, e.i64(support::max_printed_elements));
    if (owner != nullptr) shown = e.b.CreateAnd(shown, owner);
    call_where(e, shown, message, arguments);
  }
}

}  // namespace

void lower(ir::AssertOp const& attributes, ir::Op const& op, Emitter& e) {
  ir::Value const& condition = *op.in<ir::AssertOp>("condition");
  llvm::Value* holds = nullptr;
  for (llvm::Value* const value : e.get(condition)) holds = holds == nullptr ? value : e.b.CreateAnd(holds, value);
  llvm::Value* const teller =
      condition.type().is_scalar() ? first_thread(e) : e.coordinates.owns(*condition.type().layout());
  llvm::Value* fails = e.b.CreateNot(holds);
  if (teller != nullptr) fails = e.b.CreateAnd(fails, teller);
  std::vector<llvm::Value*> arguments = block_of(op, e);
  std::string format = line_start(op) + "device_assert failed: " + escaped(attributes.message.view());
  for (ir::Value const* value : op.all<ir::AssertOp>("values")) add_scalar(e, *value, format, arguments);
  Message message(e, "tegula_assert_failed", arguments);
  message.print(format + "\n");
  message.fail(attributes, kernel_name(op));
  call_where(e, fails, message.end(), arguments);
}

void lower(ir::PrintOp const& attributes, ir::Op const& op, Emitter& e) {
  std::vector<llvm::Value*> arguments = block_of(op, e);
  std::string format = line_start(op) + escaped(attributes.text.view());
  for (ir::Value const* value : op.all<ir::PrintOp>("values")) {
    ir::Type const& type = value->type();
    if (type.is_scalar()) {
      add_scalar(e, *value, format, arguments);
    } else {
      format += " " + ir::short_text(type);
    }
  }
  Message message(e, "tegula_print", arguments);
  message.print(format + "\n");
  call_where(e, first_thread(e), message.end(), arguments);
  for (int i = 0; i < static_cast<int>(op.all<ir::PrintOp>("values").size()); ++i)
    if (op.in<ir::PrintOp>("values", i)->type().is_tile()) print_elements(op, e, i);
}

}  // namespace tegula::codegen::nvptx
