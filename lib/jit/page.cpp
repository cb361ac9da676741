#include "jit/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/launch_program.hpp"
#include "codegen/host/host.hpp"
#include "compiler/compile.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "jit/advice.hpp"
#include "jit/simulated_records.hpp"
#include "jit/facts.hpp"
#include "page/difference.hpp"
#include "page/page.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "support/files.hpp"
#include "support/options.hpp"
#include "target/gpu_target.hpp"
#include "tegula/support/error.hpp"
#include "trace/traced_kernel.hpp"

namespace tegula {
namespace jit {
namespace {

using page::Page;
using page::Section;

/// Calls `make`; returns the reason why it failed as a sentence.
template <class Make>
std::string reason_why_not(Make const& make) {
  try {
    make();
    return {};
  } catch (Error const& error) {
    return error.what();
  }
}

/// Lists the first and the last line that ops of the module name, by file.
std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> lines_by_file(Traced const& source) {
  std::map<std::string, std::pair<std::uint32_t, std::uint32_t>> found;
  auto const add = [&](location const& where) {
    if (!where.known()) return;
    auto const [at, first] = found.try_emplace(where.file(), where.line(), where.line());
    at->second = {std::min(at->second.first, where.line()), std::max(at->second.second, where.line())};
  };
  add(source.kernel.where());
  for (auto const& function : trace::module(source.kernel).functions())
    ir::walk(*function, [&](ir::Op const& op) { add(op.where()); });
  return found;
}

/// Adds lines of a file, each with its number, up to the end of the expression that holds the last one.
void add_lines(std::string& text, std::string const& file, std::uint32_t first, std::uint32_t last) {
  std::optional<std::string> const contents = support::read_file(file);
  text += fmt::format("{}// {}{}\n", text.empty() ? "" : "\n", file, contents ? "" : " cannot be read here");
  if (!contents) return;
  std::vector<std::string_view> const lines = page::lines_of(*contents);
  constexpr std::uint32_t max_behind = 4;
  for (std::uint32_t behind = 0; behind < max_behind && last < lines.size(); ++behind) {
    std::string_view const next = lines[last];
    if (next.find('}') == std::string_view::npos) break;
    ++last;
    if (next.starts_with("}")) break;
  }
  for (std::uint32_t number = first; number <= last && number <= lines.size(); ++number)
    text += fmt::format("{:5}  {}\n", number, lines[number - 1]);
}

/// Fills the passes, and returns the module after the last one; nothing where a pass refuses the kernel.
std::optional<ir::Module> run_passes(Page& page, detail::ExplainedLaunch const& launch, std::string& refusal) {
  ir::Module const& module = trace::module(launch.source->kernel);
  page.recorded = ir::print(compiler::with_checks(module, launch.options));
  std::optional<ir::Module> lowered;
  refusal = reason_why_not([&] {
    lowered = compiler::lower(
        module, launch.options, [&](transform::PassInfo const& pass, ir::Module const& now, bool changed) {
          page.passes.push_back(
              {std::string(pass.name), std::string(pass.summary), changed ? ir::print(now) : std::string()});
        });
  });
  return lowered;
}

/// Adds the code for a GPU, and what is known of it.
void add_device_code(Page& page, detail::ExplainedLaunch const& launch, ir::Module const& lowered) {
  Section ptx{"ptx", "PTX", "", ""}, sass{"sass", "SASS", "", ""}, facts{"facts", "Facts", "", ""};
  support::Options const& environment = support::options();
  std::optional<CompiledKernel> compiled;
  ptx.note = reason_why_not([&] {
    compiler::refuse_for_gpu(lowered, launch.options);
    compiled = compiler::emit(lowered, launch.options);
  });
  std::optional<runtime::cuda::Assembly> assembly;
  if (!compiled) {
    sass.note = facts.note = ptx.note;
  } else {
    ptx.text = compiled->image;
    sass.note = reason_why_not([&] {
      assembly = runtime::cuda::assemble(environment, compiled->image, compiled->architecture, compiled->name);
      sass.text = runtime::cuda::disassemble(environment, assembly->cubin);
    });
    if (sass.text.empty()) sass.note = "No SASS: " + sass.note;
    facts.note = reason_why_not([&] {
      facts.text = facts_of(*launch.source, lowered, *compiled, launch.options, assembly ? &*assembly : nullptr).str();
    });
  }
  page.sections.insert(page.sections.end(), {std::move(ptx), std::move(sass), std::move(facts)});
}

void add_host_code(Page& page, detail::ExplainedLaunch const& launch, ir::Module const& lowered) {
  Section code{"assembly", "Assembly", "", ""}, facts{"facts", "Facts", "", ""};
  code.note = reason_why_not([&] { code.text = compiler::output(lowered, launch.options, "asm"); });
  facts.note = reason_why_not([&] { facts.text = codegen::host_paths(lowered, launch.options).paths_text(); });
  page.sections.push_back(std::move(code));
  page.sections.push_back(std::move(facts));
}

void add_timeline(Page& page, detail::ExplainedLaunch const& launch, Profile const* records) {
  SimulatedRecords simulated;
  if (records != nullptr) {
    page.timeline_note = fmt::format("Records of a launch on {}.", records->device);
    if (records->empty()) page.timeline_note += " It has no records.";
  } else if (launch.options.target == Target::host) {
    page.timeline_note =
        "No timeline: the code for a host is not simulated. Pass the records of a launch: "
        "explain(kernel, arguments...).page(profile(host_stream(), kernel, arguments...)).";
  } else {
    simulated = simulate_records(*launch.source, launch.options, launch.arguments);
    page.timeline_note = simulated.note;
    records = &simulated.records;
  }
  if (records == nullptr || records->empty()) return;
  page.timeline = records->page();
  page.timeline_text = records->str();
}

/// Returns the lines of the user's source that the kernel was traced from, from the files that its ops name.
Section source_text(Traced const& source) {
  Section section{"kernel", "Kernel", "", ""};
  for (auto const& [file, lines] : lines_by_file(source)) add_lines(section.text, file, lines.first, lines.second);
  if (section.text.empty()) section.note = "The kernel names no lines of a source; its IR stands before the passes.";
  return section;
}

/// Makes up the arguments of a kernel: dense tensors, and integers, of one extent. They have no memory. Axes before the
/// last two are those of a batch.
std::vector<Argument> arguments_of_extent(ir::Function const& kernel, std::int64_t extent) {
  constexpr std::int64_t max_batch = 16;
  std::vector<Argument> arguments;
  for (ParameterInfo const& parameter : analysis::parameters_of(kernel)) {
    Argument& argument = arguments.emplace_back();
    argument.kind = parameter.kind;
    argument.element = parameter.element;
    argument.rank = parameter.rank;
    if (!is_float(parameter.element)) argument.scalar = extent;
    std::int64_t stride = 1;
    for (int axis = parameter.rank - 1; axis >= 0; --axis) {
      argument.extents[axis] = axis + 2 < parameter.rank ? std::min(extent, max_batch) : extent;
      argument.strides[axis] = stride;
      stride *= argument.extents[axis];
    }
  }
  return arguments;
}

std::string options_line(CompileOptions const& options) {
  return options.target == Target::host ? fmt::format("IR compiled for the host{}{}",
                                                      options.architecture.empty() ? "" : ", ", options.architecture)
                                        : fmt::format("IR compiled for {}", options.architecture);
}

}  // namespace

std::string page_of_ir(ir::Module module, std::string text, CompileOptions const& options, std::int64_t extent) {
  constexpr std::int64_t most = 1 << 16;  // the elements of a tensor of eight axes are counted in 64 bits
  if (extent < 1 || extent > most)
    throw UserError(fmt::format("page: an extent of {} is not from 1 to {}", extent, most));
  detail::ExplainedLaunch launch;
  ir::Function const& kernel = module.kernel();
  launch.options = options;
  launch.headline = options_line(options);
  launch.text = std::move(text);
  launch.arguments = arguments_of_extent(kernel, extent);
  std::string name = kernel.name();
  location const where = kernel.where;
  std::vector<ParameterInfo> parameters = analysis::parameters_of(kernel);
  launch.source = std::make_shared<Traced const>(trace::TracedKernel(
      new trace::TracedKernel::Impl{1, std::move(name), where, std::move(module), std::move(parameters)}));
  Executor executor = executor_of(device::host());
  std::string const refusal = reason_why_not([&] {
    if (options.target == Target::cuda) {
      executor.target = &target::gpu_target(options);
      executor.processors = executor.target->costs.multiprocessors;
    }
    launch.advice = inspect(*launch.source, options, launch.arguments, executor).advice.str();
  });
  launch.advice = refusal.empty()
                      ? fmt::format("Of tensors with {} elements along the last two axes:\n{}", extent, launch.advice)
                      : fmt::format("No advice: {}\n", refusal);
  return page_of(launch, nullptr);
}

std::string page_of(detail::ExplainedLaunch const& launch, Profile const* course) {
  Page page;
  page.kernel = launch.source->kernel.name();
  page.headline = launch.headline;
  page.sections.push_back(launch.text.empty() ? source_text(*launch.source)
                                              : Section{"kernel", "Kernel", "", launch.text});
  std::string refusal;
  std::optional<ir::Module> const lowered = run_passes(page, launch, refusal);
  if (!lowered)
    page.sections.push_back({"code", "Code", "No code: " + refusal, ""});
  else if (launch.options.target == Target::cuda)
    add_device_code(page, launch, *lowered);
  else
    add_host_code(page, launch, *lowered);
  page.sections.push_back({"advice", "Advice", "", launch.advice});
  if (!launch.launch.empty()) page.sections.push_back({"launch", "Launch", "", launch.launch});
  add_timeline(page, launch, course);
  return page::html(page);
}

void save_page(std::string const& file, std::string const& page) {
  if (support::replace_file(file, {page}, support::Readers::user)) return;
  throw UserError(fmt::format("page: cannot write {}: {}; name a file in a folder that can be written", file,
                              std::strerror(errno)));
}

}  // namespace jit

void detail::retain(ExplainedLaunch* launch) noexcept {
  if (launch != nullptr) launch->retain();
}

void detail::release(ExplainedLaunch* launch) noexcept {
  if (launch != nullptr && launch->release()) delete launch;
}

namespace {

std::string page_of(detail::ExplainedLaunch const* launch, Profile const* course) {
  if (launch == nullptr) throw UserError("explain: the explanation was moved from and does not hold a launch");
  return jit::page_of(*launch, course);
}

}  // namespace

std::string Explanation::page() const { return page_of(launch_.get(), nullptr); }
std::string Explanation::page(Profile const& course) const { return page_of(launch_.get(), &course); }
void Explanation::save(std::string const& file) const { jit::save_page(file, page()); }
void Explanation::save(std::string const& file, Profile const& course) const { jit::save_page(file, page(course)); }

}  // namespace tegula
