#include "reference.hpp"

#include <algorithm>
#include <cmath>

namespace minilm {
namespace {

constexpr std::size_t width_of_head = 32;

void add(std::vector<std::vector<double>>& x, std::vector<std::vector<double>> const& y) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < x[i].size(); ++j) x[i][j] += y[i][j];
}

}  // namespace

Reference::Rows Reference::linear(Rows const& x, std::string const& name, std::int64_t outputs) const {
  auto const inputs = static_cast<std::int64_t>(x[0].size());
  std::vector<float> const w = file_.values(name + ".weight", {outputs, inputs});
  std::vector<float> const bias = file_.values(name + ".bias", {outputs});
  Rows y(x.size(), std::vector<double>(bias.begin(), bias.end()));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < y[i].size(); ++j)
      for (std::size_t k = 0; k < x[i].size(); ++k) y[i][j] += x[i][k] * static_cast<double>(w[j * x[i].size() + k]);
  return y;
}

void Reference::normalize(Rows& x, std::string const& name) const {
  std::vector<float> const gain = file_.values(name + ".weight", {sizes_.width}),
                           shift = file_.values(name + ".bias", {sizes_.width});
  for (auto& row : x) {
    double const count = static_cast<double>(row.size());
    double mean = 0, variance = 0;
    for (double const value : row) mean += value / count;
    for (double const value : row) variance += (value - mean) * (value - mean) / count;
    double const scale = 1 / std::sqrt(variance + static_cast<double>(sizes_.epsilon));
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = (row[i] - mean) * scale * static_cast<double>(gain[i]) + static_cast<double>(shift[i]);
  }
}

Reference::Rows Reference::attended(Rows const& x, std::string const& name) const {
  Rows const q = linear(x, name + "query", sizes_.width), k = linear(x, name + "key", sizes_.width),
             v = linear(x, name + "value", sizes_.width);
  Rows o(x.size(), std::vector<double>(x[0].size()));
  std::vector<double> p(x.size());
  for (std::size_t first = 0; first < x[0].size(); first += width_of_head)
    for (std::size_t i = 0; i < x.size(); ++i) {
      double highest = -INFINITY, total = 0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        p[j] = 0;
        for (std::size_t e = first; e < first + width_of_head; ++e) p[j] += q[i][e] * k[j][e];
        p[j] /= std::sqrt(static_cast<double>(width_of_head));
        highest = std::max(highest, p[j]);
      }
      for (double& value : p) total += value = std::exp(value - highest);
      for (std::size_t j = 0; j < x.size(); ++j)
        for (std::size_t e = first; e < first + width_of_head; ++e) o[i][e] += p[j] / total * v[j][e];
    }
  return o;
}

std::vector<double> Reference::embed(std::vector<int> const& tokens) const {
  auto const width = static_cast<std::size_t>(sizes_.width);
  std::vector<float> const words = file_.values("embeddings.word_embeddings.weight", {sizes_.vocabulary, sizes_.width});
  std::vector<float> const places =
      file_.values("embeddings.position_embeddings.weight", {sizes_.positions, sizes_.width});
  std::vector<float> const sentence = file_.values("embeddings.token_type_embeddings.weight", {2, sizes_.width});
  Rows x(tokens.size(), std::vector<double>(width));
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < width; ++j)
      x[i][j] = static_cast<double>(words[static_cast<std::size_t>(tokens[i]) * width + j]) +
                static_cast<double>(places[i * width + j]) + static_cast<double>(sentence[j]);
  normalize(x, "embeddings.LayerNorm");
  for (std::int64_t i = 0; i < sizes_.layers; ++i) {
    std::string const name = layer_name(i);
    add(x, linear(attended(x, name + "attention.self."), name + "attention.output.dense", sizes_.width));
    normalize(x, name + "attention.output.LayerNorm");
    Rows h = linear(x, name + "intermediate.dense", sizes_.hidden);
    for (auto& row : h)
      for (double& value : row) value *= 0.5 * (1 + std::erf(value / std::sqrt(2.0)));
    add(x, linear(h, name + "output.dense", sizes_.width));
    normalize(x, name + "output.LayerNorm");
  }
  std::vector<double> mean(width);
  double squares = 0;
  for (auto const& row : x)
    for (std::size_t j = 0; j < width; ++j) mean[j] += row[j] / static_cast<double>(x.size());
  for (double const value : mean) squares += value * value;
  for (double& value : mean) value /= std::sqrt(squares);
  return mean;
}

}  // namespace minilm
