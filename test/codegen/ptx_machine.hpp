// Runs PTX text on the CPU, one CTA at a time. It is an oracle for the PTX of the device code generator, where there is
// no GPU.
//
// Threads run in lock-step as far as their branches allow (the lowest program counter goes first, so branches join
// again where the text joins them). Global memory is this process's own, limited to the regions that a test names;
// every access outside them is an error. Two threads that touch a byte without a bar.sync between, one of them writing,
// are an error, in shared and in global memory. So is a read of unwritten shared memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "codegen/ptx_text.hpp"
#include "tegula/support/half.hpp"

namespace tegula::test {

class PtxMachine : protected PtxText {
 public:
  explicit PtxMachine(std::string_view ptx) : PtxText(ptx) {}
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
    std::map<std::string, std::map<std::int64_t, std::uint64_t>> passed;  ///< by symbol of .param space and byte
    bool at_barrier = false;
    int blocked = 0;  ///< not 0: waits for something of that kind; the machine that blocks it also frees it
    bool done = false;
  };
  struct Region {
    std::uint64_t begin, end;
    bool writable;
  };
  struct Touch {
    std::int64_t epoch = -1;
    int writer = -1, reader = -1;  // reader -2: several
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
  static int bits_of(std::string const& type) {
    if (type == "pred") return 1;
    if (type == "bf16") return 16;
    return std::stoi(type.substr(type.find_first_of("0123456789")));
  }
  static std::uint64_t cut(std::uint64_t value, int bits) {
    return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
  }
  static std::int64_t sign(std::uint64_t value, int bits) {
    return bits == 64 ? static_cast<std::int64_t>(value)
                      : static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
  }
  static double number(std::uint64_t bits, std::string const& type) {
    if (type == "f32") return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (type == "f64") return std::bit_cast<double>(bits);
    if (type == "f16") return f16_value(static_cast<std::uint16_t>(bits));
    if (type == "bf16") return bf16_value(static_cast<std::uint16_t>(bits));
    if (type[0] == 'u') return static_cast<double>(cut(bits, bits_of(type)));
    return static_cast<double>(sign(bits, bits_of(type)));
  }
  static std::uint64_t encode(double value, std::string const& type) {
    if (type == "f32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (type == "f64") return std::bit_cast<std::uint64_t>(value);
    if (type == "f16") return f16_bits(value);
    return bf16_bits(value);
  }
  static bool is_float(std::string const& type) { return type[0] == 'f' || type == "bf16"; }

  void touch(std::uint64_t address, int thread, bool write, Instruction const& at) {
    if (!barriers_order_all) return;
    Touch& touch = touched_[address];
    if (touch.epoch != epoch_) touch = {epoch_, -1, -1};
    bool const others_wrote = touch.writer >= 0 && touch.writer != thread;
    bool const others_read = touch.reader != -1 && touch.reader != thread;
    if (others_wrote || (write && others_read)) fail("two threads touch one byte without a barrier between", &at);
    if (write)
      touch.writer = thread;
    else
      touch.reader = touch.reader == -1 || touch.reader == thread ? thread : -2;
  }

  std::uint64_t access(bool shared, std::uint64_t address, int bytes, bool write, std::uint64_t value, int thread,
                       Instruction const& at) {
    if (address % static_cast<std::uint64_t>(bytes) != 0) fail("misaligned access", &at);
    std::uint8_t* memory = nullptr;
    bool constant = false;
    if (shared) {
      if (address + static_cast<std::uint64_t>(bytes) > shared_.size()) fail("outside shared memory", &at);
      memory = shared_.data() + address;
    } else {
      auto const region = std::find_if(regions_.begin(), regions_.end(), [&](Region const& r) {
        return address >= r.begin && address + static_cast<std::uint64_t>(bytes) <= r.end;
      });
      if (region == regions_.end()) fail("outside global memory", &at);
      if (write && !region->writable) fail("write to read-only memory", &at);
      constant = !region->writable;
      bool const read_only_path = std::find(at.words.begin(), at.words.end(), "nc") != at.words.end();
      if (read_only_path && !constant) fail("ld.global.nc of memory that the kernel writes", &at);
      if (read_only_path && overlaps_grid_before_)
        fail("ld.global.nc of memory that the grid before may write while this kernel runs", &at);
      memory = reinterpret_cast<std::uint8_t*>(address);
    }
    for (int i = 0; i < bytes && !constant; ++i)
      touch((shared ? std::uint64_t{1} << 63 : 0) + address + static_cast<std::uint64_t>(i), thread, write, at);
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

  void load_store(Instruction const& at, std::vector<int> const& active) {
    bool const load = at.words[0] == "ld";
    std::string const& type = at.words.back();
    int const bytes = bits_of(type) / 8;
    Operand const& place = at.operands[load ? 1 : 0];
    Operand const& data = at.operands[load ? 0 : 1];
    bool const in_parameters = at.words[1] == "param", shared = at.words[1] == "shared";
    std::size_t const count = data.kind == Operand::Kind::vector ? data.parts.size() : 1;
    for (int t : active) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      if (in_parameters && !place.parts[0].symbol.empty()) {
        auto& bytes_of = thread.passed[place.parts[0].symbol];
        for (std::size_t i = 0; i < count; ++i) {
          Operand const& part = data.kind == Operand::Kind::vector ? data.parts[i] : data;
          std::int64_t const byte = place.offset + static_cast<std::int64_t>(i) * bytes;
          if (!load)
            bytes_of[byte] = cut(read(thread, part, t), bytes * 8);
          else if (auto const found = bytes_of.find(byte); found != bytes_of.end())
            thread.registers[static_cast<std::size_t>(part.value)] = found->second;
          else
            fail("an argument or result that was not passed", &at);
        }
        continue;
      }
      if (in_parameters) {
        thread.registers[static_cast<std::size_t>(data.value)] =
            (*parameters_)[static_cast<std::size_t>(place.parts[0].value)];
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
        std::uint64_t value = access(shared, address, bytes, false, 0, t, at);
        if (type[0] == 's') value = static_cast<std::uint64_t>(sign(value, bytes * 8));
        thread.registers[static_cast<std::size_t>(part.value)] = value;
      }
    }
  }

  void shuffle(Instruction const& at, std::vector<int> const& active) {
    std::map<int, std::uint64_t> before;
    for (int t : active) before[t] = read(threads_[static_cast<std::size_t>(t)], at.operands[1], t);
    for (int t : active) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      int const from = t ^ static_cast<int>(read(thread, at.operands[2], t));
      if (before.find(from) == before.end()) fail("a shuffle from a lane that does not take part", &at);
      thread.registers[static_cast<std::size_t>(at.operands[0].value)] = before[from];
    }
  }

  void execute(Instruction const& at, std::vector<int> const& active) {
    std::string const& op = at.words[0];
    if (op == "ld" || op == "st") return load_store(at, active);
    if (together(at, active)) return;
    if (op == "shfl") return shuffle(at, active);
    for (int t : active) {
      Thread& thread = threads_[static_cast<std::size_t>(t)];
      if (op == "bra") {
        thread.pc = labels_.at(at.operands[0].value);
      } else if (op == "call") {
        enter(thread, static_cast<std::size_t>(at.operands[0].value));
      } else if (op == "ret") {
        leave(thread);
      } else if (op == "bar") {
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

  template <class T>
  static bool compared(std::string const& relation, T a, T b) {
    if (relation == "eq") return a == b;
    if (relation == "ne") return a != b;
    if (relation == "lt" || relation == "lo") return a < b;
    if (relation == "le" || relation == "ls") return a <= b;
    if (relation == "gt" || relation == "hi") return a > b;
    return a >= b;
  }

  std::uint64_t compute(Instruction const& at, std::vector<std::uint64_t> const& in) const {
    std::string const& op = at.words[0];
    std::string const& type = at.words.back();
    auto const has = [&](char const* word) {
      return std::find(at.words.begin(), at.words.end(), word) != at.words.end();
    };
    if (op == "cvt" && in.size() == 2) {  // a pair: the second operand is the low half
      std::string const half = at.words[2].substr(0, at.words[2].find("x2"));
      return encode(number(in[0], "f32"), half) << 16 | encode(number(in[1], "f32"), half);
    }
    if (op == "cvt") return convert(at, in[0], has);
    if (op == "setp") {
      std::string relation = at.words[1];
      if (is_float(type)) {
        double const a = number(in[0], type), b = number(in[1], type);
        bool const nan = std::isnan(a) || std::isnan(b);
        if (relation == "nan") return nan;
        if (relation == "num") return !nan;
        bool const unordered = relation.size() == 3 && relation[2] == 'u';
        if (relation == "neu") return a != b || nan;
        if (unordered) return nan || compared(relation.substr(0, 2), a, b);
        return !nan && compared(relation, a, b);
      }
      int const bits = bits_of(type);
      return type[0] == 's' ? compared(relation, sign(in[0], bits), sign(in[1], bits))
                            : compared(relation, cut(in[0], bits), cut(in[1], bits));
    }
    if (op == "selp") return in[2] != 0 ? in[0] : in[1];
    if (is_float(type)) return float_op(at, in, type);
    int const bits = bits_of(type);
    auto const u = [&](std::size_t i) { return cut(in[i], bits); };
    auto const s = [&](std::size_t i) { return sign(in[i], bits); };
    bool const is_signed = type[0] == 's';
    if (op == "mov") return u(0);
    if (op == "add") return cut(u(0) + u(1), bits);
    if (op == "sub") return cut(u(0) - u(1), bits);
    if (op == "mul" && has("wide")) return wide(in[0], in[1], bits, is_signed);
    if (op == "mul" && has("lo")) return cut(u(0) * u(1), bits);
    if (op == "mul" && has("hi")) return high(in[0], in[1], bits, is_signed);
    if (op == "mad" && has("wide")) return wide(in[0], in[1], bits, is_signed) + in[2];
    if (op == "mad" && has("lo")) return cut(u(0) * u(1) + u(2), bits);
    if (op == "neg") return cut(~u(0) + 1, bits);
    if (op == "abs") return cut(static_cast<std::uint64_t>(s(0) < 0 ? -s(0) : s(0)), bits);
    if (op == "min")
      return cut(is_signed ? static_cast<std::uint64_t>(std::min(s(0), s(1))) : std::min(u(0), u(1)), bits);
    if (op == "max")
      return cut(is_signed ? static_cast<std::uint64_t>(std::max(s(0), s(1))) : std::max(u(0), u(1)), bits);
    if (op == "and") return u(0) & u(1);
    if (op == "or") return u(0) | u(1);
    if (op == "xor") return u(0) ^ u(1);
    if (op == "not") return bits == 1 ? static_cast<std::uint64_t>(in[0] == 0) : cut(~u(0), bits);
    if (op == "shl") return cut(in[1], 32) >= static_cast<std::uint64_t>(bits) ? 0 : cut(u(0) << cut(in[1], 32), bits);
    if (op == "shr") {
      std::uint64_t const by = std::min<std::uint64_t>(cut(in[1], 32), static_cast<std::uint64_t>(bits));
      if (is_signed)
        return cut(
            static_cast<std::uint64_t>(s(0) >> std::min<std::uint64_t>(by, static_cast<std::uint64_t>(bits) - 1)),
            bits);
      return by == 64 ? 0 : u(0) >> by;
    }
    if (op == "div" || op == "rem") return divide(op == "div", in[0], in[1], bits, is_signed, at);
    if (op == "bfe") return cut(u(0) >> in[1], static_cast<int>(in[2]));
    if (op == "prmt") return permute(in[0], in[1], in[2]);
    if (op == "shf") {
      std::uint64_t const both = cut(in[0], 32) | cut(in[1], 32) << 32;
      std::uint64_t const by = cut(in[2], 32) & 31;
      return has("l") ? cut(both << by >> 32, 32) : cut(both >> by, 32);
    }
    fail("an instruction that the machine does not know", &at);
  }

  static std::uint64_t wide(std::uint64_t a, std::uint64_t b, int bits, bool is_signed) {
    return cut(is_signed ? static_cast<std::uint64_t>(sign(a, bits) * sign(b, bits)) : cut(a, bits) * cut(b, bits),
               2 * bits);
  }
  static std::uint64_t high(std::uint64_t a, std::uint64_t b, int bits, bool is_signed) {
    if (bits == 32) return cut(wide(a, b, 32, is_signed) >> 32, 32);
    __extension__ using Wide = __int128;
    __extension__ using WideUnsigned = unsigned __int128;
    WideUnsigned const product =
        is_signed
            ? static_cast<WideUnsigned>(static_cast<Wide>(static_cast<std::int64_t>(a)) * static_cast<std::int64_t>(b))
            : static_cast<WideUnsigned>(a) * b;
    return static_cast<std::uint64_t>(product >> 64);
  }
  std::uint64_t divide(bool quotient, std::uint64_t a, std::uint64_t b, int bits, bool is_signed,
                       Instruction const& at) const {
    if (cut(b, bits) == 0) fail("division by zero", &at);
    if (!is_signed) return quotient ? cut(a, bits) / cut(b, bits) : cut(a, bits) % cut(b, bits);
    std::int64_t const x = sign(a, bits), y = sign(b, bits);
    if (y == -1) return quotient ? cut(~a + 1, bits) : 0;
    return cut(static_cast<std::uint64_t>(quotient ? x / y : x % y), bits);
  }
  static std::uint64_t permute(std::uint64_t a, std::uint64_t b, std::uint64_t selectors) {
    std::uint64_t const both = cut(a, 32) | cut(b, 32) << 32;
    std::uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      std::uint64_t const selector = selectors >> (4 * i) & 15;
      std::uint64_t byte = both >> (8 * (selector & 7)) & 255;
      if ((selector & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  }

  /// Computes f32 results in double and rounds once, which is exact rounding for + - * / and square roots.
  std::uint64_t float_op(Instruction const& at, std::vector<std::uint64_t> const& in, std::string const& type) const {
    std::string const& op = at.words[0];
    int const bits = bits_of(type);
    if (op == "mov") return cut(in[0], bits);
    if (op == "neg") return cut(in[0] ^ (std::uint64_t{1} << (bits - 1)), bits);
    if (op == "abs") return cut(in[0], bits - 1);
    double const a = number(in[0], type);
    double const b = in.size() > 1 ? number(in[1], type) : 0;
    double const c = in.size() > 2 ? number(in[2], type) : 0;
    if (op == "add") return encode(a + b, type);
    if (op == "sub") return encode(a - b, type);
    if (op == "mul") return encode(a * b, type);
    if (op == "div") return encode(a / b, type);
    if (op == "rcp") return encode(1 / a, type);
    if (op == "sqrt") return encode(std::sqrt(a), type);
    if (op == "rsqrt") return encode(1 / std::sqrt(a), type);
    if (op == "fma")
      return type == "f32" ? std::bit_cast<std::uint32_t>(
                                 std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)))
                           : encode(std::fma(a, b, c), type);
    if (op == "min") return encode(std::fmin(a, b), type);
    if (op == "max") return encode(std::fmax(a, b), type);
    if (op == "ex2") return encode(std::exp2(a), type);
    if (op == "lg2") return encode(std::log2(a), type);
    fail("a float instruction that the machine does not know", &at);
  }

  template <class Has>
  std::uint64_t convert(Instruction const& at, std::uint64_t in, Has const& has) const {
    std::string const& to = at.words[at.words.size() - 2];
    std::string const& from = at.words.back();
    if (is_float(to)) {
      if (is_float(from)) {
        double const value = number(in, from);
        if (has("rni")) return encode(std::nearbyint(value), to);
        if (has("rmi")) return encode(std::floor(value), to);
        if (has("rpi")) return encode(std::ceil(value), to);
        if (has("rzi")) return encode(std::trunc(value), to);
        return encode(value, to);
      }
      // A 64-bit integer may not fit a double: round it to the target at once.
      if (from == "s64")
        return to == "f32" ? std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<std::int64_t>(in)))
                           : encode(rounded_to_odd(static_cast<std::int64_t>(in), to), to);
      return encode(number(in, from), to);
    }
    int const bits = bits_of(to);
    if (!is_float(from))
      return cut(from[0] == 's' ? static_cast<std::uint64_t>(sign(in, bits_of(from))) : cut(in, bits_of(from)), bits);
    double const value = number(in, from);
    if (std::isnan(value)) return from == "f64" || bits == 64 ? std::uint64_t{1} << (bits - 1) : 0;
    double const min = -std::ldexp(1.0, bits - 1), max = std::ldexp(1.0, bits - 1);
    double const whole = has("rzi")   ? std::trunc(value)
                         : has("rmi") ? std::floor(value)
                         : has("rpi") ? std::ceil(value)
                                      : std::nearbyint(value);
    if (whole < min) return std::uint64_t{1} << (bits - 1);
    if (whole >= max) return (std::uint64_t{1} << (bits - 1)) - 1;
    return cut(static_cast<std::uint64_t>(static_cast<std::int64_t>(whole)), bits);
  }
  /// Gives an integer as a double whose further rounding to 16 bits is that of the integer (f64: rounded to nearest).
  static double rounded_to_odd(std::int64_t value, std::string const& to) {
    double const nearest = static_cast<double>(value);
    if (to == "f64") return nearest;
    return static_cast<double>(value / 2048 * 2048) + (value % 2048 != 0 && std::abs(nearest) >= 9007199254740992.0
                                                           ? std::copysign(1024.0, nearest)
                                                           : static_cast<double>(value % 2048));
  }

  std::vector<Region> regions_;
  bool overlaps_grid_before_ = false;  ///< it has waited for the grid before, or let the next one begin
  std::vector<Thread> threads_;
  std::vector<std::uint8_t> shared_;
  std::vector<bool> shared_written_;
  std::unordered_map<std::uint64_t, Touch> touched_;
  std::int64_t epoch_ = 0;
  std::vector<std::uint64_t> const* parameters_ = nullptr;
  std::uint64_t block_[3] = {0, 0, 0};
};

}  // namespace tegula::test
