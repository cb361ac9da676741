// Tests tensors that TMA cannot copy on the host and in both simulators, and that they compile for a GPU.
#include "kernels/strided_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("negative and zero strides and odd addresses take the path of pointers") {
  for (Executor const on : executors_without_device) check_strided(on);
}

TEST_CASE("kernels over such tensors compile for a GPU, without a copy by TMA") {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  for (TensorFacts const facts : {TensorFacts{false, false}, TensorFacts{true, false}, TensorFacts{false, true}}) {
    options.facts.assign(3, facts);
    for (std::string const& text :
         {compile(strided_product<bf16>, options).image, compile(strided_rows<bf16>, options).image}) {
      CHECK(!text.empty());
      CHECK_THAT(text, !ContainsSubstring("cp.async.bulk.tensor"));
    }
  }
}

TEST_CASE("an address that is no multiple of its element is refused with both numbers") {
  alignas(8) static char memory[64];
  view<float, 1> const odd(reinterpret_cast<float*>(memory + 2), 4);
  std::vector<float> y(4);
  auto const copy = kernel("copy", [](in<float, 1> x, out<float, 1> z) {
    auto g = grid_over(z, shape<4>);
    store(z, shape<4>, load(x, shape<4>, g[0]), g[0]);
  });
  CHECK_THROWS_WITH(launch(host_stream(), copy, odd, y),
                    ContainsSubstring("is not aligned to its element f32 of 4 bytes"));
}
