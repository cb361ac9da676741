// Profiles launches on the host and in the simulator, and writes the files of TEGULA_PROFILE.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "jit/profile.hpp"
#include "launch_support.hpp"
#include "profile/decode.hpp"
#include "kernels/profile_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

bool has_profiler() {
  try {
    profiling::require_profiler();
    return true;
  } catch (UserError const&) {
    return false;
  }
}

}  // namespace

TEST_CASE("a build without the profiler refuses to profile", "[profile][P11]") {
  std::vector<float> const x(256);
  std::vector<float> y(256);
  view<float const, 2> const in(x.data(), 1, 256);
  view<float, 2> const out(y.data(), 1, 256);
  if (has_profiler()) {
    CHECK_NOTHROW(profile(host_stream(), marked_softmax, in, out));
  } else {
    CHECK_THROWS_WITH(profile(host_stream(), marked_softmax, in, out),
                      ContainsSubstring("configure it with -DTEGULA_PROFILER=ON"));
  }
}

TEST_CASE("profile returns the pairs of every block on the host", "[profile][P1][P9][P14][P16][P18]") {
  if (!has_profiler()) TEGULA_SKIP("built without the profiler");
  FreshCaches const fresh(support::CacheMode::off);
  check_profiled_softmax(9, 1, [](auto const& k, CompileOptions const& options, auto const& x, auto& y) {
    view<float const, 2> const in(x.data(), 9, 256);
    view<float, 2> const out(y.data(), 9, 256);
    if (!options.profile.any()) {
      launch(host_stream(), k, in, out);
      return Profile{};
    }
    Profile result = profile(host_stream(), with(options), k, in, out);
    CHECK(result.device == "host");
    CHECK(result.processor_word == "thread");
    CHECK(result.clocks_per_ns > 0);
    return result;
  });
}

TEST_CASE("profile returns the pairs of every warp in the simulator, in virtual time", "[profile][P1][P9][P14][P18]") {
  if (!has_profiler()) TEGULA_SKIP("built without the profiler");
  FreshCaches const fresh(support::CacheMode::off);
  std::uint32_t const warps = static_cast<std::uint32_t>(budget(marked_softmax).threads / 32);
  check_profiled_softmax(6, warps, [](auto const& k, CompileOptions const& options, auto const& x, auto& y) {
    view<float const, 2> const in(x.data(), 6, 256);
    view<float, 2> const out(y.data(), 6, 256);
    simulation const found = simulate(with(options), k, in, out, schedule::timed());
    INFO(found.report);
    CHECK(found.clean);
    CHECK(found.profile.empty() == !options.profile.any());
    return found.profile;
  });
}

TEST_CASE("threads that profile one kernel at once each get their own launch", "[profile]") {
  if (!has_profiler()) TEGULA_SKIP("built without the profiler");
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<std::size_t> rows(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < rows.size(); ++i)
    threads.emplace_back([&, i] {
      std::int64_t const height = static_cast<std::int64_t>(3 + i);
      std::vector<float> const x(static_cast<std::size_t>(height) * 256, 1);
      std::vector<float> y(x.size());
      view<float const, 2> const in(x.data(), height, 256);
      view<float, 2> const out(y.data(), height, 256);
      for (int times = 0; times < 5; ++times) rows[i] = profile(host_stream(), marked_softmax, in, out).rows.size();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(rows == std::vector<std::size_t>{3, 4, 5, 6});
}

TEST_CASE("TEGULA_PROFILE keeps the records of every launch and writes them", "[profile]") {
  if (!has_profiler()) TEGULA_SKIP("built without the profiler");
  FreshCaches const fresh(support::CacheMode::off);
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / "tegula_profile_launches";
  std::filesystem::remove_all(folder);
  support::Options options = support::options();
  options.profile.on = true;
  options.profile.rows = 64;
  options.profile_dir = folder.string();
  support::ScopedOptions const scope(options);
  std::vector<float> const x(5 * 256, 1);
  std::vector<float> y(x.size());
  view<float const, 2> const in(x.data(), 5, 256);
  view<float, 2> const out(y.data(), 5, 256);
  for (int times = 0; times < 3; ++times) launch(host_stream(), marked_softmax, in, out);
  prepare(marked_softmax, in, out)(host_stream());
  launch(host_stream(), plain_softmax, in, out);
  jit::save_now();
  CHECK(std::filesystem::exists(folder / "marked_softmax.html"));
  CHECK(std::filesystem::exists(folder / "marked_softmax.trace.json"));
  CHECK(std::filesystem::exists(folder / "marked_softmax.svg"));
  std::ifstream summary(folder / "marked_softmax.txt");
  std::string text((std::istreambuf_iterator<char>(summary)), {});
  CHECK_THAT(text, ContainsSubstring("4 launches, 20 CTAs"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("TEGULA_PROFILE merges the launches of a kernel in the simulator", "[profile]") {
  if (!has_profiler()) TEGULA_SKIP("built without the profiler");
  FreshCaches const fresh(support::CacheMode::off);
  std::filesystem::path const folder = std::filesystem::temp_directory_path() / "tegula_profile_simulated";
  std::filesystem::remove_all(folder);
  support::Options options = support::options();
  options.simulate = true;
  options.profile.on = true;
  options.profile.rows = 1024;
  options.profile_dir = folder.string();
  support::ScopedOptions const scope(options);
  CHECK(executor(device::host()) == "simulator of warps, timed");
  std::vector<float> const x(5 * 256, 1);
  std::vector<float> y(x.size());
  view<float const, 2> const in(x.data(), 5, 256);
  view<float, 2> const out(y.data(), 5, 256);
  for (int times = 0; times < 3; ++times) launch(host_stream(), marked_softmax, in, out);
  prepare(marked_softmax, in, out)(host_stream());
  CHECK(simulate(marked_softmax, in, out).clean);
  jit::save_now();
  std::ifstream summary(folder / "marked_softmax.txt");
  std::string const text((std::istreambuf_iterator<char>(summary)), {});
  CHECK_THAT(text, ContainsSubstring("5 launches, 25 CTAs"));
  CHECK_FALSE(std::filesystem::exists(folder / "marked_softmax.2.txt"));
  std::filesystem::remove_all(folder);
}

TEST_CASE("executor names what runs the launches for a device") {
  support::Options options = support::options();
  options.simulate = options.debug = options.profile.on = false;
  options.simulate_schedule.clear();
  auto const named = [](support::Options const& set) {
    support::ScopedOptions const scope(set);
    return executor(device::host());
  };
  CHECK(named(options) == "host");
  options.debug = true;
  CHECK(named(options) == "debug device");
  options.simulate = true;
  CHECK(named(options) == "simulator of tiles");
  options.simulate_schedule = "seed:7";
  CHECK(named(options) == "simulator of warps, seed:7");
}

TEST_CASE("the debug device refuses to profile", "[profile]") {
  if (!has_profiler()) TEGULA_SKIP("built without the profiler");
  support::Options options = support::options();
  options.debug = true;
  support::ScopedOptions const scope(options);
  std::vector<float> const x(256);
  std::vector<float> y(256);
  CHECK_THROWS_WITH(
      profile(host_stream(), marked_softmax, view<float const, 2>(x.data(), 1, 256), view<float, 2>(y.data(), 1, 256)),
      ContainsSubstring("the debug device makes no records"));
}
