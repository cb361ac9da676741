// Prints the rows of one family of the table on a GPU: rows that one multiprocessor does not hold.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"long-rows", tegula::bench::long_rows}});
}
