// Provides Catch2, version 2 or 3, to the tests. No other file names its headers.
#pragma once

#if TEGULA_CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

namespace tegula::test {

/// Prints "skipped: <reason>" and counts the running case as skipped. A program all of whose cases were skipped
/// exits with status 4, which CTest shows as skipped.
void note_skipped(char const* reason);

/// Returns the folder of the test data: the environment's TEGULA_TEST_DIR, else test/ of the source tree as built.
[[nodiscard]] char const* test_directory();

#if TEGULA_CATCH2_MAJOR >= 3
using Catch::Matchers::ContainsSubstring;
#else
/// Catch2 3's name for the matcher.
inline auto ContainsSubstring(std::string const& text) { return Catch::Matchers::Contains(text); }
#endif

}  // namespace tegula::test

/// Ends the running test case as skipped; only in the body of a TEST_CASE (it returns).
#define TEGULA_SKIP(reason)               \
  do {                                    \
    ::tegula::test::note_skipped(reason); \
    return;                               \
  } while (false)

/// Returns the folder of the test data, found at run time so that tests also run away from the source tree.
#define TEGULA_TEST_DIR (::tegula::test::test_directory())
