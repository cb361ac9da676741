#include "support/options.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "support/environment.hpp"
#include "support/locks.hpp"

namespace tegula::support {
namespace {

std::atomic<Options const*>& in_force() {
  static constinit std::atomic<Options const*> current = nullptr;
  if (current.load() != nullptr) return current;
  static constinit Lasting<Options const> of_environment;
  Options const* none = nullptr;
  current.compare_exchange_strong(none,
                                  &of_environment.get([] { return std::make_unique<Options const>(read_options()); }));
  return current;
}

}  // namespace

Options read_options() {
  Options result;
  for (EnvironmentVariable const& variable : environment_table())
    if (char const* const value = std::getenv(std::string(variable.name).c_str()))
      read_variable(variable, value, result);
  return result;
}

Options const& options() { return *in_force().load(); }

ScopedOptions::ScopedOptions(Options replacement)
    : mine_(new Options(std::move(replacement))), former_(in_force().exchange(mine_)) {}

ScopedOptions::~ScopedOptions() {
  in_force().store(former_);
  delete mine_;
}

}  // namespace tegula::support
