// Stands in for the other files of this folder in a build without the profiler.
#if !TEGULA_HAS_PROFILER

#include "profile/decode.hpp"
#include "tegula/support/error.hpp"

namespace tegula {
namespace {

[[noreturn]] void refuse() {
  throw UserError("profile: this build of tegula has no profiler; configure it with -DTEGULA_PROFILER=ON");
}

}  // namespace

std::string Profile::label(std::int32_t) const { refuse(); }
std::string Profile::role_name(std::int32_t) const { refuse(); }
double Profile::duration() const { refuse(); }
std::vector<ProfileStatistic> Profile::statistics() const { refuse(); }
std::vector<ProfileWait> Profile::waits() const { refuse(); }
std::string Profile::str() const { refuse(); }
std::string Profile::trace() const { refuse(); }
std::string Profile::page() const { refuse(); }
std::string Profile::svg(ProfileView const&) const { refuse(); }
Profile::Files Profile::save(std::string const&) const { refuse(); }

namespace profiling {

void require_profiler() { refuse(); }
Profile decode(ProfileLayout const&, std::span<std::byte const>, Source const&) { refuse(); }
void append(Profile&, Profile const&, std::int64_t) { refuse(); }
Profile join(std::string, std::span<Profile const>) { refuse(); }

}  // namespace profiling
}  // namespace tegula

#endif
