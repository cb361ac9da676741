// Makes the launches of the program while it is built: their kernels become part of smollm_embedded, which runs without
// a compiler. Nothing runs here.
#include <tegula/exporter/exporter.hpp>

#include "generator.hpp"
#include "random_model.hpp"

namespace {

/// Reads prompts of several lengths, steps and chooses, for one sequence and for many. `Kept`: of the cache.
template <class Kept>
void launch_all(tegula::device where) {
  smollm::Gguf const file("a random model of one layer", smollm::random_model({.layers = 1}));
  smollm::Model<smollm::model_width, smollm::model_hidden> const model(file, where);
  tegula::stream const order(where);
  struct Size {
    std::int64_t sequences, places;
  };
  // Rows of odd places are not aligned.
  for (Size const size :
       {Size{1, 2048}, Size{1, 33}, Size{3, 33}, Size{8, 64}, Size{8, 33}, Size{32, 64}, Size{128, 64}}) {
    smollm::Generator<smollm::model_width, smollm::model_hidden, Kept> generator(model, order, size.sequences,
                                                                                 size.places);
    for (std::int64_t tokens = 1; tokens <= size.places; tokens *= 2)
      generator.read(0, std::vector<int>(static_cast<std::size_t>(tokens)));
    generator.step();
    generator.choose({});
    generator.choose({.temperature = 1});
  }
}

tegula::exported_launches const entry([](tegula::device where) {
  where.is_cuda() ? launch_all<tegula::f16>(where) : launch_all<float>(where);
});

}  // namespace
