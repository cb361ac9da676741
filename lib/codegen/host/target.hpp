// Describes the CPU that host code is made for: the features of its vectors, and LLVM's passes and object writer for
// it.
#pragma once

#include <memory>
#include <string>

#include "codegen/host/arith.hpp"
#include "codegen/llvm_fwd.hpp"

namespace tegula::codegen::host {

/// Describes a CPU. One per name and thread is kept, with LLVM's target machine.
class HostTarget {
 public:
  /// Finds the CPU; `architecture` as in CompileOptions. UserError for a name LLVM does not know or a CPU without
  /// SSE4.1.
  static HostTarget& get(std::string const& architecture);
  ~HostTarget();
  HostTarget(HostTarget const&) = delete;
  HostTarget& operator=(HostTarget const&) = delete;

  std::string cpu;
  std::string features;  ///< LLVM's "+a,-b" for this machine; empty for a named CPU
  int vector_bytes = 16;
  int vector_registers = 16;
  bool has_fma = false;
  bool has_scale = false;     ///< p * 2^n on 16 f32 lanes is one instruction
  bool has_mask = false;      ///< masked vector loads and stores are instructions
  bool has_stream = false;    ///< stores of vectors that bypass the caches
  bool has_pair_dot = false;  ///< sums of two products of i16
  bool has_byte_dot = false;  ///< sums of four products of an unsigned and a signed byte
  bool has_bf16_dot = false;  ///< sums of two products of bf16
  ArithTraits arith;

  /// Sets triple, data layout and the functions' CPU attributes.
  void prepare(llvm::Module& module) const;
  /// Runs LLVM's passes over IR that is already fused and vectorised.
  void optimise(llvm::Module& module) const;
  /// Returns a relocatable object file.
  [[nodiscard]] std::string object(llvm::Module& module) const;
  /// Returns the same as text.
  [[nodiscard]] std::string assembly(llvm::Module& module) const;

  /// Returns the first feature that code for `architecture` may use and this machine lacks; empty when it runs here.
  static std::string missing_here(std::string const& architecture);

 private:
  HostTarget();
  /// Reads what the CPU's instructions can do; UserError without SSE4.1.
  void describe_x86();
  [[nodiscard]] std::string written(llvm::Module& module, bool text) const;
  std::unique_ptr<llvm::TargetMachine> machine_;
};

}  // namespace tegula::codegen::host
