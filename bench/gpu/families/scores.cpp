// Prints the rows of one family of the table on a GPU: attention with score functions and masks.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"scores", tegula::bench::score_rows}});
}
