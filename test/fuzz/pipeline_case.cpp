// Makes cases of random kernels and options, and writes and reads them as text.
#include "fuzz/pipeline_case.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "fuzz/random_attention.hpp"
#include "fuzz/random_tile_kernel.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "kernels/random_kernel.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {
namespace {

using test::RandomParameter;

constexpr std::string_view mark = "// argument: ";

std::string line_of(RandomParameter const& parameter) {
  std::string text(mark);
  if (!parameter.is_tensor) return text + ir::to_string(parameter.scalar) + "\n";
  text += "tensor";
  for (std::int64_t extent : parameter.extents) text += fmt::format(" {}", extent);
  text += fmt::format(" gap={} inner={} bound={}", parameter.gap, parameter.inner, parameter.bound);
  if (parameter.exponent != 0) text += fmt::format(" exponent={}", parameter.exponent);
  if (parameter.any) text += " any=1";
  if (parameter.specials != 0) text += fmt::format(" specials={}", parameter.specials);
  if (parameter.reversed != 0) text += fmt::format(" reversed={}", parameter.reversed);
  if (parameter.tolerance != 0) text += fmt::format(" tolerance={}", parameter.tolerance);
  return text + "\n";
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    std::size_t const blank = std::min(line.find(' '), line.size());
    if (blank != 0) words.emplace_back(line.substr(0, blank));
    line.remove_prefix(std::min(blank + 1, line.size()));
  }
  return words;
}

RandomParameter parameter_of(std::vector<std::string> const& words, ir::Value const& value, bool written) {
  RandomParameter result;
  result.element = value.type().element();
  result.is_tensor = value.type().is_tensor();
  result.written = written;
  if (words.empty()) throw UserError("fuzz: an argument without a value");
  if (!result.is_tensor) {
    if (result.element == Element::boolean)
      result.scalar = {result.element, words[0] == "true" ? 1U : 0U};
    else if (is_float(result.element))
      result.scalar = ir::make_constant(result.element, std::strtod(words[0].c_str(), nullptr));
    else
      result.scalar = ir::make_constant(result.element, std::int64_t{std::atoll(words[0].c_str())});
    return result;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::size_t const equals = words[i].find('=');
    if (equals == std::string::npos) {
      result.extents.push_back(std::atoll(words[i].c_str()));
      continue;
    }
    std::string const key = words[i].substr(0, equals);
    char const* const number = words[i].c_str() + equals + 1;
    if (key == "gap")
      result.gap = std::atoll(number);
    else if (key == "inner")
      result.inner = std::atoll(number);
    else if (key == "bound")
      result.bound = std::atoll(number);
    else if (key == "exponent")
      result.exponent = std::atoll(number);
    else if (key == "any")
      result.any = std::atoll(number) != 0;
    else if (key == "specials")
      result.specials = std::atoll(number);
    else if (key == "reversed")
      result.reversed = std::atoll(number);
    else if (key == "tolerance")
      result.tolerance = std::strtod(number, nullptr);
    else
      throw UserError("fuzz: an argument has no " + key);
  }
  if (static_cast<int>(result.extents.size()) != value.type().rank())
    throw UserError(fmt::format("fuzz: {} extents of a tensor of rank {}", result.extents.size(), value.type().rank()));
  return result;
}

}  // namespace

namespace {

CompileOptions random_options(std::mt19937_64& random) {
  auto const pick = [&](std::vector<int> const& list) { return list[random() % list.size()]; };
  auto const choice = [&] { return static_cast<Choice>(pick({0, 0, 0, 1, 2})); };
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = gpu_targets.front()->architecture;
  options.warps = pick({0, 0, 0, 0, 4, 4, 1, 2, 8});
  options.stages = pick({0, 0, 0, 0, 0, 1, 2, 3, 4, 5});
  options.distance = options.stages > 1 ? pick({0, 0, 1, options.stages - 1}) : 0;
  options.unroll = pick({0, 0, 0, 1, 2, 4});
  options.exact = pick({0, 0, 1}) != 0;
  options.epilogue = choice(), options.persistence = choice(), options.specialization = choice();
  options.split = pick({0, 0, 0, 0, 2, 4});
  options.share = pick({0, 0, 2, 4});
  options.serpentine = choice();
  return options;
}

/// Puts records around random runs of ops, and asks for a profile of some kind, in every other case.
void add_records(PipelineCase& one, std::uint64_t seed) {
  std::mt19937_64 random(seed * 2654435761U + 7);
  if (random() % 2 == 0) return;
#ifdef TEGULA_HAS_PROFILER
  ProfileOptions& profile = one.options.profile;
  profile.user = random() % 4 != 0;
  profile.compiler = random() % 2 == 0;
  profile.strategy = static_cast<ProfileStrategy>(random() % 2);
  profile.granularity = static_cast<ProfileGranularity>(random() % 3);
  profile.circular = random() % 2 == 0;
  profile.slots = 8 << random() % 4;
#endif
  std::vector<ir::Block*> blocks;
  for (auto const& function : one.module.functions()) {
    blocks.push_back(&function->body());
    ir::walk(*function, [&](ir::Op& op) {
      for (int i = 0; i < op.block_count(); ++i) blocks.push_back(&op.block(i));
    });
  }
  for (ir::Block* block : blocks) {
    std::vector<ir::Op*> ops;
    for (ir::Op& op : *block)
      if (!op.info().has(ir::terminator)) ops.push_back(&op);
    if (ops.empty() || random() % 3 == 0) continue;
    std::size_t const first = random() % ops.size(), last = first + random() % (ops.size() - first);
    ir::RecordOp start, stop;
    start.name = stop.name = Symbol(fmt::format("part {}", random() % 5));
    stop.event = ir::RecordEvent::stop;
    ir::Builder::after(*ops[last]).op(stop, {}, {});
    ir::Builder::before(*ops[first]).op(start, {}, {});
  }
}

}  // namespace

PipelineCase random_case(std::uint64_t seed, std::optional<Trips> trips) {
  std::mt19937_64 random(seed + 1);
  CompileOptions const options = random_options(random);
  auto const draw = [&] {
    switch (seed % 8) {
      case 7:
        return test::KernelGenerator(seed).exact(true);
      case 3:
        return AttentionGenerator(seed, options.stages, trips).make();
      default:
        return TileKernelGenerator(seed, options.stages, trips).make();
    }
  };
  test::RandomKernel kernel = draw();
  bool const any = random() % 2 == 0;  // for kernels whose every op gives the same bits everywhere
  for (RandomParameter& parameter : kernel.parameters) {
    if (parameter.written || parameter.bound != 0) continue;
    parameter.bound = 4;
    parameter.any = any;
    parameter.specials = any ? 32 : 0;
  }
  auto parsed = ir::parse("tegula-ir 1\n" + kernel.text);
  support::throw_internal_error(parsed.diagnostics, "random kernel:\n" + kernel.text);
  std::int64_t const ctas[] = {0, 1, 1, 2, 3};
  PipelineCase result{std::move(parsed.module), std::move(kernel.parameters), options, ctas[random() % 5]};
  add_records(result, seed);
  return result;
}

std::string case_text(PipelineCase const& one) {
  std::string text = transform::replay_text(one.module, "default", one.options);
  std::string arguments;
  if (one.ctas != 0) arguments += fmt::format("// ctas: {}\n", one.ctas);
  for (RandomParameter const& parameter : one.parameters) arguments += line_of(parameter);
  std::size_t const second = text.find('\n', text.find('\n') + 1) + 1;
  return text.insert(second, arguments);
}

PipelineCase read_case(std::string_view text) {
  auto parsed = ir::parse(text);
  support::throw_user_error(parsed.diagnostics, "fuzz");
  PipelineCase result{std::move(parsed.module), {}, transform::read_replay(text).options, 0};
  ir::Function const& kernel = result.module.kernel();
  constexpr std::string_view ctas = "// ctas: ";
  if (std::size_t const at = text.find(ctas); at != std::string_view::npos)
    result.ctas = std::atoll(std::string(text.substr(at + ctas.size(), 20)).c_str());
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    std::string_view const rest = text.substr(at + mark.size());
    auto const place = static_cast<int>(result.parameters.size());
    if (place >= kernel.parameter_count()) throw UserError("fuzz: more arguments than parameters");
    bool const written = kernel.parameter_attributes()[static_cast<std::size_t>(place)].direction != Direction::in;
    result.parameters.push_back(
        parameter_of(words_of(rest.substr(0, rest.find('\n'))), *kernel.parameter(place), written));
  }
  if (static_cast<int>(result.parameters.size()) != kernel.parameter_count())
    throw UserError(
        fmt::format("fuzz: {} arguments for {} parameters", result.parameters.size(), kernel.parameter_count()));
  return result;
}

}  // namespace tegula::fuzz
