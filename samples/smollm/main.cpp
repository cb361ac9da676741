// Answers a prompt with SmolLM2-135M-Instruct, and writes the text as it is made. lib/doc/smollm.md walks through it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "check.hpp"
#include "generator.hpp"
#include "measure.hpp"
#include "random_model.hpp"
#include "support/program.hpp"
#include "tokenizer.hpp"

namespace {

using Model = smollm::Model<smollm::model_width, smollm::model_hidden>;

struct Options {
  std::string file, prompt, device = "best", check, timeline;
  std::vector<std::string> tokens_of;
  smollm::Sampling sampling;
  int tokens = 256, batch = 1, places = 2048, prompt_tokens = 256;
  bool bench = false, kernels = false, start = false, raw = false, random = false;
};

/// Generates until each sequence has ended, `tokens` are made or the cache is full; `made(row, token)` sees each token.
/// A GPU makes some tokens at once: those behind an end are left out.
template <class Generator, class Made>
void generate(Generator& generator, Options const& options, int first_place, int end, Made const& made) {
  std::vector<bool> ended(static_cast<std::size_t>(options.batch));
  int const most = std::min(options.tokens, static_cast<int>(generator.places()) - first_place);
  int const at_once = generator.where().is_cuda() ? 16 : 1;
  for (int count = 0, left = options.batch; count < most && left > 0;) {
    int const burst = std::min(at_once, most - count);
    generator.advance(options.sampling, burst);
    std::vector<int> const tokens = generator.made();
    for (int place = first_place + count; place < first_place + count + burst; ++place)
      for (std::size_t row = 0; row < ended.size(); ++row) {
        if (ended[row]) continue;
        int const token = tokens[row * static_cast<std::size_t>(generator.places()) + static_cast<std::size_t>(place)];
        if (token == end) {
          ended[row] = true;
          --left;
        } else {
          made(row, token);
        }
      }
    count += burst;
  }
}

/// Writes text as it is made, of a batch at the end. `text(token)` returns that of a token.
template <class Generator, class Text>
void answer(Options const& options, std::vector<int> const& prompt, int end, Generator& generator, Text const& text) {
  for (int row = 0; row < options.batch; ++row) generator.read(row, prompt);
  std::vector<std::string> texts(static_cast<std::size_t>(options.batch));
  generate(generator, options, static_cast<int>(prompt.size()), end, [&](std::size_t row, int token) {
    std::string const& more = text(token);
    if (options.batch > 1) {
      texts[row] += more;
    } else {
      std::fwrite(more.data(), 1, more.size(), stdout);
      std::fflush(stdout);
    }
  });
  if (options.batch == 1) std::printf("\n");
  for (std::size_t row = 0; options.batch > 1 && row < texts.size(); ++row)
    std::printf("[%zu] %s\n", row + 1, texts[row].c_str());
}

/// Answers by the tokens of the file; the names of a random model's tokens are not text.
template <class Generator>
void answer(Options const& options, smollm::Gguf const& file, Generator& generator) {
  if (options.random) {
    auto const& names = file.texts("tokenizer.ggml.tokens");
    std::vector<int> const prompt = smollm::any_prompt(options.prompt_tokens, static_cast<std::int64_t>(names.size()));
    return answer(options, prompt, -1, generator,
                  [&](int token) { return std::string(names[static_cast<std::size_t>(token)]) + " "; });
  }
  smollm::Tokenizer const tokenizer(file);
  std::vector<int> const prompt =
      options.raw ? tokenizer.encode(options.prompt) : tokenizer.conversation(options.prompt);
  answer(options, prompt, tokenizer.token("<|im_end|>"), generator,
         [&](int token) -> std::string const& { return tokenizer.decode(token); });
}

/// Makes the first token and prints what its time consists of.
template <class Generator>
void start_up(Options const& options, Model const& model, Generator& generator, smollm::Start& start) {
  generator.read(0, smollm::any_prompt(options.prompt_tokens, model.sizes.vocabulary));
  (void)generator.tokens();  // waits
  start.ends(fmt::format("prompt of {} tokens, with its kernels", options.prompt_tokens));
  generator.choose(options.sampling);
  int const token = generator.tokens().front();
  start.ends(fmt::format("first token ({})", token));
  start.print();
}

/// Does what the options ask for, with a cache of `Kept`.
template <class Kept>
int run_on(Options const& options, smollm::Gguf const& file, tegula::device where, smollm::Start& start) {
  if (!options.check.empty() && options.batch != 1) throw std::runtime_error("--check takes one answer at a time");
  tegula::stream const order(where);
  order.synchronize();
  start.ends("start of the driver", where.is_cuda());
  Model const model(file, where);
  start.ends("weights to the device");
  std::int64_t const places = std::min<std::int64_t>(options.places, model.sizes.context);
  using Generator = smollm::Generator<smollm::model_width, smollm::model_hidden, Kept>;
  auto const rates = [&](Generator& generator) {
    smollm::measure(generator, model.sizes.vocabulary, options.prompt_tokens, options.tokens, options.sampling);
  };
  if (options.kernels)  // the division in use is the first
    for (smollm::Division const& division :
         {smollm::Division{}, smollm::Division{16, 4, 64}, smollm::Division{16, 4, 128}}) {
      Generator generator(model, order, options.batch, places, division);
      std::printf("%d rows of W a block, %d warps, %d keys at once: ", division.rows, division.warps, division.keys);
      rates(generator);
      smollm::measure_kernels(generator, order);
    }
  if (options.kernels) return 0;
  smollm::Division division;
  if (!options.timeline.empty()) division.profile = smollm::few_records();
  Generator generator(model, order, options.batch, places, division);
  start.ends("cache, and the kernels of a token");
  if (!options.check.empty()) return smollm::check(options.check, generator);
  if (!options.timeline.empty())
    smollm::save_timeline(generator, order, model.sizes.vocabulary, options.prompt_tokens, options.timeline);
  else if (options.bench)
    rates(generator);
  else if (options.start)
    start_up(options, model, generator, start);
  else
    answer(options, file, generator);
  return 0;
}

int run(Options const& options, smollm::Start& start) {
  smollm::Gguf const file =
      options.random ? smollm::Gguf("the random model", smollm::random_model({})) : smollm::Gguf(options.file);
  start.ends(options.random ? "the random model is made" : "file is mapped and checked");
  if (!options.tokens_of.empty()) {  // for comparisons with another tokenizer
    smollm::Tokenizer const tokenizer(file);
    for (std::string const& path : options.tokens_of) {
      std::ifstream input(path, std::ios::binary);
      if (!input) throw smollm::FileError(path + ": cannot be read");
      std::string const text((std::istreambuf_iterator<char>(input)), std::istreambuf_iterator<char>());
      fmt::print("{}\n", fmt::join(tokenizer.encode(text), " "));
    }
    return 0;
  }
  tegula::device const where = samples::device_of(options.device);
  return where.is_cuda() ? run_on<tegula::f16>(options, file, where, start)
                         : run_on<float>(options, file, where, start);
}

}  // namespace

int main(int count, char** arguments) {
  smollm::Start start;
  Options options;
  CLI::App app("Answers a prompt with SmolLM2-135M-Instruct.", "smollm");
  app.add_option("prompt", options.prompt, "the question");
  auto* const source = app.add_option_group("model")->require_option(1);
  source->add_option("--file", options.file, "the gguf file with the model");
  source->add_flag("--random", options.random, "a model of that form with random weights; its tokens are t0, t1, ...");
  app.add_option("--temperature", options.sampling.temperature, "0 takes the best token; higher: more varied")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--top-k", options.sampling.top_k, "draws among so many of the best tokens")
      ->check(CLI::Range(1, smollm::candidates));
  app.add_option("--top-p", options.sampling.top_p, "draws among tokens that make up this probability")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--seed", options.sampling.seed, "of the draws");
  samples::add_device_option(app, options.device);
  app.add_option("--batch", options.batch, "answers at once")->check(CLI::Range(1, 256));
  app.add_option("--tokens", options.tokens, "tokens to make at most")->check(CLI::Range(1, 8192));
  app.add_option("--prompt-tokens", options.prompt_tokens, "of the prompt that --bench, --start and --random read")
      ->check(CLI::Range(1, 8191));
  app.add_option("--places", options.places, "tokens of prompt and answer together")->check(CLI::Range(2, 8192));
  app.add_flag("--raw", options.raw, "continues the prompt as a text");
  app.add_flag("--bench", options.bench, "prints rates");
  app.add_flag("--start", options.start, "prints what the time to the first token consists of");
  app.add_flag("--kernels", options.kernels, "prints rates and times of kernels, for several divisions of their work");
  app.add_option("--timeline", options.timeline, "writes the timeline of one token's launches into this folder");
  app.add_option("--tokens-of", options.tokens_of, "prints the tokens of files, a line each");
  app.add_option("--check", options.check, "compares with answers that were recorded");
  CLI11_PARSE(app, count, arguments);
  if (options.prompt.empty() && !options.random && !options.bench && !options.kernels && !options.start &&
      options.timeline.empty() && options.tokens_of.empty() && options.check.empty()) {
    std::fprintf(
        stderr,
        "smollm: no prompt; give a question, --bench, --kernels, --start, --timeline, --check or --tokens-of\n");
    return 2;
  }
  return samples::run_program("smollm", [&] { return run(options, start); });
}
