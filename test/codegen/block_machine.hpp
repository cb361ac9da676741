// Extends PtxMachine by the instructions of warps and warpgroups: shuffles, matrix moves, tensor core products,
// cp.async. Written from the PTX ISA's tables, without the project's layouts, so that it can judge them. Asynchronous
// work is done where it is issued; its order is not checked.
#pragma once

#include <fmt/format.h>

#include "codegen/ptx_machine.hpp"

namespace tegula::test {

class BlockMachine : public PtxMachine {
 public:
  using PtxMachine::PtxMachine;

 protected:
  bool together(Instruction const& at, std::vector<int> const& active) override {
    std::string const& op = at.words[0];
    if (op == "griddepcontrol") return overlaps_grid_before_ = true;
    if (op == "fence") return true;
    if (op == "wgmma") {
      if (at.words[1] == "mma_async") wgmma(at, active);
      return true;
    }
    if (op == "vote") return vote(at, active);
    if (op == "ldmatrix" || op == "stmatrix") return matrices(at, active);
    if (op == "mma") return mma(at, active);
    if (op == "elect") {
      for (int t : active) set(t, at.operands[0], t % 32 == 7 ? 1 : 0);
      return true;
    }
    if (op == "cp" && at.words[1] == "async") {
      if (at.words[2] == "ca" || at.words[2] == "cg") copy(at, active);
      return true;
    }
    return false;
  }

 private:
  using Index = std::size_t;

  std::uint64_t get(int t, Operand const& from) { return read(threads_[static_cast<Index>(t)], from, t); }
  void set(int t, Operand const& to, std::uint64_t value) {
    threads_[static_cast<Index>(t)].registers[static_cast<Index>(to.value)] = value;
  }
  /// Returns the warps that take part, whole.
  std::vector<int> warps_of(Instruction const& at, std::vector<int> const& active, int threads = 32) {
    std::vector<int> result;
    for (int t : active)
      if (t % threads == 0) result.push_back(t);
    if (result.size() * static_cast<Index>(threads) != active.size()) fail("a part of the threads takes part", &at);
    return result;
  }

  bool vote(Instruction const& at, std::vector<int> const& active) {
    for (int warp : warps_of(at, active)) {
      std::uint64_t lanes = 0;
      for (int l = 0; l < 32; ++l) lanes |= static_cast<std::uint64_t>(get(warp + l, at.operands[1]) != 0) << l;
      std::string const& mode = at.words[2];
      if (mode != "any" && mode != "all" && mode != "ballot") refuse(at);
      std::uint64_t const result = mode == "any" ? lanes != 0 : mode == "all" ? lanes == 0xffffffff : lanes;
      for (int l = 0; l < 32; ++l) set(warp + l, at.operands[0], result);
    }
    return true;
  }

  /// Moves matrices. Lane 8j + i names row i of matrix j; lane l holds the two 16-bit units 2 (l % 4) of row l / 4, or
  /// transposed.
  bool matrices(Instruction const& at, std::vector<int> const& active) {
    bool const load = at.words[0] == "ldmatrix";
    if (at.words.size() < 6 || at.words[3] != "m8n8" || at.words.back() != "b16") refuse(at);
    bool const transposed = at.words[5] == "trans";
    Operand const& registers = at.operands[load ? 0 : 1];
    Operand const& place = at.operands[load ? 1 : 0];
    for (int warp : warps_of(at, active))
      for (Index j = 0; j < registers.parts.size(); ++j)
        for (int l = 0; l < 32; ++l) {
          std::uint64_t value = load ? 0 : get(warp + l, registers.parts[j]);
          for (int half = 0; half < 2; ++half) {
            int const row = transposed ? 2 * (l % 4) + half : l / 4;
            int const column = transposed ? l / 4 : 2 * (l % 4) + half;
            std::uint64_t const begin =
                get(warp + 8 * static_cast<int>(j) + row, place.parts[0]) + static_cast<std::uint64_t>(place.offset);
            if (begin % 16 != 0) fail("a matrix row that is not aligned", &at);
            std::uint64_t const address = begin + 2 * static_cast<std::uint64_t>(column);
            if (load)
              value |= access(true, address, 2, false, 0, warp + l, at) << (16 * half);
            else
              access(true, address, 2, true, value >> (16 * half) & 0xffff, warp + l, at);
          }
          if (load) set(warp + l, registers.parts[j], value);
        }
    return true;
  }

  /// Returns the bytes of an element that tensor cores multiply.
  int size_of(std::string const& type, Instruction const& at) const {
    if (type == "tf32") return 4;
    if (type == "f16" || type == "bf16") return 2;
    if (type == "s8" || type == "u8" || type == "e4m3" || type == "e5m2") return 1;
    refuse(at);
  }
  /// Returns element `i` of a register that holds 4 / size of them.
  static double element(std::uint64_t word, int i, std::string const& type) {
    if (type == "tf32") return number(cut(word, 32) & ~std::uint64_t{0x1fff}, "f32");
    int const bits = type == "f16" || type == "bf16" ? 16 : 8;
    return number(cut(word >> (bits * i), bits), type);
  }
  /// Returns a sum of products as a result; s32 wraps. Sums of floats are exact before they are rounded: hardware may
  /// keep fewer bits.
  static std::uint64_t sum_as(double sum, std::string const& type) {
    return type == "s32" ? cut(static_cast<std::uint64_t>(static_cast<std::int64_t>(sum)), 32) : encode(sum, type);
  }
  /// Refuses products whose elements, sums and depth do not fit.
  void check_product(Instruction const& at, std::string const& sum, std::string const& left, std::string const& right,
                     std::string const& depth) const {
    auto const is_integer = [](std::string const& type) { return type == "s8" || type == "u8"; };
    int const size = size_of(left, at);
    bool const together = size_of(right, at) == size && is_integer(left) == is_integer(right) &&
                          (size == 1 || left == right) && depth == fmt::format("k{}", 32 / size);
    bool const summed = is_integer(left) ? sum == "s32" : sum == "f32" || (sum == "f16" && left == "f16");
    if (!together || !summed) refuse(at);
  }

  /// Returns (row, k) of A and (k, column) of B for a lane's register and the element in it; D for a register.
  struct Place {
    int row, column;
  };
  static Place of_a(int lane, int reg, int i, int size) {
    int const g = lane / 4, q = lane % 4, packed = 4 / size;
    return {g + 8 * (reg % 2), packed * q + i + 4 * packed * (reg / 2)};
  }
  static Place of_b(int lane, int reg, int i, int size) {
    int const g = lane / 4, q = lane % 4, packed = 4 / size;
    return {packed * q + i + 4 * packed * reg, g};
  }
  static Place of_d(int lane, int reg) {
    return {lane / 4 + 8 * (reg / 2 % 2), 8 * (reg / 4) + 2 * (lane % 4) + reg % 2};
  }

  bool mma(Instruction const& at, std::vector<int> const& active) {
    if (at.words.size() != 10 || at.words[3].substr(0, 5) != "m16n8" || at.words[4] != "row" || at.words[5] != "col" ||
        at.words[6] != at.words[9] || at.words[6] == "f16")
      refuse(at);
    std::string const &result = at.words[6], &left = at.words[7], &right = at.words[8];
    check_product(at, result, left, right, at.words[3].substr(5));
    int const size = size_of(left, at), packed = 4 / size, depth = 32 / size;
    for (int warp : warps_of(at, active)) {
      std::vector<double> a(static_cast<Index>(16 * depth)), b(static_cast<Index>(depth * 8));
      for (int l = 0; l < 32; ++l)
        for (int i = 0; i < packed; ++i) {
          for (int r = 0; r < 4; ++r) {
            Place const p = of_a(l, r, i, size);
            a[static_cast<Index>(p.row * depth + p.column)] =
                element(get(warp + l, at.operands[1].parts[static_cast<Index>(r)]), i, left);
          }
          for (int r = 0; r < 2; ++r) {
            Place const p = of_b(l, r, i, size);
            b[static_cast<Index>(p.row * 8 + p.column)] =
                element(get(warp + l, at.operands[2].parts[static_cast<Index>(r)]), i, right);
          }
        }
      for (int l = 0; l < 32; ++l)
        for (int r = 0; r < 4; ++r) {
          Place const p = of_d(l, r);
          double sum = number(get(warp + l, at.operands[3].parts[static_cast<Index>(r)]), result);
          for (int k = 0; k < depth; ++k)
            sum += a[static_cast<Index>(p.row * depth + k)] * b[static_cast<Index>(k * 8 + p.column)];
          set(warp + l, at.operands[0].parts[static_cast<Index>(r)], sum_as(sum, result));
        }
    }
    return true;
  }

  /// Returns the shared address of an element of an operand: `mn` along M or N, `k` along K.
  static std::uint64_t operand_address(std::uint64_t descriptor, bool mn_major, int mn, int k, int size) {
    auto const field = [&](int shift) { return (descriptor >> shift & 0x3fff) << 4; };
    std::uint64_t const start = field(0), leading = field(16), stride = field(32);
    int const mode = static_cast<int>(descriptor >> 62);
    int const span = mode == 0 ? 16 : mode == 1 ? 128 : mode == 2 ? 64 : 32;
    auto const u = [](int value) { return static_cast<std::uint64_t>(value); };
    std::uint64_t address = start;
    if (!mn_major) {
      int const byte = k * size;
      address += u(mn / 8) * stride + u(mn % 8 * span) + u(byte % span) + u(byte / span) * leading;
    } else {
      int const byte = mn * size;
      std::uint64_t const next_k = mode == 0 ? leading : stride, next_mn = mode == 0 ? stride : leading;
      address += u(k / 8) * next_k + u(k % 8 * span) + u(byte % span) + u(byte / span) * next_mn;
    }
    std::uint64_t const mask = mode == 0 ? 0 : u(span / 16 - 1);
    return address ^ (address >> 7 & mask) << 4;
  }

  double shared_element(std::uint64_t address, std::string const& type, int t, Instruction const& at) {
    return element(access(true, address, size_of(type, at), false, 0, t, at), 0, type);
  }

  /// Reads the left factor of wgmma, 64 rows, out of the registers of a warpgroup.
  std::vector<double> left_in_registers(Instruction const& at, int group, std::string const& type) {
    int const size = size_of(type, at), depth = 32 / size;
    std::vector<double> a(static_cast<Index>(64 * depth));
    for (int t = 0; t < 128; ++t)
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < 4 / size; ++i) {
          Place const p = of_a(t % 32, r, i, size);
          a[static_cast<Index>((16 * (t / 32) + p.row) * depth + p.column)] =
              element(get(group + t, at.operands[1].parts[static_cast<Index>(r)]), i, type);
        }
    return a;
  }

  /// Reads it out of shared memory, by the descriptor that all threads of the warpgroup name.
  std::vector<double> left_in_shared(Instruction const& at, int group, std::string const& type, bool m_major) {
    int const size = size_of(type, at), depth = 32 / size;
    std::uint64_t const descriptor = get(group, at.operands[1]);
    for (int t = 1; t < 128; ++t)
      if (get(group + t, at.operands[1]) != descriptor) fail("threads name different descriptors", &at);
    std::vector<double> a(static_cast<Index>(64 * depth));
    for (int m = 0; m < 64; ++m)
      for (int k = 0; k < depth; ++k)
        a[static_cast<Index>(m * depth + k)] =
            shared_element(operand_address(descriptor, m_major, m, k, size), type, group, at);
    return a;
  }

  void wgmma(Instruction const& at, std::vector<int> const& active) {
    std::string const& shape = at.words[4];  // m64n128k16
    int const n = std::stoi(shape.substr(shape.find('n') + 1));
    if (at.words.size() != 8 || shape.substr(0, 4) != "m64n") refuse(at);
    std::string const &result = at.words[5], &left = at.words[6], &right = at.words[7];
    check_product(at, result, left, right, shape.substr(shape.find('k')));
    int const size = size_of(left, at), depth = 32 / size;
    bool const registers = at.operands[1].kind == Operand::Kind::vector;
    Index const tail = at.operands.size();
    if (result != "s32" && (at.operands[4].value != 1 || at.operands[5].value != 1)) refuse(at);  // factors of a and b
    bool const transposes = size == 2;
    bool const a_major = transposes && !registers && at.operands[tail - 2].value != 0;
    bool const b_major = transposes && at.operands[tail - 1].value != 0;
    for (int group : warps_of(at, active, 128)) {
      std::vector<double> b(static_cast<Index>(depth * n));
      std::vector<double> const a =
          registers ? left_in_registers(at, group, left) : left_in_shared(at, group, left, a_major);
      std::uint64_t const descriptor = get(group, at.operands[2]);
      for (int k = 0; k < depth; ++k)
        for (int c = 0; c < n; ++c)
          b[static_cast<Index>(k * n + c)] =
              shared_element(operand_address(descriptor, b_major, c, k, size), right, group, at);
      int const per_register = result == "f16" ? 2 : 1;
      for (int t = 0; t < 128; ++t) {
        bool const accumulates = get(group + t, at.operands[3]) != 0;
        for (Index r = 0; r < at.operands[0].parts.size(); ++r) {
          std::uint64_t const before = get(group + t, at.operands[0].parts[r]);
          std::uint64_t after = 0;
          for (int i = 0; i < per_register; ++i) {
            Place const p = of_d(t % 32, static_cast<int>(r) * per_register + i);
            int const row = 16 * (t / 32) + p.row;
            double sum = !accumulates ? 0 : result == "f16" ? element(before, i, result) : number(before, result);
            for (int k = 0; k < depth; ++k)
              sum += a[static_cast<Index>(row * depth + k)] * b[static_cast<Index>(k * n + p.column)];
            after |= sum_as(sum, result) << (16 * i);
          }
          set(group + t, at.operands[0].parts[r], after);
        }
      }
    }
  }

  void copy(Instruction const& at, std::vector<int> const& active) {
    int const size = static_cast<int>(at.operands[2].value);
    for (int t : active) {
      std::uint64_t const to = get(t, at.operands[0].parts[0]), from = get(t, at.operands[1].parts[0]);
      int const valid = at.operands.size() > 3 ? static_cast<int>(get(t, at.operands[3])) : size;
      for (int i = 0; i < size; i += 4) {
        std::uint64_t const step = static_cast<std::uint64_t>(i);
        std::uint64_t value = i + 4 <= valid ? access(false, from + step, 4, false, 0, t, at) : 0;
        for (int byte = i; byte < valid && valid < i + 4; ++byte)
          value |= access(false, from + static_cast<std::uint64_t>(byte), 1, false, 0, t, at) << (8 * (byte - i));
        access(true, to + step, 4, true, value, t, at);
      }
    }
  }
};

}  // namespace tegula::test
