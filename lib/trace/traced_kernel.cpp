#include "trace/traced_kernel.hpp"

#include "ir/text/text.hpp"

namespace tegula::trace {

TracedKernel::TracedKernel(TracedKernel const& other) noexcept : impl_(other.impl_) {
  if (impl_ != nullptr) impl_->references.fetch_add(1, std::memory_order_relaxed);
}

TracedKernel::TracedKernel(TracedKernel&& other) noexcept : impl_(other.impl_) { other.impl_ = nullptr; }

TracedKernel& TracedKernel::operator=(TracedKernel other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

TracedKernel::~TracedKernel() {
  if (impl_ != nullptr && impl_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete impl_;
}

char const* TracedKernel::name() const noexcept { return impl_->name.c_str(); }
location TracedKernel::where() const noexcept { return impl_->where; }
std::vector<ParameterInfo> const& TracedKernel::parameters() const noexcept { return impl_->parameters; }
std::string TracedKernel::text() const { return ir::print(impl_->module); }

}  // namespace tegula::trace
