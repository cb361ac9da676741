// Tests descriptors of slices that a kernel builds, run warp by warp: results are those of float64 under many
// schedules, and each missing fence or barrier around a descriptor is reported.
#include "kernels/sliced_text.hpp"

#include <cstring>
#include <random>

#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "support/deletion.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"
#include "tegula/math/functions.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Holds the arguments of the sliced product: groups of so many rows.
struct Groups {
  std::vector<int> starts = {0};
  std::int64_t depth = 0;
  TargetArguments arguments;

  Groups(std::vector<int> const& rows, std::int64_t k) : depth(k) {
    for (int const count : rows) starts.push_back(starts.back() + count);
    auto const groups = static_cast<std::int64_t>(rows.size());
    arguments = {tensor_argument(Element::bf16, {starts.back(), depth}),
                 tensor_argument(Element::bf16, {groups, depth, 64}), tensor_argument(Element::i32, {groups + 1}),
                 tensor_argument(Element::f32, {starts.back(), 64})};
    std::mt19937 random(static_cast<unsigned>(k));
    for (std::size_t of : {0, 1})
      for (std::size_t i = 0; i < arguments[of].data.size() / 2; ++i) {
        auto const value = math::narrow_bits(Element::bf16, static_cast<double>(random() % 9) - 4);
        std::memcpy(arguments[of].data.data() + 2 * i, &value, 2);
      }
    std::memcpy(arguments[2].data.data(), starts.data(), starts.size() * sizeof(int));
  }
  [[nodiscard]] double element(std::size_t of, std::int64_t i) const { return arguments[of].number(i); }
  /// Counts the wrong elements.
  [[nodiscard]] std::int64_t wrong() const {
    std::int64_t count = 0;
    for (std::size_t g = 0; g + 1 < starts.size(); ++g)
      for (std::int64_t row = starts[g]; row < starts[g + 1]; ++row)
        for (std::int64_t column = 0; column < 64; ++column) {
          double sum = 0;
          for (std::int64_t k = 0; k < depth; ++k)
            sum += element(0, row * depth + k) * element(1, (static_cast<std::int64_t>(g) * depth + k) * 64 + column);
          count += arguments[3].number(row * 64 + column) == sum ? 0 : 1;
        }
    return count;
  }

 private:
  static TargetArgument tensor_argument(Element element, Extents const& extents) {
    TargetArgument argument;
    argument.element = element;
    argument.extents = extents;
    argument.data.resize(static_cast<std::size_t>(extents.product()) * static_cast<std::size_t>(bytes(element)));
    return argument;
  }
};

bool of_a_descriptor(ir::Op const& op) {
  return op.is<ir::ReleaseTensorMapsOp>() || op.is<ir::AcquireTensorMapOp>() || op.is<ir::BuildTensorMapOp>() ||
         op.is<ir::FreeTensorMapOp>();
}

}  // namespace

TEST_CASE("descriptors of slices are built in the kernel, with fences, beside those by value", "[sim][D7][D14]") {
  for (Choice const specialization : {Choice::on, Choice::off}) {
    CompileOptions options = gemm_options();
    options.specialization = specialization;
    ir::Module const module = compiler::lower(module_of(sliced_text), options);
    INFO(ir::print(module));
    CHECK(count(module, ir::OpKind::TensorMapOp) == 3);  // one of each tensor, by value
    CHECK(count(module, ir::OpKind::BuildTensorMapOp) == 2);
    CHECK(count(module, ir::OpKind::ReleaseTensorMapsOp) == 1);
    CHECK(count(module, ir::OpKind::AcquireTensorMapOp) == 2);
    CHECK(count(module, ir::OpKind::FreeTensorMapOp) == 2);
    for (auto const& rows : {std::vector<int>{64, 10, 0, 33}, std::vector<int>{0, 1}})
      for (std::int64_t const depth : {64, 200}) {
        Groups groups(rows, depth);
        sim::block::Simulation simulation(module.kernel(), simulated(groups.arguments));
        auto const sweep = simulation.sweep(4);
        INFO("depth " << depth << "\n" << sweep.str());
        CHECK(sweep.clean());
        CHECK(groups.wrong() == 0);
      }
  }
}

TEST_CASE("slices in clusters that share a product, and in persistent CTAs", "[sim][D7]") {
  for (bool const persistent : {false, true}) {
    CompileOptions options = gemm_options();
    if (persistent)
      options.persistence = Choice::on;
    else
      options.split = 2;
    ir::Module const module = compiler::lower(module_of(sliced_text), options);
    // A persistent CTA has a slice for each tile, which it loads through pointers.
    CHECK((count(module, ir::OpKind::BuildTensorMapOp) == 0) == persistent);
    Groups groups({64, 10, 0, 33}, 200);
    sim::block::Options run;
    if (persistent) run.grid = sim::Grid{1, 1, 1};
    sim::block::Simulation simulation(module.kernel(), simulated(groups.arguments), run);
    auto const sweep = simulation.sweep(3);
    INFO(sweep.str());
    CHECK(sweep.clean());
    CHECK(groups.wrong() == 0);
  }
}

TEST_CASE("each op around a descriptor counts: the simulator reports a kernel without it", "[sim][D7]") {
  for (Choice const specialization : {Choice::on, Choice::off}) {
    CompileOptions options = gemm_options();
    options.specialization = specialization;
    ir::Module const module = compiler::lower(module_of(sliced_text), options);
    Groups const groups({64, 10}, 128);
    CHECK(test::detail::runs_clean(module, groups.arguments, false));
    auto const without_one = mutations(module, of_a_descriptor);
    CHECK(without_one.size() == 7);
    for (Mutation const& mutation : without_one) {
      INFO("without " << mutation.without);
      CHECK(!test::detail::runs_clean(mutation.module, groups.arguments, false));
    }
    // The report names the fence.
    for (Mutation const& mutation : mutations(module, [](ir::Op const& op) {
           return op.is<ir::ReleaseTensorMapsOp>() || op.is<ir::AcquireTensorMapOp>();
         })) {
      TargetArguments arguments = groups.arguments;
      sim::block::Simulation simulation(mutation.module.kernel(), simulated(arguments));
      INFO("without " << mutation.without);
      CHECK(simulation.sweep(2, false).str().find("fence.proxy.tensormap") != std::string::npos);
    }
  }
}

TEST_CASE("a slice of the last axis is copied where its begin is known to be aligned", "[sim][D7]") {
  auto const with_axis = [](std::string text, std::string const& begin) {
    std::string const from = "%a = slice %A, %first, %last : tensor<?x?xbf16>";
    std::string const to = begin + "  %a = slice %A, %begin, %depth {axis = 1} : tensor<?x?xbf16>";
    text.replace(text.find(from), from.size(), to);
    std::string const extent = "  %depth = extent %A {axis = 1} : i64\n";
    text.erase(text.find(extent), extent.size());
    text.insert(text.find("  %g = block_index"), extent);
    return compiler::lower(module_of(text), gemm_options());
  };
  CHECK(count(with_axis(sliced_text, "%begin = mul %first, %k : i64\n"), ir::OpKind::BuildTensorMapOp) == 2);
  CHECK(count(with_axis(sliced_text, "%begin = mul %first, %one : i64\n"), ir::OpKind::BuildTensorMapOp) == 1);
}
