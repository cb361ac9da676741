// Makes IR text, pass lists and options as a user may hand them in: from texts that are right, by random changes. A
// seed gives the same case on every machine.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/golden.hpp"
#include "support/random.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {

using test::Random;

/// Holds the input of a compilation.
struct UserText {
  std::string text;
  CompileOptions options;
  std::string passes;  ///< "default": the target's own; "none"
  std::string output;  ///< of code generation, as `tegula_opt --emit`; empty: the IR
  /// Returns a text that read_user_text() reads.
  [[nodiscard]] std::string str() const {
    return fmt::format("// options: {} {} {} {} {} {}\n// passes: {}\n// emit: {}\n{}",
                       options.target == Target::host ? "host" : "cuda", options.warps, options.split, options.share,
                       options.exact ? 1 : 0, options.lines ? 1 : 0, passes, output, text);
  }
};

/// Reads the text that UserText::str() returns; UserError where a line is missing.
inline UserText read_user_text(std::string const& all) {
  std::istringstream lines(all);
  std::string options, passes, emit, target;
  std::getline(lines, options);
  std::getline(lines, passes);
  std::getline(lines, emit);
  constexpr std::string_view heads[] = {"// options: ", "// passes: ", "// emit: "};
  if (!options.starts_with(heads[0]) || !passes.starts_with(heads[1]) || !emit.starts_with(heads[2]))
    throw UserError("fuzz: the text does not begin with its options, passes and output");
  UserText result;
  std::istringstream words(options.substr(heads[0].size()));
  words >> target >> result.options.warps >> result.options.split >> result.options.share >> result.options.exact >>
      result.options.lines;
  result.options.target = target == "host" ? Target::host : Target::cuda;
  if (target != "host") result.options.architecture = "sm_90a";
  result.passes = passes.substr(heads[1].size());
  result.output = emit.substr(heads[2].size());
  result.text = all.substr(options.size() + passes.size() + emit.size() + 3);
  return result;
}

/// Reads the texts below a folder that are well-formed modules of one kernel. Texts of several kernels give one each.
inline std::vector<ir::Module> text_sources(std::string const& folder) {
  std::set<std::string> files;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".tir") files.insert(entry.path().string());
  std::vector<ir::Module> result;
  for (std::string const& file : files) {
    ir::ParseResult const parsed = ir::parse(test::read_file(file));
    if (!parsed.ok() || ir::verify(parsed.module).has_errors()) continue;
    std::string const all = ir::print(parsed.module);
    for (auto const& function : parsed.module.functions()) {
      if (!function->is_kernel()) continue;
      std::string one = all.substr(0, all.find('\n') + 1);
      for (auto const& other : parsed.module.functions()) {
        bool const kept = other.get() == function.get() || !other->is_kernel();
        std::string const head = (other->is_kernel() ? "\nkernel @" : "\nfunction @") + other->name() + "(";
        std::size_t const begin = all.find(head);
        if (kept && begin != std::string::npos) one += all.substr(begin, all.find("\n}\n", begin) + 3 - begin);
      }
      if (ir::ParseResult again = ir::parse(one); again.ok() && !ir::verify(again.module).has_errors())
        result.push_back(std::move(again.module));
    }
  }
  return result;
}

class TextMutator {
 public:
  TextMutator(std::vector<ir::Module> const& sources, std::uint64_t seed) : sources_(sources), random_(seed) {}

  UserText draw() {
    UserText result;
    ir::Module module = random_.pick(sources_).clone();
    int const kind = random_.below(10);
    if (kind < 5) cut_to_few_ops(module);
    if (kind >= 4 && kind < 8) drop_statements(module);
    if (random_.chance(40)) change_header(module.kernel());
    result.text = ir::print(module);
    if (kind >= 7) change_tokens(result.text);
    result.options.target = random_.chance(75) ? Target::cuda : Target::host;
    if (result.options.target == Target::cuda) result.options.architecture = "sm_90a";
    if (random_.chance(20)) result.options.warps = random_.pick(std::vector<int>{1, 2, 3, 4, 8, 16, 32});
    if (random_.chance(10)) result.options.split = random_.pick(std::vector<int>{2, 4});
    if (random_.chance(10)) result.options.share = random_.pick(std::vector<int>{2, 4});
    if (random_.chance(20)) result.options.exact = true;
    if (random_.chance(20)) result.options.lines = true;
    result.passes = pass_list(result.options.target);
    result.output = random_.pick(std::vector<std::string>{"", "ptx", "llvm", "asm", "launch", "object", "object"});
    return result;
  }

 private:
  static std::vector<ir::Op*> ops_of(ir::Module const& module) {
    std::vector<ir::Op*> result;
    for (auto const& function : module.functions())
      ir::walk_pre_order(*function, [&](ir::Op& op) {
        result.push_back(&op);
        return ir::Walk::advance;
      });
    return result;
  }

  static bool ends_block(ir::Op const& op) { return op.is<ir::YieldOp>() || op.is<ir::ReturnOp>(); }

  /// Leaves a few ops, and all that they need to be visible.
  void cut_to_few_ops(ir::Module& module) {
    std::vector<ir::Op*> const all = ops_of(module);
    std::set<ir::Op const*> needed;
    auto const need = [&](auto const& self, ir::Op const& op) -> void {
      if (!needed.insert(&op).second) return;
      for (ir::Value const* operand : op.operands())
        if (operand->defining_op() != nullptr) self(self, *operand->defining_op());
      if (op.parent_op() != nullptr) self(self, *op.parent_op());
      for (int i = 0; i < op.block_count(); ++i)
        if (!op.block(i).empty()) self(self, op.block(i).back());
    };
    for (auto const& function : module.functions())
      if (!function->body().empty()) need(need, function->body().back());
    for (int i = 1 + random_.below(4); i > 0; --i) need(need, *random_.pick(all));
    for (std::size_t i = all.size(); i > 0; --i)
      if (needed.count(all[i - 1]) == 0) all[i - 1]->erase();
  }

  /// Removes some ops without results.
  void drop_statements(ir::Module& module) {
    std::vector<ir::Op*> const all = ops_of(module);
    for (std::size_t i = all.size(); i > 0; --i) {
      ir::Op& op = *all[i - 1];
      if (op.result_count() == 0 && op.block_count() == 0 && !ends_block(op) && random_.chance(25)) op.erase();
    }
  }

  void change_header(ir::Function& kernel) {
    switch (random_.below(4)) {
      case 0:
        kernel.warps = 0;
        break;
      case 1:
        kernel.warps = random_.pick(std::vector<int>{1, 2, 3, 4, 5, 8, 16, 32});
        break;
      case 2:
        kernel.cluster = random_.pick(std::vector<int>{1, 2, 4, 8});
        break;
      default:
        kernel.ctas = random_.pick(std::vector<int>{0, 1, 2, 8, 32});
        break;
    }
  }

  static bool word(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_'; }

  /// Marks a word of a text.
  struct Word {
    std::size_t at, length;
  };
  /// Finds the words behind the version line.
  static std::vector<Word> words_of(std::string const& text) {
    std::vector<Word> words;
    for (std::size_t at = text.find('\n'); at < text.size();) {
      std::size_t end = at;
      while (end < text.size() && word(text[end])) ++end;
      if (end > at) words.push_back({at, end - at});
      at = end == at ? at + 1 : end;
    }
    return words;
  }

  /// Changes words: numbers, elements, names of ops and of options; removes attributes and layouts.
  void change_tokens(std::string& text) {
    using M = TextMutator;
    static constexpr void (M::*changes[])(std::string&, Word) = {
        &M::add_line, &M::drop_attributes, &M::rename_element, &M::change_number, &M::copy_word, &M::swap_lines};
    for (int i = 1 + random_.below(3); i > 0; --i) {
      Word const at = random_.pick(words_of(text));
      (this->*changes[random_.below(static_cast<int>(std::size(changes)))])(text, at);
    }
  }
  void add_line(std::string& text, Word word) {
    static std::vector<std::string> const lines = {
        "  %q1 = cluster_rank : i64\n",
        "  %q2 = warp_index : i64\n",
        "  %q3 = block_index {axis = 2} : i64\n",
        "  %q4 = multiprocessors : i64\n",
        "  %q5 = grid_extent : i64\n",
        "  barrier\n",
        "  warp_barrier\n",
        "  cluster_arrive\n",
        "  cluster_wait\n",
        "  wgmma_commit\n",
        "  wgmma_fence\n",
        "  bulk_commit\n",
        "  bulk_wait\n",
        "  cp_async_commit\n",
        "  cp_async_wait\n",
        "  fence_mbarrier_init\n",
        "  fence_proxy_async\n",
        "  launch_dependents\n",
        "  wait_dependencies\n",
        "  release_tensor_maps\n",
        "  elect {\n    yield\n  }\n",
        "  elect {warp = -4} {\n    yield\n  }\n",
        "  %q6 = buffer_alloc {align = 8} : mbarrier\n  mbarrier_init %q6\n  mbarrier_arrive %q6\n",
        "  %q7 = buffer_alloc {align = 128} : shared<64x32xf32, dense>\n",
        "  %q8 = constant {value = 0.0 : f64} : f64\n  %q9 = sin %q8 : f64\n  %q10 = tan %q9 : f64\n",
        "  %q11 = constant {value = 1 : i64} : i64\n  grid %q11, %q11\n"};
    std::size_t const line = text.find('\n', word.at);
    if (line != std::string::npos) text.insert(line + 1, random_.pick(lines));
  }
  /// Drops the attributes, or the layout, behind a word.
  void drop_attributes(std::string& text, Word word) {
    std::size_t const begin = text.find_first_of("{,", word.at);
    std::size_t const end = begin == std::string::npos ? begin : text.find_first_of("}>", begin);
    if (end != std::string::npos && text.substr(begin, end - begin).find('\n') == std::string::npos)
      text.erase(begin, end - begin + (text[begin] == '{' ? 1 : 0));
  }
  /// Writes one element in place of another, everywhere.
  void rename_element(std::string& text, Word /*any*/) {
    static std::vector<std::string> const elements = {"bool", "i8",   "u8",   "i16", "u16",  "i32", "u32", "i64",
                                                      "u64",  "e4m3", "e5m2", "f16", "bf16", "f32", "f64"};
    std::string const &from = random_.pick(elements), &to = random_.pick(elements);
    for (std::size_t found = text.find(from); found != std::string::npos; found = text.find(from, found))
      if (!word(text[found + from.size()]) && (text[found - 1] == 'x' || text[found - 1] == ' '))
        text.replace(found, from.size(), to), found += to.size();
      else
        ++found;
  }
  void change_number(std::string& text, Word word) {
    static std::vector<std::string> const numbers = {
        "0",   "1",   "2",    "3",    "4",     "5",          "7",
        "8",   "16",  "31",   "32",   "48",    "64",         "96",
        "128", "256", "1000", "1024", "65536", "2147483648", "4611686018427387904",
        "-1",  "-128"};
    std::string const& to = random_.pick(numbers);
    bool const number = text.substr(word.at, word.length).find_first_not_of("0123456789") == std::string::npos;
    if (number) text.replace(word.at, word.length, to);
  }
  void copy_word(std::string& text, Word word) {
    auto const [other, size] = random_.pick(words_of(text));
    text.replace(word.at, word.length, text.substr(other, size));
  }
  /// Swaps the two lines that follow.
  void swap_lines(std::string& text, Word word) {
    std::size_t const first = text.find('\n', word.at), second = text.find('\n', first + 1);
    std::size_t const third = second == std::string::npos ? second : text.find('\n', second + 1);
    if (third == std::string::npos) return;
    text = text.substr(0, first) + text.substr(second, third - second) + text.substr(first, second - first) +
           text.substr(third);
  }

  std::string pass_list(Target target) {
    int const kind = random_.below(10);
    if (kind < 3) return "default";
    if (kind == 3) return "none";
    std::vector<std::string> names;
    if (kind == 4) {
      for (int i = 1 + random_.below(5); i > 0; --i)
        names.emplace_back(
            transform::passes()[static_cast<std::size_t>(random_.below(static_cast<int>(transform::passes().size())))]
                .name);
    } else {
      std::vector<transform::Pipeline> const all = {transform::cuda_pipeline(), transform::cuda_pipeline(),
                                                    transform::block_pipeline()};
      auto const own = target == Target::host && random_.chance(70) ? transform::host_pipeline() : random_.pick(all);
      for (transform::PassInfo const* pass : own) names.emplace_back(pass->name);
      if (kind < 7)
        names.resize(1 + static_cast<std::size_t>(random_.below(static_cast<int>(names.size()))));
      else if (kind < 9)
        for (int i = 1 + random_.below(4); i > 0 && names.size() > 1; --i)
          names.erase(names.begin() + random_.below(static_cast<int>(names.size())));
      else
        std::swap(names[static_cast<std::size_t>(random_.below(static_cast<int>(names.size())))],
                  names[static_cast<std::size_t>(random_.below(static_cast<int>(names.size())))]);
    }
    std::string result;
    for (std::string const& name : names) result += (result.empty() ? "" : ",") + name;
    return result;
  }

  std::vector<ir::Module> const& sources_;
  Random random_;
};

enum class Outcome : std::uint8_t { malformed, refused, done };

/// Compiles as tegula_opt does. Throws whatever is not a UserError.
inline Outcome compile_text(UserText const& input, std::string* refusal = nullptr) {
  ir::ParseResult parsed = ir::parse(input.text);
  if (!parsed.ok() || ir::verify(parsed.module, &parsed.positions).has_errors()) return Outcome::malformed;
  try {
    ir::Module module = std::move(parsed.module);
    std::string const passes = input.passes == "default"
                                   ? transform::to_string(compiler::default_pipeline(module, input.options))
                                   : (input.passes == "none" ? std::string() : input.passes);
    transform::run_pipeline(module, passes, input.options);
    support::throw_internal_error(ir::verify(module), "verifier after the pipeline");
    if (!input.output.empty()) (void)compiler::output(module, input.options, input.output);
  } catch (UserError const& error) {
    if (refusal != nullptr) *refusal = error.what();
    return Outcome::refused;
  }
  return Outcome::done;
}

}  // namespace tegula::fuzz
