// Prints the rows of one family of the table on a GPU: norms.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) { return tegula::bench::run_table(argc, argv, {{"norms", tegula::bench::norm_rows}}); }
