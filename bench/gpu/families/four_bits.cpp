// Prints the rows of one family of the table on a GPU: products with weights of 4 bits.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"4-bits", tegula::bench::four_bit_rows}});
}
