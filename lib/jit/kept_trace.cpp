#include "jit/kept_trace.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "support/options.hpp"
#include "tegula/support/error.hpp"

namespace tegula::jit {
namespace {

/// Takes the first line, without its indentation.
std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

/// Throws the UserError that shows the first line in which two traces of one captureless kernel differ.
void refuse_difference(trace::TracedKernel const& kernel, std::string_view first, std::string_view second) {
  if (first == second) return;
  std::string_view before, now;
  while (before == now) {
    before = take_line(first);
    now = take_line(second);
  }
  throw UserError(fmt::format("kernel '{}': a later trace gave `{}` where the first gave `{}`; a kernel without "
                              "captures is traced once, so every other value that its lambda reads must be constant: "
                              "capture the value in the lambda or make it an arg",
                              kernel.name(), now, before),
                  kernel.where());
}

}  // namespace

std::shared_ptr<Traced const> KeptTrace::get(KernelRef const& kernel, GridFrom grid, bool* is_first) {
  std::shared_ptr<Traced const> own = kept(traced_);
  if (is_first != nullptr) *is_first = !own;
  if (!own) {
    std::shared_ptr<Traced const> const fresh = trace_of(kernel);
    own = keep(traced_, fresh);
    if (own != fresh) refuse_difference(own->kernel, own->text, fresh->text);
  }
  if (grid == GridFrom::kernel) return own;
  std::shared_ptr<Traced const> const variant = kept(with_stated_grid_);
  return variant ? variant : keep(with_stated_grid_, variant_of(*own));
}

std::shared_ptr<Traced const> KeptTrace::get_compared(KernelRef const& kernel, GridFrom grid) {
  bool is_first = false;
  std::shared_ptr<Traced const> result = get(kernel, grid, &is_first);
  if (!is_first) compare(kernel);
  return result;
}

void KeptTrace::compare(KernelRef const& kernel) {
  std::uint64_t const call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  bool const due = std::has_single_bit(call) || differs_.load(std::memory_order_relaxed);
  if (!due && !support::options().verify_each) return;
  std::shared_ptr<Traced const> const first = get(kernel, GridFrom::kernel);
  differs_.store(true, std::memory_order_relaxed);
  refuse_difference(first->kernel, first->text, record(kernel).text());
  differs_.store(false, std::memory_order_relaxed);
}

std::shared_ptr<Traced const> KeptTrace::kept(std::shared_ptr<Traced const> const& place) {
  std::lock_guard lock(mutex_);
  return place;
}

std::shared_ptr<Traced const> KeptTrace::keep(std::shared_ptr<Traced const>& place,
                                              std::shared_ptr<Traced const> fresh) {
  std::lock_guard lock(mutex_);
  if (!place) place = std::move(fresh);
  return place;
}

}  // namespace tegula::jit
