// Prints the rows of one family of the table on a GPU: convolutions of pictures.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"pictures", tegula::bench::picture_rows}});
}
