// Tests kernels that process a row at a time, without products, through the passes: rows arrive in rings of persistent
// CTAs.
#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"
#include "kernels/simulated.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

constexpr char max_columns[] = "512";

/// Loads a kernel of test/ir/tiles, for rows of at most 512 columns.
ir::Module narrow(std::string const& name) {
  std::string text = read_file(std::string(TEGULA_TEST_DIR) + "/ir/tiles/" + name + ".tir");
  for (std::size_t at = 0; (at = text.find("4096", at)) != std::string::npos;) text.replace(at, 4, max_columns);
  return module_of(text);
}

ir::Module copy_kernel() {
  return module_of(R"(tegula-ir 1

kernel @copy(%X: in tensor<?x?xf32> {unit_inner, aligned_16}, %Y: out tensor<?x?xf32>) {
  %rows = extent %Y : i64
  grid %rows
  %row = block_index : i64
  %zero = constant {value = 0 : i64} : i64
  %x = load %X, %row, %zero : tile<1x512xf32>
  store %Y, %x, %row, %zero
  return
}
)");
}

TargetArguments copied(Extents const& shape, std::uint64_t seed) { return target_detail::softmax(shape, seed); }
std::vector<double> copied_row(TargetArguments const& arguments, std::int64_t row) {
  std::vector<double> result;
  for (std::int64_t j = 0; j < arguments[0].extents[1]; ++j)
    result.push_back(arguments[0].number(row * arguments[0].extents[1] + j));
  return result;
}
TargetTolerance no_tolerance(Extents const&) { return {}; }

struct RowKernel {
  char const* name;
  ir::Module module;
  TargetArguments (*make)(Extents const&, std::uint64_t);
  std::vector<double> (*row)(TargetArguments const&, std::int64_t);
  TargetTolerance (*tolerance)(Extents const&);
};

std::vector<RowKernel> row_kernels() {
  std::vector<RowKernel> result;
  result.push_back({"copy", copy_kernel(), copied, copied_row, no_tolerance});
  result.push_back({"softmax", narrow("softmax_tiles"), target_detail::softmax, target_detail::softmax_row,
                    target_detail::softmax_tolerance});
  result.push_back({"layernorm", narrow("layernorm_tiles"), target_detail::layernorm, target_detail::layernorm_row,
                    target_detail::layernorm_tolerance});
  return result;
}

/// Runs on one CTA and on three under a few schedules, and compares with float64.
void check_run(RowKernel const& kernel, ir::Module const& module, std::int64_t rows, std::int64_t columns) {
  Extents const shape{rows, columns};
  for (std::int64_t const ctas : {1, 3}) {
    TargetArguments arguments = kernel.make(shape, static_cast<std::uint64_t>(rows + columns));
    block::Options options;
    options.grid = sim::Grid{ctas, 1, 1};
    block::Simulation simulation(module.kernel(), simulated(arguments), options);
    auto const sweep = simulation.sweep(2);
    INFO(kernel.name << ", " << rows << " x " << columns << " on " << ctas << " CTAs\n" << sweep.str());
    CHECK(sweep.clean());
    samples::Comparison all(1);
    for (std::int64_t row = 0; row < rows; ++row)
      compare_row(all, arguments[target_output(arguments)], row, kernel.row(arguments, row), kernel.tolerance(shape));
    if (shape.product() != 0) CHECK(all.failure() == "");
  }
}

CompileOptions staying(int stages) {
  CompileOptions options;
  options.target = tegula::Target::cuda;
  options.architecture = "sm_90a";
  options.persistence = Choice::on;
  options.stages = stages;
  return options;
}

}  // namespace

TEST_CASE("rows of copy, softmax and layernorm run ahead in rings of 2 to 4 stages at every trip count", "[sim][B30]") {
  for (RowKernel const& kernel : row_kernels()) {
    for (int const stages : {2, 3, 4}) {
      CompileOptions options = staying(stages);
      options.specialization = Choice::off;
      ir::Module const module = compiler::lower(kernel.module, options);
      CAPTURE(kernel.name, stages);
      REQUIRE(count(module, ir::OpKind::TmaLoadOp) == stages + 1);  // before the loop, and one in it
      REQUIRE(count(module, ir::OpKind::ForOp) == 2);               // main loop and epilogue
      for (int const rows : {1, stages - 1, stages, stages + 1, 2 * stages + 1}) check_run(kernel, module, rows, 512);
      check_run(kernel, module, stages + 3, 264);
    }
  }
}

TEST_CASE("rows whose threads do not exchange get a warp for copies", "[sim][B30]") {
  for (RowKernel const& kernel : row_kernels()) {
    ir::Module const module = compiler::lower(kernel.module, staying(3));
    CAPTURE(kernel.name);
    bool const meets = count(module, ir::OpKind::ReduceOp) != 0;
    CHECK(count(module, ir::OpKind::WarpSpecializeOp) == (meets ? 0 : 1));
    for (int const rows : {1, 3, 7}) check_run(kernel, module, rows, 512);
  }
}

TEST_CASE("rows have CTAs of their own that share a multiprocessor", "[sim][B30]") {
  CompileOptions options = staying(0);
  options.persistence = Choice::automatic;
  for (RowKernel const& kernel : row_kernels()) {
    ir::Module const module = compiler::lower(kernel.module, options);
    CAPTURE(kernel.name);
    CHECK(count(module, ir::OpKind::MultiprocessorsOp) == 0);
    CHECK(module.kernel().ctas * module.kernel().warps == 32);
  }
}
