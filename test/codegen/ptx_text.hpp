// Reads PTX text line by line: one entry, and the functions that it calls.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::test {

class PtxText {
 protected:
  explicit PtxText(std::string_view ptx) { parse(ptx); }

  struct Operand {
    enum class Kind { reg, immediate, memory, label, special, vector, shared_symbol, parameter } kind = Kind::reg;
    std::uint64_t value = 0;  // register number, bits, label or parameter number, special number
    std::int64_t offset = 0;  // memory
    std::vector<Operand> parts;
    std::string symbol;  // of .param space, of arguments and results of calls
  };
  /// Holds a call: `call.uni (retval0), f, (param0, param1)`
  struct Call {
    std::string callee;
    std::vector<std::string> results, arguments;  // symbols of the caller
  };
  struct Code {
    std::size_t begin = 0;
    std::vector<std::string> results, parameters;
  };
  struct Instruction {
    std::string text;
    std::vector<std::string> words;  // opcode, split at dots
    std::vector<Operand> operands;
    int predicate = -1;
    bool negated = false;
  };
  [[noreturn]] void fail(std::string const& reason, Instruction const* at = nullptr) const {
    throw std::runtime_error("ptx: " + reason + (at != nullptr ? " in: " + at->text : ""));
  }

  // Text.
  static std::string trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return std::string(text);
  }
  int register_number(std::string const& name) {
    auto const [at, added] = registers_.emplace(function_ + name, static_cast<int>(register_count_));
    if (added) ++register_count_;
    return at->second;
  }
  static bool starts_with(std::string const& text, char const* prefix) { return text.rfind(prefix, 0) == 0; }

  Operand operand(std::string text) {
    text = trimmed(text);
    if (starts_with(text, "_|")) text = text.substr(2);  // elect: the leader's number is not wanted
    switch (text.front()) {
      case '{':
        return vector_of(text);
      case '[':
        return memory_at(text.substr(1, text.size() - 2));
      case '%':
      case '_':
        return register_of(text);
      default:
        return constant_or_symbol(text);
    }
  }

  Operand vector_of(std::string const& text) {
    Operand result;
    result.kind = Operand::Kind::vector;
    std::string part;
    for (char c : text.substr(1)) {
      if (c == ',' || c == '}') {
        result.parts.push_back(operand(part));
        part.clear();
      } else {
        part += c;
      }
    }
    return result;
  }

  /// Reads the text between brackets: an address and an offset, or a tensor map and its coordinates.
  Operand memory_at(std::string text) {
    Operand result;
    result.kind = Operand::Kind::memory;
    if (std::size_t const comma = text.find(','); comma != std::string::npos) {
      result.parts = {operand(text.substr(0, comma)), operand(text.substr(comma + 1))};
      return result;
    }
    if (std::size_t const plus = text.find('+', 1); plus != std::string::npos) {
      result.offset = std::stoll(text.substr(plus + 1));
      text = text.substr(0, plus);
    }
    result.parts.push_back(operand(text));
    return result;
  }

  Operand register_of(std::string const& text) {
    static std::map<std::string, std::uint64_t> const specials = {
        {"%tid.x", 0}, {"%ctaid.x", 1}, {"%ctaid.y", 2}, {"%ctaid.z", 3}};
    Operand result;
    if (auto const special = specials.find(text); special != specials.end()) {
      result.kind = Operand::Kind::special;
      result.value = special->second;
    } else if (text != "_" && is_unknown_special(text)) {
      fail("an operand that the machine does not know: " + text);
    } else {
      result.value = static_cast<std::uint64_t>(register_number(text));
    }
    return result;
  }
  static bool is_unknown_special(std::string const& text) {
    constexpr std::array names{"%laneid", "%warpid", "%smid", "%clock", "%clock64", "%globaltimer"};
    return text.find_first_of(".|") != std::string::npos || text.find("lanemask") != std::string::npos ||
           text.find("cluster") != std::string::npos || std::find(names.begin(), names.end(), text) != names.end();
  }

  Operand constant_or_symbol(std::string const& text) {
    Operand result;
    if (starts_with(text, "0f") || starts_with(text, "0d")) {
      result.kind = Operand::Kind::immediate;
      result.value = std::stoull(text.substr(2), nullptr, 16);
    } else if (std::isdigit(static_cast<unsigned char>(text.front())) || text.front() == '-') {
      result.kind = Operand::Kind::immediate;
      result.value = text.front() == '-' ? static_cast<std::uint64_t>(std::stoll(text)) : std::stoull(text, nullptr, 0);
    } else if (text.front() == '$') {
      result.kind = Operand::Kind::label;
      auto const [at, added] = label_numbers_.emplace(text, label_numbers_.size());
      (void)added;
      result.value = at->second;
    } else if (auto const parameter = parameter_numbers_.find(text); parameter != parameter_numbers_.end()) {
      result.kind = Operand::Kind::parameter;
      result.value = static_cast<std::uint64_t>(parameter->second);
    } else if (auto const table = tables_.find(text); table != tables_.end()) {
      result.kind = Operand::Kind::immediate;
      result.value = table->second.address();
    } else if (text == "tegula_shared") {
      result.kind = Operand::Kind::shared_symbol;
    } else if (text.find("param") != std::string::npos || text.find("retval") != std::string::npos) {
      result.kind = Operand::Kind::parameter;
      result.symbol = function_ + text;
    } else {
      fail("unknown operand " + text);
    }
    return result;
  }

  static std::vector<std::string> list_of(std::string text) {
    std::vector<std::string> result;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const comma = std::min(text.find(',', at), text.size());
      if (std::string const name = trimmed(text.substr(at, comma - at)); !name.empty()) result.push_back(name);
      at = comma + 1;
    }
    return result;
  }
  /// Returns the name in `.param .align 4 .b8 name[16]`.
  static std::string parameter_name(std::string text) {
    while (!text.empty() && (text.back() == ',' || text.back() == ')')) text.pop_back();
    text = text.substr(text.find_last_of(" \t") + 1);
    return text.substr(0, text.find('['));
  }

  /// Reads `.visible .entry f(` or `.func  (.param .b32 func_retval0) f(`
  void head(std::string const& line) {
    std::size_t end = line.find_last_not_of("( \t");
    std::string name = line.substr(0, end + 1);
    name = name.substr(name.find_last_of(" \t)") + 1);
    is_entry_ = line.find(".entry") != std::string::npos;
    function_ = is_entry_ ? "" : name + ":";
    if (is_entry_) return;
    code_of_[name] = {};
    open_ = &code_of_[name];
    std::size_t const result = line.find("(.param");
    if (result != std::string::npos)
      open_->results.push_back(function_ + parameter_name(line.substr(result + 1, line.find(')') - result - 1)));
  }

  /// Reads `.global .align 128 .b8 name[4] = {0, 0, 128, 63};`
  void table(std::string const& line) {
    std::size_t const open = line.find('[');
    std::string const name = line.substr(line.rfind(' ', open) + 1, open - line.rfind(' ', open) - 1);
    std::vector<std::uint8_t> bytes;
    std::size_t const first = line.find('{') + 1;
    for (std::string const& byte : list_of(line.substr(first, line.find('}') - first)))
      bytes.push_back(static_cast<std::uint8_t>(std::stoul(byte)));
    Table& table = tables_[name];
    table.size = std::max(bytes.size(), static_cast<std::size_t>(std::stoul(line.substr(open + 1))));
    table.memory = std::make_shared<std::vector<std::uint8_t>>(table.size + Table::alignment);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::uint8_t*>(table.address()));
  }

  void call(std::string line) {
    if (line.back() == ';') line.pop_back();
    Call call;
    std::vector<std::string> lists;
    std::string rest;
    for (std::size_t at = line.find_first_of(" \t"); at < line.size(); ++at) {
      if (line[at] != '(') {
        rest += line[at];
        continue;
      }
      std::size_t const end = line.find(')', at);
      lists.push_back(line.substr(at + 1, end - at - 1));
      rest += lists.size() == 1 && list_of(rest).empty() ? "<" : ">";
      at = end;
    }
    for (std::string const& part : list_of(rest))
      if (part != "<" && part != ">") call.callee = part;
    bool const gives = trimmed(rest).front() == '<';
    for (std::size_t i = 0; i < lists.size(); ++i)
      for (std::string const& name : list_of(lists[i]))
        (gives && i == 0 ? call.results : call.arguments).push_back(function_ + name);
    Instruction result;
    result.text = line;
    result.words = {"call"};
    result.operands.resize(1);
    result.operands[0].value = calls_.size();
    calls_.push_back(std::move(call));
    code_.push_back(std::move(result));
  }

  void parse(std::string_view ptx) {
    bool inside = false;
    int depth = 0;
    while (!ptx.empty()) {
      std::size_t const end = std::min(ptx.find('\n'), ptx.size());
      std::string line(ptx.substr(0, end));
      ptx.remove_prefix(std::min(end + 1, ptx.size()));
      if (std::size_t const comment = line.find("//"); comment != std::string::npos) line.resize(comment);
      line = trimmed(line);
      if (line.starts_with("call"))  // LLVM 19 writes one argument to a line
        while (line.back() != ';' && !ptx.empty()) {
          std::size_t const next = std::min(ptx.find('\n'), ptx.size());
          line += trimmed(std::string(ptx.substr(0, next)));
          ptx.remove_prefix(std::min(next + 1, ptx.size()));
        }
      if (line.empty()) continue;
      if (!inside) {
        declaration(line);
        inside = line == "{";
      } else if (line == "{" || line == "}") {  // around a call, or the function's end
        depth += line == "{" ? 1 : -1;
        inside = depth >= 0;
        depth = std::max(depth, 0);
      } else {
        statement(line);
      }
    }
    if (code_.empty()) fail("no code");
  }

  /// Reads a line outside of functions; "{" begins the code of the one that is declared.
  void declaration(std::string const& line) {
    if (starts_with(line, ".global") && line.find("= {") != std::string::npos) table(line);
    if (line.find(".entry ") != std::string::npos || line.find(".func ") != std::string::npos) head(line);
    if (starts_with(line, ".param")) {
      if (is_entry_)
        parameter_numbers_.emplace(parameter_name(line), static_cast<int>(parameter_numbers_.size()));
      else
        open_->parameters.push_back(function_ + parameter_name(line));
    }
    if (line == "{") (is_entry_ ? entry_ : open_->begin) = code_.size();
  }

  /// Reads a line of a function: a call, a declaration, a label or an instruction.
  void statement(std::string line) {
    if (starts_with(line, "call")) return call(line);
    // LLVM 19 takes half of a register as "{ .reg .b16 tmp; mov.b32 {tmp, %rs1}, %r2; }": one instruction, tmp
    // unused.
    if (starts_with(line, "{ .reg")) {
      line = trimmed(line.substr(line.find(';') + 1, line.rfind('}') - line.find(';') - 1));
      line.replace(line.find("tmp"), 3, "_");
    }
    if (line.front() == '.') return;  // .reg, .loc
    if (line.back() == ':')
      labels_[operand(line.substr(0, line.size() - 1)).value] = code_.size();
    else
      instruction(line);
  }

  void instruction(std::string line) {
    Instruction result;
    result.text = line;
    if (line.back() == ';') line.pop_back();
    if (line.front() == '@') {
      result.negated = line[1] == '!';
      std::size_t const space = line.find_first_of(" \t");
      result.predicate = register_number(line.substr(result.negated ? 2 : 1, space - (result.negated ? 2 : 1)));
      line = trimmed(line.substr(space));
    }
    std::size_t const space = std::min(line.find_first_of(" \t"), line.size());
    std::string word;
    for (char c : line.substr(0, space) + ".") {
      if (c == '.') {
        if (!word.empty()) result.words.push_back(word);
        word.clear();
      } else {
        word += c;
      }
    }
    int depth = 0;
    std::string part;
    for (char c : line.substr(space)) {
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (c == ',' && depth == 0) {
        result.operands.push_back(operand(part));
        part.clear();
      } else {
        part += c;
      }
    }
    if (!trimmed(part).empty()) result.operands.push_back(operand(part));
    code_.push_back(std::move(result));
  }

  std::vector<Instruction> code_;
  std::vector<Call> calls_;
  std::map<std::string, Code> code_of_;  ///< of the functions that are called
  std::size_t entry_ = 0;
  std::string function_;  ///< before its names; while the text is read
  bool is_entry_ = true;
  Code* open_ = nullptr;
  std::map<std::string, int> registers_;
  std::size_t register_count_ = 0;
  std::map<std::string, std::size_t> label_numbers_;
  std::map<std::uint64_t, std::size_t> labels_;
  std::map<std::string, int> parameter_numbers_;
  /// Holds a constant in global memory.
  struct Table {
    static constexpr std::size_t alignment = 128;
    std::shared_ptr<std::vector<std::uint8_t>> memory;
    std::size_t size = 0;
    [[nodiscard]] std::uint64_t address() const {
      return (reinterpret_cast<std::uint64_t>(memory->data()) + alignment - 1) / alignment * alignment;
    }
  };
  std::map<std::string, Table> tables_;
};

}  // namespace tegula::test
