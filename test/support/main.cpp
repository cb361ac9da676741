// Runs every test program: Catch2's session, the list for CTest, the switch that rewrites golden text.
#if !defined(TEGULA_CATCH2_MAJOR) || TEGULA_CATCH2_MAJOR < 3
#define CATCH_CONFIG_RUNNER
#endif
#include "support/catch.hpp"

#include "support/golden.hpp"
#include "support/run.hpp"
#include "support/sanitized.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

/// Tells ThreadSanitizer, which calls it, that the counts of references in LLVM's headers are ordered: it does not see
/// the library's part.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's name
extern "C" [[gnu::visibility("default")]] char const* __tsan_default_suppressions();
char const* __tsan_default_suppressions() { return "race:llvm::ThreadSafeRefCountedBase\n"; }

namespace tegula::test {
namespace {

int skipped_cases = 0;
int ended_cases = 0;

struct Case {
  std::string name;
  std::vector<std::string> tags;
};

#if TEGULA_CATCH2_MAJOR >= 3
using ListenerBase = Catch::EventListenerBase;

std::vector<Case> all_cases(Catch::Config const& config) {
  std::vector<Case> cases;
  for (auto const& handle : Catch::getAllTestCasesSorted(config)) {
    auto const& info = handle.getTestCaseInfo();
    if (info.isHidden()) continue;
    Case found{info.name, {}};
    for (auto const& tag : info.tags) found.tags.emplace_back(static_cast<std::string>(tag.original));
    cases.push_back(found);
  }
  return cases;
}
#else
using ListenerBase = Catch::TestEventListenerBase;

std::vector<Case> all_cases(Catch::Config const& config) {
  std::vector<Case> cases;
  for (auto const& test : Catch::getAllTestCasesSorted(config))
    if (!test.isHidden()) cases.push_back({test.name, test.tags});
  return cases;
}
#endif

struct CountCases : ListenerBase {
  using ListenerBase::ListenerBase;
  void testCaseEnded(Catch::TestCaseStats const& stats) override {
    ListenerBase::testCaseEnded(stats);
    ++ended_cases;
  }
};

/// Returns the name as a test specification: the characters that have a meaning there are escaped.
std::string as_specification(std::string const& name) {
  std::string out;
  for (char c : name) {
    if (std::strchr("\\,[]\"*~", c) != nullptr) out += '\\';
    out += c;
  }
  return out;
}

/// Recognises a capability row: one capital letter and a number.
bool is_row(std::string const& tag) {
  return tag.size() > 1 && tag[0] >= 'A' && tag[0] <= 'Z' &&
         tag.find_first_not_of("0123456789", 1) == std::string::npos;
}

/// Writes the commands that CTest reads: one test per case, labelled by folder and tags.
int list_for_ctest(std::string const& file, std::string const& program, std::string const& suite,
                   std::string const& label) {
  std::string const folder = file.substr(0, file.rfind('/'));  // where tests run and keep compiled kernels
  Catch::ConfigData data;
  Catch::Config const config{data};
  std::ofstream out(file);
  for (Case const& test : all_cases(config)) {
    std::string const name = "[==[" + suite + ": " + test.name + "]==]";
    std::string labels = label;
    for (std::string const& tag : test.tags)
      if (is_row(tag)) labels += ";" + tag;
    out << "add_test(" << name << " [==[" << program << "]==] [==[" << as_specification(test.name) << "]==])\n"
        << "set_tests_properties(" << name << " PROPERTIES SKIP_RETURN_CODE 4 TIMEOUT "
        << (tegula::test::sanitized ? 14400 : 3600) << " LABELS \"" << labels << "\" WORKING_DIRECTORY [==[" << folder
        << "]==] ENVIRONMENT [==[TEGULA_CACHE_DIR=" << folder << "/cache]==])\n";
  }
  return out ? 0 : 1;
}

}  // namespace

char const* test_directory() {
  char const* folder = std::getenv("TEGULA_TEST_DIR");
  return folder != nullptr ? folder : TEGULA_SOURCE_TEST_DIR;
}

void note_skipped(char const* reason) {
  ++skipped_cases;
  std::printf("skipped: %s\n", reason);
  std::fflush(stdout);
}

}  // namespace tegula::test

using tegula::test::CountCases;
CATCH_REGISTER_LISTENER(CountCases)

int tegula::test::run_tests(int argc, char** argv) {
  ::setenv("TEGULA_PTXAS_NOTES", "error", 0);  // no test passes with products that wait for each other
  if (argc == 6 && std::strcmp(argv[1], "--list-for-ctest") == 0)
    return list_for_ctest(argv[2], argv[3], argv[4], argv[5]);

  std::vector<char*> arguments;
  for (int i = 0; i < argc; ++i) {
    if (std::strcmp(argv[i], "--update-golden") == 0)
      set_update_golden(true);
    else
      arguments.push_back(argv[i]);
  }
  Catch::Session session;
  int const failed = session.run(static_cast<int>(arguments.size()), arguments.data());
  if (failed != 0) return 1;  // Catch2 returns the number of failures, which must not read as "skipped"
  return skipped_cases > 0 && skipped_cases == ended_cases ? 4 : 0;
}
