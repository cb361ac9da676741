// Prints the rows of one family of the table on a GPU: recurrences in chunks of tokens.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"recurrences", tegula::bench::recurrence_rows}});
}
