// Embeds sentences with all-MiniLM-L6-v2, and prints how similar they are. lib/doc/minilm.md walks through it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "embedder.hpp"
#include "random_model.hpp"
#include "support/program.hpp"
#include "tokenizer.hpp"

namespace {

constexpr int width = 384, hidden = 1536;
constexpr std::size_t most_tokens = 256;  // of a sentence: the rest is cut off, as the model was trained

struct Options {
  std::string model, file, out, device = "best", elements = "best";
  std::vector<std::string> sentences;
  int count = 1000, rows = 0;
  bool bench = false, random = false, check = false, tokens = false;
};

struct Input {
  std::vector<std::string> texts;
  std::vector<std::vector<int>> tokens;
};

/// Returns the sentences of the command line, then the lines of the file.
std::vector<std::string> texts_of(Options const& options) {
  std::vector<std::string> result = options.sentences;
  if (options.file.empty()) return result;
  std::ifstream input(options.file, std::ios::binary);
  if (!input) throw minilm::FileError(options.file + ": cannot be read; give the path of a text, a sentence a line");
  for (std::string line; std::getline(input, line);) result.push_back(line);
  return result;
}

Input input_of(Options const& options, minilm::Sizes const& sizes) {
  if (options.random)
    return {{}, minilm::random_sentences(static_cast<std::size_t>(options.count), 64, sizes.vocabulary)};
  std::string const path = options.model + "/vocab.txt";
  minilm::Tokenizer const tokenizer(path);
  if (static_cast<std::int64_t>(tokenizer.size()) != sizes.vocabulary)
    throw minilm::FileError(fmt::format("{}: has {} tokens; {} are expected; fetch the file again", path,
                                        tokenizer.size(), sizes.vocabulary));
  Input result{texts_of(options), {}};
  double const start = samples::seconds();
  for (std::string const& text : result.texts) result.tokens.push_back(tokenizer.encode(text, most_tokens));
  if (options.bench)
    std::printf("tokenizer: %.0f sentences/s\n",
                static_cast<double>(result.texts.size()) / (samples::seconds() - start));
  return result;
}

void print_similarities(std::vector<float> const& found, std::vector<std::string> const& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = 0; j < texts.size(); ++j)
      std::printf("%6.3f ", minilm::cosine(&found[i * width], &found[j * width], width));
    std::printf(" %s\n", texts[i].c_str());
  }
}

void write_floats(std::vector<float> const& found, std::string const& path) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<char const*>(found.data()), static_cast<std::streamsize>(found.size() * sizeof(float)));
  if (!out.flush()) throw minilm::FileError(path + ": cannot be written; give another path to --out");
}

template <class Embedder>
void measure(Embedder& embedder, char const* elements, Input const& input) {
  double best = 1e30, processors = 1e30;
  for (int repeat = 0; repeat < 6; ++repeat) {  // the first compiles
    double const start = samples::seconds();
    std::clock_t const clock = std::clock();
    (void)embedder.embed(input.tokens);
    if (repeat == 0) continue;
    best = std::min(best, samples::seconds() - start);
    processors = std::min(processors, static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC);
  }
  std::size_t tokens = 0;
  for (auto const& one : input.tokens) tokens += one.size();
  std::printf("%s, %s: %zu sentences of %zu tokens in %.1f ms (%.1f ms of processors): %.0f sentences/s\n",
              embedder.where().str().c_str(), elements, input.tokens.size(), tokens, 1e3 * best, 1e3 * processors,
              static_cast<double>(input.tokens.size()) / best);
}

/// Compares embeddings with those of the host in f32. Returns the exit status.
int compare(std::vector<float> const& found, std::vector<float> const& expected) {
  double lowest = 1, error = 0;
  for (std::size_t i = 0; i < expected.size(); i += width)
    lowest = std::min(lowest, minilm::cosine(&found[i], &expected[i], width));
  for (std::size_t i = 0; i < expected.size(); ++i)
    error = std::max(error, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  bool const right = lowest > 0.9999;
  std::printf("%zu sentences against the host's f32: lowest cosine %.7f, largest error %.1e: %s\n",
              expected.size() / width, lowest, error, right ? "ok" : "WRONG");
  return right ? 0 : 1;
}

/// Does what the options ask for, with activations and weights of T.
template <class T, minilm::Tiles tiles>
int run_on(Options const& options, minilm::Safetensors const& file, minilm::Sizes const& sizes, Input const& input,
           tegula::device where) {
  minilm::Model<T, width, hidden> const model(file, sizes, where);
  tegula::stream const order(where);
  int const rows = options.rows != 0 ? options.rows : where.is_cuda() ? 16384 : 512;
  minilm::Embedder<T, tiles, width, hidden> embedder(model, order, rows);
  if (options.check) {
    minilm::Model<float, width, hidden> const exact(file, sizes, tegula::device::host());
    tegula::stream const host(tegula::device::host());
    minilm::Embedder<float, minilm::host_tiles, width, hidden> expected(exact, host, 512);
    return compare(embedder.embed(input.tokens), expected.embed(input.tokens));
  }
  if (options.bench) {
    measure(embedder, std::is_same_v<T, float> ? "f32" : "f16", input);
    return 0;
  }
  std::vector<float> const found = embedder.embed(input.tokens);
  if (options.out.empty())
    print_similarities(found, input.texts);
  else
    write_floats(found, options.out);
  return 0;
}

int run(Options const& options) {
  if (options.tokens) {  // for comparisons with another tokenizer
    minilm::Tokenizer const tokenizer(options.model + "/vocab.txt");
    for (std::string const& text : texts_of(options))
      fmt::print("{}\n", fmt::join(tokenizer.encode(text, most_tokens), " "));
    return 0;
  }
  minilm::Sizes const sizes =
      options.random ? minilm::Sizes{} : minilm::sizes_of(options.model + "/config.json", width, hidden);
  minilm::Safetensors const file = options.random ? minilm::Safetensors("the random model", minilm::random_model(sizes))
                                                  : minilm::Safetensors(options.model + "/model.safetensors");
  Input const input = input_of(options, sizes);
  tegula::device const where = samples::device_of(options.device);
  bool const half = options.elements == "f16" || (options.elements == "best" && where.is_cuda());
  if (where.is_cuda())
    return half ? run_on<tegula::f16, minilm::gpu_tiles>(options, file, sizes, input, where)
                : run_on<float, minilm::host_tiles>(options, file, sizes, input, where);
  return half ? run_on<tegula::f16, minilm::host_tiles>(options, file, sizes, input, where)
              : run_on<float, minilm::host_tiles>(options, file, sizes, input, where);
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  CLI::App app("Embeds sentences with all-MiniLM-L6-v2 and prints their cosine similarities.", "minilm");
  app.add_option("sentences", options.sentences, "the sentences");
  auto* const source = app.add_option_group("model")->require_option(1);
  source->add_option("--model", options.model, "the folder of model.safetensors, config.json and vocab.txt");
  source->add_flag("--random", options.random, "random weights and tokens, for --bench and --check");
  app.add_option("--file", options.file, "a text: each line is a sentence");
  app.add_option("--out", options.out, "writes the embeddings there, 384 floats a sentence, in place of similarities");
  samples::add_device_option(app, options.device);
  app.add_option("--elements", options.elements, "f32, f16 or best: f16 on a GPU, f32 on the host")
      ->check(CLI::IsMember({"f32", "f16", "best"}));
  app.add_option("--rows", options.rows, "tokens of a batch")->check(CLI::Range(256, 1 << 20));
  app.add_option("--count", options.count, "sentences that --random draws")->check(CLI::Range(1, 1 << 20));
  app.add_flag("--bench", options.bench, "prints sentences per second");
  app.add_flag("--check", options.check, "compares with the host's f32");
  app.add_flag("--tokens", options.tokens, "prints the tokens of each sentence");
  CLI11_PARSE(app, count, arguments);
  if (options.random ? !options.bench && !options.check : options.sentences.empty() && options.file.empty()) {
    std::fprintf(stderr, options.random ? "minilm: --random needs --bench or --check\n"
                                        : "minilm: no sentence; give sentences or --file\n");
    return 2;
  }
  return samples::run_program("minilm", [&] { return run(options); });
}
