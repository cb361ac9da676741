#include "codegen/nvptx/value_registers.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "layout/layout.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {

Registers const& ValueRegisters::get(ir::Value const& value) const {
  if (window_.count != 0)
    if (auto const part = windowed_.find(&value); part != windowed_.end()) return part->second;
  auto const found = values_.find(&value);
  if (found == values_.end()) throw InternalError("nvptx: a value is used before it is lowered");
  Registers const& all = found->second;
  if (window_.count == 0 || !value.type().is_tile() || all.size() == 1) return all;
  if (all.size() < static_cast<std::size_t>(window_.first + window_.count))
    throw InternalError("nvptx: a chain of elements takes a tile with other registers");
  auto const first = all.begin() + window_.first;
  return windowed_[&value] = Registers(first, first + window_.count);
}

void ValueRegisters::set(ir::Value const& value, Registers registers) {
  ir::Type const& type = value.type();
  if (window_.count != 0) {
    windowed_[&value] = std::move(registers);
    return;
  }
  std::size_t const wanted = type.in_registers() ? static_cast<std::size_t>(type.layout()->registers()) : 1;
  if (registers.size() != wanted)
    throw InternalError(fmt::format("nvptx: {} registers for a value of {}", registers.size(), wanted));
  values_[&value] = std::move(registers);
}

void ValueRegisters::move_window(Window window) {
  window_ = window;
  windowed_.clear();
}

}  // namespace tegula::codegen::nvptx
