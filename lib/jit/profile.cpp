#include "jit/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "profile/decode.hpp"
#include "runtime/prepared_state.hpp"
#include "runtime/profile_buffer.hpp"
#include "support/diagnostics.hpp"
#include "support/locks.hpp"
#include "support/options.hpp"
#include "tegula/jit/profile.hpp"
#include "tegula/runtime/graph.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::jit {
namespace {

/// Decodes the bytes of a loaded kernel's buffer.
Profile decoded(runtime::LoadedKernel const& kernel, std::span<std::byte const> bytes) {
  runtime::RecordClock const clock = runtime::record_clock(kernel);
  bool const host = kernel.where.is_host();
  profiling::Source source;
  source.kernel = kernel.compiled.name;
  source.device = host ? std::string("host") : kernel.where.str() + " " + kernel.where.name();
  source.processor_word = host ? "thread" : "SM";
  source.clocks_per_ns = clock.clocks_per_ns;
  source.record_clocks = clock.record_clocks;
  return profiling::decode(kernel.compiled.profile, bytes, source);
}

/// Lists profiles that are written at the end of the process. A child of fork() begins with none.
struct Pending {
  support::Mutex mutex;
  std::vector<std::shared_ptr<runtime::LoadedKernel const>> kernels;
  std::map<std::string, Profile> simulated;  ///< by the key of the kernel
};

Pending& pending() {
  static constinit support::PerProcess<Pending> all;
  return all.get([] {
    support::at_exit(save_now);
    return std::make_unique<Pending>();
  });
}

void save_one(Profile const& profile) {
  if (profile.empty()) return;
  Profile::Files const files = profile.save(support::options().profile_dir);
  std::fprintf(stderr, "%s  trace: %s\n  page: %s\n", profile.str().c_str(), files.trace.c_str(), files.page.c_str());
}

/// Runs an action at the end of the process: an error is a warning.
template <class Action>
void with_warning(Action const& action) {
  try {
    action();
  } catch (Error const& error) {
    support::report_warning(fmt::format("profile: not written: {}", error.what()));
  }
}

}  // namespace

ProfileOptions profile_of_environment() {
  support::ProfileRequest const& request = support::options().profile;
  ProfileOptions result;
  if (!request.on) return result;
  profiling::require_profiler();
  result.user = request.user;
  result.compiler = request.compiler;
  result.strategy = request.device ? ProfileStrategy::device : ProfileStrategy::shared;
  result.granularity = static_cast<ProfileGranularity>(request.granularity);
  result.circular = request.circular;
  if (request.slots > 0) result.slots = request.slots;
  if (request.rows > 0) result.rows = request.rows;
  return result;
}

Profile profiled(runtime::PreparedLaunch const& launch, stream const& order) {
  static constinit support::PerProcess<support::Mutex> one_at_a_time;
  std::lock_guard const lock(one_at_a_time.get());
  runtime::LoadedKernel const& kernel = launch.kernel();
  if (!runtime::has_profile(kernel)) {
    launch.run(order);
    order.synchronize();
    return decoded(kernel, {});
  }
  runtime::clear_profile(kernel, order);
  launch.run(order);
  std::vector<std::byte> const bytes = runtime::read_profile(kernel, order);
  return decoded(kernel, bytes);
}

}  // namespace tegula::jit

tegula::Profile tegula::profile(stream const& order, std::span<prepared const> launches) {
  profiling::require_profiler();
  std::vector<std::shared_ptr<runtime::LoadedKernel const>> kernels;
  for (prepared const& launch : launches)
    if (launch.state() != nullptr)
      launch.state()->visit_code([&](std::shared_ptr<runtime::LoadedKernel const> const& code) {
        if (runtime::has_profile(*code) && std::ranges::find(kernels, code) == kernels.end()) kernels.push_back(code);
      });
  if (kernels.empty())
    throw UserError(
        "profile: these launches make no records; prepare them with options.profile, or under TEGULA_PROFILE=on");
  prepared const all = graph(order.where(), launches);
  all(order);  // code and tables are in caches then
  for (auto const& kernel : kernels) runtime::clear_profile(*kernel, order);
  all(order);
  std::vector<Profile> profiles;
  for (auto const& kernel : kernels) profiles.push_back(jit::decoded(*kernel, runtime::read_profile(*kernel, order)));
  return profiling::join(fmt::format("{} launches", launches.size()), profiles);
}

namespace tegula::jit {

Profile decode_simulated(std::string kernel, ProfileLayout const& layout, std::span<std::byte const> bytes) {
  profiling::Source source;
  source.kernel = std::move(kernel);
  source.device = "simulator";
  source.clocks_per_ns = gpu_targets.front()->costs.clocks_per_ns;
  return profiling::decode(layout, bytes, source);
}

void save_at_exit(std::shared_ptr<runtime::LoadedKernel const> const& kernel) {
  if (!runtime::has_profile(*kernel)) return;
  Pending& all = pending();
  std::lock_guard const lock(all.mutex);
  all.kernels.push_back(kernel);
}

void save_at_exit(std::string const& key, Profile profile, std::int64_t rows) {
  Pending& all = pending();
  std::lock_guard const lock(all.mutex);
  auto const [found, fresh] = all.simulated.try_emplace(key);
  if (fresh)
    found->second = std::move(profile);
  else
    profiling::append(found->second, profile, rows);
}

void save_now() {
  Pending& all = pending();
  std::unique_lock lock(all.mutex);
  auto const kernels = std::exchange(all.kernels, {});
  auto const simulated = std::exchange(all.simulated, {});
  lock.unlock();
  for (std::shared_ptr<runtime::LoadedKernel const> const& kernel : kernels)
    with_warning([&] { save_one(decoded(*kernel, runtime::read_profile(*kernel))); });
  for (auto const& [key, profile] : simulated) with_warning([&] { save_one(profile); });
}

}  // namespace tegula::jit
