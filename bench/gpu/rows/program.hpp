// Runs the table of figures on a GPU, or some families of its rows.
#pragma once

#include <string>
#include <vector>

#include "gpu/rows/row.hpp"

namespace tegula::bench {

/// Names a list of rows. A program that names few families links the kernels of these alone.
struct Family {
  std::string name;
  std::vector<Row> (*rows)();
};

/// Reads the arguments of a program, and times or checks the rows that they name. Returns the exit status.
int run_table(int argc, char** argv, std::vector<Family> const& families);

}  // namespace tegula::bench
