// Reads the records of profiled launches: of one launch for profile(), of all launches for TEGULA_PROFILE.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/abi/profile_format.hpp"
#include "tegula/profile/profile.hpp"
#include "tegula/runtime/stream.hpp"

namespace tegula::jit {

/// Returns what TEGULA_PROFILE asks for: no records if it is not set.
ProfileOptions profile_of_environment();

/// Runs a launch with an empty buffer and returns its records. Of several threads that profile, one runs at a time.
Profile profiled(runtime::PreparedLaunch const& launch, stream const& order);

/// Decodes the records of a simulation.
Profile decode_simulated(std::string kernel, ProfileLayout const& layout, std::span<std::byte const> bytes);

/// Writes the kernel's records at the end of the process, if it makes any.
void save_at_exit(std::shared_ptr<runtime::LoadedKernel const> const& kernel);
/// Writes the profile of a simulated launch at the end of the process, together with the other launches of the kernel
/// with this key: at most `rows` rows of all.
void save_at_exit(std::string const& key, Profile profile, std::int64_t rows);

/// Writes all that save_at_exit() was given so far; for tests.
void save_now();

}  // namespace tegula::jit
