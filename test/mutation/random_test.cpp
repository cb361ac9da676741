// What the passes insert into kernels of the fuzzer, proved by deletion: into those that are kept, and into as many
// random ones as TEGULA_FUZZ_DELETIONS says, from TEGULA_FUZZ_SEED on.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "fuzz/deletion.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tegula;

namespace {

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
  char const* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// A wait that leaves one group of products open, in a loop that hands no slot of a ring back: it bounds how many
/// products are under way.
constexpr std::string_view bounds_open_products = "wgmma_wait {pending = 1} (";

/// Reports each op that is not missed; how many were.
std::size_t check_each(std::string const& name, fuzz::PipelineCase const& one) {
  fuzz::Deletions const found = fuzz::without_each_op(one);
  std::printf("%s: %zu ops, %zu executed too rarely%s\n", name.c_str(), found.reported, found.too_few,
              found.refused.empty() ? "" : ", refused");
  for (std::string const& silent : found.silent) {
    if (silent.starts_with(bounds_open_products)) continue;
    INFO(name << ", without " << silent << "\n" << found.module);
    CHECK(silent.empty());
  }
  return found.reported;
}

}  // namespace

TEST_CASE("deletion: the kept kernels of the fuzzer need each synchronising op", "[sim][block][N1]") {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/fuzz/kept"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::size_t ops = 0;
  for (std::string const& file : files)
    ops += check_each(std::filesystem::path(file).stem().string(), fuzz::read_case(test::read_file(file)));
  CHECK(ops > 100);
}

TEST_CASE("deletion: random kernels need each synchronising op", "[sim][block][N1]") {
  std::uint64_t const begin = number_from("TEGULA_FUZZ_SEED", 1), count = number_from("TEGULA_FUZZ_DELETIONS", 0);
  if (count == 0) TEGULA_SKIP("TEGULA_FUZZ_DELETIONS does not say how many");
  for (std::uint64_t seed = begin; seed < begin + count; ++seed)
    check_each("seed " + std::to_string(seed), fuzz::random_case(seed, fuzz::Trips::twice_and_more));
}
