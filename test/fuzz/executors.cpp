#include "fuzz/executors.hpp"

#include <cstring>

#include "codegen/block_machine.hpp"
#include "compiler/compile.hpp"
#include "host/driver.hpp"
#include "sim/block/simulate.hpp"
#include "tegula/support/error.hpp"

namespace tegula::fuzz {
namespace {

CompileOptions cuda_options() {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.exact = true;
  return options;
}

}  // namespace

std::vector<Memory> run_on_host(ir::Module const& module, std::vector<Memory> memories,
                                std::vector<ir::Constant> const& scalars) {
  std::vector<test::Array> arrays;
  arrays.reserve(memories.size());
  test::HostArguments arguments;
  for (std::size_t p = 0; p < memories.size(); ++p) {
    Memory const& memory = memories[p];
    if (memory.bytes.empty()) {
      arguments.emplace_back(scalars[p]);
      continue;
    }
    arrays.emplace_back(memory.element, std::vector<std::int64_t>(memory.extents.begin(), memory.extents.end()));
    std::memcpy(arrays.back().data(), memory.bytes.data(), memory.bytes.size());
    arguments.emplace_back(arrays.back());
  }
  test::run_on_host(module, arguments);
  auto array = arrays.begin();
  for (Memory& memory : memories)
    if (!memory.bytes.empty()) std::memcpy(memory.bytes.data(), (array++)->data(), memory.bytes.size());
  return memories;
}

std::vector<Memory> run_in_warps(ir::Module const& module, std::vector<Memory> memories,
                                 std::vector<ir::Constant> const& scalars) {
  ir::Module const lowered = compiler::lower(module, cuda_options());
  auto const result = sim::block::run(lowered.kernel(), arguments_over(memories, scalars));
  for (auto const& report : result.values.reports)
    if (report.kind != sim::ReportKind::index_overflow) throw InternalError("simulated warps: " + result.str());
  if (!result.reports.empty()) throw InternalError("simulated warps: " + result.str());
  return memories;
}

std::vector<Memory> run_ptx(ir::Module const& module, std::vector<Memory> memories,
                            std::vector<ir::Constant> const& scalars) {
  CompiledKernel const compiled = compiler::compile(module, cuda_options());
  test::BlockMachine machine(compiled.image);
  std::vector<std::uint64_t> slots;
  for (std::size_t p = 0; p < memories.size(); ++p) {
    Memory& memory = memories[p];
    if (memory.bytes.empty()) {
      slots.push_back(scalars[p].bits);
      continue;
    }
    bool const written = module.kernel().parameter_attributes()[p].direction != Direction::in;
    machine.allow(memory.bytes.data(), static_cast<std::int64_t>(memory.bytes.size()), written);
    slots.push_back(reinterpret_cast<std::uint64_t>(memory.bytes.data()));
    std::int64_t stride = memory.extents.product();
    for (std::int64_t const extent : memory.extents) slots.push_back(static_cast<std::uint64_t>(extent));
    for (std::int64_t const extent : memory.extents) slots.push_back(static_cast<std::uint64_t>(stride /= extent));
  }
  for (int slot = 0; slot < launch_slots; ++slot) slots.push_back(1);
  machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots, {0, 0, 0});
  return memories;
}

}  // namespace tegula::fuzz
