#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <tegula/tegula.hpp>

#include "support/text.hpp"

namespace smollm {
namespace {

constexpr std::int64_t width_of_head = 64;

double half_at(std::byte const* place) {
  tegula::f16 value;
  std::memcpy(&value, place, sizeof value);
  return static_cast<double>(value);
}

std::vector<double> product(std::vector<double> const& weights, std::vector<double> const& x) {
  std::size_t const rows = weights.size() / x.size();
  std::vector<double> y(rows);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < x.size(); ++k) y[i] += weights[i * x.size() + k] * x[k];
  return y;
}

void add(std::vector<double>& x, std::vector<double> const& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

}  // namespace

std::vector<double> dequantised(Tensor const& tensor) {
  std::vector<double> result;
  std::byte const* const end = tensor.bytes.data() + tensor.bytes.size();
  for (std::byte const* at = tensor.bytes.data(); at != end; at += block_bytes(tensor.format)) switch (tensor.format) {
      case Format::f32: {
        float value = 0;
        std::memcpy(&value, at, sizeof value);
        result.push_back(static_cast<double>(value));
        break;
      }
      case Format::f16:
        result.push_back(half_at(at));
        break;
      case Format::q4_1:
        for (int const shift : {0, 4})
          for (int i = 0; i < 16; ++i)
            result.push_back(half_at(at) * (std::to_integer<int>(at[4 + i]) >> shift & 15) + half_at(at + 2));
        break;
      case Format::q8_0:
        for (int i = 0; i < 32; ++i) result.push_back(half_at(at) * std::to_integer<std::int8_t>(at[2 + i]));
        break;
    }
  return result;
}

Reference::Reference(Gguf const& file)
    : width_(file.integer("llama.embedding_length", 1, 1 << 20)),
      heads_(file.integer("llama.attention.head_count", 1, 1000)),
      key_heads_(file.integer("llama.attention.head_count_kv", 1, 1000)),
      epsilon_(file.real("llama.attention.layer_norm_rms_epsilon")),
      base_(file.real("llama.rope.freq_base")) {
  auto const all = [&](std::string const& name) { return dequantised(file.tensors().at(name)); };
  table_ = all("token_embd.weight");
  last_gain_ = all("output_norm.weight");
  std::int64_t const layers = file.integer("llama.block_count", 1, 1000);
  for (std::int64_t i = 0; i < layers; ++i) {
    std::string const name = samples::text("blk.", i, ".");
    layers_.push_back({all(name + "attn_norm.weight"),
                       all(name + "ffn_norm.weight"),
                       all(name + "attn_q.weight"),
                       all(name + "attn_k.weight"),
                       all(name + "attn_v.weight"),
                       all(name + "attn_output.weight"),
                       all(name + "ffn_gate.weight"),
                       all(name + "ffn_up.weight"),
                       all(name + "ffn_down.weight"),
                       {},
                       {}});
  }
}

std::vector<double> Reference::normalized(std::vector<double> const& x, Matrix const& gain) const {
  double squares = 0;
  for (double const value : x) squares += value * value;
  double const scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + epsilon_);
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * gain[i];
  return y;
}

void Reference::rotate(double* head_values) const {
  for (std::int64_t i = 0; i < width_of_head; i += 2) {
    double const angle =
        static_cast<double>(steps_) * std::pow(base_, -static_cast<double>(i) / static_cast<double>(width_of_head));
    double const even = head_values[i], odd = head_values[i + 1];
    head_values[i] = even * std::cos(angle) - odd * std::sin(angle);
    head_values[i + 1] = even * std::sin(angle) + odd * std::cos(angle);
  }
}

std::vector<double> Reference::attention(Layer const& layer, std::vector<double> const& q) const {
  std::vector<double> o(q.size()), p(static_cast<std::size_t>(steps_) + 1);
  std::int64_t const row = key_heads_ * width_of_head;
  for (std::int64_t h = 0; h < heads_; ++h) {
    double const* const query = q.data() + h * width_of_head;
    std::int64_t const group = h / (heads_ / key_heads_) * width_of_head;
    double highest = -INFINITY, total = 0;
    for (std::size_t j = 0; j < p.size(); ++j) {
      double const* const key = layer.keys.data() + static_cast<std::int64_t>(j) * row + group;
      p[j] = 0;
      for (std::int64_t e = 0; e < width_of_head; ++e) p[j] += query[e] * key[e] / 8;
      highest = std::max(highest, p[j]);
    }
    for (double& value : p) total += value = std::exp(value - highest);
    for (std::size_t j = 0; j < p.size(); ++j)
      for (std::int64_t e = 0; e < width_of_head; ++e)
        o[static_cast<std::size_t>(h * width_of_head + e)] +=
            p[j] / total * layer.values[static_cast<std::size_t>(static_cast<std::int64_t>(j) * row + group + e)];
  }
  return o;
}

std::vector<double> Reference::step(int token) {
  std::vector<double> x(table_.begin() + token * width_, table_.begin() + (token + 1) * width_);
  for (Layer& layer : layers_) {
    std::vector<double> const a = normalized(x, layer.attention_gain);
    std::vector<double> q = product(layer.q, a), k = product(layer.k, a), v = product(layer.v, a);
    for (std::int64_t h = 0; h < heads_; ++h) rotate(q.data() + h * width_of_head);
    for (std::int64_t h = 0; h < key_heads_; ++h) rotate(k.data() + h * width_of_head);
    layer.keys.insert(layer.keys.end(), k.begin(), k.end());
    layer.values.insert(layer.values.end(), v.begin(), v.end());
    add(x, product(layer.o, attention(layer, q)));
    std::vector<double> const b = normalized(x, layer.hidden_gain);
    std::vector<double> gates = product(layer.gate, b), ups = product(layer.up, b);
    for (std::size_t i = 0; i < gates.size(); ++i) gates[i] *= ups[i] / (1 + std::exp(-gates[i]));
    add(x, product(layer.down, gates));
  }
  ++steps_;
  return product(table_, normalized(x, last_gain_));
}

}  // namespace smollm
