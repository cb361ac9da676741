#include "codegen/line_table.hpp"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

namespace tegula::codegen {

LineTable::LineTable(llvm::Module& module, ir::Function const& kernel, Kind kind) : builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  auto const emission = kind == Kind::dwarf ? llvm::DICompileUnit::FullDebug : llvm::DICompileUnit::DebugDirectivesOnly;
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C_plus_plus_14, file(kernel.where.file()), "tegula", true, "", 0, "",
                             emission);
}

llvm::DIFile* LineTable::file(std::string const& path) {
  std::size_t const slash = path.rfind('/');
  bool const folder = slash != std::string::npos;
  std::string const name = folder ? path.substr(slash + 1) : path;
  return builder_.createFile(name.empty() ? "unknown" : name, folder ? path.substr(0, slash) : ".");
}

llvm::DebugLoc LineTable::begin(llvm::Function& function, ir::Function const& source) {
  llvm::DIFile* const where = file(source.where.file());
  llvm::DISubprogram* const subprogram = builder_.createFunction(
      where, source.name(), function.getName(), where, source.where.line(),
      builder_.createSubroutineType(builder_.getOrCreateTypeArray({})), source.where.line(),
      llvm::DINode::FlagPrototyped, llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function.setSubprogram(subprogram);
  scopes_[{subprogram, source.where.file()}] = subprogram;
  return at(function, source.where);
}

llvm::DebugLoc LineTable::at(llvm::Function const& function, location const& where) {
  llvm::DISubprogram* const subprogram = function.getSubprogram();
  if (!where.known()) return llvm::DILocation::get(function.getContext(), 0, 0, subprogram);
  auto const [found, added] = scopes_.try_emplace({subprogram, where.file()}, nullptr);
  if (added) found->second = builder_.createLexicalBlockFile(subprogram, file(where.file()));
  return llvm::DILocation::get(function.getContext(), where.line(), 0, found->second);
}

}  // namespace tegula::codegen
