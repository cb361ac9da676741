// Implements asserts and prints.
#include <algorithm>

#include "ir/text/text.hpp"
#include "sim/debug.hpp"
#include "sim/meaning.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

void add_values(Agent& agent, std::span<ir::Value* const> operands, support::PrintLine& line) {
  for (ir::Value const* operand : operands) {
    Value const& value = agent.value(*operand);
    if (value.type().is_tile()) line.begin_tile(short_text(value.type()));
    with_storage(value.storage(), [&]<class T>(std::type_identity<T>) {
      for (std::int64_t i = 0; i < value.count(); ++i) line.add(printed(value.data<T>()[i]));
    });
    if (value.type().is_tile()) line.end_tile();
  }
}

}  // namespace

void execute(Agent& agent, Op const& op, AssertOp const& attributes) {
  if (!agent.launch().options().check_asserts) return;
  Value const& condition = agent.value(*op.in<AssertOp>("condition"));
  auto const* const holds = condition.data<std::uint8_t>();
  if (std::all_of(holds, holds + condition.count(), [](std::uint8_t one) { return one != 0; })) return;
  agent.report(ReportKind::failed_assert, op, [&] {
    support::PrintLine line =
        support::failed_assert(agent.launch().kernel().name(), named_block(agent, op), attributes.message.view());
    add_values(agent, op.all<AssertOp>("values"), line);
    return line.text();
  });
}

void execute(Agent& agent, Op const& op, PrintOp const& attributes) {
  if (!agent.launch().options().print) return;
  support::PrintLine line(agent.launch().kernel().name(), named_block(agent, op), attributes.text.view());
  add_values(agent, op.all<PrintOp>("values"), line);
  line.write();
}

}  // namespace tegula::sim
