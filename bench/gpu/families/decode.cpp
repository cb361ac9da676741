// Prints the rows of one family of the table on a GPU: attention of one new token.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  return tegula::bench::run_table(argc, argv, {{"decode", tegula::bench::decode_rows}});
}
