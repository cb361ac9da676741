#pragma once

namespace tegula::test {

/// Runs the linked test cases with Catch2's arguments, besides --update-golden and --list-for-ctest. Returns the exit
/// status: 0 passed, 4 everything skipped, else failed.
int run_tests(int argc, char** argv);

/// Folder of the test data: the environment's TEGULA_TEST_DIR, else test/ of the source tree that was built.
[[nodiscard]] char const* test_directory();

}  // namespace tegula::test
