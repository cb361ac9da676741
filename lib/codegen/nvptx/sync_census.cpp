#include "codegen/nvptx/sync_census.hpp"

#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

constexpr std::string_view mark_text = " //#";

/// Returns the opcode of the first instruction; braces and declarations of registers may stand before it.
std::string first_opcode(std::string const& text) {
  std::size_t at = 0;
  while (text[at] == '{' || text[at] == '.') {
    std::size_t const next = text.find("\n\t", at);
    if (next == std::string::npos) break;
    at = next + 2;
  }
  return text.substr(at, text.find_first_of(" ;", at) - at);
}

}  // namespace

bool SyncCensus::counts(llvm::Instruction const& instruction) {
  auto const* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && call->isConvergent() && llvm::isa<llvm::InlineAsm>(call->getCalledOperand());
}

SyncCensus::SyncCensus(llvm::Module& module) {
  int block_number = 0;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) {
      ++block_number;
      for (llvm::Instruction& instruction : block) {
        if (!counts(instruction)) continue;
        auto* const call = llvm::cast<llvm::CallInst>(&instruction);
        auto const* const assembly = llvm::cast<llvm::InlineAsm>(call->getCalledOperand());
        std::string const text(assembly->getAsmString());
        call->setCalledOperand(
            llvm::InlineAsm::get(assembly->getFunctionType(), fmt::format("{}{}{}", text, mark_text, marks_.size()),
                                 std::string(assembly->getConstraintString()), assembly->hasSideEffects()));
        marks_.push_back({first_opcode(text), block_number});
      }
    }
}

std::map<std::string, int> SyncCensus::lowered() const {
  std::map<std::string, int> result;
  for (Mark const& mark : marks_) ++result[mark.opcode];
  return result;
}

std::string SyncCensus::checked(std::string const& ptx, std::string const& kernel) const {
  std::vector<int> found(marks_.size(), 0);
  std::string text;
  text.reserve(ptx.size());
  std::size_t from = 0;
  for (std::size_t at; (at = ptx.find(mark_text, from)) != std::string::npos;) {
    text.append(ptx, from, at - from);
    from = at + mark_text.size();
    std::size_t number = 0;
    for (; from < ptx.size() && ptx[from] >= '0' && ptx[from] <= '9'; ++from)
      number = number * 10 + static_cast<std::size_t>(ptx[from] - '0');
    ++found.at(number);
  }
  text.append(ptx, from, std::string::npos);

  std::map<int, bool> alive;
  for (std::size_t i = 0; i < marks_.size(); ++i) alive[marks_[i].block] |= found[i] != 0;
  std::map<std::string, std::pair<int, int>> counts;
  bool equal = true;
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    if (!alive[marks_[i].block]) continue;
    auto& [before, after] = counts[marks_[i].opcode];
    ++before;
    after += found[i];
    equal &= found[i] == 1;
  }
  if (equal) return text;
  std::string message = "nvptx: LLVM changed the synchronisation of @" + kernel + ":";
  char const* separator = " ";
  for (auto const& [opcode, count] : counts) {
    if (count.first == count.second) continue;
    message += fmt::format("{}{} {} lowered, {} in the PTX", separator, opcode, count.first, count.second);
    separator = "; ";
  }
  throw InternalError(message);
}

}  // namespace tegula::codegen::nvptx
