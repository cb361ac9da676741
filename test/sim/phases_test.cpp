// Tests the source of the phase of each wait. There are no token variables: stage and parity are calculated from a
// loop-carried counter. So SSA keeps it alive from the first arrive to the last wait.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/golden.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Names a loop-carried value: the loop and its place in `carry`; -1: the number of the iteration.
using Carried = std::pair<ir::Op const*, int>;

/// Lists the values from which a number is calculated.
struct Sources {
  std::set<Carried> carried;
  bool others = false;  ///< besides constants and numbers of groups
};

int first_carried(ir::Op const& loop) { return loop.is<ir::ForOp>() ? 1 : 0; }

void collect(ir::Value const& value, Sources& found) {
  if (ir::Block const* const block = value.owner_block(); block != nullptr) {
    ir::Op const* const parent = block->parent_op();
    if (parent == nullptr)
      found.others = true;  // a parameter
    else if (parent->is<ir::ForOp>() || parent->is<ir::RepeatOp>())
      found.carried.insert({parent, value.index() - first_carried(*parent)});
    return;
  }
  ir::Op const& op = *value.defining_op();
  if (op.is<ir::ForOp>() || op.is<ir::RepeatOp>()) {
    found.carried.insert({&op, value.index()});
    return;
  }
  if (op.is<ir::ConstantOp>()) return;
  if (op.block_count() != 0 || op.operand_count() == 0 || !value.type().is_scalar()) {
    found.others = true;
    return;
  }
  for (ir::Value const* operand : op.operands()) collect(*operand, found);
}

Sources sources_of(ir::Value const& value) {
  Sources found;
  collect(value, found);
  return found;
}

std::set<ir::Op const*> loops_of(Sources const& sources) {
  std::set<ir::Op const*> loops;
  for (Carried const& carried : sources.carried) loops.insert(carried.first);
  return loops;
}

/// Tells whether a value that a loop carries is alive at an op: in the loop, or after it in a block around the op.
bool is_alive(ir::Op const& loop, ir::Op const& at) {
  for (ir::Op const* around = &at; around != nullptr; around = around->parent_op())
    if (around == &loop || around->parent() == loop.parent()) return true;
  return false;
}

/// Names the error in a parity alone: it counts from a carried value that is alive at the wait. Empty: none.
std::string counter_error(ir::Op const& wait, Sources const& parity) {
  // A loop's own number and fixed values may be added to a carried value, but never stand alone.
  bool const counter = std::any_of(parity.carried.begin(), parity.carried.end(),
                                   [](Carried const& carried) { return carried.second >= 0; });
  if (!counter && (parity.others || !parity.carried.empty())) return "the parity counts from no carried value";
  for (Carried const& carried : parity.carried)
    if (!is_alive(*carried.first, wait)) return "the counter is not alive here";
  return {};
}

/// Names the error in a parity beside its stage: both come from one counter, or step together. Empty: none.
std::string step_error(Sources const& stage, Sources const& parity) {
  if (parity.carried.empty()) return {};  // a first wait for each stage
  if (stage.carried == parity.carried && stage.others == parity.others) return {};
  // Kept as a pair (stage, parity): the parity's next value depends on the stage's.
  auto const [loop, place] = *parity.carried.begin();
  if (parity.carried.size() != 1 || loops_of(stage) != loops_of(parity))
    return "stage and parity come from two counters";
  int const skipped = loop->is<ir::RepeatOp>() ? 1 : 0;
  Sources const next = sources_of(*loop->block().back().operand(place + skipped));
  for (Carried const& carried : stage.carried)
    if (next.carried.count(carried) == 0) return "the parity does not step with the stage";
  return {};
}

/// Names the errors in the phases that a kernel waits for; empty: none. Counts the waits for stages.
std::string phase_error(ir::Module const& module, int& counted) {
  for (ir::Op const* op : test::detail::all_ops(module.kernel().body())) {
    if (!op->is<ir::MbarrierWaitOp>()) continue;
    Sources const parity = sources_of(*op->operand(1));
    ir::Op const& view = *op->operand(0)->defining_op();
    Sources const stage = view.is<ir::ViewOp>() ? sources_of(*view.operand(1)) : Sources{};
    std::string error = counter_error(*op, parity);
    if (error.empty() && !stage.carried.empty()) {
      ++counted;
      error = step_error(stage, parity);
    }
    if (!error.empty()) return test::detail::one_line(*op) + ": " + error;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> target_texts() {
  std::vector<std::pair<std::string, std::string>> texts;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/target"))
    texts.emplace_back(entry.path().stem().string(), read_file(entry.path().string()));
  return texts;
}

std::string error_of(std::string const& text, int& counted) { return phase_error(module_of(text), counted); }

}  // namespace

TEST_CASE("stage and parity of every wait come from one counter that is alive from arrive to wait", "[B17]") {
  for (auto const& [name, text] : target_texts()) {
    INFO(name);
    int counted = 0;
    CHECK(error_of(text, counted) == "");
    CHECK(counted >= 1);
  }
}

TEST_CASE("a parity from another counter is found", "[B17]") {
  std::string const gemm = read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/gemm.tir");
  auto const with = [&](std::string const& from, std::string const& to) {
    std::string text = gemm;
    std::size_t const at = text.find(from);
    REQUIRE(at != std::string::npos);
    int counted = 0;
    return error_of(text.replace(at, from.size(), to), counted);
  };
  CHECK_THAT(with("%use = shr %i, %k2", "%use = shr %block, %k2"), ContainsSubstring("counts from no carried value"));
  CHECK_THAT(with("%use_2 = shr %i_2, %k2", "%use_2 = shr %i1, %k2"), ContainsSubstring("from two counters"));
  CHECK_THAT(with("%use0 = shr %i0_2, %k2", "%use0 = shr %tile_2, %k2"),
             ContainsSubstring("counts from no carried value"));
  CHECK_THAT(with("%use = shr %i, %k2", "%use = shr %blocks_k, %k2"),
             ContainsSubstring("counts from no carried value"));
}
