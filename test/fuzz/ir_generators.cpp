#include "fuzz/ir_generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analysis/axis_facts.hpp"
#include "fuzz/executors.hpp"
#include "fuzz/random_ir.hpp"
#include "fuzz/texts.hpp"
#include "ir/core/equal.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {

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

namespace {

/// Changes a few characters or words.
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

}  // namespace

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

namespace {

/// Returns the IR behind such lines.
ir::Module module_in(std::string const& text) {
  auto parsed = ir::parse(text.substr(std::min(text.find("tegula-ir 1"), text.size())));
  support::throw_user_error(parsed.diagnostics, "fuzz");
  support::throw_user_error(ir::verify(parsed.module), "fuzz");
  return std::move(parsed.module);
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

}  // namespace

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

namespace {

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

}  // namespace

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

}  // namespace tegula::fuzz
