// Compares small random models with their float64 reference, and a layer in the simulators.
#include "minilm/embedder.hpp"

#include "../../samples/support/compare.hpp"
#include "minilm/random_model.hpp"
#include "minilm/reference.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::test;
using minilm::Reference;
using minilm::Safetensors;
using minilm::Sizes;

namespace {

constexpr int width = 64, hidden = 128;
constexpr Sizes small = {.width = width, .hidden = hidden, .layers = 2, .vocabulary = 300, .positions = 300};
// Embeddings have length 1; f32 and the order of sums change their elements by less than this, f16 by more.
constexpr double bound = 2e-6, bound_of_halves = 6e-3;

/// Compares the embeddings of sentences with the reference.
template <class T, minilm::Tiles tiles>
::samples::Comparison compared(Sizes const& sizes, std::vector<std::vector<int>> const& sentences, std::int64_t rows) {
  Safetensors const file("random", minilm::random_model(sizes));
  minilm::Model<T, width, hidden> const model(file, sizes, device::host());
  stream const order(device::host());
  minilm::Embedder<T, tiles, width, hidden> embedder(model, order, rows);
  std::vector<float> const found = embedder.embed(sentences);
  Reference const reference(file, sizes);
  ::samples::Comparison result(std::is_same_v<T, float> ? bound : bound_of_halves);
  REQUIRE(found.size() == sentences.size() * width);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    std::vector<double> const expected = reference.embed(sentences[i]);
    for (std::size_t j = 0; j < width; ++j)
      result.add(static_cast<std::int64_t>(i * width + j), found[i * width + j], expected[j]);
  }
  return result;
}

std::vector<std::vector<int>> sentences_of(std::initializer_list<std::size_t> lengths) {
  ::samples::Draw random;
  std::vector<std::vector<int>> result;
  for (std::size_t const length : lengths) {
    result.emplace_back(length);
    for (int& token : result.back()) token = random.below(static_cast<int>(small.vocabulary));
  }
  return result;
}

}  // namespace

TEST_CASE("minilm: embeddings are the reference's, whatever shares a batch", "[N22]") {
  // One token; whole tiles; sentences across tiles; several batches; more than a tile.
  auto const sentences = sentences_of({1, 64, 3, 60, 64, 128, 5, 17, 256, 2, 40, 31, 33, 250, 1});
  for (std::int64_t const rows : {256, 300, 4096}) {
    INFO(rows);
    auto const result = compared<float, minilm::host_tiles>(small, sentences, rows);
    INFO(result.str());
    CHECK(result.right());
  }
}

TEST_CASE("minilm: embeddings of f16 are near the reference's", "[N22]") {
  auto const result = compared<f16, minilm::host_tiles>(small, sentences_of({7, 90, 21, 64, 130}), 256);
  INFO(result.str());
  CHECK(result.right());
}

TEST_CASE("minilm: one layer gives the reference's embeddings", "[N22]") {  // also run in the simulators
  Sizes one = small;
  one.layers = 1;
  auto const sentences = sentences_of({9, 70, 1, 30});
  auto const exact = compared<float, minilm::host_tiles>(one, sentences, 128);
  INFO(exact.str());
  CHECK(exact.right());
  auto const halves = compared<f16, minilm::gpu_tiles>(one, sentences, 128);
  INFO(halves.str());
  CHECK(halves.right());
}

TEST_CASE("minilm: sentences that a model does not take are refused", "[N22]") {
  Safetensors const file("random", minilm::random_model(small));
  minilm::Model<float, width, hidden> const model(file, small, device::host());
  stream const order(device::host());
  minilm::Embedder<float, minilm::host_tiles, width, hidden> embedder(model, order, 100);
  CHECK(embedder.embed({}).empty());
  CHECK_THROWS_WITH(embedder.embed({{1}, {}}), ContainsSubstring("sentence 2 has 0 tokens; 1 to 128 are expected"));
  CHECK_THROWS_WITH(embedder.embed({std::vector<int>(129)}), ContainsSubstring("sentence 1 has 129 tokens"));
  CHECK_THROWS_WITH(embedder.embed({{300}}), ContainsSubstring("token 300 is not one of the vocabulary of 300"));
  CHECK_THROWS_WITH((minilm::Embedder<float, minilm::host_tiles, width, hidden>(model, order, 0)),
                    ContainsSubstring("batches of 0 rows"));
}

TEST_CASE("minilm: products on a GPU take its tensor cores", "[N22]") {
  constexpr auto& t = minilm::gpu_tiles;
  for (KernelFacts const& of : {facts(minilm::linear<f16, t.rows, t.columns, t.depth, true>),
                                facts(minilm::linear_norm<f16, t.norm_rows, t.norm_depth, 384>),
                                facts(minilm::attend<f16, t.queries, t.keys>)}) {
    REQUIRE(!of.dots.empty());
    for (DotPath const& dot : of.dots) CHECK(dot.path == Path::wgmma);
  }
}
