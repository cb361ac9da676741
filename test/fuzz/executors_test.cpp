// Runs random kernels of integers and exact float ops on four executors: the interpreter, the host, simulated warps,
// and PTX on the tests' machine. All give the same bits. The seeds are fixed.
#include "codegen/block_machine.hpp"
#include "compiler/compile.hpp"
#include "fuzz/random_ir.hpp"
#include "host/driver.hpp"
#include "ir/text.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::fuzz;

namespace {

/// Gives the first element in which two runs differ, as text.
std::string difference(std::vector<Memory> const& wanted, std::vector<Memory> const& found) {
  for (std::size_t p = 0; p < wanted.size(); ++p)
    for (std::int64_t i = 0; i < (wanted[p].bytes.empty() ? 0 : wanted[p].extents.product()); ++i)
      if (element_at(wanted[p], i) != element_at(found[p], i))
        return "parameter " + std::to_string(p) + ", element " + std::to_string(i) + " is " +
               ir::to_string(element_at(found[p], i)) + ", not " + ir::to_string(element_at(wanted[p], i));
  return {};
}

CompileOptions cuda_options() {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.exact = true;
  return options;
}

void run_on_host(RandomKernel const& kernel, std::vector<Memory>& memories) {
  std::vector<test::Array> arrays;
  arrays.reserve(memories.size());
  test::HostArguments arguments;
  for (std::size_t p = 0; p < memories.size(); ++p) {
    Memory const& memory = memories[p];
    if (memory.bytes.empty()) {
      arguments.emplace_back(kernel.scalars[p]);
      continue;
    }
    arrays.emplace_back(memory.element, std::vector<std::int64_t>(memory.extents.begin(), memory.extents.end()));
    std::memcpy(arrays.back().data(), memory.bytes.data(), memory.bytes.size());
    arguments.emplace_back(arrays.back());
  }
  test::run_on_host(kernel.module, arguments);
  auto array = arrays.begin();
  for (Memory& memory : memories)
    if (!memory.bytes.empty()) std::memcpy(memory.bytes.data(), (array++)->data(), memory.bytes.size());
}

void run_in_warps(RandomKernel const& kernel, std::vector<Memory>& memories) {
  ir::Module const lowered = compiler::lower(kernel.module, cuda_options());
  auto const result = sim::block::run(lowered.kernel(), kernel.arguments(memories));
  INFO(result.str());
  for (auto const& report : result.values.reports) REQUIRE(report.kind == sim::ReportKind::index_overflow);
  REQUIRE(result.reports.empty());
}

void run_ptx(RandomKernel const& kernel, std::vector<Memory>& memories) {
  CompiledKernel const compiled = compiler::compile(kernel.module, cuda_options());
  INFO(compiled.image);
  test::BlockMachine machine(compiled.image);
  std::vector<std::uint64_t> slots;
  for (std::size_t p = 0; p < memories.size(); ++p) {
    Memory& memory = memories[p];
    if (memory.bytes.empty()) {
      slots.push_back(kernel.scalars[p].bits);
      continue;
    }
    bool const written = kernel.module.kernel().parameter_attributes()[p].direction != Direction::in;
    machine.allow(memory.bytes.data(), static_cast<std::int64_t>(memory.bytes.size()), written);
    slots.push_back(reinterpret_cast<std::uint64_t>(memory.bytes.data()));
    std::int64_t stride = memory.extents.product();
    for (std::int64_t const extent : memory.extents) slots.push_back(static_cast<std::uint64_t>(extent));
    for (std::int64_t const extent : memory.extents) slots.push_back(static_cast<std::uint64_t>(stride /= extent));
  }
  for (int slot = 0; slot < launch_slots; ++slot) slots.push_back(1);
  machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots, {0, 0, 0});
}

}  // namespace

TEST_CASE("fuzz: host, simulated warps and PTX give the interpreter's integers", "[fuzz]") {
  char const* const given = std::getenv("TEGULA_FUZZ_SEED");
  auto const first = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  int refused = 0;
  for (std::uint64_t seed = first; seed < first + 16; ++seed) {
    RandomKernel const kernel(seed, Draw::probes_anywhere);
    INFO("TEGULA_FUZZ_SEED=" << seed << "\n" << ir::print(kernel.module));
    REQUIRE(ir::verify(kernel.module).str() == "");
    std::vector<Memory> expected = kernel.memories, host = expected, warps = expected, ptx = expected;
    sim::run(kernel.module.kernel(), kernel.arguments(expected));
    try {
      run_on_host(kernel, host);
      CHECK(difference(expected, host) == "");
      run_in_warps(kernel, warps);
      CHECK(difference(expected, warps) == "");
      run_ptx(kernel, ptx);
      CHECK(difference(expected, ptx) == "");
    } catch (UserError const& error) {
      UNSCOPED_INFO("seed " << seed << ": " << error.what());
      ++refused;
    }
  }
  CHECK(refused < 4);
}
