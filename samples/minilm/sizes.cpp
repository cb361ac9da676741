#include "sizes.hpp"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace minilm {

Sizes sizes_of(std::string const& path, std::int64_t width, std::int64_t hidden) {
  auto const fail = [&](std::string const& finding) {
    throw FileError(fmt::format("{}: {}; this program runs all-MiniLM-L6-v2", path, finding));
  };
  samples::FileBytes const file(path, "config.json");
  auto const text = file.as<char>();
  auto const config = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!config.is_object()) fail("is not an object of JSON");
  auto const value = [&](char const* key) -> nlohmann::json const& {
    auto const found = config.find(key);
    if (found == config.end()) fail(fmt::format("{} is missing", key));
    return *found;
  };
  auto const integer = [&](char const* key, std::int64_t lowest, std::int64_t highest) {
    nlohmann::json const& found = value(key);
    if (!found.is_number_integer() || found < lowest || found > highest)
      fail(fmt::format("{} is {}; {} to {} is expected", key, samples::printable(found.dump(-1, ' ', true)), lowest,
                       highest));
    return found.get<std::int64_t>();
  };
  auto const word = [&](char const* key, char const* expected) {
    nlohmann::json const& found = value(key);
    if (found != expected)
      fail(fmt::format("{} is {}; {} is expected", key, samples::printable(found.dump(-1, ' ', true)), expected));
  };
  constexpr std::int64_t many = 1 << 20;
  word("model_type", "bert");
  word("hidden_act", "gelu");
  Sizes sizes;
  sizes.width = integer("hidden_size", width, width);
  sizes.hidden = integer("intermediate_size", hidden, hidden);
  integer("num_attention_heads", width / head, width / head);
  sizes.layers = integer("num_hidden_layers", 1, 1000);
  sizes.vocabulary = integer("vocab_size", 1, many);
  sizes.positions = integer("max_position_embeddings", 1, many);
  nlohmann::json const& epsilon = value("layer_norm_eps");
  if (!epsilon.is_number() || !(epsilon.get<double>() > 0 && epsilon.get<double>() < 1))
    fail(fmt::format("layer_norm_eps is {}", samples::printable(epsilon.dump(-1, ' ', true))));
  sizes.epsilon = epsilon.get<float>();
  return sizes;
}

std::vector<float> transposed(std::vector<float> const& w, std::int64_t rows) {
  auto const height = static_cast<std::size_t>(rows), width = w.size() / height;
  std::vector<float> result(w.size());
  for (std::size_t i = 0; i < height; ++i)
    for (std::size_t j = 0; j < width; ++j) result[j * height + i] = w[i * width + j];
  return result;
}

}  // namespace minilm
