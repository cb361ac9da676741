// Makes random verified kernels with their arguments. A seed gives the same kernel on every machine and compiler.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "fuzz/random_region.hpp"
#include "ir/core/builder.hpp"
#include "ir/infer/infer.hpp"
#include "sim/interpreter.hpp"

namespace tegula::fuzz {

/// Holds the memory of one tensor argument.
struct Memory {
  Element element = Element::f32;
  Extents extents;
  std::vector<std::byte> bytes;
};

/// Returns the arguments of a run over memory; parameters without memory take the scalar of their place.
inline sim::Arguments arguments_over(std::vector<Memory>& memories, std::vector<ir::Constant> const& scalars) {
  sim::Arguments result;
  for (std::size_t i = 0; i < memories.size(); ++i) {
    if (memories[i].bytes.empty())
      result.emplace_back(scalars[i]);
    else
      result.emplace_back(sim::dense(memories[i].bytes.data(), memories[i].element, memories[i].extents));
  }
  return result;
}

/// Selects the ops of a random kernel and what it stores.
enum class Draw : std::uint8_t {
  anything,
  probes,           ///< one block; every integer of the outermost block is stored to a tensor of its own
  probes_anywhere,  ///< the same, with ops alone of which all executors give the same bits
};

class RandomKernel {
 public:
  ir::Module module;
  std::vector<Memory> memories;       ///< per parameter; empty for scalars
  std::vector<ir::Constant> scalars;  ///< per parameter; unused for tensors
  /// Pairs an integer value of the outermost block with the out parameter that holds it after a run of one block.
  struct Probe {
    ir::Value* value;
    int parameter;
  };
  std::vector<Probe> probes;

  explicit RandomKernel(std::uint64_t seed, Draw draw = Draw::anything) : draw_(seed, draw == Draw::probes_anywhere) {
    bool const with_probes = draw != Draw::anything;
    int const functions = draw_.random.below(3);
    for (int i = 0; i < functions; ++i) device_function(i);
    ir::Function& kernel = module.add_function("k", ir::FunctionKind::kernel);
    parameters(kernel, with_probes);
    RandomRegion region(draw_, module, kernel.body());
    region.launch_statements(with_probes);
    if (with_probes) region.load_all();
    region.ops(12 + draw_.random.below(25), 0);
    region.stores();
    if (with_probes) add_probes(kernel, region);
    region.builder.op(ir::ReturnOp{}, std::vector<ir::Value*>{}, {});
  }

 private:
  void device_function(int number) {
    ir::Function& function = module.add_function(fmt::format("f{}", number), ir::FunctionKind::device);
    if (draw_.random.chance(40)) function.inlining = draw_.random.chance(50) ? ir::Inline::no : ir::Inline::yes;
    for (int i = draw_.random.below(3); i >= 0; --i)
      function.add_parameter(
          draw_.random.chance(60) ? Type::tile(draw_.element(), draw_.shape()) : Type::scalar(draw_.element()), {},
          draw_.random.chance(50) ? "p" : "");
    if (draw_.random.chance(40)) function.add_parameter(Type::tensor(Element::f32, 2), {Direction::inout, 1, {}}, "t");
    RandomRegion region(draw_, module, function.body());
    region.ops(2 + draw_.random.below(8), 1);
    std::vector<Value*> results;
    for (int i = draw_.random.below(3); i > 0; --i) {
      function.results.push_back(region.type());
      results.push_back(region.of_type(function.results.back()));
    }
    region.builder.op(ir::ReturnOp{}, results, {});
  }

  void parameters(ir::Function& kernel, bool inout_free) {
    static std::vector<std::int64_t> const multiples = {1, 1, 4, 8};
    int const count = (draw_.anywhere ? 4 : 2) + draw_.random.below(4);
    for (int i = 0; i < count; ++i) {
      bool const is_input = draw_.anywhere && i < 4;  // of integers that are not known before the launch
      if (!is_input && draw_.random.chance(30)) {
        Element const e = draw_.element();
        kernel.add_parameter(Type::scalar(e), {}, draw_.random.chance(50) ? "s" : "");
        memories.emplace_back();
        scalars.push_back(draw_.constant(e));
        continue;
      }
      static std::vector<Element> const inputs = {Element::i32, Element::u32, Element::i64, Element::u64};
      Element const e = is_input                  ? inputs[static_cast<std::size_t>(i)]
                        : draw_.random.chance(40) ? Element::f32
                                                  : draw_.element();
      int const rank = is_input                  ? 1 + i % 2
                       : draw_.random.chance(50) ? 2
                                                 : 1 + draw_.random.below(draw_.anywhere ? 2 : 3);
      ir::ParameterAttributes attributes;
      attributes.direction = inout_free ? Direction::in : static_cast<Direction>(draw_.random.below(3));
      attributes.multiple_of = draw_.random.pick(multiples);
      Memory memory{e, {}, {}};
      for (int a = 0; a < rank; ++a)
        memory.extents.push_back(attributes.multiple_of *
                                 (1 + draw_.random.below(attributes.multiple_of == 1 ? 12 : 2)));
      fill(memory);
      kernel.add_parameter(Type::tensor(e, rank), attributes, draw_.random.chance(50) ? "t" : "");
      memories.push_back(std::move(memory));
      scalars.emplace_back();
    }
    if (!inout_free) {
      kernel.add_parameter(Type::tensor(Element::f32, 2), {Direction::inout, 1, {}}, "io");
      Memory memory{Element::f32, {9, 11}, {}};
      fill(memory);
      memories.push_back(std::move(memory));
      scalars.emplace_back();
    }
  }

  /// Draws small values, so that sums stay finite and comparisons go both ways; of integers some edges too.
  void fill(Memory& memory) {
    std::int64_t const count = memory.extents.product();
    int const width = bytes(memory.element);
    memory.bytes.resize(static_cast<std::size_t>(count * width));
    for (std::int64_t i = 0; i < count; ++i) {
      ir::Constant const value =
          memory.element == Element::boolean
              ? ir::Constant{Element::boolean, static_cast<std::uint64_t>(draw_.random.below(2))}
          : is_integer(memory.element)
              ? (draw_.random.chance(25) ? draw_.edge(memory.element)
                                         : ir::make_constant(memory.element, std::int64_t{draw_.random.below(64)} - 24))
              : ir::make_constant(memory.element, (draw_.random.below(64) - 24) / 8.0);
      for (int b = 0; b < width; ++b)
        memory.bytes[static_cast<std::size_t>(i * width + b)] = static_cast<std::byte>(value.bits >> (8 * b));
    }
  }

  void add_probes(ir::Function& kernel, RandomRegion& region) {
    std::vector<Value*> const values = region.values;
    for (Value* value : values) {
      Type const& type = value->type();
      if (!is_integer(type.element()) && type.element() != Element::boolean) continue;
      Extents const shape = type.is_tile() ? type.shape() : Extents{1};
      Value* const tensor =
          kernel.add_parameter(Type::tensor(type.element(), shape.size()), {Direction::out, 1, {}}, "probe");
      Value* const tile = type.is_tile()
                              ? value
                              : region.builder.op(ir::SplatOp{}, {value}, {Type::tile(type.element(), shape)}).result();
      std::vector<Value*> operands = {tensor, tile};
      for (int i = 0; i < shape.size(); ++i) operands.push_back(region.builder.index(0));
      region.builder.op(ir::StoreOp{}, operands, {});
      memories.push_back({type.element(), shape,
                          std::vector<std::byte>(static_cast<std::size_t>(shape.product() * bytes(type.element())))});
      scalars.emplace_back();
      probes.push_back({value, kernel.parameter_count() - 1});
    }
  }

  RandomValues draw_;
};

/// Returns the element at a row-major position.
inline ir::Constant element_at(Memory const& memory, std::int64_t position) {
  int const width = bytes(memory.element);
  std::uint64_t value = 0;
  for (int b = 0; b < width; ++b)
    value |= static_cast<std::uint64_t>(memory.bytes[static_cast<std::size_t>(position * width + b)]) << (8 * b);
  if (is_integer(memory.element)) return ir::make_constant(memory.element, static_cast<std::int64_t>(value));
  return {memory.element, value};
}

}  // namespace tegula::fuzz
