// Reads directives and finds their patterns in the text.
#include "support/file_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <vector>

namespace tegula::test {
namespace {

enum class Kind { plain, next, same, empty, never, dag, label };

struct Directive {
  Kind kind = Kind::plain;
  int times = 1;
  std::string spelling;  // "CHECK-NEXT"
  std::string pattern;
  int line = 0;  // of the check text, from 1
};

/// Holds a half-open range of the input.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

using Variables = std::map<std::string, std::string, std::less<>>;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

std::string single_blanks(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '\r') continue;
    if (!is_blank(c))
      out += c;
    else if (out.empty() || out.back() != ' ')
      out += ' ';
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Reads one directive of a line, if it holds one: the prefix must not continue a word to its left.
std::optional<Directive> parse_line(std::string_view line, std::string_view prefix, int number) {
  for (std::size_t at = line.find(prefix); at != std::string_view::npos; at = line.find(prefix, at + 1)) {
    if (at > 0 && is_word(line[at - 1])) continue;
    std::string_view rest = line.substr(at + prefix.size());
    Directive found;
    found.line = number;
    static constexpr std::pair<std::string_view, Kind> suffixes[] = {
        {"-NEXT:", Kind::next}, {"-SAME:", Kind::same},   {"-EMPTY:", Kind::empty}, {"-NOT:", Kind::never},
        {"-DAG:", Kind::dag},   {"-LABEL:", Kind::label}, {":", Kind::plain}};
    auto const* suffix = std::find_if(std::begin(suffixes), std::end(suffixes), [&](auto const& entry) {
      return rest.substr(0, entry.first.size()) == entry.first;
    });
    std::size_t length = 0;
    if (suffix != std::end(suffixes)) {
      found.kind = suffix->second;
      length = suffix->first.size();
    } else if (rest.substr(0, 7) == "-COUNT-") {
      length = rest.find(':');
      if (length == std::string_view::npos) continue;
      std::string const digits(rest.substr(7, length - 7));
      if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos || digits.size() > 6)
        throw Failure(fmt::format("line {}: malformed count in {}", number, std::string(rest.substr(0, length))));
      found.times = std::stoi(digits);
      ++length;
    } else {
      continue;
    }
    found.spelling = std::string(prefix) + std::string(rest.substr(0, length - 1));
    found.pattern = single_blanks(trimmed(rest.substr(length)));
    if (found.pattern.empty() && found.kind != Kind::empty)
      throw Failure(fmt::format("line {}: {} has no pattern", number, found.spelling));
    return found;
  }
  return std::nullopt;
}

std::vector<Directive> parse_directives(std::string_view checks, std::string_view prefix) {
  std::vector<Directive> directives;
  int number = 0;
  while (!checks.empty()) {
    std::size_t const end = std::min(checks.find('\n'), checks.size());
    ++number;
    if (auto found = parse_line(checks.substr(0, end), prefix, number)) directives.push_back(*found);
    checks.remove_prefix(std::min(end + 1, checks.size()));
  }
  return directives;
}

std::string escaped(std::string_view literal) {
  std::string out;
  for (char c : literal) {
    if (std::string_view(R"(\^$.|?*+()[]{}/)").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Compiles a pattern with the variables known so far; captures are bound after a match.
class Pattern {
 public:
  Pattern(std::string_view text, Variables const& variables) {
    std::string source;
    unsigned groups = 0;
    while (!text.empty()) {
      if (text.substr(0, 2) == "{{") {
        std::size_t const end = text.find("}}");
        if (end == std::string_view::npos) throw Failure("'{{' without '}}'");
        std::string const inner(text.substr(2, end - 2));
        groups += static_cast<unsigned>(std::regex(inner).mark_count());
        source += "(?:" + inner + ")";
        text.remove_prefix(end + 2);
        simple_ = false;
      } else if (text.substr(0, 2) == "[[") {
        std::size_t end = text.find("]]");
        if (end == std::string_view::npos) throw Failure("'[[' without ']]'");
        while (text.substr(end + 2, 1) == "]") ++end;  // a set such as [a-z] may end the expression
        std::string_view const inner = text.substr(2, end - 2);
        std::size_t const colon = inner.find(':');
        std::string const name(inner.substr(0, colon));
        if (name.empty() || !std::all_of(name.begin(), name.end(), is_word))
          throw Failure("malformed variable [[" + std::string(inner) + "]]");
        if (colon != std::string_view::npos) {
          std::string const expression(inner.substr(colon + 1));
          captures_[name] = ++groups;
          groups += static_cast<unsigned>(std::regex(expression).mark_count());
          source += "(" + expression + ")";
          simple_ = false;
        } else if (auto captured = captures_.find(name); captured != captures_.end()) {
          source += fmt::format("(?:\\{})", captured->second);
        } else if (auto known = variables.find(name); known != variables.end()) {
          source += escaped(known->second);
          literal_ += known->second;
        } else {
          throw Failure("variable " + name + " is used before it is set");
        }
        text.remove_prefix(end + 2);
      } else {
        std::size_t const end = std::min({text.find("{{"), text.find("[["), text.size()});
        source += escaped(text.substr(0, end));
        literal_ += text.substr(0, end);
        text.remove_prefix(end);
      }
    }
    if (!simple_) expression_ = std::regex(source);
  }

  /// Finds the first match in input[from, to). Binds the captures.
  std::optional<Range> find(std::string_view input, std::size_t from, std::size_t to, Variables& variables) const {
    if (simple_) {
      std::size_t const at = input.substr(0, to).find(literal_, from);
      if (at == std::string_view::npos) return std::nullopt;
      return Range{at, at + literal_.size()};
    }
    std::cmatch match;
    if (!std::regex_search(input.data() + from, input.data() + to, match, expression_)) return std::nullopt;
    for (auto const& [name, group] : captures_) variables[name] = match[group].str();
    std::size_t const at = from + static_cast<std::size_t>(match.position(0));
    return Range{at, at + static_cast<std::size_t>(match.length(0))};
  }

 private:
  bool simple_ = true;
  std::string literal_;
  std::regex expression_;
  std::map<std::string, unsigned> captures_;
};

class Checker {
 public:
  Checker(std::string_view input, std::vector<Directive> const& directives) : input_(input), directives_(directives) {}

  void run() {
    std::vector<Range> labels;  // where each label stands; blocks lie between them
    std::size_t from = 0;
    for (Directive const& directive : directives_) {
      if (directive.kind != Kind::label) continue;
      labels.push_back(search(directive, from, input_.size()));
      from = labels.back().end;
    }
    std::size_t next_label = 0;
    std::size_t first = 0;
    std::size_t position = 0;
    for (std::size_t i = 0; i <= directives_.size(); ++i) {
      bool const at_end = i == directives_.size();
      if (!at_end && directives_[i].kind != Kind::label) continue;
      check_block(first, i, position, at_end ? input_.size() : labels[next_label].begin);
      if (at_end) break;
      position = labels[next_label++].end;
      first = i + 1;
    }
  }

 private:
  void check_block(std::size_t first, std::size_t last, std::size_t position, std::size_t end) {
    std::vector<Directive const*> absent;
    auto const close_absent = [&](std::size_t to) {
      for (Directive const* directive : absent) expect_absent(*directive, position, to);
      absent.clear();
    };
    for (std::size_t i = first; i < last;) {
      Directive const& directive = directives_[i];
      if (directive.kind == Kind::never) {
        absent.push_back(&directive);
        ++i;
      } else if (directive.kind == Kind::dag) {
        std::vector<Range> taken;
        for (; i < last && directives_[i].kind == Kind::dag; ++i)
          taken.push_back(search_apart(directives_[i], position, end, taken));
        auto const by_begin = [](Range a, Range b) { return a.begin < b.begin; };
        auto const by_end = [](Range a, Range b) { return a.end < b.end; };
        close_absent(std::min_element(taken.begin(), taken.end(), by_begin)->begin);
        position = std::max_element(taken.begin(), taken.end(), by_end)->end;
      } else {
        for (int n = 0; n < directive.times; ++n) {
          Range const found =
              directive.kind == Kind::empty ? empty_line(directive, position, end) : search(directive, position, end);
          expect_place(directive, position, found);
          close_absent(found.begin);
          position = found.end;
        }
        ++i;
      }
    }
    close_absent(end);
  }

  Range search(Directive const& directive, std::size_t from, std::size_t to) {
    auto const found = compiled(directive).find(input_, from, to, variables_);
    if (!found) fail(directive, "is not found", from);
    return *found;
  }

  /// Searches past the ranges that earlier DAG lines of the group took.
  Range search_apart(Directive const& directive, std::size_t from, std::size_t to, std::vector<Range> const& taken) {
    Pattern const pattern = compiled(directive);
    for (std::size_t at = from;;) {
      auto const found = pattern.find(input_, at, to, variables_);
      if (!found) fail(directive, "is not found", from);
      auto const overlap = std::find_if(taken.begin(), taken.end(), [&](Range range) {
        return found->begin < range.end && range.begin < found->end;
      });
      if (overlap == taken.end()) return *found;
      at = overlap->end;
    }
  }

  Range empty_line(Directive const& directive, std::size_t from, std::size_t to) {
    std::size_t at = input_.find('\n', from);
    if (at == std::string_view::npos || at + 1 >= to || (input_[at + 1] != '\n'))
      fail(directive, "finds no empty line next", from);
    return {at + 1, at + 1};
  }

  void expect_place(Directive const& directive, std::size_t from, Range found) {
    auto const lines = std::count(input_.begin() + static_cast<std::ptrdiff_t>(from),
                                  input_.begin() + static_cast<std::ptrdiff_t>(found.begin), '\n');
    if (directive.kind == Kind::next && lines != 1)
      fail(directive, fmt::format("is found {} lines further, expected the next line", lines), from);
    if (directive.kind == Kind::same && lines != 0) fail(directive, "is not found on the same line", from);
  }

  void expect_absent(Directive const& directive, std::size_t from, std::size_t to) {
    Variables scratch = variables_;
    if (auto const found = compiled(directive).find(input_, from, to, scratch))
      fail(directive, "is found, which it must not be", found->begin);
  }

  Pattern compiled(Directive const& directive) {
    try {
      return Pattern(directive.pattern, variables_);
    } catch (std::regex_error const& error) {
      throw Failure(title(directive) + ": malformed regular expression (" + error.what() + ")");
    } catch (Failure const& error) {
      throw Failure(title(directive) + ": " + error.what());
    }
  }

  static std::string title(Directive const& directive) {
    return fmt::format("line {}: {}: '{}'", directive.line, directive.spelling, directive.pattern);
  }

  [[noreturn]] void fail(Directive const& directive, std::string const& reason, std::size_t from) const {
    auto const begin = input_.begin();
    auto const line = std::count(begin, begin + static_cast<std::ptrdiff_t>(from), '\n') + 1;
    std::string message = fmt::format("{} {}; searched from input line {}:", title(directive), reason, line);
    std::size_t at = from == 0 ? 0 : input_.rfind('\n', from - 1) + 1;
    for (int shown = 0; shown < 6 && at < input_.size(); ++shown) {
      std::size_t const end = std::min(input_.find('\n', at), input_.size());
      message += "\n  | " + std::string(input_.substr(at, end - at));
      at = end + 1;
    }
    throw Failure(message);
  }

  std::string_view input_;
  std::vector<Directive> const& directives_;
  Variables variables_;
};

}  // namespace

FileCheckResult file_check(std::string_view input, std::string_view checks, std::string_view prefix) {
  try {
    auto const directives = parse_directives(checks, prefix);
    if (directives.empty()) return {false, "no " + std::string(prefix) + " line in the checks"};
    std::string const text = single_blanks(input);
    Checker(text, directives).run();
    return {true, ""};
  } catch (Failure const& failure) {
    return {false, failure.what()};
  }
}

}  // namespace tegula::test
