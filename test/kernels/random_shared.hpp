// Makes random kernels over shared memory as IR text. They store and load buffers and their stages in layouts that give
// elements to other lanes or warps. They exchange values, write single elements by one lane, and copy by TMA in and
// out, in loops and branches. Each read goes to a row of the output of its own, so that every wrong value shows.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace tegula::test {

struct RandomShared {
  std::string text;    ///< a module; its third parameter, 0 or 1, chooses between branches
  std::int64_t rows;   ///< of the output %o, tensor<?x?xi32>, row_width wide
  std::int64_t loads;  ///< rows of the input %a, tensor<?x?xi32>, as wide
  static constexpr std::int64_t row_width = 768;
};

struct RandomSharedOptions {
  bool barriers = true;  ///< a barrier after every statement; else none at all
  bool copies = false;   ///< TMA copies too
  bool offsets = false;  ///< buffers have offsets, none overlapping
  int buffers = 8;
  int statements = 14;
  int max_words = 3;  ///< of 64 elements per warp and stage
  int warps = 2;      ///< 1, 2 or 4
};

class SharedGenerator {
 public:
  SharedGenerator(std::uint64_t seed, RandomSharedOptions options) : random_(seed), options_(options) {}

  RandomShared make() {
    int const count = 2 + pick(options_.buffers - 1);
    std::int64_t place = 0;
    for (int i = 0; i < count; ++i) {
      Buffer buffer;
      buffer.name = fmt::format("%s{}", i);
      buffer.words = 1 + pick(options_.max_words);
      buffer.stages = pick(3) == 0 ? 2 + pick(2) : 1;
      std::string const place_text =
          options_.offsets ? fmt::format("{{align = 128, offset = {}}} ", place) : "{align = 128} ";
      place += (bytes(buffer) + 127) / 128 * 128;
      header_ += fmt::format("  {} = buffer_alloc {}: shared<{}x{}xi32, dense>\n", buffer.name, place_text,
                             buffer.stages, width(buffer));
      if (options_.copies) copy_header(buffer, i, place);
      buffers_.push_back(buffer);
    }
    // Everything is written before it is read, here by the threads that write; some buffers later than others.
    for (int i = 0; i < options_.statements; ++i) statement(2);
    std::string const warps = fmt::to_string(options_.warps);
    RandomShared result;
    result.rows = rows_ + 1;
    result.loads = 1;
    result.text =
        "tegula-ir 1\nkernel @random(%a: in tensor<?x?xi32> {unit_inner, aligned_16}, %o: out tensor<?x?xi32> "
        "{unit_inner, aligned_16}, %choice: i64) warps = " +
        warps + " {\n";
    for (int i = 0; i <= 8; ++i) result.text += fmt::format("  %k{} = constant {{value = {} : i64}} : i64\n", i, i);
    result.text += "  %pattern = constant {value = 29 : i64} : i64\n  grid %k1\n" + header_;
    if (options_.copies && !initial_.empty())
      result.text += "  elect {\n" + initial_ + "    fence_mbarrier_init\n    yield\n  }\n" +
                     (options_.barriers ? "  barrier\n" : "");
    result.text += body_ + "  return\n}\n";
    return result;
  }

 private:
  struct Buffer {
    std::string name;
    int words = 1;
    int stages = 1;
    bool written = false;
    bool copied = false;  ///< it has mbarriers and tensor maps
    int waits = 0;        ///< mbarriers used up
  };
  struct Loop {
    std::string index;
    std::int64_t trips = 1;
  };

  int pick(int below) { return static_cast<int>(random_() % static_cast<std::uint64_t>(below < 1 ? 1 : below)); }
  std::string fresh(std::string const& stem) { return fmt::format("%{}{}", stem, next_++); }
  void line(std::string const& text) { body_ += std::string(2 + 2 * nesting_, ' ') + text + "\n"; }
  [[nodiscard]] std::int64_t width(Buffer const& buffer) const { return 64LL * options_.warps * buffer.words; }
  [[nodiscard]] std::int64_t bytes(Buffer const& buffer) const { return 4 * width(buffer) * buffer.stages; }

  /// Returns the distribution of `count` elements: 0 and 1 keep elements in their warps, 2 rotates the warps.
  [[nodiscard]] std::string layout(int words, int kind) const {
    int const warps = options_.warps;
    std::string lanes, warp;
    std::string const pair = kind == 1 ? "(32)" : "(1)";
    for (int lane = 0; lane < 5; ++lane) lanes += fmt::format(" ({})", (kind == 1 ? 1 : 2) << lane);
    std::vector<int> bits;
    for (int w = 1; w < warps; w *= 2) bits.push_back(64 * w);
    if (kind == 2) std::reverse(bits.begin(), bits.end());
    for (int const bit : bits) warp += fmt::format(" ({})", bit);
    std::string text = "[register " + pair;
    if (words > 1) text += fmt::format(" {}*({})", words, 64 * warps);
    text += ", lane" + lanes;
    if (!warp.empty()) text += ", warp" + warp;
    if (kind == 2 && warps == 2) {  // one bit cannot turn round: lanes trade with warps instead
      text = "[register (1)";
      if (words > 1) text += fmt::format(" {}*(128)", words);
      text += ", lane (64) (2) (4) (8) (16), warp (32)";
    }
    return text + "]";
  }
  [[nodiscard]] std::string tile(int words, int kind) const {
    return fmt::format("tile<{}xi32, {}>", 64 * options_.warps * words, layout(words, kind));
  }

  void copy_header(Buffer& buffer, int number, std::int64_t& place) {
    std::string const n = fmt::to_string(number), w = fmt::to_string(width(buffer));
    std::string const box = "{box = [1, " + w + "]}";
    if (width(buffer) > 256) return;  // no box is as wide
    buffer.copied = true;
    place = (place + 127) / 128 * 128;
    std::string const at = options_.offsets ? fmt::format("{{align = 8, offset = {}}} ", place) : "{align = 8} ";
    place += 128;
    header_ += "  %b" + n + " = buffer_alloc " + at + ": mbarrier<8>\n  %in" + n + " = tensor_map %a " + box +
               " : tensor_map<1x" + w + "xi32>\n  %out" + n + " = tensor_map %o " + box + " : tensor_map<1x" + w +
               "xi32>\n";
    initial_ += "    mbarrier_init %b" + n + "\n";
  }

  void close() {
    if (options_.barriers) line("barrier");
  }

  /// Returns a stage: a number, or the index of a loop around modulo the stages.
  std::string stage_of(Buffer const& buffer) {
    if (buffer.stages == 1) return "%k0";
    if (loops_.empty() || pick(2) == 0) return fmt::format("%k{}", pick(buffer.stages));
    std::string const stage = fresh("stage");
    line(fmt::format("{} = rem {}, %k{} : i64", stage, loops_.back().index, buffer.stages));
    return stage;
  }
  std::string view(Buffer const& buffer) {
    std::string const stage = stage_of(buffer), name = fresh("v");
    line(fmt::format("{} = view {}, {}, %k0 : shared<{}xi32, dense>", name, buffer.name, stage, width(buffer)));
    return name;
  }
  /// Returns a row of the output for each iteration of the loops around.
  std::string row() {
    std::int64_t trips = 1;
    std::string at = fresh("row");
    std::string const first = fmt::to_string(rows_);
    line(at + " = constant {value = " + first + " : i64} : i64");
    for (Loop const& loop : loops_) {
      std::string const step = fresh("row"), scaled = fresh("row"), sum = fresh("row");
      line(fmt::format("{} = constant {{value = {} : i64}} : i64", step, trips));
      line(scaled + " = mul " + loop.index + ", " + step + " : i64");
      line(sum + " = add " + at + ", " + scaled + " : i64");
      at = sum;
      trips *= loop.trips;
    }
    rows_ += trips;
    return at;
  }

  void write(Buffer& buffer) {
    std::string const to = view(buffer);
    std::string const type = tile(buffer.words, pick(3));
    std::string const places = fresh("i"), number = fresh("c"), value = fresh("x");
    line(places + " = iota : " + type);
    line(fmt::format("{} = constant {{value = {} : i32}} : {}", number, 1000 * ++values_, type));
    line(value + " = add " + places + ", " + number + " : " + type);
    line("buffer_store " + to + ", " + value);
    close();
  }
  void read(Buffer& buffer) {
    std::string const from = view(buffer), value = fresh("x"), at = row();
    line(value + " = buffer_load " + from + " : " + tile(buffer.words, pick(3)));
    line("store %o, " + value + ", " + at + ", %k0");
    close();
  }
  /// Writes a single element by one lane.
  void poke(Buffer& buffer) {
    std::string const stage = stage_of(buffer), at = fresh("at"), to = fresh("v"), value = fresh("x");
    // Not where a layout gives the element to the lane that the simulator elects: that would be one thread by chance.
    int place = pick(static_cast<int>(width(buffer)));
    auto const by_chance = [&] {
      int const turned = (place >> 6 & 1) | (place & 30);
      return place / 2 % 32 == 13 || place % 32 == 13 || turned == 13 || place / 2 % 32 == 12;
    };
    while (by_chance()) place = pick(static_cast<int>(width(buffer)));
    line(fmt::format("{} = constant {{value = {} : i64}} : i64", at, place));
    line(fmt::format("{} = view {}, {}, {} : shared<1xi32, dense of {}>", to, buffer.name, stage, at, width(buffer)));
    line(fmt::format("elect {{warp = {}}} {{", pick(options_.warps)));
    line(fmt::format("  {} = constant {{value = {} : i32}} : i32", value, ++values_));
    line("  buffer_store " + to + ", " + value);
    line("  yield");
    line("}");
    close();
  }
  void exchange(Buffer& /*any*/) {
    int const words = 1 + pick(2);
    std::string const type = tile(words, 0), places = fresh("i"), sum = fresh("x"), at = row();
    line(places + " = iota : " + type);
    std::string const warp = options_.warps == 1 ? "" : options_.warps == 2 ? ", warp (0)" : ", warp (0) (0)";
    line(sum + " = reduce " + places + " : tile<1xi32, [lane (0) (0) (0) (0) (0)" + warp + "]>");
    line("store %o, " + sum + ", " + at + ", %k0");
    close();
  }
  void copy_in(Buffer& buffer) {
    std::string const to = view(buffer), n = buffer.name.substr(2);
    if (options_.barriers) {
      line("fence_proxy_async");
      line("barrier");
    }
    // A phase of its own for each copy, so that none overtakes a thread that still waits for another.
    std::string const full = fresh("full");
    line(fmt::format("{} = view %b{}, %k{} : mbarrier", full, n, buffer.waits++));
    line("elect {");
    line(fmt::format("  mbarrier_expect {} {{bytes = {}}}", full, 4 * width(buffer)));
    line("  tma_load %in" + n + ", " + to + ", " + full + ", %k0, %k0");
    line("  yield");
    line("}");
    line("mbarrier_wait " + full + ", %k0");
    close();
  }
  void copy_out(Buffer& buffer) {
    std::string const from = view(buffer), n = buffer.name.substr(2), at = row();
    if (options_.barriers) {
      line("fence_proxy_async");
      line("barrier");
    }
    line("elect {");
    line("  tma_store %out" + n + ", " + from + ", " + at + ", %k0");
    line("  bulk_commit");
    line("  bulk_wait");
    line("  yield");
    line("}");
    close();
  }

  Buffer& any() { return buffers_[static_cast<std::size_t>(pick(static_cast<int>(buffers_.size())))]; }

  /// Writes all stages, so that later reads of a loop or a branch find values on every path.
  void fill(Buffer& buffer) {
    if (buffer.written) return;
    buffer.written = true;
    for (int stage = 0; stage < buffer.stages; ++stage) {
      std::string const type = tile(buffer.words, 0), value = fresh("x"), to = fresh("v");
      line(fmt::format("{} = constant {{value = {} : i32}} : {}", value, ++values_, type));
      line(fmt::format("{} = view {}, %k{}, %k0 : shared<{}xi32, dense>", to, buffer.name, stage, width(buffer)));
      line("buffer_store " + to + ", " + value);
      close();
    }
  }

  void statement(int depth) {
    Buffer& buffer = any();
    if (loops_.empty() && branches_ == 0) fill(buffer);
    if (!buffer.written) return;
    using G = SharedGenerator;
    static constexpr void (G::*accesses[])(Buffer&) = {&G::write,
                                                       &G::write,
                                                       &G::write,
                                                       &G::read,
                                                       &G::read,
                                                       &G::read,
                                                       &G::poke,
                                                       &G::exchange,
                                                       &G::copy_in_or_write,
                                                       &G::copy_in_or_write,
                                                       &G::copy_out_or_read};
    auto const drawn = static_cast<std::size_t>(pick(depth > 0 ? 14 : 11));
    if (drawn < std::size(accesses)) return (this->*accesses[drawn])(buffer);
    if (drawn == std::size(accesses))
      branch(depth - 1);
    else
      loop(depth - 1);
  }
  void copy_in_or_write(Buffer& buffer) {
    bool const once = loops_.empty() && branches_ == 0;  // so that each copy has a phase of its own
    if (options_.copies && buffer.copied && once && buffer.waits < 8)
      copy_in(buffer);
    else
      write(buffer);
  }
  void copy_out_or_read(Buffer& buffer) {
    if (options_.copies && buffer.copied)
      copy_out(buffer);
    else
      read(buffer);
  }

  void loop(int depth) {
    std::string const index = fresh("n");
    std::int64_t const trips = loops_.empty() ? 5 : 2 + pick(3);
    line(fmt::format("for {} = %k0 to %k{} step %k1 {{", index, trips));
    loops_.push_back({index, trips});
    ++nesting_;
    for (int i = 2 + pick(3); i > 0; --i) statement(depth);
    line("yield");
    --nesting_;
    loops_.pop_back();
    line("}");
  }
  void branch(int depth) {
    // In a loop, turns go both ways in every order, at every stage.
    std::string const condition = fresh("q");
    std::string chosen = "%choice";
    if (!loops_.empty()) {
      std::string const sum = fresh("q"), bit = fresh("q");
      chosen = fresh("q");
      line(sum + " = add " + loops_.front().index + ", %choice : i64");
      line(bit + " = shr %pattern, " + sum + " : i64");
      line(chosen + " = and " + bit + ", %k1 : i64");
    }
    line(fmt::format("{} = compare {}, %k{} : bool", condition, chosen, pick(2)));
    line("if " + condition + " {");
    ++branches_;
    ++nesting_;
    for (int i = 1 + pick(2); i > 0; --i) statement(depth);
    line("yield");
    --nesting_;
    line("} else {");
    ++nesting_;
    for (int i = 1 + pick(2); i > 0; --i) statement(depth);
    line("yield");
    --nesting_;
    --branches_;
    line("}");
  }

  std::mt19937_64 random_;
  RandomSharedOptions options_;
  std::vector<Buffer> buffers_;
  std::vector<Loop> loops_;
  std::string header_, initial_, body_;
  std::int64_t rows_ = 0;
  int values_ = 0;
  int next_ = 0;
  int nesting_ = 0;
  int branches_ = 0;
};

}  // namespace tegula::test
