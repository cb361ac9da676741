#include "runtime/prepared_state.hpp"

#include "tegula/support/error.hpp"

namespace tegula::detail {

void retain(PreparedState* state) noexcept {
  if (state != nullptr) state->retain();
}

void release(PreparedState* state) noexcept {
  if (state != nullptr && state->release()) delete state;
}

void run(PreparedState const* state, stream const& order) {
  if (state == nullptr) throw UserError("prepared: it was moved from and does not hold a launch");
  state->run(order);
}

}  // namespace tegula::detail
