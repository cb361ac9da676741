// Types records and the ops of logs.
#include <fmt/format.h>

#include "ir/infer/infer_rule.hpp"
#include "ir/memory/log_layout.hpp"
#include "tegula/abi/profile_format.hpp"

namespace tegula::ir {
namespace {

void number_operand(Rule& rule, std::size_t at) {
  rule.require(rule.operands.size() <= at + 1,
               fmt::format("{} operands but takes at most {}", rule.operands.size(), at + 1));
  if (!rule.failed && rule.operands.size() == at + 1) rule.index_operand("value");
}

void log_operand(Rule& rule) { rule.index_operand("log"); }

void named(Rule& rule, Symbol name) {
  rule.require(!name.empty() && name.view().size() <= max_record_name,
               fmt::format("the name has {} characters but must have 1 to {}", name.view().size(), max_record_name));
}

/// Requires a buffer of 8-byte words for so many bytes.
void words_for(Rule& rule, OperandOf place, bool fits, std::int64_t needed) {
  Type const& type = rule.operand(place);
  rule.require(fits && type.element() == Element::i64 && type.elements() * 8 >= needed,
               fmt::format("{} but must hold {} elements of i64", rule.says(place), needed / 8));
}

}  // namespace

void apply(Rule& rule, RecordOp const& op) {
  named(rule, op.name);
  number_operand(rule, 0);
}

void apply(Rule& rule, ProfileBeginOp const& op) {
  ProfileLayout const layout = log_layout(op);
  rule.require((op.slots & (op.slots - 1)) == 0, fmt::format("slots is {}, not a power of two", op.slots));
  words_for(rule, "buffer", rule.operand("buffer").is_global(), profile_buffer_bytes(layout));
  rule.require(rule.operands.size() <= 2, "more than two operands");
  if (!rule.failed && rule.operands.size() == 2)
    words_for(rule, "shared", rule.operand("shared").is_shared(), profile_row_bytes(layout));
  rule.result(Type::index());
}

void apply(Rule& rule, ProfileAppendOp const& op) {
  named(rule, op.name);
  rule.require(op.stops < 0 || op.event == RecordEvent::start, "a stop that stops another name too");
  log_operand(rule);
  number_operand(rule, 1);
}

void apply(Rule& rule, ProfileEndOp const&) { log_operand(rule); }

}  // namespace tegula::ir
