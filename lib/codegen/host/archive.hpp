// Writes objects of host kernels into an archive that a linker reads.
#pragma once

#include <string>
#include <vector>

namespace tegula::codegen {

struct ArchiveMember {
  std::string name;    ///< unique in the archive, "gemm.o"
  std::string object;  ///< as in CompiledKernel::image
};

/// Writes a static library, in place of an earlier file. An archive without members is valid. Throws UserError if the
/// file cannot be written.
void write_archive(std::string const& path, std::vector<ArchiveMember> const& members);

}  // namespace tegula::codegen
