// Provides the entry of a test program.
#pragma once

namespace tegula::test {

/// Runs the linked test cases with Catch2's arguments, besides --update-golden and --list-for-ctest. Returns the exit
/// status: 0 passed, 4 everything skipped, else failed.
int run_tests(int argc, char** argv);

}  // namespace tegula::test
