// A traced kernel as a handle: what the DSL hands to the launcher and the compiler.
#pragma once

#include <vector>

#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/support/location.hpp"

namespace tegula::trace {

/// A kernel's IR after tracing, shared and immutable. Cheap to copy; safe to use from several threads. The IR itself is
/// reached by the library through lib/trace/traced_kernel.hpp.
class TracedKernel {
 public:
  struct Impl;

  TracedKernel(TracedKernel const& other) noexcept;
  TracedKernel(TracedKernel&& other) noexcept;
  TracedKernel& operator=(TracedKernel other) noexcept;
  ~TracedKernel();

  [[nodiscard]] char const* name() const noexcept;
  /// Where `kernel(...)` was written.
  [[nodiscard]] location where() const noexcept;
  /// One per leaf parameter in order, members of parameter structs in place of the struct.
  [[nodiscard]] std::vector<ParameterInfo> const& parameters() const noexcept;
  /// The IR as text: a pure function of the kernel, equal on every compiler.
  [[nodiscard]] std::string text() const;

  /// For the library: takes over one reference.
  explicit TracedKernel(Impl* impl) noexcept : impl_(impl) {}
  [[nodiscard]] Impl const& impl() const noexcept { return *impl_; }

 private:
  Impl* impl_;
};

}  // namespace tegula::trace
