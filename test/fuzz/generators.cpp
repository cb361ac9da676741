// Joins the generators of random IR, kernels and products with their judges, and holds those of whole pipelines.
#include "fuzz/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstdio>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "fuzz/deletion.hpp"
#include "fuzz/ir_generators.hpp"
#include "fuzz/kernel_generators.hpp"
#include "fuzz/mutated_text.hpp"
#include "fuzz/pipeline_case.hpp"
#include "fuzz/product_extents.hpp"
#include "fuzz/texts.hpp"
#include "tegula/support/error.hpp"

namespace tegula::fuzz {
namespace {

using Kind = Verdict::Kind;

// ---- kernels through the cuda pipeline

std::string draw_case(std::uint64_t seed) { return case_text(random_case(seed)); }
std::string draw_case_by_trips(std::uint64_t seed) {
  return case_text(random_case(seed, static_cast<Trips>(seed / 8 % trips_count)));
}

Verdict verdict_of(Judgement const& found) {
  switch (found.kind) {
    case Judgement::Kind::right:
      return {};
    case Judgement::Kind::refused:
      return refused(found.pass + ": " + found.reason);
    case Judgement::Kind::invalid:
      return wrong("the generator: " + found.reason);
    case Judgement::Kind::wrong:
      break;
  }
  return wrong("after " + found.pass + ": " + found.reason);
}
template <bool each_pass>
JudgeOptions judge_options() {
  JudgeOptions options;
  options.each_pass = each_pass;
  return options;
}
template <bool each_pass>
Verdict judge_case(std::string const& text) {
  return caught([&] { return verdict_of(judge(read_case(text), judge_options<each_pass>())); });
}
template <bool each_pass>
std::string shrink_case(std::string const& text, Verdict const&) {
  PipelineCase const one = read_case(text);
  JudgeOptions const options = judge_options<each_pass>();
  Judgement const found = judge(one, options);
  return found.wrong() ? case_text(shrink(one, found, options)) : text;
}

// ---- proofs that each synchronising op is needed

std::string draw_deletion(std::uint64_t seed) { return case_text(random_case(seed, Trips::twice_and_more)); }
Verdict verdict_of(Deletions const& found) {
  if (!found.refused.empty()) return refused(found.refused);
  if (!found.silent.empty()) return wrong("not missed: " + found.silent.front());
  if (!found.unsettled.empty()) return {Kind::unsettled, "not settled: " + found.unsettled.front()};
  return {};
}
Verdict judge_deletion(std::string const& text) {
  return caught([&] { return verdict_of(without_each_op(read_case(text), {}, of_seconds)); });
}
std::string shrink_deletion(std::string const& text, Verdict const& found) {
  return case_text(shrink(
      read_case(text), [&](PipelineCase const& one) { return same_kind(found, judge_deletion(case_text(one))); }, 100));
}

// ---- texts, pass lists and options as users hand them in

std::string draw_user_text(std::uint64_t seed) {
  static std::vector<ir::Module> const sources = text_sources(std::string(TEGULA_TEST_DIR) + "/ir");
  return TextMutator(sources, seed).draw().str();
}
Verdict judge_user_text(std::string const& text) {
  return caught([&]() -> Verdict {
    std::string refusal;
    switch (compile_text(read_user_text(text), &refusal)) {
      case Outcome::malformed:
        return refused("the text is malformed");
      case Outcome::refused:
        return refusal.empty() ? wrong("refused without a reason") : refused(refusal);
      case Outcome::done:
        break;
    }
    return {};
  });
}

// ---- products by their extents

std::string line_of(test::GemmShape const& shape, int warps) {
  return fmt::format("product: {} m={} n={} k={} stages={} transposed={} warps={}\n", name(shape.elements.a), shape.m,
                     shape.n, shape.k, shape.stages, shape.trans_b ? 1 : 0, warps);
}
test::GemmShape shape_in(std::string const& text, int& warps) {
  char element[16] = {};
  int m = 0, n = 0, k = 0, stages = 0, transposed = 0;
  // NOLINTNEXTLINE(cert-err34-c): a line that this file wrote
  if (std::sscanf(text.c_str(), "product: %15s m=%d n=%d k=%d stages=%d transposed=%d warps=%d", element, &m, &n, &k,
                  &stages, &transposed, &warps) != 7)
    throw UserError("fuzz: a product is 'product: bf16 m=64 n=64 k=32 stages=0 transposed=0 warps=0'; found " + text);
  if (m < 8 || n < 8 || k < 16 || m % 8 != 0 || n % 8 != 0 || k % 16 != 0)
    throw UserError("fuzz: extents are multiples of 8, K of 16; found " + text);
  std::optional<Element> named;
  for (Element const one : {Element::bf16, Element::f16, Element::f32, Element::e4m3, Element::i8})
    if (name(one) == element) named = one;
  if (!named) throw UserError(fmt::format("fuzz: products are of bf16, f16, f32, e4m3 or i8; found {}", element));
  Element const of = *named;
  test::GemmElements const elements = of == Element::e4m3 ? test::GemmElements{of, of, Element::bf16}
                                      : of == Element::i8 ? test::GemmElements{of, of, Element::i32}
                                                          : test::GemmElements{of, of, of};
  test::GemmShape shape = product(m, n, k, elements, transposed != 0);
  shape.stages = stages;
  return shape;
}

/// Draws few rows or columns, as of vectors and of decoding, as often as all others.
std::string draw_product(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<test::GemmShape> const& from = all_products();
  while (true) {
    test::GemmShape const& one = from[random() % from.size()];
    if (one.m <= 48 || one.n <= 48 || random() % 2 == 0) return line_of(one, 0);
  }
}
Verdict judge_product(std::string const& text) {
  return caught([&]() -> Verdict {
    int warps = 0;
    test::GemmShape const shape = shape_in(text, warps);
    bool is_refused = false;
    std::string const found = error_of(shape, is_refused);
    return !found.empty() ? wrong(found) : is_refused ? refused("it does not fit") : Verdict();
  });
}

std::string draw_fitting(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto const drawn = [&](int step, int count) {
    return step * (1 + static_cast<int>(random() % static_cast<unsigned>(count)));
  };
  int const m = drawn(8, 32), n = drawn(8, 32), k = drawn(16, 8);
  auto const stages = static_cast<int>(random() % 9);
  test::GemmShape shape = product(m, n, k, {}, random() % 2 == 0);
  shape.stages = stages;
  return line_of(shape, 1 << random() % 6);
}
Verdict judge_fitting(std::string const& text) {
  return caught([&]() -> Verdict {
    int warps = 0;
    test::GemmShape const shape = shape_in(text, warps);
    bool is_refused = false;
    std::string const found = fitting_error(shape, warps, is_refused);
    return !found.empty() ? wrong(found) : is_refused ? refused("it does not fit unaligned") : Verdict();
  });
}

constexpr Generator all[] = {
    {"pipeline", "kernels with attention, products and memory, after the cuda pipeline", draw_case, judge_case<false>,
     shrink_case<false>, 8},
    {"each-pass", "such kernels after each pass, by trip counts", draw_case_by_trips, judge_case<true>,
     shrink_case<true>, 1},
    {"deletion", "such kernels without any one synchronising op", draw_deletion, judge_deletion, shrink_deletion, 1},
    {"products", "products of all extents, through ptxas and the simulator", draw_product, judge_product,
     shrink_numbers<judge_product>, 1},
    {"fitting", "products with unaligned and aligned tensors and numbers of warps", draw_fitting, judge_fitting,
     shrink_numbers<judge_fitting>, 4},
    {"host", "kernels on the host against the simulator", draw_host, judge_host, shrink_text<judge_host>, 8},
    {"semantics", "kernels through tile passes in any order", draw_semantics, judge_semantics,
     shrink_text<judge_semantics>, 100},
    {"passes", "IR through tile passes in any order", draw_passes, judge_passes, shrink_text<judge_passes>, 200},
    {"twice", "IR through each tile pass twice", draw_module, judge_twice, shrink_text<judge_twice>, 200},
    {"axis-facts", "facts of axes against the simulator's values", draw_facts, judge_facts, shrink_text<judge_facts>,
     200},
    {"executors", "IR on the host, in simulated warps and as PTX", draw_executors, judge_executors,
     shrink_text<judge_executors>, 40},
    {"user-text", "changed IR text, pass lists and options", draw_user_text, judge_user_text,
     shrink_text<judge_user_text>, 40},
    {"text", "IR printed and read back", draw_text, judge_text, shrink_text<judge_text>, 500},
    {"damaged-text", "damaged IR text", draw_damaged, judge_damaged, shrink_text<judge_damaged>, 1000},
};

constexpr std::string_view mark = "// fuzz: ";

}  // namespace

std::span<Generator const> generators() { return all; }

Generator const& generator_named(std::string_view name) {
  for (Generator const& each : all)
    if (each.name == name) return each;
  std::string names;
  for (Generator const& each : all) names += (names.empty() ? "" : ", ") + std::string(each.name);
  throw UserError(fmt::format("fuzz: there is no generator {}; expected one of {}", name, names));
}

std::string kept_text(Generator const& generator, std::string const& text) {
  return (&generator == all ? "" : fmt::format("{}{}\n", mark, generator.name)) + text;
}

KeptCase read_kept(std::string const& text) {
  if (!text.starts_with(mark)) return {all[0], text};
  std::size_t const end = std::min(text.find('\n'), text.size());
  return {generator_named(text.substr(mark.size(), end - mark.size())), text.substr(std::min(end + 1, text.size()))};
}

}  // namespace tegula::fuzz
