#include "registers/sass.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace tegula::registers {
namespace {

struct Instruction {
  std::string text;
  std::string target;  ///< label of a branch
  bool falls_through = true;
};

/// Returns the number behind `at`, if there is one.
std::optional<int> number_at(std::string const& text, std::size_t at) {
  if (at >= text.size() || std::isdigit(static_cast<unsigned char>(text[at])) == 0) return std::nullopt;
  return std::stoi(text.substr(at), nullptr, 0);
}

/// Returns the registers up to the highest that an instruction names; those of a product stand behind its name's size.
int highest_in(std::string const& text) {
  int highest = 0;
  for (std::size_t at = text.find('R'); at != std::string::npos; at = text.find('R', at + 1)) {
    bool const begins = at == 0 || (std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0 && text[at - 1] != '_');
    auto const number = number_at(text, at + 1);
    if (!begins || !number) continue;
    int size = 1;
    if (text.find(".64", at) == at + 1 + fmt::formatted_size("{}", *number)) size = 2;
    highest = std::max(highest, *number + size);
  }
  return highest;
}

/// Holds the instructions of a kernel, and the places of its labels.
struct Code {
  std::vector<Instruction> instructions;
  std::map<std::string, std::size_t> labels;
};

/// Tells whether an instruction leaves for another place in all lanes: its guard and operands name no predicate.
bool always_leaves(std::string const& text) {
  std::string const guard = text.starts_with('@') ? text.substr(0, text.find(' ')) : "";
  if (!guard.empty() && guard != "@PT") return false;
  for (char const* predicate : {", P", " P", "!P", "UP"})
    if (text.find(predicate) != std::string::npos) return false;
  for (char const* leaves : {"BRA", "EXIT", "RET"})
    if (text.find(leaves) != std::string::npos) return true;
  return false;
}

Code code_of(std::string const& text) {
  Code code;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".L")) {
      code.labels[line.substr(0, line.find(':'))] = code.instructions.size();
      continue;
    }
    std::size_t const open = line.find("/*"), close = line.find("*/");
    std::size_t const end = line.find(';');
    if (open == std::string::npos || close == std::string::npos || end == std::string::npos || end < close) continue;
    Instruction one;
    std::size_t const begin = line.find_first_not_of(" \t{", close + 2);
    one.text = line.substr(begin, line.find_last_not_of(' ', end - 1) + 1 - begin);
    if (std::size_t const label = one.text.find("`("); label != std::string::npos)
      one.target = one.text.substr(label + 2, one.text.find(')', label) - label - 2);
    if (always_leaves(one.text)) one.falls_through = false;
    code.instructions.push_back(std::move(one));
  }
  return code;
}

/// Follows the code of a role from its first instruction to the places where another role begins.
RoleCode role_from(Code const& code, std::size_t first) {
  RoleCode role;
  std::set<std::size_t> seen;
  std::vector<std::size_t> open{first};
  while (!open.empty()) {
    std::size_t const next = open.back();
    open.pop_back();
    if (next >= code.instructions.size() || !seen.insert(next).second) continue;
    Instruction const& one = code.instructions[next];
    if (one.text.find("USETMAXREG") != std::string::npos) continue;
    role.highest = std::max(role.highest, highest_in(one.text));
    if (one.text.find("STL") != std::string::npos || one.text.find("LDL") != std::string::npos) ++role.spills;
    if (auto const target = code.labels.find(one.target); target != code.labels.end()) open.push_back(target->second);
    if (one.falls_through) open.push_back(next + 1);
  }
  return role;
}

}  // namespace

std::vector<RoleCode> roles_of(std::string const& text) {
  Code const code = code_of(text);
  std::vector<RoleCode> roles;
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    std::string const& one = code.instructions[i].text;
    if (one.find("USETMAXREG") == std::string::npos) continue;
    roles.push_back(role_from(code, i + 1));
    roles.back().set = number_at(one, one.find_last_of(' ') + 1).value_or(0);
  }
  return roles;
}

}  // namespace tegula::registers
