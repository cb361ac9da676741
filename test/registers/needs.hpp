// Reads and writes the table of the registers that kernels of the corpus need, as the assembler was seen to.
#pragma once

#include <string>
#include <vector>

namespace tegula::registers {

/// Holds the registers of one role after its setmaxnreg.
struct RoleNeed {
  int limit = 0;    ///< that setmaxnreg sets
  int highest = 0;  ///< registers up to the highest that the role's machine code names
  int spills = 0;   ///< instructions of the role that move values to or from local memory
};

struct Need {
  std::string name;
  std::string ptx;    ///< hash of the text without the kernel's name
  std::string ptxas;  ///< its version
  int threads = 0;
  int limit = 0;     ///< the most registers with which so many threads start, in all CTAs that the kernel asks room for
  int need = 0;      ///< the least --maxrregcount without spills; 0: has roles, or spills with every limit
  int spilled = 0;   ///< bytes stored to local memory as the kernel is compiled
  int estimate = 0;  ///< the model's need at that time
  std::vector<RoleNeed> roles;  ///< in the order of the kernel's partitions
};

std::vector<Need> read_needs(std::string const& file);
std::string to_json_line(Need const& need);

/// Returns the file of the table in the source tree.
std::string needs_file();

}  // namespace tegula::registers
