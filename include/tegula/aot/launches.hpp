// Finds the embedded kernel of a program's own launch: tegula_kernels(... LAUNCHES ...) compiles the program with
// TEGULA_EMBEDDED, and its launches of kernel objects come here in place of the JIT.
#pragma once

#include "tegula/abi/compile_options.hpp"
#include "tegula/aot/embedded.hpp"
#include "tegula/call/pack.hpp"
#include "tegula/runtime/prepared.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/support/location.hpp"

namespace tegula::aot {

/// Names a kernel object in a launch. The program that records launches and the one that embeds them agree on the type
/// of a lambda that both see in one header.
struct KernelKey {
  char const* name = "";
  char const* type = "";                    ///< as typeid names that of the lambda, or of several kernels
  location where;                           ///< of the kernel; unknown for variants
  CompileOptions const* options = nullptr;  ///< of a launch `with(options)`
};

/// Holds an embedded kernel with the key that launches find it by.
struct LaunchedKernel {
  char const* type;
  char const* place;    ///< "kernels.hpp:158": file without folder, and line; empty for variants
  char const* options;  ///< abi::changed_options of the launch
  KernelTable const* table;
};

/// Adds kernels to those that launches find. An object of static duration, which is never destroyed.
class LaunchedKernels {
 public:
  LaunchedKernels(LaunchedKernel const* kernels, int count);
  LaunchedKernels(LaunchedKernels const&) = delete;
  LaunchedKernels& operator=(LaunchedKernels const&) = delete;

 private:
  friend struct LaunchedKernelList;
  LaunchedKernel const* kernels_;
  int count_;
  LaunchedKernels* next_;
};

/// Runs a launch by embedded code. Throws UserError if the program embeds no such kernel, or none for the device, the
/// options or the tensors.
void launch(stream const& order, KernelKey const& kernel, call::ArgumentList arguments, GridOverride const& grid);
detail::PreparedState* prepare(device const* where, KernelKey const& kernel, call::ArgumentList arguments,
                               GridOverride const& grid);

}  // namespace tegula::aot
