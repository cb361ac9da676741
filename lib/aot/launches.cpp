// Finds the table of a launch by the type of its kernel, and hands it on.
#include "tegula/aot/launches.hpp"

#include <fmt/format.h>

#include <atomic>
#include <span>
#include <string>
#include <string_view>

#include "abi/pass_options.hpp"
#include "tegula/aot/launch.hpp"
#include "tegula/support/error.hpp"

namespace tegula::aot {
namespace {

constinit std::atomic<LaunchedKernels*> all_kernels = nullptr;

/// Returns the place of a kernel, whichever folder its file was included from.
std::string place_of(location const& where) {
  if (!where.known()) return "";
  std::string_view const file = where.file();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), where.line());
}

}  // namespace

LaunchedKernels::LaunchedKernels(LaunchedKernel const* kernels, int count)
    : kernels_(kernels), count_(count), next_(all_kernels) {
  while (!all_kernels.compare_exchange_weak(next_, this)) {
  }
}

struct LaunchedKernelList {
  /// Calls visit(kernel) for each embedded kernel until it returns true.
  template <class Visit>
  static void visit(Visit const& visit) {
    for (LaunchedKernels const* set = all_kernels; set != nullptr; set = set->next_)
      for (LaunchedKernel const& kernel : std::span(set->kernels_, static_cast<std::size_t>(set->count_)))
        if (visit(kernel)) return;
  }
};

namespace {

/// Says in an error what is embedded of a kernel that was not found.
[[noreturn]] void refuse(KernelKey const& key, std::string const& place, std::string const& options) {
  std::string with, places;
  int count = 0;
  auto const add = [](std::string& to, std::string_view text) { to += (to.empty() ? "" : "; ") + std::string(text); };
  LaunchedKernelList::visit([&](LaunchedKernel const& kernel) {
    ++count;
    bool const same = std::string_view(kernel.type) == key.type && place == kernel.place;
    std::string_view const of_kernel = kernel.options;
    if (same) add(with, of_kernel.empty() ? "without options" : of_kernel);
    if (!same && std::string_view(kernel.table->name) == key.name && places.find(kernel.place) == std::string::npos)
      add(places, kernel.place);
    return false;
  });
  std::string const launch = options.empty() ? std::string("without options") : "with " + options;
  std::string const remedy = "make this launch in the function of exported_launches, and build the program anew";
  if (!with.empty())
    throw UserError(fmt::format("{}: this launch {} is not embedded; embedded of this kernel: {}; {}", key.name, launch,
                                with, remedy));
  throw UserError(fmt::format("{}: the program embeds {} kernels and not this one ({}, {}){}; {}", key.name, count,
                              place, key.type,
                              places.empty() ? "" : fmt::format(", but others of this name ({})", places), remedy));
}

KernelTable const& table_of(KernelKey const& key) {
  std::string const options = key.options == nullptr ? "" : abi::changed_options(*key.options);
  std::string const place = place_of(key.where);
  KernelTable const* found = nullptr;
  LaunchedKernelList::visit([&](LaunchedKernel const& kernel) {
    if (std::string_view(kernel.type) != key.type || place != kernel.place || options != kernel.options) return false;
    found = kernel.table;
    return true;
  });
  if (found == nullptr) refuse(key, place, options);
  return *found;
}

}  // namespace

void launch(stream const& order, KernelKey const& kernel, call::ArgumentList arguments, GridOverride const& grid) {
  launch(order, table_of(kernel), arguments, grid);
}

detail::PreparedState* prepare(device const* where, KernelKey const& kernel, call::ArgumentList arguments,
                               GridOverride const& grid) {
  return prepare(where, table_of(kernel), arguments, grid);
}

}  // namespace tegula::aot
