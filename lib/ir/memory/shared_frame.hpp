// Describes the shared memory of a function: its users, their sizes and their offsets. A kernel's begins at offset 0 of
// the CTA's, a device function's where its last argument says; calls hold the callee's inside the caller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::ir {

enum class BufferKind : std::uint8_t {
  explicit_buffer,  ///< buffer_alloc
  scratch,          ///< of an op that exchanges elements between warps
  virtual_buffer,   ///< all that a called function uses
};
std::string_view name(BufferKind kind);

/// Describes one user of shared memory.
struct SharedUser {
  Op* op = nullptr;
  BufferKind kind = BufferKind::explicit_buffer;
  std::int64_t bytes = 0;
  std::int64_t align = 16;
  std::int64_t offset = -1;  ///< in the function's shared memory; -1: not decided

  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
  [[nodiscard]] bool decided() const { return offset >= 0; }
};

/// Lists all users of a function in the order of its text. Ops whose layouts are not assigned are left out; so are
/// calls of functions that do not use shared memory.
std::vector<SharedUser> shared_users(Function const& function);

/// Prints `%ring`, `reduce at line 7`, `call of @f`: for messages.
std::string to_string(SharedUser const& user);

/// Counts bytes up to the end of the last user whose offset is decided.
std::int64_t frame_bytes(std::vector<SharedUser> const& users);
/// Returns the alignment that a function's shared memory needs; at least 16.
std::int64_t frame_alignment(std::vector<SharedUser> const& users);

/// Prints `shared memory: 262144 bytes needed, 232448 allowed; %ring 196608, %out 49152, %d 8192, 2 others 8160, gaps
/// 32`: the biggest users; the parts add up to the bytes needed.
std::string too_much_shared_memory(std::int64_t needed, std::int64_t allowed, std::vector<SharedUser> users);
/// States the remedy.
inline constexpr std::string_view less_shared_memory = "take fewer stages or smaller tiles";

/// Returns the parameter that says where a function's shared memory begins; null: at 0 (kernels), or not decided.
Value* shared_base(Function const& function);
/// Returns the offset of the callee's shared memory in the caller's, by the last argument: a constant, or one added to
/// the caller's own base. Nothing when it is not decided or says something else.
std::optional<std::int64_t> callee_offset(Op const& call);

}  // namespace tegula::ir
