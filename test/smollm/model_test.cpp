// Compares a small random model with its float64 reference, token by token, and a layer in the simulators.
#include "smollm/generator.hpp"

#include <cmath>

#include "gguf_writer.hpp"
#include "../../samples/support/compare.hpp"
#include "smollm/reference.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::test;
using smollm::Gguf;
using smollm::Model;
using smollm::Reference;

namespace {

// Logits are sums of 192 products around 1; f32 and the order of sums change them by less than this.
constexpr double bound = 2e-5;

using Generator = smollm::Generator<192, 384, float>;

std::vector<int> random_tokens(std::size_t count, int vocabulary) {
  smollm::Draw random;
  std::vector<int> tokens;
  while (tokens.size() < count) tokens.push_back(random.below(vocabulary));
  return tokens;
}

/// Compares row `row` of the logits.
::samples::Comparison compared(std::vector<float> const& found, std::vector<double> const& expected,
                               std::size_t row = 0) {
  ::samples::Comparison result(bound);
  for (std::size_t i = 0; i < expected.size(); ++i)
    result.add(static_cast<std::int64_t>(i), found[row * expected.size() + i], expected[i]);
  return result;
}

}  // namespace

TEST_CASE("smollm: reading and stepping give the reference's logits, token by token", "[N20]") {
  FileOf const file("random", random_model(SmallModel()));
  Gguf const read(file.path());
  Model<192, 384> const model(read, device::host());
  stream const order(device::host());
  std::vector<int> const tokens = random_tokens(330, 500);  // more than are read at once, and no multiple of a tile
  Reference reference(read);
  std::vector<std::vector<double>> expected;
  for (int const token : tokens) expected.push_back(reference.step(token));

  for (std::size_t const first : {1U, 65U, 300U}) {
    INFO(first);
    Generator generator(model, order, 1, 400);
    generator.read(0, std::span(tokens).first(first));
    CHECK(compared(generator.logits(), expected[first - 1]).right());
    for (std::size_t i = first; i < std::min(tokens.size(), first + 30); ++i) {
      generator.choose({});
      generator.force({tokens[i]});
      generator.step();
      ::samples::Comparison const step = compared(generator.logits(), expected[i]);
      INFO(i << ": " << step.str());
      REQUIRE(step.right());
    }
  }
}

TEST_CASE("smollm: steps give the reference's logits where a part of attention takes more keys in turn", "[N20]") {
  FileOf const file("far", random_model(SmallModel().with(&SmallModel::layers, 1)));
  Gguf const read(file.path());
  Model<192, 384> const model(read, device::host());
  stream const order(device::host());
  std::vector<int> const tokens = random_tokens(1094, 500);  // 16 parts take 1024 keys at first
  Reference reference(read);
  std::vector<std::vector<double>> expected;
  for (int const token : tokens) expected.push_back(reference.step(token));
  Generator generator(model, order, 1, 1100);
  generator.read(0, std::span(tokens).first(1090));
  for (std::size_t i = 1090; i < tokens.size(); ++i) {
    generator.choose({});
    generator.force({tokens[i]});
    generator.step();
    CHECK(compared(generator.logits(), expected[i]).right());
  }
}

TEST_CASE("smollm: a step has five launches for each layer, and two besides", "[N20]") {
  FileOf const file("launches", random_model(SmallModel()));
  Gguf const read(file.path());
  Model<192, 384> const model(read, device::host());
  stream const order(device::host());
  auto const layers = static_cast<std::size_t>(model.sizes.layers);
  for (smollm::Division const& division : {smollm::Division{}, smollm::Division{16, 4, 128}}) {
    Generator const generator(model, order, 1, 32, division);
    CHECK(generator.launches_of_step() == 5 * layers + 2);
    std::size_t launches = 0;
    for (smollm::KernelOfStep const& kernel : generator.kernels_of_step()) launches += kernel.launches.size();
    CHECK(launches == generator.launches_of_step());
    CHECK(generator.kernels_of_step().size() == 7);
  }
}

TEST_CASE("smollm: another division of a step's products gives the reference's logits", "[N20]") {
  FileOf const file("division", random_model(SmallModel()));
  Gguf const read(file.path());
  Model<192, 384> const model(read, device::host());
  stream const order(device::host());
  std::vector<int> const tokens = random_tokens(9, 500);
  Reference reference(read);
  Generator generator(model, order, 1, 32, {8, 4, 128});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::vector<double> const expected = reference.step(tokens[i]);
    if (i == 0) {
      generator.read(0, std::span(tokens).first(1));
    } else {
      generator.choose({});
      generator.force({tokens[i]});
      generator.step();
    }
    REQUIRE(compared(generator.logits(), expected).right());
  }
}

TEST_CASE("smollm: sequences of one batch do not see each other", "[N20]") {
  FileOf const file("batch", random_model(SmallModel()));
  Gguf const read(file.path());
  Model<192, 384> const model(read, device::host());
  stream const order(device::host());
  Generator generator(model, order, 3, 64);
  std::vector<int> const tokens = random_tokens(60, 500);
  std::vector<Reference> references(3, Reference(read));
  std::vector<std::vector<double>> expected(3);
  for (std::size_t row = 0; row < 3; ++row) {  // prompts of 5, 12 and 19 tokens
    std::size_t const count = 5 + 7 * row;
    for (std::size_t i = 0; i < count; ++i) expected[row] = references[row].step(tokens[i]);
    generator.read(static_cast<std::int64_t>(row), std::span(tokens).first(count));
  }
  for (int i = 0; i < 8; ++i) {
    std::vector<float> const found = generator.logits();
    for (std::size_t row = 0; row < 3; ++row) CHECK(compared(found, expected[row], row).right());
    generator.choose({});
    std::vector<int> const chosen = generator.tokens();
    generator.step();
    for (std::size_t row = 0; row < 3; ++row) {
      auto const best = std::max_element(expected[row].begin(), expected[row].end()) - expected[row].begin();
      CHECK(chosen[row] == best);
      expected[row] = references[row].step(chosen[row]);
    }
  }
}

TEST_CASE("smollm: one layer gives the reference's logits", "[N20]") {  // also run in the simulators
  auto const sizes = SmallModel().with(&SmallModel::layers, 1).with(&SmallModel::vocabulary, 128);
  FileOf const file("layer", random_model(sizes));
  Gguf const read(file.path());
  Model<192, 384> const model(read, device::host());
  stream const order(device::host());
  std::vector<int> const tokens = random_tokens(5, 128);
  Reference reference(read);
  std::vector<std::vector<double>> expected;
  for (int const token : tokens) expected.push_back(reference.step(token));
  Generator generator(model, order, 1, 80);
  generator.read(0, std::span(tokens).first(3));
  CHECK(compared(generator.logits(), expected[2]).right());
  for (std::size_t i = 3; i < tokens.size(); ++i) {
    generator.choose({.temperature = i == 3 ? 0.0F : 0.8F, .top_k = 1});  // the best token by both kernels
    auto const& before = expected[i - 1];
    CHECK(generator.tokens()[0] == std::max_element(before.begin(), before.end()) - before.begin());
    generator.force({tokens[i]});
    generator.step();
    CHECK(compared(generator.logits(), expected[i]).right());
  }
}

TEST_CASE("smollm: tokens are drawn by their probability within top-k and top-p", "[N20]") {
  constexpr std::int64_t draws = 1000, vocabulary = 5000;
  constexpr std::int64_t groups = (vocabulary + smollm::group - 1) / smollm::group;
  // Two of the best tokens share a group; the last is no candidate of the first five.
  std::vector<std::pair<int, float>> const best = {{4321, 5.0F}, {17, 4.6F},  {4095, 4.5F},
                                                   {4096, 4.0F}, {999, 3.0F}, {1000, 2.9F}};
  std::vector<float> row(vocabulary, 0.0F), logits;
  for (auto const& [token, value] : best) row[static_cast<std::size_t>(token)] = value;
  std::vector<float> of_groups(groups, 0.0F), maxima;
  for (auto const& [token, value] : best) {
    float& maximum = of_groups[static_cast<std::size_t>(token / smollm::group)];
    maximum = std::max(maximum, value);
  }
  for (std::int64_t i = 0; i < draws; ++i) {
    logits.insert(logits.end(), row.begin(), row.end());
    maxima.insert(maxima.end(), of_groups.begin(), of_groups.end());
  }
  auto const drawn = [&](smollm::Sampling const& how) {
    std::vector<int> tokens(draws, -1), positions(draws, 41), made(draws * 43, -1);
    launch(host_stream(), smollm::sample, view<float, 2>(logits.data(), draws, vocabulary),
           view<float, 2>(maxima.data(), draws, groups), tokens, positions, view<int, 2>(made.data(), draws, 43),
           how.temperature, how.top_k, how.top_p, how.seed);
    CHECK(positions == std::vector<int>(draws, 42));
    for (std::size_t i = 0; i < draws; ++i) CHECK(made[43 * i + 42] == tokens[i]);
    return tokens;
  };
  struct Case {
    float temperature, top_p;
    int top_k;
    std::size_t kept;  // tokens that may be drawn
  };
  for (Case const& one : {Case{0.7F, 1.0F, 5, 5}, Case{2.0F, 0.5F, 5, 2}, Case{0.7F, 0.0F, 40, 1},
                          Case{1.0F, 0.9F, 5, 4}, Case{5.0F, 1.0F, 1, 1}}) {
    INFO(one.temperature << " " << one.top_p << " " << one.top_k);
    double total = 0;
    for (std::size_t i = 0; i < one.kept; ++i) total += std::exp(static_cast<double>(best[i].second / one.temperature));
    std::vector<int> const tokens =
        drawn({.temperature = one.temperature, .top_p = one.top_p, .top_k = one.top_k, .seed = 5});
    std::int64_t seen = 0;
    for (std::size_t i = 0; i < one.kept; ++i) {
      double const p = std::exp(static_cast<double>(best[i].second / one.temperature)) / total;
      auto const count = std::count(tokens.begin(), tokens.end(), best[i].first);
      CHECK(std::abs(static_cast<double>(count) - draws * p) <= 5 * std::sqrt(draws * p * (1 - p)) + 1e-6);
      seen += count;
    }
    CHECK(seen == draws);
    CHECK(tokens == drawn({.temperature = one.temperature, .top_p = one.top_p, .top_k = one.top_k, .seed = 5}));
  }
}
