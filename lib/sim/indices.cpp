#include "sim/indices.hpp"

#include <fmt/format.h>

namespace tegula::sim {

using namespace ir;

namespace {
std::uintptr_t as_number(void const* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
}  // namespace

// Addresses are computed as integers: those of a wrong view may point anywhere.
std::uintptr_t address_at(Tensor const& tensor, std::int64_t const* coordinates) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < tensor.extents.size(); ++axis)
    offset = math::wrapping_add(offset, math::wrapping_mul(coordinates[axis], tensor.strides[axis]));
  return as_number(tensor.data) +
         static_cast<std::uintptr_t>(offset) * static_cast<std::uintptr_t>(bytes(tensor.element));
}

std::byte* locate(Agent& agent, Op const& op, int number, std::int64_t const* coordinates) {
  Tensor const& tensor = agent.view(number);
  for (int axis = 0; axis < tensor.extents.size(); ++axis)
    if (coordinates[axis] < 0 || coordinates[axis] >= tensor.extents[axis]) return nullptr;
  std::uintptr_t const at = address_at(tensor, coordinates);
  std::uintptr_t const begin = as_number(tensor.memory_begin), end = as_number(tensor.memory_end);
  if (end == 0 || (at >= begin && at < end && end - at >= static_cast<std::uintptr_t>(bytes(tensor.element))))
    return reinterpret_cast<std::byte*>(at);
  agent.report(ReportKind::outside_memory, op, [&] {
    return fmt::format("{} lies outside the view's memory ({} bytes from its start, which holds {})",
                       agent.element_text(number, coordinates), static_cast<std::intptr_t>(at - begin), end - begin);
  });
  return nullptr;
}

Indices::Indices(Agent const& agent, Op const& op) {
  for (ir::Value const* index : op.all("indices")) values_.push_back(agent.value(*index));
}

void Indices::get(std::int64_t i, std::int64_t* coordinates) const {
  for (Value const& value : values_) {
    std::int64_t const at = value.type().is_scalar() ? 0 : i;
    *coordinates++ = value.element() == Element::i32 ? value.data<std::int32_t>()[at] : value.data<std::int64_t>()[at];
  }
}

}  // namespace tegula::sim
