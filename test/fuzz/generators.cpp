// Joins the generators of random IR, kernels and products with their judges.
#include "fuzz/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cctype>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "analysis/axis_facts.hpp"
#include "fuzz/deletion.hpp"
#include "fuzz/executors.hpp"
#include "fuzz/mutated_text.hpp"
#include "fuzz/pipeline_case.hpp"
#include "fuzz/product_extents.hpp"
#include "fuzz/random_ir.hpp"
#include "host/driver.hpp"
#include "ir/core/equal.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/compare.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"
#include "kernels/random_kernel.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {
namespace {

using Kind = Verdict::Kind;
using test::RandomParameter;

Verdict wrong(std::string reason) { return {Kind::wrong, std::move(reason)}; }
Verdict refused(std::string reason) { return {Kind::refused, std::move(reason)}; }

/// Judges by a function that may throw: a user's error is a refusal, every other one a fault.
template <class Judge>
Verdict caught(Judge const& judge) {
  try {
    return judge();
  } catch (UserError const& error) {
    return refused(error.what());
  } catch (std::exception const& error) {
    return wrong(error.what());
  }
}

// ---- texts that begin with lines "// name: value"

std::string comment(std::string_view name, std::string const& value) { return fmt::format("// {}: {}\n", name, value); }
std::string value_of(std::string const& text, std::string_view name) {
  std::string const mark = fmt::format("// {}: ", name);
  std::size_t const at = text.find(mark);
  if (at == std::string::npos) throw UserError(fmt::format("fuzz: the case has no line '{}'", mark));
  return text.substr(at + mark.size(), text.find('\n', at) - at - mark.size());
}
std::uint64_t seed_of(std::string const& text) { return std::strtoull(value_of(text, "seed").c_str(), nullptr, 10); }
/// Returns the IR behind such lines.
ir::Module module_in(std::string const& text) {
  auto parsed = ir::parse(text.substr(std::min(text.find("tegula-ir 1"), text.size())));
  support::throw_user_error(parsed.diagnostics, "fuzz");
  support::throw_user_error(ir::verify(parsed.module), "fuzz");
  return std::move(parsed.module);
}

// ---- shrinking

bool same_kind(Verdict const& found, Verdict const& again) {
  return again.wrong() && kind_of(again.reason) == kind_of(found.reason);
}

/// Removes runs of lines, then of characters, from long ones to single ones.
template <Verdict judge(std::string const&)>
std::string shrink_text(std::string const& text, Verdict const& found) {
  std::string best = text;
  int left = 2000;  // judgements
  auto const attempt = [&](std::string candidate) {
    if (left-- <= 0 || candidate.size() >= best.size() || !same_kind(found, judge(candidate))) return false;
    best = std::move(candidate);
    return true;
  };
  auto const lines_of = [](std::string const& all) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < all.size();) {
      std::size_t const end = std::min(all.find('\n', at), all.size() - 1) + 1;
      lines.push_back(all.substr(at, end - at));
      at = end;
    }
    return lines;
  };
  for (bool better = true; better && left > 0;) {
    better = false;
    for (std::size_t run = std::max<std::size_t>(lines_of(best).size() / 2, 1); run > 0 && left > 0; run /= 2)
      for (std::size_t first = 0; first < lines_of(best).size() && left > 0;) {
        std::vector<std::string> const lines = lines_of(best);
        std::string candidate;
        for (std::size_t i = 0; i < lines.size(); ++i)
          if (i < first || i >= first + run) candidate += lines[i];
        if (attempt(std::move(candidate)))
          better = true;
        else
          first += run;
      }
  }
  return best;
}

/// Makes the numbers of a line "name=12 name=3" smaller, one at a time.
template <Verdict judge(std::string const&)>
std::string shrink_numbers(std::string const& text, Verdict const& found) {
  std::string best = text;
  int left = 200;
  for (bool better = true; better && left > 0;) {
    better = false;
    for (std::size_t at = best.find('='); at != std::string::npos; at = best.find('=', at + 1)) {
      std::size_t const begin = at + 1, size = best.find_first_not_of("0123456789", begin) - begin;
      if (size == 0) continue;
      long const number = std::atol(best.substr(begin, size).c_str());
      for (long const smaller : {0L, number / 16 * 8, number - 16, number - 8}) {
        if (smaller < 0 || smaller >= number || left-- <= 0) continue;
        std::string candidate = best;
        candidate.replace(begin, size, std::to_string(smaller));
        if (!same_kind(found, judge(candidate))) continue;
        best = std::move(candidate);
        better = true;
        break;
      }
    }
  }
  return best;
}

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

// ---- random IR

std::string draw_text(std::uint64_t seed) {
  RandomKernel const kernel(seed);
  if (auto const found = ir::verify(kernel.module); !found.empty())
    throw InternalError("the generator: " + found.str());
  std::string text = ir::print(kernel.module);
  auto const parsed = ir::parse(text);
  if (!parsed.ok()) throw InternalError("printed text does not parse: " + parsed.diagnostics.str() + "\n" + text);
  if (!ir::equal(kernel.module, parsed.module))
    throw InternalError("printed text reads back as another module\n" + text);
  return text;
}
Verdict judge_text(std::string const& text) {
  return caught([&]() -> Verdict {
    auto const parsed = ir::parse(text);
    if (!parsed.ok()) return refused(parsed.diagnostics.str());
    auto const again = ir::parse(ir::print(parsed.module));
    if (!again.ok()) return wrong("printed text does not parse: " + again.diagnostics.str());
    if (!ir::equal(parsed.module, again.module)) return wrong("printed text reads back as another module");
    if (ir::print(again.module) != ir::print(parsed.module)) return wrong("printed text changes when it is read back");
    if (!ir::equal(parsed.module, parsed.module.clone())) return wrong("a clone differs");
    return {};
  });
}

std::string damaged(std::string text, Random& random) {
  static std::vector<std::string> const pieces = {"%",
                                                  "@",
                                                  "{",
                                                  "}",
                                                  "(",
                                                  ")",
                                                  "<",
                                                  ">",
                                                  ":",
                                                  "=",
                                                  ",",
                                                  "tile<",
                                                  "tensor<",
                                                  "4096x",
                                                  "-",
                                                  "0x",
                                                  "loc(\"\":1)",
                                                  "for ",
                                                  "if ",
                                                  "yield",
                                                  "else",
                                                  "carry (",
                                                  "99999999999999999999",
                                                  "nan",
                                                  "inf",
                                                  "\"",
                                                  "\\",
                                                  "[",
                                                  "]",
                                                  "\n",
                                                  "bool",
                                                  "f16",
                                                  "\xff",
                                                  "->"};
  for (int i = 1 + random.below(4); i > 0; --i) {
    auto const at = static_cast<std::size_t>(random.below(static_cast<int>(text.size()) + 1));
    auto const length = static_cast<std::size_t>(random.below(12));
    switch (random.below(5)) {
      case 0:
        text.erase(std::min(at, text.size()), length);
        break;
      case 1:
        text.insert(at, random.pick(pieces));
        break;
      case 2:
        text.insert(at, text.substr(static_cast<std::size_t>(random.below(static_cast<int>(text.size()))), length * 4));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      default:
        text.resize(at);
        break;
    }
    if (text.empty()) text = "x";
  }
  return text;
}
std::string draw_damaged(std::uint64_t seed) {
  Random random(seed);
  return damaged(ir::print(RandomKernel(seed % 64).module, {random.chance(30)}), random);
}
Verdict judge_damaged(std::string const& text) {
  return caught([&]() -> Verdict {
    auto const parsed = ir::parse(text);
    if (!parsed.ok()) {
      if (parsed.diagnostics.size() != 1) return wrong("a text is refused for more than one reason");
      if (parsed.diagnostics[0].position.line <= 0) return wrong("a text is refused without a place");
      return refused(parsed.diagnostics.str());
    }
    auto const again = ir::parse(ir::print(parsed.module));
    if (!again.ok()) return wrong("printed text does not parse: " + again.diagnostics.str());
    if (!ir::equal(parsed.module, again.module)) return wrong("printed text reads back as another module");
    if (auto const found = ir::verify(parsed.module, &parsed.positions); found.has_errors())
      return refused(found.str());
    ir::Module module = parsed.module.clone();
    support::Options environment;
    environment.verify_each = true;
    try {
      transform::run_pipeline(
          module,
          "inline-functions,canonicalize,eliminate-common-subexpressions,hoist-loop-invariants,eliminate-dead-code", {},
          environment);
    } catch (UserError const&) {
      return {};
    }
    return {};
  });
}

constexpr std::string_view input_mark = "// input: ";

/// Writes the arguments of a kernel, bit by bit: a line for each parameter.
std::string inputs_of(RandomKernel const& kernel) {
  std::string text;
  for (std::size_t p = 0; p < kernel.memories.size(); ++p) {
    Memory const& memory = kernel.memories[p];
    text += input_mark;
    if (memory.bytes.empty()) {
      text += fmt::format("{:x}\n", kernel.scalars[p].bits);
      continue;
    }
    for (std::int64_t const extent : memory.extents) text += fmt::format("{} ", extent);
    for (std::byte const byte : memory.bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
    text += "\n";
  }
  return text;
}

/// Reads such lines.
struct Inputs {
  std::vector<Memory> memories;       ///< empty for scalars
  std::vector<ir::Constant> scalars;  ///< unused for tensors

  Inputs(std::string const& text, ir::Function const& kernel) {
    std::size_t at = 0;
    for (int p = 0; p < kernel.parameter_count(); ++p) {
      at = text.find(input_mark, at);
      if (at == std::string::npos)
        throw UserError(fmt::format("fuzz: {} inputs for {} parameters", p, kernel.parameter_count()));
      at += input_mark.size();
      char const* next = text.c_str() + at;
      ir::Type const& type = kernel.parameter(p)->type();
      Memory memory{type.element(), {}, {}};
      ir::Constant scalar{type.element(), 0};
      char* end = nullptr;
      for (int axis = 0; type.is_tensor() && axis < type.rank(); ++axis, next = end)
        memory.extents.push_back(std::strtoll(next, &end, 10));
      if (type.is_tensor()) {
        memory.bytes.resize(static_cast<std::size_t>(memory.extents.product() * bytes(type.element())));
        while (*next == ' ') ++next;
        for (std::byte& byte : memory.bytes) {
          if (std::isxdigit(static_cast<unsigned char>(next[0])) == 0) throw UserError("fuzz: an input is too short");
          byte = static_cast<std::byte>(std::strtoul(std::string(next, 2).c_str(), nullptr, 16));
          next += 2;
        }
      } else {
        scalar.bits = std::strtoull(next, nullptr, 16);
      }
      memories.push_back(std::move(memory));
      scalars.push_back(scalar);
    }
  }
};

/// Returns the memory of all parameters after a run.
std::vector<Memory> simulated(Inputs const& inputs, ir::Module const& module) {
  std::vector<Memory> memories = inputs.memories;
  sim::Options options;
  options.check_races = false;  // the order of blocks is fixed here
  sim::run(module.kernel(), arguments_over(memories, inputs.scalars), options);
  return memories;
}

bool same_value(ir::Constant a, ir::Constant b) {
  if (a == b) return true;
  if (!is_float(a.element)) return false;
  double const x = ir::to_double(a), y = ir::to_double(b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

/// Returns the first element that differs, as text.
std::string difference(std::vector<Memory> const& a, std::vector<Memory> const& b) {
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::int64_t i = 0; i < (a[p].bytes.empty() ? 0 : a[p].extents.product()); ++i)
      if (!same_value(element_at(a[p], i), element_at(b[p], i)))
        return fmt::format("parameter {}, element {}: {} before, {} after", p, i, ir::to_string(element_at(a[p], i)),
                           ir::to_string(element_at(b[p], i)));
  return {};
}

std::string draw_passes(std::uint64_t seed) {
  static std::vector<std::string> const names = {"canonicalize",
                                                 "canonicalize",
                                                 "eliminate-common-subexpressions",
                                                 "eliminate-dead-code",
                                                 "hoist-loop-invariants",
                                                 "inline-functions",
                                                 "inline-device-functions",
                                                 "specialize",
                                                 "expand-math"};
  Random random(seed);
  std::string passes = random.chance(60) ? "canonicalize" : random.pick(names);
  for (int i = random.below(6); i > 0; --i) passes += "," + random.pick(names);
  RandomKernel const kernel(seed);
  return comment("passes", passes) + inputs_of(kernel) + ir::print(kernel.module);
}
Verdict judge_passes(std::string const& text) {
  return caught([&]() -> Verdict {
    ir::Module const before = module_in(text);
    Inputs const inputs(text, before.kernel());
    auto const expected = simulated(inputs, before);
    ir::Module after = before.clone();
    support::Options environment;
    environment.verify_each = true;
    try {
      transform::run_pipeline(after, value_of(text, "passes"), {}, environment);
    } catch (UserError const& error) {
      return wrong(std::string("a pass refuses the kernel: ") + error.what());
    }
    std::string const found = difference(expected, simulated(inputs, after));
    return found.empty() ? Verdict() : wrong(found);
  });
}

std::string draw_module(std::uint64_t seed) { return ir::print(RandomKernel(seed).module); }
Verdict judge_twice(std::string const& text) {
  return caught([&]() -> Verdict {
    ir::Module const given = module_in(text);
    for (char const* pass :
         {"canonicalize", "eliminate-common-subexpressions", "hoist-loop-invariants", "eliminate-dead-code"}) {
      ir::Module module = given.clone();
      transform::run_pipeline(module, pass, {}, support::Options());
      std::string const once = ir::print(module);
      transform::run_pipeline(module, pass, {}, support::Options());
      if (ir::print(module) != once) return wrong(std::string(pass) + ", run again, changes its own output\n" + once);
    }
    return {};
  });
}

std::string draw_facts(std::uint64_t seed) {
  RandomKernel const kernel(seed, Draw::probes);
  return inputs_of(kernel) + ir::print(kernel.module);
}
/// Explains why the values of a probe contradict its facts; empty if they do not.
std::string contradiction(analysis::ValueFacts const& facts, Memory const& memory) {
  std::int64_t const count = memory.extents.product();
  auto const value = [&](std::int64_t i) { return static_cast<std::int64_t>(element_at(memory, i).bits); };
  for (std::int64_t i = 0; i < count; ++i)
    if (value(i) < facts.min || value(i) > facts.max) return fmt::format("element {} is {}, out of range", i, value(i));
  auto const next = [&](std::int64_t of) {
    return wrapped(memory.element, static_cast<std::int64_t>(static_cast<std::uint64_t>(of) + 1U));
  };
  std::int64_t stride = count;
  for (int axis = 0; axis < memory.extents.size(); ++axis) {
    stride /= memory.extents[axis];
    analysis::AxisFact const& fact = facts.axes[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t const at = i / stride % memory.extents[axis];
      std::string const where = fmt::format("axis {}, element {} is {}", axis, i, value(i));
      if (at % fact.contiguity == 0) {
        bool const divides = fact.divisibility == 0 ? value(i) == 0 : value(i) % fact.divisibility == 0;
        if (!divides) return fmt::format("{}, not a multiple of {}", where, fact.divisibility);
      } else if (value(i) != next(value(i - stride))) {
        return fmt::format("{} after {}", where, value(i - stride));
      }
      if (at % fact.constancy != 0 && value(i) != value(i - stride))
        return fmt::format("{} after {}, not constant", where, value(i - stride));
    }
  }
  return {};
}
/// Returns the value that an out parameter holds after a run; null: it is not a probe.
ir::Value const* probed(ir::Function const& kernel, int parameter) {
  auto const& uses = kernel.parameter(parameter)->uses();
  if (kernel.parameter_attributes()[static_cast<std::size_t>(parameter)].direction != Direction::out ||
      uses.size() != 1 || !uses[0].is<ir::StoreOp>("tensor"))
    return nullptr;
  ir::Value const* const tile = uses[0].user->in<ir::StoreOp>("tile");
  ir::Op const* const splat = tile->defined_by<ir::SplatOp>();
  return splat != nullptr && tile->type().shape().product() == 1 ? splat->operand() : tile;
}
Verdict judge_facts(std::string const& text) {
  return caught([&]() -> Verdict {
    ir::Module const module = module_in(text);
    ir::Function const& kernel = module.kernel();
    analysis::AxisFacts const facts(module);
    auto const memories = simulated(Inputs(text, kernel), module);
    Verdict result;
    for (int p = 0; p < kernel.parameter_count(); ++p) {
      ir::Value const* const value = probed(kernel, p);
      if (value == nullptr) continue;
      auto const known = facts.facts(*value);
      std::string const found = contradiction(known, memories[static_cast<std::size_t>(p)]);
      if (!found.empty()) return wrong(fmt::format("probe {}: {}\n{}", p, found, facts.str(kernel)));
      for (analysis::AxisFact const& fact : known.axes)
        result.informative += fact.contiguity > 1 || fact.constancy > 1 || fact.divisibility != 1 ? 1 : 0;
    }
    return result;
  });
}

std::string draw_executors(std::uint64_t seed) {
  RandomKernel const kernel(seed, Draw::probes_anywhere);
  return inputs_of(kernel) + ir::print(kernel.module);
}
Verdict judge_executors(std::string const& text) {
  return caught([&]() -> Verdict {
    ir::Module const module = module_in(text);
    Inputs const inputs(text, module.kernel());
    auto const expected = simulated(inputs, module);
    constexpr std::pair<char const*, decltype(&run_on_host)> executors[] = {
        {"the host", run_on_host}, {"simulated warps", run_in_warps}, {"PTX", run_ptx}};
    for (auto const& [name, run] : executors)
      if (std::string const found = difference(expected, run(module, inputs.memories, inputs.scalars)); !found.empty())
        return wrong(fmt::format("{}: {}", name, found));
    return {};
  });
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

// ---- kernels as text with parameters: random passes in the simulator, and the host against the simulator

/// Returns the text of a kernel with the seed of its arguments.
std::string kernel_text(std::uint64_t seed, bool matrix) {
  test::RandomKernel kernel = matrix ? test::KernelGenerator(seed).matrix() : test::KernelGenerator(seed).exact();
  auto parsed = ir::parse("tegula-ir 1\n" + kernel.text);
  if (!parsed.ok()) throw InternalError("the generator: " + parsed.diagnostics.str() + "\n" + kernel.text);
  if (auto const found = ir::verify(parsed.module); !found.empty())
    throw InternalError("the generator: " + found.str() + "\n" + kernel.text);
  return comment("seed", std::to_string(seed)) + comment("tolerance", fmt::format("{}", kernel.tolerance)) +
         case_text({std::move(parsed.module), std::move(kernel.parameters), {}, 0});
}
struct KernelInText {
  PipelineCase one;
  std::uint64_t seed;
  double tolerance;

  explicit KernelInText(std::string const& text)
      : one(read_case(text.substr(std::min(text.find("tegula-ir 1"), text.size())))),
        seed(seed_of(text)),
        tolerance(std::strtod(value_of(text, "tolerance").c_str(), nullptr)) {
    support::throw_user_error(ir::verify(one.module), "fuzz");
  }
};

struct Arguments {
  std::vector<test::HostTensor> tensors;
  std::vector<ir::Constant> scalars;  ///< of all parameters

  explicit Arguments(KernelInText const& kernel) : parameters_(kernel.one.parameters) {
    std::mt19937_64 random(kernel.seed);
    for (RandomParameter const& parameter : parameters_) {
      scalars.push_back(parameter.scalar);
      Extents extents;
      for (std::int64_t extent : parameter.extents) extents.push_back(extent);
      tensors.emplace_back(parameter.element, extents, parameter.gap);
      if (!parameter.is_tensor || parameter.written) continue;
      if (kernel.tolerance == 0 && kernel.seed % 2 == 0)
        tensors.back().fill_bits(random);
      else
        tensors.back().fill(random, -4, 4);
    }
  }
  sim::Arguments views() {
    sim::Arguments result;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].is_tensor)
        result.emplace_back(tensors[i].view());
      else
        result.emplace_back(scalars[i]);
    }
    return result;
  }

 private:
  std::vector<RandomParameter> const& parameters_;
};

std::string draw_semantics(std::uint64_t seed) {
  // Passes that turn tile ops into tile ops, any number of them in any order.
  std::vector<std::string> const names = {"canonicalize",
                                          "eliminate-common-subexpressions",
                                          "hoist-loop-invariants",
                                          "eliminate-dead-code",
                                          "expand-math",
                                          "inline-functions",
                                          "specialize"};
  std::mt19937_64 random(seed);
  std::string passes;
  for (auto i = 1 + random() % 7; i > 0; --i) passes += (passes.empty() ? "" : ",") + names[random() % names.size()];
  return comment("passes", passes) + kernel_text(seed, seed % 5 == 4);
}
Verdict judge_semantics(std::string const& text) {
  return caught([&]() -> Verdict {
    KernelInText const kernel(text);
    ir::Module module = kernel.one.module.clone();
    Arguments before(kernel), after(kernel);
    auto const outcome = sim::run(module.kernel(), before.views());
    if (!outcome.clean()) return refused("the kernel as written: " + outcome.str());
    transform::run_pipeline(module, value_of(text, "passes"), {});
    if (auto const found = ir::verify(module); !found.empty()) return wrong("verifier: " + found.str());
    auto const kept = sim::run(module.kernel(), after.views());
    if (!kept.clean()) return wrong("after the passes: " + kept.str());
    for (std::size_t i = 0; i < before.tensors.size(); ++i) {
      auto const found = sim::compare(after.tensors[i].view(), before.tensors[i].view());
      if (!found.none()) return wrong(fmt::format("argument {}: {}", i, found.text));
      if (!after.tensors[i].gaps_untouched()) return wrong("elements between the rows of a tensor are written");
    }
    return {};
  });
}

/// Makes every second element any bits: subnormal, huge, NaN.
void any_bits(test::Array& array, std::uint64_t seed) {
  if (array.element() == Element::boolean) return;
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < array.count(); i += 2) {
    std::uint64_t const bits = random();
    int const size = tegula::bits(array.element());
    array.set(i, is_integer(array.element())
                     ? ir::make_constant(array.element(), static_cast<std::int64_t>(bits))
                     : ir::Constant{array.element(), size == 64 ? bits : bits & ((std::uint64_t{1} << size) - 1)});
  }
}
std::string draw_host(std::uint64_t seed) { return kernel_text(seed / 2, seed % 2 == 1); }
Verdict judge_host(std::string const& text) {
  return caught([&]() -> Verdict {
    KernelInText const kernel(text);
    std::uint64_t const seed = kernel.seed;
    std::vector<RandomParameter> const& parameters = kernel.one.parameters;
    std::vector<test::Array> arrays;
    arrays.reserve(parameters.size());
    test::HostArguments arguments;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      RandomParameter const& parameter = parameters[i];
      if (!parameter.is_tensor) {
        arguments.emplace_back(parameter.scalar);
        continue;
      }
      arrays.emplace_back(parameter.element, parameter.extents, parameter.gap, parameter.inner);
      if (!parameter.written) arrays.back().randomise(static_cast<unsigned>(seed * 31 + i), 4);
      if (!parameter.written && kernel.tolerance == 0 && seed % 2 == 0) any_bits(arrays.back(), seed * 31 + i);
      arguments.emplace_back(arrays.back());
    }
    std::string const found = test::difference_from_simulator(kernel.one.module, arguments, kernel.tolerance);
    return found.empty() ? Verdict() : wrong(found);
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
