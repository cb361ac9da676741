// Tests what ops state about their kind, and rules for a few of them.
#include "ir/core/families.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/match.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

OpInfo const& info_of(std::string_view mnemonic) { return *find_op(mnemonic); }

Op& add_of_numbers(Function& function) {
  Builder builder(function.body());
  Value* const one = builder.constant(make_constant(Element::i64, std::int64_t{1}), Type::index());
  return builder.op(AddOp{}, {one, one}, {Type::index()});
}

}  // namespace

TEST_CASE("families: each op that an executor does not run names the pass that replaces it") {
  for (int kind = 0; kind < op_kind_count; ++kind) {
    OpInfo const& info = op_info(static_cast<OpKind>(kind));
    INFO(info.mnemonic);
    unsigned const needed = info.is_block_op() ? on_warps : everywhere;
    CHECK(((info.support & needed) == needed || !info.replaced_by.empty()));
  }
  CHECK(why_not_run(info_of("dot"), on_gpu) ==
        "dot: code generation for GPUs does not run it; run schedule-dots first");
  CHECK(why_not_run(info_of("log"), on_host) ==
        "log: code generation for hosts does not run it; run expand-math first");
  CHECK(why_not_run(info_of("barrier"), on_tile_simulator) == "barrier: the simulator of whole tiles does not run it");
}

TEST_CASE("families: functions that Hopper computes run on GPUs") {
  CHECK(info_of("exp2").runs(on_gpu));
  CHECK_FALSE(info_of("exp").runs(on_gpu));
  CHECK_FALSE(info_of("sin").runs(on_gpu));
  CHECK(info_of("sqrt").runs(on_host));
  CHECK_FALSE(info_of("exp").runs(on_host));
}

TEST_CASE("families: copies are told by their effects") {
  auto const of_kind = [](auto test) {
    std::vector<std::string_view> found;
    for (int kind = 0; kind < op_kind_count; ++kind) {
      auto op = std::make_unique<Op>(static_cast<OpKind>(kind), nullptr, std::span<Value* const>(),
                                     std::span<Type const>(), location());
      if (test(*op)) found.push_back(op->info().mnemonic);
    }
    return found;
  };
  using Names = std::vector<std::string_view>;
  CHECK(of_kind(copies_in) == Names{"tma_load", "bulk_load", "cp_async", "cp_async_gather", "cp_async_cover"});
  CHECK(of_kind(copies_out) == Names{"tma_store", "tma_reduce", "bulk_store"});
  CHECK(of_kind(is_log_op) == Names{"profile_begin", "profile_append", "profile_end"});
  CHECK(of_kind(has_indices) == Names{"gather", "scatter", "atomic_update", "compare_exchange", "cp_async_gather"});
  CHECK(of_kind(makes_elements) == Names{"constant", "splat", "iota", "table"});
  CHECK(of_kind([](Op const& op) { return op.is(Family::launch); }) == Names{"grid", "require"});
}

TEST_CASE("match: an op without a rule gives the default") {
  Module module;
  Op& add = add_of_numbers(module.add_function("f", FunctionKind::device));
  auto const rules = [](Op const& op) {
    return match<int>(op, on<SubOp>([] { return 1; }),
                      on<MulOp, AddOp>([](Op const& each) { return each.operand_count(); }));
  };
  CHECK(rules(add) == 2);
  CHECK(rules(*add.lhs()->defining_op()) == 0);
  int calls = 0;
  match<void>(add, on<SubOp>([&] { calls += 10; }), on<AddOp>([&] { ++calls; }));
  CHECK(calls == 1);
}
