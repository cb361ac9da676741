// Defines the one main of the test programs; the single bundled binary has its own.
#include "support/run.hpp"

int main(int argc, char** argv) { return tegula::test::run_tests(argc, argv); }
