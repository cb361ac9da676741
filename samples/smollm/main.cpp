// Answers a prompt with SmolLM2-135M-Instruct, and writes the text as it is made. lib/doc/smollm.md walks through it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "generator.hpp"
#include "random_model.hpp"
#include "support/program.hpp"
#include "tokenizer.hpp"

namespace {

using samples::seconds;

constexpr int width = 576, hidden = 1536;
using Model = smollm::Model<width, hidden>;

struct Options {
  std::string file, prompt, device = "best", check;
  std::vector<std::string> tokens_of;
  smollm::Sampling sampling;
  int tokens = 256, batch = 1, places = 2048, prompt_tokens = 256;
  bool bench = false, kernels = false, raw = false, random = false;
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

template <class Generator>
void answer(Options const& options, smollm::Tokenizer const& tokenizer, Generator& generator) {
  std::vector<int> const prompt =
      options.raw ? tokenizer.encode(options.prompt) : tokenizer.conversation(options.prompt);
  for (int row = 0; row < options.batch; ++row) generator.read(row, prompt);
  std::vector<std::string> texts(static_cast<std::size_t>(options.batch));
  generate(generator, options, static_cast<int>(prompt.size()), tokenizer.token("<|im_end|>"),
           [&](std::size_t row, int token) {
             std::string const& text = tokenizer.decode(token);
             if (options.batch > 1) {
               texts[row] += text;
             } else {
               std::fwrite(text.data(), 1, text.size(), stdout);
               std::fflush(stdout);
             }
           });
  if (options.batch == 1) std::printf("\n");
  for (std::size_t row = 0; options.batch > 1 && row < texts.size(); ++row)
    std::printf("[%zu] %s\n", row + 1, texts[row].c_str());
}

/// Prints the times of a step's kernels, each in a graph of its launches in all layers. Activations grow meanwhile: no
/// text follows.
template <class Generator>
void measure_kernels(Generator& generator, tegula::stream const& order) {
  for (smollm::KernelOfStep const& kernel : generator.kernels_of_step()) {
    std::vector<tegula::prepared> launches;
    while (launches.size() < 60) launches.insert(launches.end(), kernel.launches.begin(), kernel.launches.end());
    tegula::prepared const all = tegula::graph(generator.where(), launches);
    double best = 1e30;
    for (int repeat = 0; repeat < 5; ++repeat) {
      constexpr int count = 10;
      order.synchronize();
      double const start = seconds();
      for (int i = 0; i < count; ++i) all(order);
      order.synchronize();
      best = std::min(best, (seconds() - start) / count / static_cast<double>(launches.size()));
    }
    std::printf("  %-14s %3zu launches a step, %6.2f us each, %7.1f us\n", kernel.name.c_str(), kernel.launches.size(),
                1e6 * best, 1e6 * best * static_cast<double>(kernel.launches.size()));
  }
}

/// Prints the rates of reading a prompt and of steps; their values do not depend on the text.
template <class Generator>
void measure(Options const& options, Model const& model, Generator& generator) {
  int const read = std::min(options.prompt_tokens, static_cast<int>(generator.places()) - 1);
  int const count = std::min(options.tokens, static_cast<int>(generator.places()) - read);
  std::vector<int> prompt;
  for (int i = 0; i < read; ++i) prompt.push_back((7919 * i + 17) % static_cast<int>(model.sizes.vocabulary));
  double prefill = 1e30, decode = 1e30;
  for (int repeat = 0; repeat < 4; ++repeat) {  // the first compiles
    double const start = seconds();
    for (int row = 0; row < options.batch; ++row) generator.read(row, prompt);
    (void)generator.tokens();  // waits
    double const middle = seconds();
    generator.advance(options.sampling, count);
    (void)generator.tokens();
    if (repeat == 0) continue;
    prefill = std::min(prefill, middle - start);
    decode = std::min(decode, seconds() - middle);
  }
  double const batch = options.batch;
  std::printf(
      "%s, batch %d: prefill of %d tokens %.1f tokens/s (%.2f ms), decode after them %.1f tokens/s (%zu launches and "
      "%.1f us a token)\n",
      model.where().str().c_str(), options.batch, read, read * batch / prefill, 1e3 * prefill, count * batch / decode,
      generator.launches_of_step() + 1, 1e6 * decode / count);
}

/// Compares with answers that test/smollm/record_reference.py recorded, forced along their text. If each choice is the
/// reference's, so is the text without force. Returns the exit status.
template <class Generator>
int check(Options const& options, Generator& generator) {
  std::ifstream input(options.check);
  nlohmann::json const records = nlohmann::json::parse(input, nullptr, false);
  if (!records.is_array() || records.empty())
    throw smollm::FileError(options.check + ": is not a record of test/smollm/record_reference.py");
  int tokens = 0, agreed = 0, clear = 0, clear_agreed = 0, equal_texts = 0;
  double error = 0;
  for (nlohmann::json const& record : records) {
    auto const answer = record.at("answer").get<std::vector<int>>();
    auto const logits = record.at("logits").get<std::vector<double>>(),
               margins = record.at("margins").get<std::vector<double>>();
    generator.read(0, record.at("prompt").get<std::vector<int>>());
    bool equal = true;
    for (std::size_t i = 0; i < answer.size(); ++i) {
      if (i != 0) generator.step();
      error = std::max(error, std::abs(static_cast<double>(generator.logits().at(static_cast<std::size_t>(answer[i]))) -
                                       logits.at(i)));
      generator.choose({});
      bool const same = generator.tokens().front() == answer[i];
      ++tokens;
      agreed += static_cast<int>(same);
      clear += static_cast<int>(margins.at(i) > 0.05);
      clear_agreed += static_cast<int>(same && margins.at(i) > 0.05);
      equal = equal && same;
      generator.force({answer[i]});
    }
    equal_texts += static_cast<int>(equal);
  }
  std::printf(
      "%d of %d tokens are the reference's, %d of %d where its margin is over 0.05; %d of %zu texts are equal; "
      "largest error of the best logit %.1e\n",
      agreed, tokens, clear_agreed, clear, equal_texts, records.size(), error);
  return clear_agreed == clear ? 0 : 1;
}

/// Does what the options ask for, with a cache of `Kept`.
template <class Kept>
int run_on(Options const& options, smollm::Gguf const& file, tegula::device where) {
  Model const model(file, where);
  tegula::stream const order(where);
  if (!options.check.empty() && options.batch != 1) throw std::runtime_error("--check takes one answer at a time");
  std::int64_t const places = std::min<std::int64_t>(options.places, model.sizes.context);
  using Generator = smollm::Generator<width, hidden, Kept>;
  if (options.kernels)  // the division in use is the first
    for (smollm::Division const& division :
         {smollm::Division{}, smollm::Division{16, 4, 64}, smollm::Division{16, 4, 128}}) {
      Generator generator(model, order, options.batch, places, division);
      std::printf("%d rows of W a block, %d warps, %d keys at once: ", division.rows, division.warps, division.keys);
      measure(options, model, generator);
      measure_kernels(generator, order);
    }
  if (options.kernels) return 0;
  Generator generator(model, order, options.batch, places);
  if (!options.check.empty()) return check(options, generator);
  if (options.bench)
    measure(options, model, generator);
  else
    answer(options, smollm::Tokenizer(file), generator);
  return 0;
}

int run(Options const& options) {
  smollm::Gguf const file =
      options.random ? smollm::Gguf("the random model", smollm::random_model({})) : smollm::Gguf(options.file);
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
  return where.is_cuda() ? run_on<tegula::f16>(options, file, where) : run_on<float>(options, file, where);
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  CLI::App app("Answers a prompt with SmolLM2-135M-Instruct.", "smollm");
  app.add_option("prompt", options.prompt, "the question");
  auto* const source = app.add_option_group("model")->require_option(1);
  source->add_option("--file", options.file, "the gguf file with the model");
  source->add_flag("--random", options.random, "a model of that form with random weights, for --bench");
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
  app.add_option("--prompt-tokens", options.prompt_tokens, "of the prompt that --bench reads")
      ->check(CLI::Range(1, 8191));
  app.add_option("--places", options.places, "tokens of prompt and answer together")->check(CLI::Range(2, 8192));
  app.add_flag("--raw", options.raw, "continues the prompt as a text");
  app.add_flag("--bench", options.bench, "prints rates");
  app.add_flag("--kernels", options.kernels, "prints rates and times of kernels, for several divisions of their work");
  app.add_option("--tokens-of", options.tokens_of, "prints the tokens of files, a line each");
  app.add_option("--check", options.check, "compares with answers that were recorded");
  CLI11_PARSE(app, count, arguments);
  if (options.prompt.empty() && !options.bench && !options.kernels && options.tokens_of.empty() &&
      options.check.empty()) {
    std::fprintf(stderr, "smollm: no prompt; give a question, --bench, --kernels, --check or --tokens-of\n");
    return 2;
  }
  return samples::run_program("smollm", [&] { return run(options); });
}
