#include "tegula/abi/budget.hpp"

#include <fmt/format.h>

namespace tegula {

std::string Budget::str() const {
  std::string text;
  if (threads > 0)
    text = fmt::format(
        "{} of {} bytes of shared memory, {} mbarriers, {} of {} threads, {} of {} registers a thread (estimated)\n",
        shared, shared_allowed, barriers, threads, threads_allowed, registers, registers_allowed);
  for (BrokenRule const& rule : broken)
    text += fmt::format("{}: {}{}{}{}\n", rule.name, rule.sentence, rule.fix.empty() ? "" : "; ", rule.fix,
                        rule.where.known() ? fmt::format(" ({}:{})", rule.where.file(), rule.where.line()) : "");
  return text;
}

}  // namespace tegula
