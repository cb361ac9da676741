// Prints the rows of one family of the table on a GPU: products of e4m3 with scales of blocks.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"block-scaled", tegula::bench::block_scaled_rows}});
}
