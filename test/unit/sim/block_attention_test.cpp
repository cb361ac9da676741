// The hand-written attention kernels of test/ir/target, run by warps.
#include "block_support.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

enum class Mask : std::uint8_t { none, causal };

struct Attention {
  static constexpr std::int64_t width = 128;
  Mask mask;
  HostTensor q, k, v, o, next;
  ir::Module module;

  /// Scores are about normal times `sharpness`; where that is large, later blocks raise the row maxima by far.
  Attention(Mask the_mask, std::int64_t heads, std::int64_t length, double sharpness = 1)
      : mask(the_mask),
        q(Element::bf16, {heads, length, width}),
        k(Element::bf16, {heads, length, width}),
        v(Element::bf16, {heads, length, width}),
        o(Element::bf16, {heads, length, width}),
        next(Element::i32, {1}),
        module(target(mask == Mask::causal ? "attention_causal" : "attention")) {
    std::mt19937_64 random(static_cast<std::uint64_t>(length));
    double const unit = std::sqrt(3.0);  // variance 1
    q.fill(random, -unit * sharpness, unit * sharpness);
    k.fill(random, -unit, unit);
    v.fill(random);
    next.set_integer(0, 0);
  }

  static constexpr double softmax_scale() { return 0.08838834764831845; }
  sim::Arguments arguments() {
    return {
        q.view(),   k.view(), v.view(), o.view(), ir::make_constant(Element::f32, softmax_scale() * 1.4426950408889634),
        next.view()};
  }

  /// The first element that is further from the float64 result than the rounding of the weights and of the result to
  /// bf16 explains; empty: none.
  std::string wrong() const {
    std::int64_t const heads = q.extents()[0], length = q.extents()[1];
    std::vector<double> weights(static_cast<std::size_t>(length));
    auto const numbers = [](HostTensor const& tensor) {
      std::vector<double> result;
      for (std::int64_t i = 0; i < tensor.count(); ++i) result.push_back(tensor.number(i));
      return result;
    };
    auto const qs = numbers(q), ks = numbers(k), vs = numbers(v), os = numbers(o);
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t row = 0; row < length; ++row) {
        std::int64_t const seen = mask == Mask::causal ? row + 1 : length;
        auto const at = [&](std::int64_t r, std::int64_t c) {
          return static_cast<std::size_t>((head * length + r) * width + c);
        };
        double most = -INFINITY, sum = 0;
        for (std::int64_t j = 0; j < seen; ++j) {
          double score = 0;
          for (std::int64_t c = 0; c < width; ++c) score += qs[at(row, c)] * ks[at(j, c)];
          weights[static_cast<std::size_t>(j)] = score * softmax_scale();
          most = std::max(most, score * softmax_scale());
        }
        for (std::int64_t j = 0; j < seen; ++j) {
          double& weight = weights[static_cast<std::size_t>(j)];
          weight = std::exp(weight - most);
          sum += weight;
        }
        for (std::int64_t c = 0; c < width; ++c) {
          double expected = 0, size = 0;
          for (std::int64_t j = 0; j < seen; ++j) {
            double const part = weights[static_cast<std::size_t>(j)] / sum * vs[at(j, c)];
            expected += part;
            size += std::abs(part);
          }
          double const found = os[at(row, c)];
          if (std::abs(found - expected) <= 0x1p-8 * size + 0x1p-8 * std::abs(expected) + 1e-5) continue;
          return "head " + std::to_string(head) + ", " + std::to_string(row) + ", " + std::to_string(c) + ": " +
                 std::to_string(found) + " but should be " + std::to_string(expected);
        }
      }
    return {};
  }
};

std::string name_of(Mask mask) { return mask == Mask::causal ? "causal" : "full"; }

}  // namespace

TEST_CASE("the hand-written attention is clean and right in the simulator", "[sim][block]") {
  for (Mask const mask : {Mask::none, Mask::causal})
    for (std::int64_t const length : {1, 130, 256, 384})
      for (double const sharpness : {1.0, 16.0}) {
        Attention attention(mask, 2, length, sharpness);
        block::Options options;
        options.grid = sim::Grid{2, 1, 1};
        block::Simulation simulation(attention.module.kernel(), attention.arguments(), options);
        auto const result = simulation.run(BlockSchedule::seed(1));
        INFO(name_of(mask) << ", length " << length << ", sharpness " << sharpness << "\n" << result.str());
        CHECK(result.clean());
        CHECK(attention.wrong() == "");
        CHECK(attention.next.integer(0) == 0);
      }
}

TEST_CASE("the hand-written attention is clean under 200 schedules of every kind", "[sim][block]") {
  // Three tiles for one CTA; three for two, of which either may come first.
  for (Mask const mask : {Mask::none, Mask::causal})
    for (std::int64_t const ctas : {1, 2}) {
      Attention attention(mask, 1, 300, 16);
      block::Options options;
      options.grid = sim::Grid{ctas, 1, 1};
      block::Simulation simulation(attention.module.kernel(), attention.arguments(), options);
      auto const sweep = simulation.sweep(200);
      INFO(name_of(mask) << ", " << ctas << " CTAs\n" << sweep.str());
      CHECK(sweep.clean());
      CHECK(attention.wrong() == "");
      CHECK(attention.next.integer(0) == 0);
    }
}

TEST_CASE("the attention without any one of its synchronising ops is reported", "[sim][block]") {
  for (Mask const mask : {Mask::none, Mask::causal}) {
    // Tiles of one block, tiles of several, tiles one after another.
    std::vector<Attention> problems;
    problems.emplace_back(mask, 3, 100, 16);
    problems.emplace_back(mask, 2, 300, 16);
    block::Options options;
    options.grid = sim::Grid{1, 1, 1};
    options.max_reports = 1;
    int count = 0;
    for (Mutation const& mutation : mutations(problems[0].module)) {
      bool found = false;
      for (Attention& problem : problems) {
        if (found) break;
        problem.next.set_integer(0, 0);  // a run that was cut short leaves it anywhere
        block::Simulation simulation(mutation.module.kernel(), problem.arguments(), options);
        found = !simulation.sweep(20).clean();
      }
      INFO(name_of(mask) << ", without " << mutation.without);
      CHECK(found);
      ++count;
    }
    CHECK(count > 50);
  }
}
