#include "runtime/host/run.hpp"

#include "runtime/host/thread_pool.hpp"
#include "runtime/host/workspace.hpp"
#include "support/console.hpp"
#include "support/diagnostics.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/symbol.hpp"

namespace tegula::runtime::host {
namespace {

/// Throws the failure of an assert that ended the blocks of this thread.
void throw_failed_assert() {
  support::FailedAssert const failed = support::take_failed_assert();
  if (failed.text == nullptr) return;
  // Interned: the code that holds the text may be unloaded before the error is read.
  location const where(Symbol(failed.file).c_str(), static_cast<std::uint32_t>(failed.line));
  std::string text = failed.text->text();
  if (where.known()) text += " [" + support::to_string(where) + "]";
  throw UserError(text, where);
}

}  // namespace

void run(LoadedHostKernel const& kernel, std::span<std::int64_t const> blocks, std::int64_t const* slots,
         std::int64_t workspace_bytes, std::int64_t scratch_bytes, std::span<Pace> paces) {
  Workspace const workspace(workspace_bytes);
  for (std::size_t phase = 0; phase < blocks.size(); ++phase) {
    HostEntryFunction const entry = kernel.entries[phase];
    parallel_for(
        blocks[phase],
        [&](std::int64_t first, std::int64_t last) {
          Scratch const scratch(scratch_bytes);
          entry(slots, first, last, workspace.get(), scratch.get());
          throw_failed_assert();
        },
        phase < paces.size() ? &paces[phase] : nullptr);
  }
}

}  // namespace tegula::runtime::host
