#include "model.hpp"

#include <fmt/format.h>

namespace smollm {

Sizes sizes_of(Gguf const& file, std::int64_t width, std::int64_t hidden) {
  auto const fail = [&](auto const& what) {
    throw FileError(fmt::format("{}: {}; this program runs SmolLM2-135M", file.path(), what));
  };
  if (file.text("general.architecture") != "llama") fail("the architecture is not llama");
  constexpr std::int64_t many = 1 << 20;
  auto const found_width = file.integer("llama.embedding_length", 1, many);
  auto const found_hidden = file.integer("llama.feed_forward_length", 1, many);
  if (found_width != width || found_hidden != hidden)
    fail(fmt::format("width {} and {} hidden units, but {} and {} are compiled in", found_width, found_hidden, width,
                     hidden));
  Sizes sizes;
  sizes.layers = file.integer("llama.block_count", 1, 1000);
  sizes.heads = file.integer("llama.attention.head_count", 1, 1000);
  sizes.key_heads = file.integer("llama.attention.head_count_kv", 1, 1000);
  sizes.context = file.integer("llama.context_length", 1, many);
  sizes.vocabulary = static_cast<std::int64_t>(file.texts("tokenizer.ggml.tokens").size());
  if (sizes.heads * head != width) fail(fmt::format("{} heads of 64 are not a row of {}", sizes.heads, width));
  if (sizes.heads != sizes.key_heads * queries_of_key)
    fail(fmt::format("{} heads and {} heads of keys, not {} for each", sizes.heads, sizes.key_heads, queries_of_key));
  if (file.integer("llama.rope.dimension_count", 1, many) != head) fail("heads are not rotated as a whole");
  double const epsilon = file.real("llama.attention.layer_norm_rms_epsilon");
  sizes.rotation_base = file.real("llama.rope.freq_base");
  if (!(epsilon > 0 && epsilon < 1)) fail(fmt::format("the epsilon of the norms is {}", epsilon));
  if (!(sizes.rotation_base > 1 && sizes.rotation_base < 1e12))
    fail(fmt::format("the base of the rotation is {}", sizes.rotation_base));
  sizes.epsilon = static_cast<float>(epsilon);
  return sizes;
}

std::vector<float> rotation_table(std::int64_t places, double base) {
  std::vector<float> result;
  result.reserve(static_cast<std::size_t>(places * head));
  for (std::int64_t place = 0; place < places; ++place)
    for (bool const sine : {false, true})
      for (int i = 0; i < head / 2; ++i) {
        double const angle = static_cast<double>(place) * std::pow(base, -2.0 * i / head);
        result.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
  return result;
}

}  // namespace smollm
