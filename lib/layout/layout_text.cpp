// Prints and parses the text of layouts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "layout/layout.hpp"

namespace tegula::layout {
namespace {

constexpr std::array<std::string_view, dim_count> dim_names = {"register", "lane",  "warp",  "block", "offset",
                                                               "axis0",    "axis1", "axis2", "axis3", "axis4",
                                                               "axis5",    "axis6", "axis7"};

std::string text_of(Extents const& vector) {
  std::string result = "(";
  for (int i = 0; i < vector.size(); ++i) {
    if (i > 0) result += ',';
    result += fmt::to_string(vector[i]);
  }
  return result + ")";
}

/// True for outputs that parse() finds by itself: the axes 0.., with a vector that shows their number.
bool plain_outputs(std::vector<LayoutInput> const& inputs, std::vector<Dim> const& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i] != axis_dim(static_cast<int>(i))) return false;
  return !inputs.empty();
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool accept(char wanted) {
    space();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool digit_ahead() {
    space();
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
  }
  std::string_view word() {
    space();
    std::size_t const start = at_;
    while (at_ < text_.size() &&
           ((text_[at_] >= 'a' && text_[at_] <= 'z') || (at_ > start && text_[at_] >= '0' && text_[at_] <= '9')))
      ++at_;
    return text_.substr(start, at_ - start);
  }
  bool number(std::int64_t& value) {
    space();
    auto const [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (code != std::errc() || value < 0) return false;
    at_ = static_cast<std::size_t>(end - text_.data());
    return true;
  }
  [[nodiscard]] bool at_end() {
    space();
    return at_ == text_.size();
  }
  [[nodiscard]] std::string place() const {
    return fmt::format(" at column {}{}", at_ + 1,
                       at_ < text_.size() ? fmt::format(", before '{}'", text_[at_]) : ", at the end");
  }

 private:
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

bool find_dim(std::string_view word, Dim& dim) {
  auto const found = std::find(dim_names.begin(), dim_names.end(), word);
  if (found == dim_names.end()) return false;
  dim = static_cast<Dim>(found - dim_names.begin());
  return true;
}

}  // namespace

std::string_view name(Dim dim) { return dim_names[static_cast<std::size_t>(dim)]; }

std::string Layout::make_text(std::vector<LayoutInput> const& inputs, std::vector<Dim> const& outputs) {
  std::string result = "[";
  for (LayoutInput const& input : inputs) {
    if (result.size() > 1) result += ", ";
    result += name(input.dim);
    for (Extents const& basis : input.bases) result += ' ' + text_of(basis);
    for (LayoutDigit const& digit : input.digits) result += fmt::format(" {}*{}", digit.count, text_of(digit.stride));
  }
  if (!plain_outputs(inputs, outputs)) {
    if (result.size() > 1) result += ' ';
    result += "to";
    for (Dim dim : outputs) result += ' ' + std::string(name(dim));
  }
  return result + "]";
}

namespace {

/// Reads the inputs and outputs of a layout's text. Each part tells whether the text continues as it must; else the
/// error says what was expected.
class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : scan_(text) {}

  bool read() {
    if (!scan_.accept('[')) return fail("expected '['");
    for (bool more = !scan_.accept(']'); more;) {
      std::string_view const word = scan_.word();
      if (word == "to") {
        named_outputs_ = true;
        if (!read_outputs()) return false;
        break;
      }
      if (!read_input(word)) return false;
      if (scan_.accept(']')) break;
      if (!scan_.accept(',')) {
        // `to` follows without a comma.
        Scanner ahead = scan_;
        if (ahead.word() != "to") return fail("expected ',', 'to' or ']'");
      }
    }
    if (!scan_.at_end()) return fail("expected nothing more");
    if (!named_outputs_)
      for (int i = 0; i < rank_; ++i) outputs.push_back(axis_dim(i));
    return true;
  }

  std::vector<LayoutInput> inputs;
  std::vector<Dim> outputs;
  std::string error;

 private:
  bool fail(std::string_view reason) {
    error = "layout: " + std::string(reason) + scan_.place();
    return false;
  }
  bool read_outputs() {
    while (!scan_.accept(']')) {
      Dim dim{};
      if (!find_dim(scan_.word(), dim)) return fail("expected the name of an output");
      if (std::find(outputs.begin(), outputs.end(), dim) != outputs.end()) return fail("an output is given twice");
      outputs.push_back(dim);
    }
    return true;
  }
  bool read_input(std::string_view word) {
    LayoutInput input;
    if (!find_dim(word, input.dim)) return fail("expected register, lane, warp, block, offset, an axis or to");
    for (;;) {
      LayoutDigit digit;
      bool const repeats = scan_.digit_ahead();
      if (repeats && (!scan_.number(digit.count) || !scan_.accept('*'))) return fail("expected count*(stride)");
      if (!repeats && !scan_.accept('(')) break;
      if (repeats && !scan_.accept('(')) return fail("expected '('");
      if (!read_vector(digit.stride)) return false;
      if (repeats)
        input.digits.push_back(digit);
      else if (!input.digits.empty())
        return fail("bits must come before repetitions");
      else
        input.bases.push_back(digit.stride);
    }
    inputs.push_back(std::move(input));
    return true;
  }
  /// Reads the components of a vector behind its parenthesis.
  bool read_vector(Extents& vector) {
    if (!scan_.accept(')')) {
      do {
        std::int64_t value = 0;
        if (vector.size() == max_rank || !scan_.number(value)) return fail("expected up to 8 numbers");
        vector.push_back(value);
      } while (scan_.accept(','));
      if (!scan_.accept(')')) return fail("expected ')'");
    }
    if (rank_ < 0) rank_ = vector.size();
    return rank_ == vector.size() || fail("all vectors must have the same number of components");
  }

  Scanner scan_;
  int rank_ = -1;
  bool named_outputs_ = false;
};

}  // namespace

Layout const* Layout::parse(std::string_view text, std::string& error) {
  LayoutReader reader(text);
  if (!reader.read()) {
    error = reader.error;
    return nullptr;
  }
  return intern(std::move(reader.inputs), std::move(reader.outputs), &error);
}

}  // namespace tegula::layout
