// Declares LLVM's names, without LLVM's headers.
#pragma once

namespace llvm {

class AllocaInst;
class BasicBlock;
class Function;
class IRBuilderBase;
class LLVMContext;
class MCSubtargetInfo;
class Module;
class TargetMachine;
class Type;
class Value;

}  // namespace llvm
