// Tests the kernels of codegen/ptx on a real device, beside the simulator.
#include "codegen/ptx_cases.hpp"
#include "compiler/compile.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/support/error.hpp"
#include "support/random.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

void run_on_device(ir::Module const& module, std::string const& text, std::string const& shapes,
                   std::mt19937_64& random) {
  INFO(shapes);
  ir::Function const& kernel = module.kernel();
  Launch launch = read_shapes(kernel, shapes);
  fill(launch, random);
  CompileOptions options = cuda_options(text);
  for (TensorCase& tensor : launch.tensors)
    options.facts.push_back(tensor.extents.empty() ? TensorFacts() : tensor.facts());
  REQUIRE(sim::run(kernel, simulator_arguments(kernel, launch)).clean());

  device const where = device::cuda(0);
  cuda_stream const order(where);
  auto const ready = runtime::load_on(compiler::compile(module, options), where);
  // The simulator's answer to the number of multiprocessors.
  auto const loaded = std::make_shared<runtime::LoadedKernel>(runtime::LoadedKernel{
      ready->compiled, ready->where, ready->host, nullptr, ready->function, host_multiprocessors});
  std::vector<buffer<std::int32_t>> memory;
  std::vector<Argument> arguments;
  for (int i = 0; i < kernel.parameter_count(); ++i) {
    auto const at = static_cast<std::size_t>(i);
    TensorCase& tensor = launch.tensors[at];
    Argument& argument = arguments.emplace_back();
    argument.element = kernel.parameter(i)->type().element();
    if (kernel.parameter(i)->type().is_scalar()) {
      argument.kind = ParameterKind::scalar;
      argument.scalar =
          static_cast<std::int64_t>(ir::make_constant(argument.element, static_cast<double>(launch.scalars[at])).bits);
      continue;
    }
    std::int64_t const size = tensor.size() * bytes(tensor.element);
    memory.emplace_back(where, (size + 3) / 4);
    detail::upload(memory.back().allocation(), tensor.aligned(tensor.for_ptx), size, nullptr);
    argument.read_only = tensor.direction == Direction::in;
    argument.space = DeviceKind::cuda;
    argument.device_number = where.number();
    argument.rank = tensor.extents.size();
    argument.address = reinterpret_cast<std::uint8_t*>(memory.back().data()) + tensor.first * bytes(tensor.element);
    for (int axis = 0; axis < argument.rank; ++axis) {
      argument.extents[axis] = tensor.extents[axis];
      argument.strides[axis] = tensor.strides[axis];
    }
    argument.allocation = memory.back().allocation();
  }
  runtime::PreparedLaunch(loaded, arguments).run(order);
  order.synchronize();
  std::size_t next = 0;
  for (TensorCase& tensor : launch.tensors)
    if (!tensor.extents.empty())
      detail::download(tensor.aligned(tensor.for_ptx), memory[next++].allocation(),
                       tensor.size() * bytes(tensor.element), nullptr);
  check_equal(text, launch);
}

}  // namespace

TEST_CASE("every kernel of the PTX tests has the simulator's results on a device", "[device]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  std::mt19937_64 random(test::data_seed);
  for (std::string const& file : kernel_files()) {
    INFO(file);
    std::string const text = read_file(file);
    ir::Module const module = read_module(text);
    for (std::string const& shapes : lines_after(text, "SHAPES: ")) run_on_device(module, text, shapes, random);
  }
}
