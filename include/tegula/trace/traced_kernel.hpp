// Holds a traced kernel as a handle: the DSL hands it to the launcher and the compiler.
#pragma once

#include <vector>

#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/support/location.hpp"

namespace tegula::trace {

/// Shares a kernel's immutable IR after tracing. Cheap to copy; safe to use from several threads. The library reaches
/// the IR through lib/trace/traced_kernel.hpp.
class TracedKernel {
 public:
  struct Impl;

  TracedKernel(TracedKernel const& other) noexcept;
  TracedKernel(TracedKernel&& other) noexcept;
  TracedKernel& operator=(TracedKernel other) noexcept;
  ~TracedKernel();

  [[nodiscard]] char const* name() const noexcept;
  /// Returns the place of `kernel(...)` in the source.
  [[nodiscard]] location where() const noexcept;
  /// Lists one entry per leaf parameter in order, members of parameter structs in place of the struct.
  [[nodiscard]] std::vector<ParameterInfo> const& parameters() const noexcept;
  /// Returns the IR as text: a pure function of the kernel, equal on every compiler.
  [[nodiscard]] std::string text() const;

  /// Takes over one reference, for the library.
  explicit TracedKernel(Impl* impl) noexcept : impl_(impl) {}
  [[nodiscard]] Impl const& impl() const noexcept { return *impl_; }

 private:
  Impl* impl_;
};

}  // namespace tegula::trace
