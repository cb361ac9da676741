// Reads IR text, runs named passes, prints the result or the code generated from it.
//
// Exit status: 0, 1 for an error in the command line or the input or a pass's refusal, 2 for an internal error.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "analysis/axis_facts.hpp"
#include "compiler/compile.hpp"
#include "ir/module/link.hpp"
#include "ir/text/describe_ops.hpp"
#include "jit/page.hpp"
#include "layout/layout.hpp"
#include "ir/verify/verifier.hpp"
#include "support/environment.hpp"
#include "abi/pass_options.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace {

using namespace tegula;

struct Arguments {
  std::string file = "-";
  std::string replay;
  std::string passes;  ///< empty: not given
  std::string emit;
  std::string target = "host";
  std::string picture;
  std::string page;
  std::int64_t extent = 4096;
  std::vector<std::string> libraries;
  CompileOptions options;
  bool list_passes = false;
  bool list_ops = false;
  bool verify_only = false;
  bool locations = false;
  bool axis_facts = false;
  bool help_environment = false;
};

std::string read_text(std::string const& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::error_code ignored;
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw UserError("cannot read " + file + ": " + std::strerror(errno));
  if (std::filesystem::is_directory(file, ignored)) throw UserError("cannot read " + file + ": it is a folder");
  return {std::istreambuf_iterator<char>(stream), {}};
}

ir::Module read_module(std::string const& text, std::string const& file) {
  ir::ParseResult parsed = ir::parse(text);
  if (parsed.ok()) parsed.diagnostics.append(ir::verify(parsed.module, &parsed.positions));
  if (!parsed.diagnostics.has_errors()) return std::move(parsed.module);
  std::string message;
  for (auto const& diagnostic : parsed.diagnostics) message += file + ":" + support::to_string(diagnostic) + "\n";
  message.pop_back();
  throw UserError(message);
}

/// Returns the grid of threads and registers (or shared offsets) behind a type with a layout.
std::string picture(std::string const& type) {
  auto const parsed = ir::parse("tegula-ir 1\nfunction @f(%x: " + type + ") {\n  return\n}\n");
  support::throw_user_error(parsed.diagnostics, "--picture " + type);
  if (parsed.module.functions().size() != 1 || parsed.module.functions().front()->parameter_count() != 1)
    throw UserError("--picture: expected one IR type, found " + type);
  layout::Layout const* const layout = parsed.module.functions().front()->parameter(0)->type().layout();
  if (layout == nullptr) throw UserError("--picture: " + type + " has no layout");
  return layout->picture();
}

/// Prints what the arguments ask for: facts, machine code or IR.
void print_result(ir::Module& module, Arguments const& arguments) {
  if (arguments.axis_facts) {
    analysis::AxisFacts const facts(module);
    for (auto const& function : module.functions())
      std::cout << "@" << function->name() << "\n" << facts.str(*function);
  } else if (!arguments.emit.empty()) {
    std::string const result = compiler::output(module, arguments.options, arguments.emit);
    if (arguments.emit != "object") std::cout << result;
  } else {
    std::cout << ir::print(module, {arguments.locations});
  }
}

/// Writes the page of the input's kernel.
void write_page(ir::Module module, std::string const& text, Arguments const& arguments) {
  auto const& functions = module.functions();
  if (std::none_of(functions.begin(), functions.end(), [](auto const& each) { return each->is_kernel(); }))
    throw UserError("--page: the input has functions alone; give it a kernel");
  if (arguments.passes == "none")
    throw UserError("--page: expected passes, found none; leave -p out, or name the passes to show");
  CompileOptions options = arguments.options;
  if (arguments.passes != "default") options.pipeline = arguments.passes;
  std::string const page = jit::page_of_ir(std::move(module), text, options, arguments.extent);
  if (arguments.page == "-")
    std::cout << page;
  else
    jit::save_page(arguments.page, page);
}

int run(Arguments arguments) {
  if (!arguments.picture.empty()) {
    std::cout << picture(arguments.picture);
    return 0;
  }
  if (arguments.list_ops) {
    std::cout << ir::describe_ops();
    return 0;
  }
  if (arguments.list_passes || arguments.help_environment) {
    std::cout << (arguments.list_passes ? transform::describe_passes() : support::environment_help());
    return 0;
  }
  arguments.options.target = arguments.target == "cuda" ? Target::cuda : Target::host;
  std::string const file = arguments.replay.empty() ? arguments.file : arguments.replay;
  std::string const text = read_text(file);
  if (!arguments.replay.empty()) {
    transform::Replay const replay = transform::read_replay(text);
    arguments.options = replay.options;
    if (arguments.passes.empty()) arguments.passes = replay.pipeline.empty() ? "none" : replay.pipeline;
    if (replay.pipeline.empty() && arguments.emit.empty()) arguments.emit = "object";
  }
  ir::Module module = read_module(text, file);
  for (std::string const& library : arguments.libraries)
    support::throw_user_error(ir::link(module, read_module(read_text(library), library)), "--link " + library);
  if (arguments.verify_only) return 0;
  if (!arguments.page.empty()) {
    write_page(std::move(module), text, arguments);
    return 0;
  }
  if (arguments.passes.empty() || arguments.passes == "default")
    arguments.passes = transform::to_string(compiler::default_pipeline(module, arguments.options));
  else if (arguments.passes == "none")
    arguments.passes.clear();
  transform::run_pipeline(module, arguments.passes, arguments.options);
  support::throw_internal_error(ir::verify(module), "verifier after the pipeline");
  print_result(module, arguments);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Reads Tegula IR, runs passes on it and prints it.");
  CLI::Option const* const file = app.add_option("file", arguments.file, "IR text; - or nothing: standard input");
  app.add_option(
      "-p,--passes", arguments.passes,
      "passes to run, separated by commas; none: no pass; default, also if not given: the target's own pipeline");
  app.add_option("--link", arguments.libraries, "IR text that defines functions which the input only declares");
  app.add_option("--replay", arguments.replay, "the replay file of a failed compilation: run its pipeline again")
      ->excludes(const_cast<CLI::Option*>(file));
  app.add_option("--emit", arguments.emit,
                 "print the output of code generation instead of IR; object: generate it, print nothing")
      ->check(CLI::IsMember({"ptx", "llvm", "asm", "launch", "object"}));
  app.add_option("--target", arguments.target)->check(CLI::IsMember({"host", "cuda"}));
  app.add_option("--architecture", arguments.options.architecture,
                 "a CPU name or a GPU of gpu_targets; empty: this machine, or TEGULA_ARCH");
  abi::for_each_pass_option(arguments.options, [&](std::string_view name, std::string_view meaning, auto& value) {
    std::string const flag = "--" + std::string(name);
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, bool>) {
      app.add_flag(flag, value, std::string(meaning));
    } else if constexpr (std::is_enum_v<Value>) {
      std::map<std::string, Value> values;
      for (std::string_view const spelling : abi::names_of(Value{}))
        values.emplace(spelling, *abi::value_named<Value>(spelling));
      app.add_option(flag, value, std::string(meaning))->transform(CLI::Transformer(values));
    } else {
      app.add_option(flag, value, std::string(meaning));
    }
  });
  app.add_flag("--verify", arguments.verify_only, "check the input, print nothing");
  app.add_flag("--locations", arguments.locations, "print source lines");
  app.add_flag("--axis-facts", arguments.axis_facts, "print the axis facts of every integer value");
  app.add_option("--picture", arguments.picture, "draw the layout of a type, for instance 'tile<64x64xf32, wgmma>'");
  app.add_option(
      "--page", arguments.page,
      "write a page of the kernel, as HTML that needs no network: IR after each pass with its changes, code, "
      "facts, advice, timeline; -: to standard output");
  app.add_option(
      "--extent", arguments.extent,
      "extent of the last two axes of all tensors, for the advice and the timeline of --page; others are 16 at most");
  app.add_flag("--list-passes", arguments.list_passes, "list the passes, the properties that they need and leave");
  app.add_flag("--list-ops", arguments.list_ops, "list the ops as JSON: operands, attributes, effects, executors");
  app.add_flag("--help-environment", arguments.help_environment, "list the environment variables");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return app.exit(error) == 0 ? 0 : 1;
  }
  try {
    int const status = run(std::move(arguments));
    if (!std::cout.flush()) throw UserError("cannot write the output: " + std::string(std::strerror(errno)));
    return status;
  } catch (InternalError const& error) {
    std::cerr << "tegula_opt: internal error: " << error.what() << "\n";
    return 2;
  } catch (std::exception const& error) {
    std::cerr << "tegula_opt: " << error.what() << "\n";
    return 1;
  }
}
