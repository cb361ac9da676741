// Reads and writes replay files: IR with one comment line that names the passes and options to run.
#include <fmt/format.h>

#include <charconv>
#include <type_traits>

#include "ir/text/text.hpp"
#include "abi/pass_options.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::transform {
namespace {

constexpr std::string_view mark = "// replay: ";

template <class Number>
Number number_of(std::string_view text) {
  Number value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UserError(fmt::format("replay: {} is not a number", support::quoted(text)));
  return value;
}

void read_value(std::string_view text, std::string& value) { value = text; }
void read_value(std::string_view text, bool& value) { value = number_of<int>(text) != 0; }
template <class Number>
requires(std::is_integral_v<Number>) void read_value(std::string_view text, Number& value) {
  value = number_of<Number>(text);
}
template <class Enumeration>
requires(std::is_enum_v<Enumeration>) void read_value(std::string_view text, Enumeration& value) {
  auto const found = abi::value_named<Enumeration>(text);
  if (!found)
    throw UserError(fmt::format("replay: {} is not one of {}", support::quoted(text),
                                support::joined(abi::names_of(Enumeration{}), ", ")));
  value = *found;
}

/// Returns false if there is no such option.
bool read_option(CompileOptions& options, std::string_view key, std::string_view text) {
  bool known = false;
  abi::for_each_pass_option(options, [&](std::string_view name, std::string_view, auto& value) {
    if (name != key) return;
    read_value(text, value);
    known = true;
  });
  return known;
}

}  // namespace

std::string replay_text(ir::Module const& module, std::string_view pipeline, CompileOptions const& options) {
  std::string text = ir::print(module, {true});
  std::size_t const first_line = text.find('\n') + 1;
  std::string line = fmt::format("{}target={} architecture={}", mark, options.target == Target::host ? "host" : "cuda",
                                 options.architecture);
  abi::for_each_pass_option(options, [&](std::string_view name, std::string_view, auto const& value) {
    line += fmt::format(" {}={}", name, abi::to_text(value));
  });
  text.insert(first_line, fmt::format("{} pipeline={}\n", line, pipeline));
  return text;
}

Replay read_replay(std::string_view text) {
  std::size_t const at = text.find(mark);
  if (at == std::string_view::npos) throw UserError("replay: no line of the file starts with \"// replay: \"");
  std::string_view line = text.substr(at + mark.size());
  line = line.substr(0, line.find('\n'));
  Replay result;
  while (!line.empty()) {
    std::size_t const blank = line.find(' ');
    std::string_view const item = line.substr(0, blank);
    std::size_t const equals = item.find('=');
    if (equals == std::string_view::npos)
      throw UserError(fmt::format("replay: expected name=value, found {}", support::quoted(item)));
    std::string_view const key = item.substr(0, equals), value = item.substr(equals + 1);
    if (key == "target" && (value == "host" || value == "cuda"))
      result.options.target = value == "host" ? Target::host : Target::cuda;
    else if (key == "architecture")
      result.options.architecture = value;
    else if (key == "pipeline")
      result.pipeline = value;
    else if (!read_option(result.options, key, value))
      throw UserError(fmt::format("replay: {} is not an option", support::quoted(item)));
    if (blank == std::string_view::npos) break;
    line.remove_prefix(blank + 1);
  }
  return result;
}

}  // namespace tegula::transform
