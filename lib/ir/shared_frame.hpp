// The shared memory of a function: who takes how much of it, and where. A kernel's begins at offset 0 of the CTA's, a
// device function's where its last argument says; calls hold the callee's inside the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/op.hpp"

namespace tegula::ir {

enum class BufferKind : std::uint8_t {
  explicit_buffer,  ///< shared_alloc
  scratch,          ///< of an op that exchanges elements between warps
  virtual_buffer,   ///< all that a called function takes
};
std::string_view name(BufferKind kind);

/// One user of shared memory.
struct SharedUser {
  Op* op = nullptr;
  BufferKind kind = BufferKind::explicit_buffer;
  std::int64_t bytes = 0;
  std::int64_t align = 16;
  std::int64_t offset = -1;  ///< in the function's shared memory; -1: not decided

  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
  [[nodiscard]] bool decided() const { return offset >= 0; }
};

/// All users of a function in the order of its text. Ops whose layouts are not assigned take nothing yet; so do calls
/// of functions that take nothing.
std::vector<SharedUser> shared_users(Function const& function);

/// `%ring`, `reduce at line 7`, `call of @f`: for messages.
std::string to_string(SharedUser const& user);

/// Bytes up to the end of the last user that has its place.
std::int64_t frame_bytes(std::vector<SharedUser> const& users);
/// To which a function's shared memory must be aligned; at least 16.
std::int64_t frame_alignment(std::vector<SharedUser> const& users);

/// `shared memory: 262144 bytes needed, 232448 allowed; %ring 196608, %out 49152, %d 8192, 2 others 8160, gaps 32`: the
/// biggest users; the parts add up to what is needed.
std::string too_much_shared_memory(std::int64_t needed, std::int64_t allowed, std::vector<SharedUser> users);
/// What mends it.
inline constexpr std::string_view less_shared_memory = "take fewer stages or smaller tiles";

/// The value of a function's parameter that says where its shared memory begins; null: at 0 (kernels), or not decided.
Value* shared_base(Function const& function);
/// Where the callee's shared memory begins in the caller's, as the last argument says: a constant, or one added to the
/// caller's own base. Nothing when it is not decided or says something else.
std::optional<std::int64_t> callee_offset(Op const& call);

}  // namespace tegula::ir
