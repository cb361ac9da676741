#include "ir/memory/shared_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/core/builder.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/core/call.hpp"
#include "ir/text/text.hpp"
#include "ir/core/walk.hpp"
#include "support/string_buffer.hpp"

namespace tegula::ir {
namespace {

bool has_layouts(Op const& op) {
  auto const has = [](Value const& value) { return !value.type().is_tile() || value.type().layout() != nullptr; };
  return has(*op.result()) &&
         std::all_of(op.operands().begin(), op.operands().end(), [&](Value const* operand) { return has(*operand); });
}

}  // namespace

std::string_view name(BufferKind kind) {
  switch (kind) {
    case BufferKind::explicit_buffer:
      return "explicit";
    case BufferKind::scratch:
      return "scratch";
    case BufferKind::virtual_buffer:
      return "virtual";
  }
  return "";
}

std::vector<SharedUser> shared_users(Function const& function) {
  std::vector<SharedUser> users;
  walk_pre_order(function.body(), [&](Op& op) {
    if (op.is<BufferAllocOp>()) {
      if (op.result()->type().is_global()) return Walk::advance;
      users.push_back({&op, BufferKind::explicit_buffer, buffer_bytes(op.result()->type()),
                       op.as<BufferAllocOp>().align, op.as<BufferAllocOp>().offset});
    } else if (std::int64_t const* const scratch = scratch_attribute(op); scratch != nullptr && has_layouts(op)) {
      if (std::int64_t const size = scratch_bytes(op); size > 0)
        users.push_back({&op, BufferKind::scratch, size, 16, *scratch});
    } else if (op.is<CallOp>()) {
      Function const* const callee = callee_of(op);
      if (callee != nullptr && callee->shared > 0)
        users.push_back({&op, BufferKind::virtual_buffer, callee->shared, frame_alignment(shared_users(*callee)),
                         callee_offset(op).value_or(-1)});
    }
    return Walk::advance;
  });
  return users;
}

std::string to_string(SharedUser const& user) {
  switch (user.kind) {
    case BufferKind::explicit_buffer:
      return to_string(*user.op->result());
    case BufferKind::scratch:
      return std::string(user.op->info().mnemonic) +
             (user.op->where().known() ? fmt::format(" at line {}", user.op->where().line()) : "");
    case BufferKind::virtual_buffer:
      return "call of @" + std::string(user.op->as<CallOp>().callee.view());
  }
  return "";
}

std::int64_t frame_bytes(std::vector<SharedUser> const& users) {
  std::int64_t max = 0;
  for (SharedUser const& user : users)
    if (user.decided()) max = std::max(max, user.end());
  return max;
}

std::int64_t frame_alignment(std::vector<SharedUser> const& users) {
  std::int64_t max = 16;
  for (SharedUser const& user : users) max = std::max(max, user.align);
  return max;
}

std::string too_much_shared_memory(std::int64_t needed, std::int64_t allowed, std::vector<SharedUser> users) {
  constexpr std::size_t max_named = 3;
  std::stable_sort(users.begin(), users.end(),
                   [](SharedUser const& a, SharedUser const& b) { return a.bytes > b.bytes; });
  // Lets users that are never live together share bytes. Each counts the bytes that the users before it do not have, so
  // that the parts add up.
  std::map<std::int64_t, std::int64_t> taken;  // from, to
  std::vector<std::pair<std::int64_t, std::string>> parts;
  std::int64_t rest = needed;
  for (SharedUser const& user : users) {
    std::int64_t own = user.bytes;
    if (user.decided()) {
      std::int64_t from = user.offset, to = user.end();
      for (auto at = taken.begin(); at != taken.end();) {
        if (at->second < from || at->first > to) {
          ++at;
          continue;
        }
        own -= std::max<std::int64_t>(0, std::min(at->second, user.end()) - std::max(at->first, user.offset));
        from = std::min(from, at->first), to = std::max(to, at->second);
        at = taken.erase(at);
      }
      taken.emplace(from, to);
    }
    if (own == 0) continue;
    parts.emplace_back(own, to_string(user));
    rest -= own;
  }
  std::stable_sort(parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.first > b.first; });
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(parts.size(), max_named); ++i)
    words.push_back(fmt::format("{} {}", parts[i].second, parts[i].first));
  std::int64_t others = 0;
  for (std::size_t i = max_named; i < parts.size(); ++i) others += parts[i].first;
  if (others > 0) words.push_back(fmt::format("{} others {}", parts.size() - max_named, others));
  if (rest > 0) words.push_back(fmt::format("gaps {}", rest));
  return fmt::format("shared memory: {} bytes needed, {} allowed; {}", needed, allowed, support::joined(words, ", "));
}

Value* shared_base(Function const& function) {
  return function.shared >= 0 && function.parameter_count() > 0 ? function.parameter(function.parameter_count() - 1)
                                                                : nullptr;
}

std::optional<std::int64_t> callee_offset(Op const& call) {
  if (call.as<CallOp>().virtual_bytes < 0 || call.operand_count() == 0) return std::nullopt;
  Value const& last = *call.operands().back();
  Value const* const base = shared_base(*call.function());
  if (base == nullptr) return constant_int(last);
  if (&last == base) return 0;
  Op const* const sum = last.defined_by<AddOp>();
  if (sum == nullptr) return std::nullopt;
  if (sum->lhs() == base) return constant_int(*sum->rhs());
  if (sum->rhs() == base) return constant_int(*sum->lhs());
  return std::nullopt;
}

}  // namespace tegula::ir
