// Prints the rows of one family of the table on a GPU: transforms, all pairs, prefix sums, counts, sorts.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"transforms", tegula::bench::transform_rows}});
}
