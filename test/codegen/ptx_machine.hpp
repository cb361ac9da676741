// Runs PTX text on the CPU, one CTA at a time. It is an oracle for the PTX of the device code generator, where there is
// no GPU.
//
// Threads run in lock-step as far as their branches allow (the lowest program counter goes first, so branches join
// again where the text joins them). Global memory is this process's own, limited to the regions that a test names;
// every access outside them is an error. Two threads that touch a byte without a bar.sync between, one of them writing,
// are an error, in shared and in global memory, unless both do it by atomics. So is a read of unwritten shared memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codegen/ptx_arithmetic.hpp"

namespace tegula::test {

class PtxMachine : protected PtxArithmetic {
 public:
  explicit PtxMachine(std::string_view ptx) : PtxArithmetic(ptx) {
    for (auto const& [name, table] : tables_)
      allow(reinterpret_cast<void const*>(table.address()), static_cast<std::int64_t>(table.size), false);
  }
  virtual ~PtxMachine() = default;

  /// Describes memory that the kernel may read, or read and write.
  void allow(void const* begin, std::int64_t bytes, bool writable) {
    regions_.push_back({reinterpret_cast<std::uint64_t>(begin),
                        reinterpret_cast<std::uint64_t>(begin) + static_cast<std::uint64_t>(bytes), writable});
  }

  /// Runs one CTA to its end.
  void run_cta(int threads, std::int64_t shared_bytes, std::vector<std::uint64_t> const& parameters,
               std::uint64_t const (&block)[3]) {
    threads_.assign(static_cast<std::size_t>(threads), {});
    for (Thread& thread : threads_) {
      thread.registers.assign(register_count_, 0);
      thread.pc = entry_;
    }
    shared_.assign(static_cast<std::size_t>(shared_bytes), 0);
    shared_written_.assign(static_cast<std::size_t>(shared_bytes), false);
    touched_.clear();
    epoch_ = 0;
    parameters_ = &parameters;
    for (int i = 0; i < 3; ++i) block_[i] = block[i];
    while (step()) {
    }
  }

 protected:
  struct Frame {
    std::size_t back_to;  ///< of the caller's code
    std::size_t call;     ///< its number in calls_
  };
  struct Thread {
    std::vector<std::uint64_t> registers;
    std::size_t pc = 0;
    std::vector<Frame> frames;
    std::map<std::string, std::map<std::int64_t, std::uint8_t>> passed;  ///< by symbol of .param space and byte
    bool at_barrier = false;
    int blocked = 0;  ///< not 0: waits for something of that kind; the machine that blocks it also frees it
    bool done = false;
  };
  struct Region {
    std::uint64_t begin, end;
    bool writable;
  };
  /// Names the threads that touched a byte in one way since the last barrier of the CTA.
  struct Party {
    int thread = -1;  // -1: none, -2: several
    int warp = -1;    // -2: several
    std::int64_t warp_epoch = 0;
  };
  struct Touch {
    std::int64_t epoch = -1;
    Party writer, reader, updater;  // an updater is atomic
  };

  /// Begins the addresses of parameters; the parameter's number is added.
  static constexpr std::uint64_t parameter_address = std::uint64_t{1} << 62;
  /// Lets only bar.sync 0 order threads, so that its absence between two accesses is an error.
  bool barriers_order_all = true;

  /// Runs an instruction that threads execute together: true if it is one of those and done. See BlockMachine.
  virtual bool together(Instruction const&, std::vector<int> const&) { return false; }

  // Execution.
  bool step() {
    std::size_t pc = code_.size();
    bool waiting = false, blocked = false;
    for (Thread const& thread : threads_) {
      if (thread.done) continue;
      waiting |= thread.at_barrier;
      blocked |= thread.blocked != 0;
      if (!thread.at_barrier && thread.blocked == 0) pc = std::min(pc, thread.pc);
    }
    if (pc == code_.size()) {
      if (blocked) fail("deadlock: threads wait and none runs");
      if (!waiting) return false;
      for (Thread& thread : threads_) {
        if (thread.done && waiting) fail("a thread ended while others wait at a barrier");
        thread.at_barrier = false;
      }
      ++epoch_;
      return true;
    }
    Instruction const& instruction = code_[pc];
    std::vector<int> active;
    for (int t = 0; t < static_cast<int>(threads_.size()); ++t) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      if (thread.done || thread.at_barrier || thread.blocked != 0 || thread.pc != pc) continue;
      ++thread.pc;
      bool const on = instruction.predicate < 0 ||
                      (thread.registers[static_cast<std::size_t>(instruction.predicate)] != 0) != instruction.negated;
      if (on) active.push_back(t);
    }
    execute(instruction, active);
    return true;
  }

  std::uint64_t read(Thread const& thread, Operand const& from, int number) const {
    switch (from.kind) {
      case Operand::Kind::reg:
        return thread.registers[static_cast<std::size_t>(from.value)];
      case Operand::Kind::immediate:
        return from.value;
      case Operand::Kind::shared_symbol:
        return 0;
      case Operand::Kind::parameter:
        return parameter_address + from.value;
      case Operand::Kind::special:
        return from.value == 0 ? static_cast<std::uint64_t>(number) : block_[from.value - 1];
      default:
        fail("an operand that is no value");
    }
  }
  enum class Way { reads, writes, updates };
  void touch(std::uint64_t address, int thread, Way way, Instruction const& at) {
    if (!barriers_order_all) return;
    Touch& touch = touched_[address];
    if (touch.epoch != epoch_) touch = {epoch_, {}, {}, {}};
    int const warp = thread / 32;
    std::int64_t const now = warp_epochs_[warp];
    // The barrier of a warp orders its lanes.
    auto const meets = [&](Party const& known) {
      return known.thread != -1 && known.thread != thread && (known.warp != warp || known.warp_epoch == now);
    };
    if (meets(touch.writer) || (way != Way::reads && meets(touch.reader)) ||
        (way != Way::updates && meets(touch.updater)))
      fail("two threads touch one byte without a barrier between", &at);
    Party& known = way == Way::reads ? touch.reader : way == Way::writes ? touch.writer : touch.updater;
    known = meets(known) ? Party{-2, known.warp == warp ? warp : -2, now} : Party{thread, warp, now};
  }

  /// Tells whether the kernel may write the region of global memory that an access touches.
  bool writable_region(std::uint64_t address, int bytes, bool write, Instruction const& at) {
    auto const region = std::find_if(regions_.begin(), regions_.end(), [&](Region const& r) {
      return address >= r.begin && address + static_cast<std::uint64_t>(bytes) <= r.end;
    });
    if (region == regions_.end()) fail("outside global memory", &at);
    if (write && !region->writable) fail("write to read-only memory", &at);
    bool const read_only_path = has(at, "nc");
    if (read_only_path && region->writable) fail("ld.global.nc of memory that the kernel writes", &at);
    if (read_only_path && overlaps_grid_before_)
      fail("ld.global.nc of memory that the grid before may write while this kernel runs", &at);
    return region->writable;
  }

  std::uint64_t access(bool shared, std::uint64_t address, int bytes, bool write, std::uint64_t value, int thread,
                       Instruction const& at, bool updates = false) {
    Way const way = updates ? Way::updates : write ? Way::writes : Way::reads;
    if (address % static_cast<std::uint64_t>(bytes) != 0) fail("misaligned access", &at);
    bool const constant = !shared && !writable_region(address, bytes, write, at);
    if (shared && address + static_cast<std::uint64_t>(bytes) > shared_.size()) fail("outside shared memory", &at);
    std::uint8_t* const memory = shared ? shared_.data() + address : reinterpret_cast<std::uint8_t*>(address);
    for (int i = 0; i < bytes && !constant; ++i)
      touch((shared ? std::uint64_t{1} << 63 : 0) + address + static_cast<std::uint64_t>(i), thread, way, at);
    for (int i = 0; i < bytes && shared; ++i) {
      std::size_t const byte = static_cast<std::size_t>(address) + static_cast<std::size_t>(i);
      if (!write && !shared_written_[byte]) fail("shared memory is read before it is written", &at);
      if (write) shared_written_[byte] = true;
    }
    if (write) std::memcpy(memory, &value, static_cast<std::size_t>(bytes));
    std::uint64_t result = 0;
    std::memcpy(&result, memory, static_cast<std::size_t>(bytes));
    return result;
  }

  /// Reads a parameter of the kernel.
  void load_parameter(Instruction const& at, Thread& thread) {
    int const bytes = bits_of(at.words.back()) / 8;
    Operand const& place = at.operands[1];
    Operand const& data = at.operands[0];
    if (at.words[0] != "ld" || data.kind == Operand::Kind::vector || place.offset < 0 || place.offset + bytes > 8)
      refuse(at);
    std::uint64_t const slot = (*parameters_)[static_cast<std::size_t>(place.parts[0].value)];
    std::uint64_t const value = cut(slot >> (8 * place.offset), 8 * bytes);
    thread.registers[static_cast<std::size_t>(data.value)] = loaded(at, value);
  }

  /// Extends what a load reads to a register: by its sign, or by zeros.
  static std::uint64_t loaded(Instruction const& at, std::uint64_t value) {
    std::string const& type = at.words.back();
    return type[0] == 's' ? static_cast<std::uint64_t>(sign(value, bits_of(type))) : value;
  }

  /// Writes an argument of a call, or reads an argument or result that was passed.
  void pass(Instruction const& at, Thread& thread, int t) {
    bool const load = at.words[0] == "ld";
    int const bytes = bits_of(at.words.back()) / 8;
    Operand const& place = at.operands[load ? 1 : 0];
    Operand const& data = at.operands[load ? 0 : 1];
    auto& passed = thread.passed[place.parts[0].symbol];
    std::size_t const count = data.kind == Operand::Kind::vector ? data.parts.size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      Operand const& part = data.kind == Operand::Kind::vector ? data.parts[i] : data;
      std::int64_t const byte = place.offset + static_cast<std::int64_t>(i) * bytes;
      std::uint64_t value = load ? 0 : read(thread, part, t);
      for (int b = 0; b < bytes; ++b) {
        if (!load) {
          passed[byte + b] = static_cast<std::uint8_t>(value >> (8 * b));
          continue;
        }
        auto const found = passed.find(byte + b);
        if (found == passed.end()) fail("an argument or result that was not passed", &at);
        value |= std::uint64_t{found->second} << (8 * b);
      }
      if (load) thread.registers[static_cast<std::size_t>(part.value)] = loaded(at, value);
    }
  }

  void load_store(Instruction const& at, std::vector<int> const& active) {
    bool const load = at.words[0] == "ld";
    std::string const& type = at.words.back();
    if (bits_of(type) % 8 != 0 || bits_of(type) > 64) refuse(at);
    int const bytes = bits_of(type) / 8;
    Operand const& place = at.operands[load ? 1 : 0];
    Operand const& data = at.operands[load ? 0 : 1];
    bool const in_parameters = has(at, "param"), shared = has(at, "shared") || has(at, "shared::cta");
    if (!in_parameters && !shared && !has(at, "global"))
      fail("an access to a space that the machine does not have", &at);
    std::size_t const count = data.kind == Operand::Kind::vector ? data.parts.size() : 1;
    for (int t : active) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      if (in_parameters) {
        place.parts[0].symbol.empty() ? load_parameter(at, thread) : pass(at, thread, t);
        continue;
      }
      std::uint64_t const base = read(thread, place.parts[0], t) + static_cast<std::uint64_t>(place.offset);
      if (base % (static_cast<std::uint64_t>(bytes) * count) != 0) fail("misaligned vector access", &at);
      for (std::size_t i = 0; i < count; ++i) {
        Operand const& part = count == 1 ? (data.kind == Operand::Kind::vector ? data.parts[0] : data) : data.parts[i];
        std::uint64_t const address = base + i * static_cast<std::uint64_t>(bytes);
        if (!load) {
          access(shared, address, bytes, true, cut(read(thread, part, t), bytes * 8), t, at);
          continue;
        }
        thread.registers[static_cast<std::size_t>(part.value)] =
            loaded(at, access(shared, address, bytes, false, 0, t, at));
      }
    }
  }

  /// Adds to 32 bits of shared memory.
  void update(Instruction const& at, std::vector<int> const& active) {
    allow_only(at, {"relaxed", "cta", "shared", "add"});
    if (at.words.back() != "u32" || !has(at, "shared") || !has(at, "add")) refuse(at);
    Operand const& place = at.operands[0];
    for (int t : active) {
      Thread const& thread = threads_[static_cast<std::size_t>(t)];
      std::uint64_t const address = read(thread, place.parts[0], t) + static_cast<std::uint64_t>(place.offset);
      std::uint64_t const old = access(true, address, 4, false, 0, t, at, true);
      access(true, address, 4, true, cut(old + read(thread, at.operands[1], t), 32), t, at, true);
    }
  }

  /// Orders the lanes of warps, all of which take part.
  void warp_barrier(Instruction const& at, std::vector<int> const& active) {
    std::map<int, int> lanes;
    for (int t : active) ++lanes[t / 32];
    for (auto const& [warp, count] : lanes) {
      if (count != 32) fail("a barrier of a warp that not all of its lanes reach", &at);
      ++warp_epochs_[warp];
    }
  }

  /// Gives each lane the lanes of its warp in which a predicate is true.
  void ballot(Instruction const& at, std::vector<int> const& active) {
    if (at.words != std::vector<std::string>{"vote", "sync", "ballot", "b32"}) refuse(at);
    std::map<int, std::uint64_t> lanes;
    for (int t : active)
      lanes[t / 32] |= (read(threads_[static_cast<std::size_t>(t)], at.operands[1], t) & 1) << (t % 32);
    for (int t : active)
      threads_[static_cast<std::size_t>(t)].registers[static_cast<std::size_t>(at.operands[0].value)] = lanes[t / 32];
  }

  void shuffle(Instruction const& at, std::vector<int> const& active) {
    bool const by_index = has(at, "idx");
    if ((!by_index && !has(at, "bfly")) || at.words.back() != "b32" || at.operands[3].value != 31) refuse(at);
    std::map<int, std::uint64_t> before;
    for (int t : active) before[t] = read(threads_[static_cast<std::size_t>(t)], at.operands[1], t);
    for (int t : active) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      int const lane = static_cast<int>(read(thread, at.operands[2], t) & 31);
      int const from = by_index ? t / 32 * 32 + lane : t ^ lane;
      if (before.find(from) == before.end()) fail("a shuffle from a lane that does not take part", &at);
      thread.registers[static_cast<std::size_t>(at.operands[0].value)] = before[from];
    }
  }

  void execute(Instruction const& at, std::vector<int> const& active) {
    std::string const& op = at.words[0];
    if (op == "ld" || op == "st") return load_store(at, active);
    if (together(at, active)) return;
    if (op == "shfl") return shuffle(at, active);
    if (op == "vote") return ballot(at, active);
    if (op == "bar" && at.words[1] == "warp") return warp_barrier(at, active);
    if (op == "red") return update(at, active);
    for (int t : active) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      if (op == "bra") {
        thread.pc = labels_.at(at.operands[0].value);
      } else if (op == "call") {
        enter(thread, static_cast<std::size_t>(at.operands[0].value));
      } else if (op == "ret") {
        leave(thread);
      } else if (op == "bar") {
        if (at.words[1] != "sync" || at.operands.size() != 1) refuse(at);
        thread.at_barrier = true;
      } else if (op == "mov" &&
                 (at.operands[0].kind == Operand::Kind::vector || at.operands[1].kind == Operand::Kind::vector)) {
        move_vector(at, thread, t);
      } else {
        std::vector<std::uint64_t> in;
        for (std::size_t i = 1; i < at.operands.size(); ++i) in.push_back(read(thread, at.operands[i], t));
        thread.registers[static_cast<std::size_t>(at.operands[0].value)] = compute(at, in);
      }
    }
  }

  static void pass(Thread& thread, std::vector<std::string> const& from, std::vector<std::string> const& to) {
    for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) thread.passed[to[i]] = thread.passed[from[i]];
  }
  void enter(Thread& thread, std::size_t number) const {
    Call const& call = calls_[number];
    Code const& code = code_of_.at(call.callee);
    pass(thread, call.arguments, code.parameters);
    thread.frames.push_back({thread.pc, number});
    thread.pc = code.begin;
  }
  void leave(Thread& thread) const {
    if (thread.frames.empty()) {
      thread.done = true;
      return;
    }
    Call const& call = calls_[thread.frames.back().call];
    pass(thread, code_of_.at(call.callee).results, call.results);
    thread.pc = thread.frames.back().back_to;
    thread.frames.pop_back();
  }

  void move_vector(Instruction const& at, Thread& thread, int t) {
    int const bits = bits_of(at.words.back());
    if (bits > 64) refuse(at);
    if (at.operands[0].kind == Operand::Kind::vector) {
      std::uint64_t value = read(thread, at.operands[1], t);
      int const each = bits / static_cast<int>(at.operands[0].parts.size());
      for (Operand const& part : at.operands[0].parts) {
        thread.registers[static_cast<std::size_t>(part.value)] = cut(value, each);
        value >>= each;
      }
      return;
    }
    int const each = bits / static_cast<int>(at.operands[1].parts.size());
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < at.operands[1].parts.size(); ++i)
      value |= cut(read(thread, at.operands[1].parts[i], t), each) << (static_cast<int>(i) * each);
    thread.registers[static_cast<std::size_t>(at.operands[0].value)] = value;
  }

  std::vector<Region> regions_;
  bool overlaps_grid_before_ = false;  ///< it has waited for the grid before, or let the next one begin
  std::vector<Thread> threads_;
  std::vector<std::uint8_t> shared_;
  std::vector<bool> shared_written_;
  std::unordered_map<std::uint64_t, Touch> touched_;
  std::int64_t epoch_ = 0;
  std::map<int, std::int64_t> warp_epochs_;
  std::vector<std::uint64_t> const* parameters_ = nullptr;
  std::uint64_t block_[3] = {0, 0, 0};
};

}  // namespace tegula::test
