// Compares text with golden files, and rewrites them if the switch says so.
#include "support/golden.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace tegula::test {
namespace {

bool switched_on = false;

std::string_view line_at(std::string_view text, std::size_t position) {
  std::size_t const begin = position == 0 ? 0 : text.rfind('\n', position - 1) + 1;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

bool update_golden() {
  char const* value = std::getenv("TEGULA_UPDATE_GOLDEN");
  return switched_on || (value != nullptr && std::strcmp(value, "1") == 0);
}

void set_update_golden(bool on) { switched_on = on; }

std::string read_file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << in.rdbuf();
  return std::move(text).str();
}

GoldenResult match_golden(std::string const& path, std::string_view text) {
  if (update_golden()) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream out(path, std::ios::binary);
    out << text;
    return out ? GoldenResult{true, ""} : GoldenResult{false, "cannot write " + path};
  }
  if (!std::filesystem::exists(path)) return {false, "no golden file " + path + "; write it with --update-golden"};
  std::string const expected = read_file(path);
  if (expected == text) return {true, ""};
  auto const [at, unused] = std::mismatch(text.begin(), text.end(), expected.begin(), expected.end());
  auto const position = static_cast<std::size_t>(at - text.begin());
  auto const line = std::count(text.begin(), at, '\n') + 1;
  return {false, fmt::format("{}:{}: differs\n"
                             "  expected: {}\n"
                             "  found:    {}",
                             path, line, std::string(line_at(expected, std::min(position, expected.size()))),
                             std::string(line_at(text, std::min(position, text.size()))))};
}

}  // namespace tegula::test
