// Is a library that uses another major of LLVM than Tegula does: makes a function of sums and prints it.
#include <llvm-c/Core.h>

#include <string.h>

__attribute__((visibility("default"))) unsigned other_llvm_major(void) {
  unsigned major = 0;
  LLVMGetVersion(&major, NULL, NULL);
  return major;
}

// Gives 1 if the printed function holds the sum.
__attribute__((visibility("default"))) int other_llvm_sums(void) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("other", context);
  LLVMTypeRef number = LLVMInt32TypeInContext(context);
  LLVMTypeRef parameters[] = {number, number};
  LLVMValueRef function = LLVMAddFunction(module, "sum", LLVMFunctionType(number, parameters, 2, 0));
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(builder, LLVMAppendBasicBlockInContext(context, function, "entry"));
  LLVMBuildRet(builder, LLVMBuildAdd(builder, LLVMGetParam(function, 0), LLVMGetParam(function, 1), "total"));
  char* text = LLVMPrintModuleToString(module);
  int const found = strstr(text, "%total = add i32 %0, %1") != NULL;
  LLVMDisposeMessage(text);
  LLVMDisposeBuilder(builder);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return found;
}
