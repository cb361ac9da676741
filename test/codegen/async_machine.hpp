// Extends BlockMachine by mbarriers, named barriers, TMA and bulk copies: enough to run whole kernels of block ops from
// their PTX. Copies are done when they are issued; the order of waits is the schedule's only freedom. So this judges
// addresses, coordinates, counts and parities, not races (the simulator does).
#pragma once

#include <algorithm>
#include <array>

#include "codegen/block_machine.hpp"

namespace tegula::test {

class AsyncMachine : public BlockMachine {
 public:
  explicit AsyncMachine(std::string_view ptx) : BlockMachine(ptx) { barriers_order_all = false; }

  /// Describes a tensor map as the launcher encodes it: extents, strides and box outermost axis first, in elements.
  struct Map {
    std::uint64_t address;
    int element_bytes;
    std::vector<std::int64_t> extents, strides, box;
    int swizzle_bytes;
  };
  /// Holds the by-value parameters after the first `slots` ones.
  void set_maps(std::size_t slots, std::vector<Map> maps) {
    slots_ = slots;
    maps_ = std::move(maps);
  }
  void start() {
    mbarriers_.clear();
    named_.clear();
  }

 protected:
  bool together(Instruction const& at, std::vector<int> const& active) override {
    std::string const& op = at.words[0];
    auto const has = [&](std::size_t i, char const* word) { return i < at.words.size() && at.words[i] == word; };
    if (op == "setmaxnreg" || op == "prefetch" || op == "createpolicy") return true;
    if (op == "cvta") {
      for (int t : active) write_register(t, at.operands[0], value(t, at.operands[1]));
      return true;
    }
    if (op == "bar" && (at.operands.size() == 2 || has(1, "warp"))) return named_barrier(at, active);
    if (op == "mbarrier") return mbarrier(at, active);
    if (op == "atom") return atomic(at, active);
    if (op == "cp" && has(2, "bulk")) return bulk_copy(at, active);
    int const group = threads_together(op);
    if (group == 0) return BlockMachine::together(at, active);
    std::vector<int> const whole = gathered(active, group);
    if (whole.empty()) return true;
    if (BlockMachine::together(at, whole)) return true;
    if (whole.size() != active.size()) fail("lanes of a warp are apart", &at);
    return false;
  }

 private:
  /// Returns how many threads execute an instruction together; 0: each alone.
  static int threads_together(std::string const& op) {
    if (op == "wgmma") return 128;
    constexpr std::array of_warps{"shfl", "vote", "elect", "ldmatrix", "stmatrix", "mma"};
    return std::find(of_warps.begin(), of_warps.end(), op) != of_warps.end() ? 32 : 0;
  }

  bool bulk_copy(Instruction const& at, std::vector<int> const& active) {
    std::string const& what = at.words[3];
    if (what == "commit_group" || what == "wait_group" || what == "prefetch") return true;
    for (int t : active) what == "tensor" ? tensor_copy(at, t) : linear_copy(at, t);
    return true;
  }

  /// Selects the threads whose groups are complete here. The others wait at the instruction for the rest of their
  /// group, as diverged lanes do where a branch ends.
  std::vector<int> gathered(std::vector<int> const& active, int size) {
    std::map<int, std::size_t> here, all;
    std::size_t const pc = threads_[static_cast<std::size_t>(active[0])].pc;
    for (int t : active) ++here[t / size];
    for (int t = 0; t < static_cast<int>(threads_.size()); ++t)
      if (!threads_[static_cast<std::size_t>(t)].done) ++all[t / size];
    std::vector<int> whole;
    for (int t : active) {
      if (here[t / size] == all[t / size]) {
        whole.push_back(t);
        continue;
      }
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      --thread.pc;
      thread.blocked = at_instruction;
    }
    // A group whose last threads have come goes on together.
    for (auto const& [group, count] : all) {
      std::size_t waiting = 0;
      for (int t = group * size; t < (group + 1) * size; ++t) {
        Thread const& thread = threads_[static_cast<std::size_t>(t)];
        waiting += !thread.done && thread.blocked == at_instruction && thread.pc + 1 == pc ? 1 : 0;
      }
      if (waiting != count) continue;
      for (int t = group * size; t < (group + 1) * size; ++t) threads_[static_cast<std::size_t>(t)].blocked = 0;
    }
    return whole;
  }

  static constexpr int at_mbarrier = 1;       ///< tries again when a phase completes
  static constexpr int at_named_barrier = 2;  ///< is past the instruction
  static constexpr int at_instruction = 3;    ///< that its whole warp or warpgroup executes

  struct Mbarrier {
    std::int64_t phase = 0, expected = 0, pending = 0, bytes = 0;
  };

  std::uint64_t value(int t, Operand const& from) { return read(threads_[static_cast<std::size_t>(t)], from, t); }
  void write_register(int t, Operand const& to, std::uint64_t value) {
    threads_[static_cast<std::size_t>(t)].registers[static_cast<std::size_t>(to.value)] = value;
  }
  std::uint64_t address(int t, Operand const& memory) {
    return value(t, memory.parts[0]) + static_cast<std::uint64_t>(memory.offset);
  }

  void settle(Mbarrier& barrier) {
    if (barrier.pending != 0 || barrier.bytes != 0) return;
    ++barrier.phase;
    barrier.pending = barrier.expected;
    for (Thread& thread : threads_)
      if (thread.blocked == at_mbarrier) thread.blocked = 0;
  }
  Mbarrier& live(std::uint64_t at, Instruction const& instruction) {
    auto const found = mbarriers_.find(at);
    if (found == mbarriers_.end()) fail("no mbarrier was initialised there", &instruction);
    return found->second;
  }
  void complete(std::uint64_t at, std::int64_t bytes, Instruction const& instruction) {
    Mbarrier& barrier = live(at, instruction);
    barrier.bytes -= bytes;
    settle(barrier);
  }

  bool mbarrier(Instruction const& at, std::vector<int> const& active) {
    std::string const& operation = at.words[1];
    bool const expects = at.words[2] == "expect_tx" || operation == "expect_tx";
    for (int t : active) {
      if (operation == "try_wait" || operation == "test_wait") {
        Mbarrier& barrier = live(address(t, at.operands[1]), at);
        bool const passed = (barrier.phase & 1) != static_cast<std::int64_t>(value(t, at.operands[2]));
        write_register(t, at.operands[0], passed ? 1 : 0);
        Thread& thread = threads_[static_cast<std::size_t>(t)];
        if (passed || operation == "test_wait") continue;
        --thread.pc;
        thread.blocked = at_mbarrier;
        continue;
      }
      Operand const& place = at.operands[operation == "arrive" || operation == "arrive_drop" ? 1 : 0];
      if (operation == "init") {
        auto const count = static_cast<std::int64_t>(value(t, at.operands[1]));
        mbarriers_[address(t, place)] = {0, count, count, 0};
        continue;
      }
      if (operation == "inval") {
        mbarriers_.erase(address(t, place));
        continue;
      }
      Mbarrier& barrier = live(address(t, place), at);
      if (expects) barrier.bytes += static_cast<std::int64_t>(value(t, at.operands.back()));
      if (operation != "arrive") continue;
      bool const counts = !expects && at.operands.size() == 3;
      barrier.pending -= counts ? static_cast<std::int64_t>(value(t, at.operands[2])) : 1;
      if (barrier.pending < 0) fail("more arrivals than the mbarrier expects", &at);
      settle(barrier);
    }
    return true;
  }

  bool named_barrier(Instruction const& at, std::vector<int> const& active) {
    if (at.words[1] == "warp") return true;
    for (int t : active) {
      Named& barrier = named_[value(t, at.operands[0])];
      auto const threads = static_cast<std::size_t>(value(t, at.operands[1]));
      ++barrier.arrived;
      if (at.words[1] == "sync") {
        barrier.waiting.push_back(t);
        threads_[static_cast<std::size_t>(t)].blocked = at_named_barrier;
      }
      if (barrier.arrived < threads) continue;
      for (int waiting : barrier.waiting) threads_[static_cast<std::size_t>(waiting)].blocked = 0;
      barrier = {};
    }
    return true;
  }

  bool atomic(Instruction const& at, std::vector<int> const& active) {
    for (int t : active) {
      std::uint64_t const place = address(t, at.operands[1]), operand = value(t, at.operands[2]);
      int const bytes = bits_of(at.words.back()) / 8;
      std::uint64_t const old = access(false, place, bytes, false, 0, t, at);
      std::uint64_t next = operand;
      if (at.words[4] == "add")
        next = is_float(at.words.back())
                   ? encode(number(old, at.words.back()) + number(operand, at.words.back()), at.words.back())
                   : old + operand;
      else if (at.words[4] == "inc")
        next = old >= operand ? 0 : old + 1;
      else if (at.words[4] != "exch")
        fail("an atomic that the machine does not know", &at);
      access(false, place, bytes, true, cut(next, bytes * 8), t, at);
      write_register(t, at.operands[0], old);
    }
    return true;
  }

  static std::uint64_t swizzled(std::uint64_t address, int span) {
    std::uint64_t const mask = span == 0 ? 0 : static_cast<std::uint64_t>(span / 16 - 1);
    return address ^ (address >> 7 & mask) << 4;
  }

  void tensor_copy(Instruction const& at, int t) {
    bool const load = at.words[5] != "global";
    Operand const& tensor = at.operands[load ? 1 : 0];
    std::uint64_t const number = value(t, tensor.parts[0]) - parameter_address - slots_;
    if (number >= maps_.size()) fail("no tensor map", &at);
    Map const& map = maps_[number];
    std::size_t const rank = map.extents.size();
    std::vector<std::int64_t> first(rank);
    for (std::size_t axis = 0; axis < rank; ++axis)
      first[axis] = sign(value(t, tensor.parts[1].parts[rank - 1 - axis]), 32);
    if (first[rank - 1] * map.element_bytes % 16 != 0) fail("a box that does not begin at 16 bytes", &at);
    if (!load && std::any_of(first.begin(), first.end(), [](std::int64_t at_axis) { return at_axis < 0; }))
      fail("a box of a store that begins at a negative coordinate", &at);
    std::uint64_t const shared = address(t, at.operands[load ? 0 : 1]);
    if (shared % 128 != 0) fail("a box that does not begin at 128 bytes of shared memory", &at);
    std::int64_t elements = 1;
    for (std::int64_t extent : map.box) elements *= extent;
    for (std::int64_t n = 0; n < elements; ++n) {
      std::int64_t rest = n, offset = 0;
      bool inside = true;
      for (std::size_t axis = rank; axis-- > 0;) {
        std::int64_t const coordinate = first[axis] + rest % map.box[axis];
        rest /= map.box[axis];
        inside &= coordinate >= 0 && coordinate < map.extents[axis];
        offset += coordinate * map.strides[axis];
      }
      std::uint64_t const global = map.address + static_cast<std::uint64_t>(offset * map.element_bytes);
      std::uint64_t const place =
          swizzled(shared + static_cast<std::uint64_t>(n * map.element_bytes), map.swizzle_bytes);
      if (load)
        access(true, place, map.element_bytes, true,
               inside ? access(false, global, map.element_bytes, false, 0, t, at) : 0, t, at);
      else if (inside)
        access(false, global, map.element_bytes, true, access(true, place, map.element_bytes, false, 0, t, at), t, at);
    }
    if (load) complete(address(t, at.operands[2]), elements * map.element_bytes, at);
  }

  void linear_copy(Instruction const& at, int t) {
    bool const load = at.words[3] != "global";
    std::uint64_t const to = address(t, at.operands[0]), from = address(t, at.operands[1]);
    std::uint64_t const bytes = value(t, at.operands[2]);
    if (to % 16 != 0 || from % 16 != 0 || bytes % 16 != 0) fail("a bulk copy that is not aligned to 16 bytes", &at);
    for (std::uint64_t i = 0; i < bytes; i += 4)
      access(load, to + i, 4, true, access(!load, from + i, 4, false, 0, t, at), t, at);
    if (load) complete(address(t, at.operands[3]), static_cast<std::int64_t>(bytes), at);
  }

  struct Named {
    std::size_t arrived = 0;
    std::vector<int> waiting;
  };
  std::size_t slots_ = 0;
  std::vector<Map> maps_;
  std::map<std::uint64_t, Mbarrier> mbarriers_;
  std::map<std::uint64_t, Named> named_;
};

}  // namespace tegula::test
