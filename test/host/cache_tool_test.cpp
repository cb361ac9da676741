// Tests the keys of compiled kernels and the program that shows, compares, checks and shrinks the cache on disk.
#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "launch_support.hpp"
#include "runtime/cache/cache_folder.hpp"
#include "runtime/cache/disk_cache.hpp"
#include "support/catch.hpp"
#include "support/key_text.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;
using tegula::test::FreshCaches;

#ifndef TEGULA_CACHE_TOOL
#define TEGULA_CACHE_TOOL ""
#endif

namespace {

auto scaled(float factor) {
  return kernel("scaled", [factor](in<float, 1> x, out<float, 1> y) {
    auto g = grid_over(y, shape<64>);
    store(y, shape<64>, load(x, shape<64>, g[0]) * factor, g[0]);
  });
}

void launch_scaled(float factor, CompileOptions const& options = {}) {
  std::vector<float> x(64, 2), y(64);
  launch(host_stream(), with(options), scaled(factor), x, y);
  CHECK(y[63] == 2 * factor);
}

struct Output {
  int status = -1;
  std::string text;
};

/// Runs the program on a folder.
Output run_tool(std::string const& folder, std::string const& arguments) {
  Output output;
  std::FILE* const pipe =
      ::popen(("'" TEGULA_CACHE_TOOL "' --dir '" + folder + "' " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> bytes{};
  for (std::size_t got = 0; (got = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    output.text.append(bytes.data(), got);
  int const status = ::pclose(pipe);
  output.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return output;
}

/// Returns the keys of a folder's entries, the one used least recently first.
std::vector<std::string> keys_in(std::string const& folder) {
  std::vector<std::string> keys;
  for (runtime::CacheFile const& file : runtime::cache_files(folder))
    keys.push_back(runtime::read_cache_entry(file.path).value().key);
  return keys;
}

}  // namespace

TEST_CASE("a key names compiler, passes, options, architecture, facts, constants and IR", "[N11]") {
  FreshCaches const fresh;
  launch_scaled(2.5F);
  REQUIRE(keys_in(fresh.folder()).size() == 1);
  std::string const key = keys_in(fresh.folder()).front();
  INFO(key);
  CHECK(support::key_field(key, "tegula").value_or("").size() >= 16);
  CHECK_FALSE(support::key_field(key, "llvm").value_or("").empty());
  CHECK_FALSE(support::key_field(key, "architecture").value_or("").empty());
  CHECK_THAT(std::string(support::key_field(key, "passes").value_or("")), ContainsSubstring("canonicalize,"));
  CHECK(support::key_field(key, "unroll") == "0");
  CHECK_THAT(std::string(support::key_field(key, "facts").value_or("")), ContainsSubstring("unit_inner"));
  CHECK_THAT(std::string(support::key_field(key, "constants").value_or("")), ContainsSubstring("2.5 : f32"));
  CHECK(support::key_field(key, "ir_hash").value_or("").size() == 32);
}

TEST_CASE("tegula-cache says why a kernel was compiled again", "[N11]") {
  if (!std::filesystem::exists(TEGULA_CACHE_TOOL)) TEGULA_SKIP("tegula-cache is not in the build folder");
  FreshCaches const fresh;
  CHECK_THAT(run_tool(fresh.folder(), "list").text, ContainsSubstring("0 entries, 0 bytes of at most"));
  launch_scaled(2);
  launch_scaled(3);
  Output const constants = run_tool(fresh.folder(), "why scaled");
  INFO(constants.text);
  CHECK(constants.status == 0);
  CHECK_THAT(constants.text, ContainsSubstring("\nconstants: 64 : i64, 2 : f32 | 64 : i64, 3 : f32\n") &&
                                 ContainsSubstring("\nir_hash: ") && !ContainsSubstring("\nfacts"));
  CompileOptions options;
  options.unroll = 2;
  launch_scaled(3, options);
  Output const unrolled = run_tool(fresh.folder(), "why scaled");
  CHECK(unrolled.text.ends_with("\nunroll: 0 | 2\n"));
  Output const listed = run_tool(fresh.folder(), "list");
  CHECK(listed.status == 0);
  CHECK_THAT(listed.text, ContainsSubstring("\n3 entries, "));

  std::vector<runtime::CacheFile> const files = runtime::cache_files(fresh.folder());
  std::string const ids = files[0].hash.substr(0, 12) + " " + files[2].hash.substr(0, 12);
  CHECK_THAT(run_tool(fresh.folder(), "why " + ids).text,
             ContainsSubstring("\nunroll: 0 | 2\n") && ContainsSubstring("\nconstants: "));
  CHECK_THAT(run_tool(fresh.folder(), "why '" + files[1].path + "' '" + files[2].path + "'").text,
             ContainsSubstring("\nunroll: 0 | 2\n"));
  CHECK_THAT(run_tool(fresh.folder(), "why '" + files[1].path + "' '" + files[1].path + "'").text,
             ContainsSubstring("the keys are equal\n"));
  for (auto const& [arguments, reason] : {std::pair{"why scaled scaled", "scaled names 3 entries: "},
                                          {"why other", "other names 0 entries"},
                                          {"why 123 456", "no entry in "},
                                          {"why", "required"},
                                          {"", "subcommand"},
                                          {"prune --limit 3x", "--limit 3x: a number of bytes is expected"}}) {
    Output const refused = run_tool(fresh.folder(), arguments);
    INFO(refused.text);
    CHECK(refused.status == 1);
    CHECK_THAT(refused.text, ContainsSubstring(reason));
  }
}

TEST_CASE("tegula-cache finds torn and foreign files, and prunes the entries used least recently", "[N11]") {
  if (!std::filesystem::exists(TEGULA_CACHE_TOOL)) TEGULA_SKIP("tegula-cache is not in the build folder");
  FreshCaches const fresh;
  for (int i = 1; i <= 4; ++i) launch_scaled(static_cast<float>(i));
  CHECK(run_tool(fresh.folder(), "verify").status == 0);
  std::vector<runtime::CacheFile> const files = runtime::cache_files(fresh.folder());
  std::filesystem::resize_file(files[3].path, files[3].bytes / 2);
  Output const found = run_tool(fresh.folder(), "verify");
  CHECK(found.status == 1);
  CHECK_THAT(found.text, ContainsSubstring(files[3].path + ": damaged: ") && ContainsSubstring("4 files in ") &&
                             ContainsSubstring(", 1 with a defect\n"));
  CHECK(run_tool(fresh.folder(), "verify --remove").status == 0);
  CHECK_FALSE(std::filesystem::exists(files[3].path));

  Output const pruned = run_tool(fresh.folder(), fmt::format("prune --limit {}", files[1].bytes + files[2].bytes));
  INFO(pruned.text);
  CHECK(pruned.status == 0);
  CHECK_THAT(pruned.text, ContainsSubstring("removed 1 entries with ") && ContainsSubstring("; 2 entries with "));
  CHECK_FALSE(std::filesystem::exists(files[0].path));
  CHECK(run_tool(fresh.folder(), "prune --limit 0").status == 0);
  CHECK(fresh.files().empty());
  launch_scaled(1);  // compiled again
}
