#include "tegula/abi/kernel_facts.hpp"

#include <fmt/format.h>

#include "support/counted.hpp"

namespace tegula {
namespace {

std::string_view name(MemoryAccessFacts::Kind kind) {
  switch (kind) {
    case MemoryAccessFacts::Kind::load:
      return "load";
    case MemoryAccessFacts::Kind::store:
      return "store";
    case MemoryAccessFacts::Kind::gather:
      return "gather";
    case MemoryAccessFacts::Kind::scatter:
      return "scatter";
    case MemoryAccessFacts::Kind::atomic:
      return "atomic";
    case MemoryAccessFacts::Kind::buffer_load:
      return "buffer_load";
    case MemoryAccessFacts::Kind::buffer_store:
      return "buffer_store";
    case MemoryAccessFacts::Kind::exchange:
      return "exchange";
  }
  return "";
}

std::string known(std::int64_t value) { return value < 0 ? "unknown" : fmt::to_string(value); }

}  // namespace

std::string KernelFacts::str() const {
  std::string text = paths_text() + plan.str();
  for (MemoryAccessFacts const& access : accesses)
    text += fmt::format("{} {}: {} bytes a thread, {} {} a warp, minimum {}{}\n", name(access.kind), access.memory,
                        access.bytes, access.cost, access.global() ? "sectors" : "wavefronts", access.min,
                        access.where.known() ? fmt::format(" ({}:{})", access.where.file(), access.where.line()) : "");
  text += fmt::format(
      "{}, {} bytes of shared memory, {} exposed waits, registers {} estimated and {} assembled, {} bytes of spills\n",
      support::counted(warps, "warp"), shared_bytes, exposed_waits, registers_estimated, known(registers),
      known(spill_bytes));
  if (spill_bytes > 0 && !largest.tile.empty())
    text += fmt::format("most registers hold {}{}\n", largest.tile,
                        largest.line != 0 ? fmt::format(" ({}:{})", largest.file, largest.line) : "");
  for (std::string const& note : notes) text += fmt::format("assembler: {}\n", note);
  return text;
}

}  // namespace tegula
