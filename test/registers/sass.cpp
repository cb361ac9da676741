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

}  // namespace

std::vector<RoleCode> roles_of(std::string const& text) {
  std::vector<Instruction> code;
  std::map<std::string, std::size_t> labels;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(".L")) {
      labels[line.substr(0, line.find(':'))] = code.size();
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
    std::string const guard = one.text.starts_with('@') ? one.text.substr(0, one.text.find(' ')) : "";
    bool const always = guard.empty() || guard == "@PT";
    for (char const* ends : {"BRA", "EXIT", "RET"})
      if (one.text.find(ends) != std::string::npos && always && one.text.find(", P") == std::string::npos &&
          one.text.find(" P") == std::string::npos && one.text.find("!P") == std::string::npos &&
          one.text.find("UP") == std::string::npos)
        one.falls_through = false;
    code.push_back(std::move(one));
  }
  std::vector<RoleCode> roles;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::size_t const at = code[i].text.find("USETMAXREG");
    if (at == std::string::npos) continue;
    RoleCode role;
    role.set = number_at(code[i].text, code[i].text.find_last_of(' ') + 1).value_or(0);
    std::set<std::size_t> seen;
    std::vector<std::size_t> open{i + 1};
    while (!open.empty()) {
      std::size_t const next = open.back();
      open.pop_back();
      if (next >= code.size() || !seen.insert(next).second) continue;
      Instruction const& one = code[next];
      if (one.text.find("USETMAXREG") != std::string::npos) continue;
      role.highest = std::max(role.highest, highest_in(one.text));
      if (one.text.find("STL") != std::string::npos || one.text.find("LDL") != std::string::npos) ++role.spills;
      if (auto const target = labels.find(one.target); target != labels.end()) open.push_back(target->second);
      if (one.falls_through) open.push_back(next + 1);
    }
    roles.push_back(role);
  }
  return roles;
}

}  // namespace tegula::registers
