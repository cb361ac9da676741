// Prints the rows of one family of the table on a GPU: the largest of many logits, and draws.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"sampling", tegula::bench::sampling_rows}});
}
