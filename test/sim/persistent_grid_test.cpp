// Tests that persistent CTAs compute every tile once, for all extents of the grid and numbers of CTAs.
#include <fmt/format.h>

#include "sim/interpreter.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Counts how often each tile is computed. Tiles are uneven along `axis` of the grid of three. `trips` gives the length
/// of their loops from %b, the index, and %n, the extent.
ir::Module counting(int axis, std::string const& trips) {
  ir::Module module = module_of(fmt::format(R"(tegula-ir 1

kernel @count(%C: inout tensor<?x?x?xi32>) {{
  %g0 = extent %C : i64
  %g1 = extent %C {{axis = 1}} : i64
  %g2 = extent %C {{axis = 2}} : i64
  grid %g0, %g1, %g2
  %x = block_index : i64
  %y = block_index {{axis = 1}} : i64
  %z = block_index {{axis = 2}} : i64
  %zero = constant {{value = 0 : i64}} : i64
  %one = constant {{value = 1 : i64}} : i64
  %b = add %{}, %zero : i64
  %n = add %{}, %zero : i64
  %trips = {} : i64
  %none = constant {{value = 0 : f32}} : tile<1x1xf32>
  %sum = for %i = %zero to %trips step %one carry (%s = %none) : tile<1x1xf32> {{
    %d = dot %none, %none, %s : tile<1x1xf32>
    yield %d
  }}
  %more = constant {{value = 1 : i32}} : tile<1x1x1xi32>
  %before = load %C, %x, %y, %z : tile<1x1x1xi32>
  %after = add %before, %more : tile<1x1x1xi32>
  store %C, %after, %x, %y, %z
  return
}}
)",
                                            "xyz"[axis],
                                            axis == 0   ? "g0"
                                            : axis == 1 ? "g1"
                                                        : "g2",
                                            trips));
  CompileOptions options;
  options.target = Target::cuda;
  transform::run_pipeline(module, "persistent-grid", options);
  return module;
}

/// Runs on 1 to 9 CTAs and more.
void check(ir::Module const& module, Extents const& extents) {
  for (std::int64_t const ctas : {1, 2, 3, 4, 5, 7, 8, 9, 13}) {
    HostTensor counts(Element::i32, extents);
    for (std::int64_t i = 0; i < counts.count(); ++i) counts.set_integer(i, 0);
    sim::Options options;
    options.grid = sim::Grid{ctas, 1, 1};
    auto const outcome = sim::run(module.kernel(), {counts.view()}, options);
    CAPTURE(ctas, extents[0], extents[1], extents[2], outcome.str());
    REQUIRE(outcome.clean());
    int wrong = 0;
    for (std::int64_t i = 0; i < counts.count(); ++i) wrong += counts.integer(i) == 1 ? 0 : 1;
    REQUIRE(wrong == 0);
  }
}

}  // namespace

TEST_CASE("persistent CTAs compute every tile of an uneven grid once", "[sim]") {
  for (int const axis : {0, 1, 2})
    for (char const* const trips : {"add %b, %one", "sub %n, %b", "mul %b, %b"}) {
      ir::Module const module = counting(axis, trips);
      for (std::int64_t const uneven : {1, 2, 3, 4, 5, 8, 11})
        for (auto const& [first, second] : {std::pair{1, 1}, {2, 1}, {3, 1}, {1, 5}, {3, 4}, {7, 2}, {9, 3}}) {
          Extents const extents = axis == 0   ? Extents{uneven, first, second}
                                  : axis == 1 ? Extents{first, uneven, second}
                                              : Extents{first, second, uneven};
          check(module, extents);
        }
    }
}
