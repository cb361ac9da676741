#include "abi/pass_options.hpp"

#include <fmt/format.h>

#include <vector>

namespace tegula::abi {

std::string changed_options(CompileOptions const& options) {
  std::vector<std::string> defaults;
  CompileOptions const own_choices;
  for_each_pass_option(own_choices,
                       [&](std::string_view, std::string_view, auto value) { defaults.push_back(to_text(value)); });
  std::string text;
  std::size_t at = 0;
  auto const add = [&](std::string_view name, std::string const& value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  };
  for_each_pass_option(options, [&](std::string_view name, std::string_view, auto value) {
    if (std::string const own = to_text(value); own != defaults[at++]) add(name, own);
  });
  if (!options.asserts) add("asserts", "0");
  if (!options.pipeline.empty()) add("pipeline", options.pipeline);
  return text;
}

}  // namespace tegula::abi
