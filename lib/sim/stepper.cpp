#include "sim/stepper.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text/text.hpp"
#include "sim/agent.hpp"
#include "sim/debug.hpp"

namespace tegula::sim {

struct Stepper::Impl {
  Impl(ir::Function const& kernel, Arguments const& given, Options const& options)
      : arguments(given), launch(kernel, arguments, options) {}
  Arguments arguments;
  Launch launch;
  std::unique_ptr<Agent> agent;
};

Stepper::Stepper(ir::Function const& kernel, Arguments const& arguments, Options const& options)
    : impl_(std::make_unique<Impl>(kernel, arguments, options)) {}
Stepper::~Stepper() = default;

void Stepper::set_grid(Grid const& grid) { impl_->launch.set_grid(grid); }
std::int64_t Stepper::blocks() const { return block_count(impl_->launch.kernel(), impl_->launch.grid()); }

void Stepper::begin_block(std::int64_t linear) {
  impl_->agent = std::make_unique<Agent>(impl_->launch, linear);
  impl_->launch.count_block();
}

void Stepper::execute(ir::Op const& op) {
  impl_->launch.number(op);
  impl_->agent->make_room();
  impl_->agent->execute(op);
}

Value const& Stepper::value(ir::Value const& value) const { return impl_->agent->value(value); }
Grid const& Stepper::block() const { return impl_->agent->block(); }
Result Stepper::take_result() { return impl_->launch.take_result(); }

namespace {

/// Writes the elements of `value` from `at` on that lie behind axis `axis`.
void write(std::string& text, Value const& value, int axis, std::int64_t at, std::int64_t max) {
  ir::Type const& type = value.type();
  if (axis == type.rank() || type.is_scalar()) {
    with_storage(value.storage(), [&]<class T>(std::type_identity<T>) {
      T const element = value.data<T>()[at];
      if (value.element() == Element::boolean)
        text += element != 0 ? "true" : "false";
      else
        text += fmt::format("{}", printed(element));
    });
    return;
  }
  std::int64_t step = 1;
  for (int i = axis + 1; i < type.rank(); ++i) step *= type.shape()[i];
  text += "{";
  for (std::int64_t i = 0; i < std::min(type.shape()[axis], max); ++i) {
    if (i > 0) text += ", ";
    write(text, value, axis + 1, at + i * step, max);
  }
  text += type.shape()[axis] > max ? ", ...}" : "}";
}

}  // namespace

std::string debug_text(Value const& value, std::int64_t max) {
  std::string text = value.type().is_tile() ? short_text(value.type()) + " " : "";
  write(text, value, 0, 0, max);
  return text;
}

}  // namespace tegula::sim
