// Defines small kernels for the simulator's tests.
#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "sim/interpreter.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "tegula/support/error.hpp"

namespace tegula::test {

/// Lists the kernels of every op tested here, for the test that all are there.
inline std::set<ir::OpKind>& exercised_ops() {
  static std::set<ir::OpKind> kinds;
  return kinds;
}
inline void note_ops(ir::Block const& block) {
  for (ir::Op const& op : block) {
    exercised_ops().insert(op.kind());
    for (int i = 0; i < op.block_count(); ++i) note_ops(op.block(i));
  }
}

inline sim::Result simulate(ir::Module const& module, sim::Arguments const& arguments,
                            sim::Options const& options = {}) {
  for (auto const& function : module.functions()) note_ops(function->body());
  return sim::run(module.kernel(), arguments, options);
}

/// Runs `op` ("add %a, %b") on whole one-dimensional tensors as one tile each; operands are %a, %b, %c.
inline HostTensor apply(std::string const& op, std::vector<HostTensor> operands, Element result,
                        std::string const& attributes = "") {
  std::string const extent = fmt::to_string(operands[0].count());
  std::string parameters, loads;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::string const name(1, static_cast<char>('a' + i)), element(tegula::name(operands[i].element()));
    parameters += "%t" + name + ": in tensor<?x" + element + ">, ";
    loads += "  %" + name + " = load %t" + name + ", %zero : tile<" + extent + "x" + element + ">\n";
  }
  std::string const element(tegula::name(result));
  auto const module =
      module_of("kernel @k(" + parameters + "%out: out tensor<?x" + element +
                ">) {\n  %zero = constant {value = 0 : i64} : i64\n" + loads + "  %r = " + op + attributes +
                " : tile<" + extent + "x" + element + ">\n  store %out, %r, %zero\n  return\n}\n");
  HostTensor out(result, {operands[0].count()});
  sim::Arguments arguments;
  for (HostTensor& operand : operands) arguments.emplace_back(operand.view());
  arguments.emplace_back(out.view());
  auto const outcome = simulate(module, arguments);
  INFO(outcome.str());
  REQUIRE(outcome.clean());
  return out;
}

/// Draws random numbers of an element: a third any bits, a third small, a third special.
inline HostTensor random_column(Element element, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  HostTensor column(element, {count});
  column.fill_bits(random);
  std::vector<double> const special = {0.0,  -0.0, 1,     -1,     INFINITY, -INFINITY, NAN,  0.5,
                                       -0.5, 2,    1e-40, 1e-320, 65504,    65520,     3e38, 1e308};
  for (std::int64_t i = 0; i < count; ++i) {
    if (element == Element::boolean || i % 3 == 0) continue;
    if (is_float(element))
      column.set_number(i, i % 3 == 1 ? static_cast<double>(static_cast<std::int64_t>(random() % 2001) - 1000) / 64
                                      : special[random() % special.size()]);
    else
      column.set_integer(i, i % 3 == 1 ? static_cast<std::int64_t>(random() % 201) - 100
                                       : std::vector<std::int64_t>{0, 1, -1, 31, 32, 63, 64, INT32_MIN, INT32_MAX,
                                                                   INT64_MIN, INT64_MAX, -2, 2}[random() % 13]);
  }
  return column;
}

}  // namespace tegula::test
