#include "codegen/host/archive.hpp"

#include <llvm/Object/Archive.h>
#include <llvm/Object/ArchiveWriter.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>

#include "support/locks.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen {

void write_archive(std::string const& path, std::vector<ArchiveMember> const& members) {
  support::HoldsForkOff const calls_llvm;
  std::vector<llvm::NewArchiveMember> list;
  for (ArchiveMember const& member : members) list.emplace_back(llvm::MemoryBufferRef(member.object, member.name));
  llvm::Error error =
      llvm::writeArchive(path, list, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU, true, false);
  if (error) throw UserError("cannot write the archive " + path + ": " + llvm::toString(std::move(error)));
}

}  // namespace tegula::codegen
