// Runs conversions on a warp of values: each plan must give every thread the elements of the new layout.
#include "layout/conversion.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "layout/fragment_layouts.hpp"
#include "layout/shared_access.hpp"
#include "support/catch.hpp"
#include "support/layouts.hpp"

using namespace tegula;
using namespace tegula::layout;

namespace {

using Values = std::vector<std::vector<Extents>>;  // [register][lane]

Values held(Layout const& layout, int warp) {
  Values values(static_cast<std::size_t>(layout.registers()));
  for (std::size_t r = 0; r < values.size(); ++r)
    for (int l = 0; l < layout.lanes(); ++l) values[r].push_back(layout.at(static_cast<std::int64_t>(r), l, warp));
  return values;
}

void exchange(Values& values, ShufflePlan::Exchange const& step) {
  Values const old = values;
  for (std::size_t r = 0; r < values.size(); ++r)
    for (std::size_t l = 0; l < values[r].size(); ++l)
      if (std::popcount(static_cast<std::uint32_t>(l) & step.lanes) % 2 != 0)
        values[r][l] = old.at(r ^ step.registers)[l];
}

Values run(ShufflePlan const& plan, Values values) {
  for (auto const& step : plan.before) exchange(values, step);
  Values results;
  for (auto const& shuffle : plan.shuffles) {
    auto& result = results.emplace_back();
    for (int l = 0; l < 32; ++l)
      result.push_back(values.at(static_cast<std::size_t>(shuffle.source))
                           .at(static_cast<std::size_t>(plan.source_lane(shuffle, l))));
  }
  for (auto const& step : plan.after) exchange(results, step);
  Values final;
  for (int r : plan.result) final.push_back(results.at(static_cast<std::size_t>(r)));
  return final;
}

bool converts(Conversion const& conversion, Layout const& from, Layout const& to) {
  for (int w = 0; w < to.warps(); ++w) {
    Values result;
    if (conversion.kind == ConversionKind::shuffles) {
      result = run(conversion.shuffle, held(from, w));
    } else {
      Values const before = held(from, w);
      for (int r : conversion.moves) result.push_back(before.at(static_cast<std::size_t>(r)));
    }
    if (result != held(to, w)) return false;
  }
  return true;
}

/// Runs a conversion of words, which are named by register and lane of the source, and compares their elements.
bool converts_words(WordConversion const& words, Layout const& from, Layout const& to) {
  Conversion const plan = conversion(*words.from, *words.to);
  if (plan.kind == ConversionKind::shared) return false;
  Values names(static_cast<std::size_t>(words.from->registers()));
  for (std::size_t w = 0; w < names.size(); ++w)
    for (int l = 0; l < 32; ++l) names[w].push_back({static_cast<std::int64_t>(w), l});
  Values moved;
  if (plan.kind == ConversionKind::shuffles)
    moved = run(plan.shuffle, names);
  else
    for (int r : plan.moves) moved.push_back(names.at(static_cast<std::size_t>(r)));
  int const count = 1 << words.from_bits.size();
  for (int warp = 0; warp < to.warps(); ++warp)
    for (std::size_t w = 0; w < moved.size(); ++w)
      for (int l = 0; l < 32; ++l)
        for (int i = 0; i < count; ++i) {
          Extents const& source = moved[w][static_cast<std::size_t>(l)];
          int const before = WordConversion::register_of(static_cast<int>(source[0]), i, words.from_bits);
          int const after = WordConversion::register_of(static_cast<int>(w), i, words.to_bits);
          if (from.at(before, source[1], warp) != to.at(after, l, warp)) return false;
        }
  return true;
}

/// Tests that every warp holds the elements it needs.
bool within_warps(Layout const& from, Layout const& to) {
  if (from.warps() != to.warps()) return false;
  auto const less = [](Extents const& a, Extents const& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  for (int w = 0; w < to.warps(); ++w) {
    std::vector<Extents> have;
    for (auto const& values : held(from, w)) have.insert(have.end(), values.begin(), values.end());
    std::sort(have.begin(), have.end(), less);
    for (auto const& values : held(to, w))
      for (Extents const& value : values)
        if (!std::binary_search(have.begin(), have.end(), value, less)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("conversions of fragments have the expected kind", "[layout][conversion]") {
  std::string error;
  Layout const* product = wgmma_layout({64, 64}, 4, error);
  CHECK(conversion(*product, *wgmma_a_layout({64, 64}, 2, 4, error)).kind == ConversionKind::none);
  // The 8-bit operand: an exchange inside quads, one shuffle per register.
  Layout const* bytes = wgmma_a_layout({64, 64}, 1, 4, error);
  Conversion const to_bytes = conversion(*product, *bytes);
  CHECK(to_bytes.kind == ConversionKind::shuffles);
  CHECK(converts(to_bytes, *product, *bytes));
  CHECK(to_bytes.shuffle.shuffles.size() == 32);
  CHECK(to_bytes.shuffle.before.size() <= 2);
  CHECK(to_bytes.shuffle.after.size() <= 2);
  for (auto const& shuffle : to_bytes.shuffle.shuffles)
    for (int l = 0; l < 32; ++l) CHECK(to_bytes.shuffle.source_lane(shuffle, l) / 4 == l / 4);
  // Extents of 11 and 5 repetitions.
  for (Extents const& shape : std::vector<Extents>{{64, 352}, {192, 160}}) {
    Layout const* from = wgmma_layout(shape, 4, error);
    Layout const* to = wgmma_a_layout(shape, 1, 4, error);
    Conversion const wide = conversion(*from, *to);
    CHECK(wide.kind == ConversionKind::shuffles);
    CHECK(converts(wide, *from, *to));
    CHECK(converts_words(words_of(*from, *to, 2), *from, *to));
  }
  // As words of four bytes: a pair of columns in two rows. A quarter of the shuffles, each within a quad.
  WordConversion const words = words_of(*product, *bytes, 2);
  CHECK(words.from_bits == std::vector<int>{0, 1});
  CHECK(words.to_bits == std::vector<int>{0, 2});
  CHECK(converts_words(words, *product, *bytes));
  CHECK(conversion(*words.from, *words.to).shuffle.shuffles.size() == 8);
  CHECK(words_of(*product, *bytes, 1).from_bits == std::vector<int>{0});
  CHECK(words_of(*product, *bytes, 0).from == product);
  // tf32: pairs of columns become columns four apart.
  Layout const* tf32 = wgmma_a_layout({64, 40}, 4, 4, error);
  Conversion const to_tf32 = conversion(*wgmma_layout({64, 40}, 4, error), *tf32);
  CHECK(to_tf32.kind == ConversionKind::shuffles);
  CHECK(converts(to_tf32, *wgmma_layout({64, 40}, 4, error), *tf32));

  Layout const* blocked = Layout::blocked({64, 64}, {1, 8}, 4, {1, 0});
  CHECK(conversion(*product, *blocked).kind == ConversionKind::shared);
  CHECK(conversion(*product, *wgmma_layout({64, 128}, 4, error)).kind == ConversionKind::shared);
  // One register order for another; a row's value to every thread of the row is there already.
  Layout const* forward = Layout::get({{Dim::reg, {{0, 1}, {0, 2}}, {}}, {Dim::lane, {{0, 4}}, {}}}, 2);
  Layout const* backward = Layout::get({{Dim::reg, {{0, 2}, {0, 1}}, {}}, {Dim::lane, {{0, 4}}, {}}}, 2);
  CHECK(conversion(*forward, *backward).kind == ConversionKind::moves);
  CHECK(converts(conversion(*forward, *backward), *forward, *backward));
  // Values that all lanes hold are picked without an instruction across lanes.
  Layout const* copies = Layout::parse("[register (1) (2) (4), lane (0) (0) (0) (0) (0)]", error);
  Layout const* spread = Layout::parse("[lane (1) (2) (4) (0) (0)]", error);
  Conversion const pick = conversion(*copies, *spread);
  CHECK(pick.kind == ConversionKind::shuffles);
  CHECK(converts(pick, *copies, *spread));
  CHECK(pick.shuffle.instructions() == 0);
  Conversion const collect = conversion(*spread, *copies);
  CHECK(collect.kind == ConversionKind::shuffles);
  CHECK(converts(collect, *spread, *copies));
}

namespace {

/// Draws pairs of layouts of one tile, each with copies of elements here and there.
class LayoutPairs {
 public:
  explicit LayoutPairs(std::uint64_t seed) : random_(seed) {}

  /// Draws what the next two layouts have in common.
  void next_tile() {
    axis_bits_[0] = static_cast<int>(below(4)), axis_bits_[1] = static_cast<int>(below(5));
    warp_bits_ = static_cast<int>(below(2));
    repeats_ = below(3) == 0 ? 3 : 1;
    atom_ = {std::int64_t{1} << axis_bits_[0], std::int64_t{1} << axis_bits_[1]};
  }
  [[nodiscard]] bool repeats() const { return repeats_ > 1; }

  Layout const* layout() {
    std::vector<Extents> const vectors = surjective();
    LayoutInput reg{Dim::reg, {}, {}}, lane{Dim::lane, {}, {}}, warp{Dim::warp, {}, {}};
    for (std::size_t i = 0; i < vectors.size(); ++i) (i < 5 ? lane : reg).bases.push_back(vectors[i]);
    for (int bit = 0; bit < warp_bits_; ++bit) warp.bases.push_back({0, 0});
    reg.digits.push_back({repeats_, {atom_[0], 0}});
    return Layout::get({reg, lane, warp}, 2);
  }
  /// Draws where words have their bit: the layout with one more register bit, at any place, along an axis of its own.
  Layout const* doubled(Layout const& layout) {
    std::vector<LayoutInput> inputs(layout.inputs().begin(), layout.inputs().end());
    if (inputs.empty() || inputs[0].dim != Dim::reg) inputs.insert(inputs.begin(), {Dim::reg, {}, {}});
    for (LayoutInput& input : inputs) {
      for (Extents& basis : input.bases) basis = {basis[0], basis[1], 0};
      for (LayoutDigit& digit : input.digits) digit.stride = {digit.stride[0], digit.stride[1], 0};
    }
    auto& bases = inputs[0].bases;
    bases.insert(bases.begin() + static_cast<std::ptrdiff_t>(random_() % (bases.size() + 1)), {0, 0, 1});
    return Layout::get(std::move(inputs), 3);
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  Extents any() {
    auto const first = static_cast<std::int64_t>(below(static_cast<std::size_t>(atom_[0])));
    return {first, static_cast<std::int64_t>(below(static_cast<std::size_t>(atom_[1])))};
  }
  /// Draws vectors of bits that reach every element of the atom.
  std::vector<Extents> surjective() {
    std::vector<Extents> vectors;
    for (int a = 0; a < 2; ++a)
      for (int bit = 0; bit < axis_bits_[a]; ++bit)
        vectors.push_back(a == 0 ? Extents{std::int64_t{1} << bit, 0} : Extents{0, std::int64_t{1} << bit});
    for (std::size_t i = 0; i < 2 * vectors.size(); ++i) {
      std::size_t const x = below(vectors.size()), y = below(vectors.size());
      if (x == y) continue;
      for (int o = 0; o < 2; ++o) vectors[x][o] ^= vectors[y][o];
    }
    // Copies: zero vectors, or vectors that others make.
    while (vectors.size() < std::size_t{5}) vectors.push_back(below(2) == 0 ? any() : Extents{0, 0});
    if (below(3) == 0) vectors.push_back(any());
    std::shuffle(vectors.begin(), vectors.end(), random_);
    return vectors;
  }

  std::mt19937_64 random_;
  int axis_bits_[2] = {};
  int warp_bits_ = 0;
  std::int64_t repeats_ = 1;
  Extents atom_;
};

/// Checks a conversion that stays within warps.
void check_within_warps(Conversion const& plan, Layout const& from, Layout const& to, bool spoil) {
  CHECK(converts(plan, from, to));
  // A bijection takes one round per register.
  if (plan.kind == ConversionKind::shuffles && from.injective() && to.injective())
    CHECK(plan.shuffle.shuffles.size() == static_cast<std::size_t>(to.registers()));
  if (!spoil) return;
  for (Layout const* wrong : test::spoiled(to))
    if (wrong->registers() == to.registers() && wrong != &to) CHECK_FALSE(converts(plan, from, *wrong));
}

/// Checks the conversion of words of two elements; false: it goes through shared memory.
bool check_words(Layout const& from, Layout const& to) {
  WordConversion const words = words_of(from, to, 1);
  REQUIRE(words.from_bits.size() == 1);
  if (conversion(*words.from, *words.to).kind == ConversionKind::shared) return false;
  CHECK(converts_words(words, from, to));
  return true;
}

}  // namespace

TEST_CASE("random conversions within a warp give every thread its elements", "[layout][conversion]") {
  LayoutPairs pairs(23);
  int in_words = 0, shuffled = 0, multicast = 0, repeated = 0, spread = 0;
  for (int round = 0; round < 600; ++round) {
    pairs.next_tile();
    Layout const* const from = pairs.layout();
    Layout const* const to = pairs.layout();
    INFO(from->text() << " to " << to->text());
    if (from->shape() != to->shape()) continue;
    Conversion const plan = conversion(*from, *to);
    if (plan.kind == ConversionKind::shared) {
      CHECK_FALSE(
          (within_warps(*from, *to) && from->atom() == to->atom() && from->input(Dim::warp) == to->input(Dim::warp)));
      continue;
    }
    check_within_warps(plan, *from, *to, round % 10 == 0);
    Layout const* const from_pairs = pairs.doubled(*from);
    in_words += check_words(*from_pairs, *pairs.doubled(*to)) ? 1 : 0;
    shuffled += plan.kind == ConversionKind::shuffles ? 1 : 0;
    spread += static_cast<int>(plan.shuffle.shuffles.size()) > to->registers() ? 1 : 0;
    multicast += !from->injective() || !to->injective() ? 1 : 0;
    repeated += pairs.repeats() ? 1 : 0;
  }
  CHECK(shuffled > 300);
  CHECK(multicast > 100);
  CHECK(repeated > 50);
  CHECK(spread > 20);
  CHECK(in_words > 300);
}

namespace {

/// Counts the wavefronts of writing one layout and reading the other through a tile in memory.
BankCost cost_through(Layout const& memory, Layout const& from, Layout const& to, int element_bytes) {
  BankCost sum;
  for (Layout const* registers : {&from, &to}) {
    std::string error;
    auto const map = AccessMap::get(*registers, memory, error);
    INFO(error << " " << registers->text() << " in " << memory.text());
    REQUIRE(map.has_value());
    BankCost const one = bank_cost(*map, vector_plan(*map, element_bytes), element_bytes);
    sum.wavefronts += one.wavefronts;
    sum.min += one.min;
  }
  return sum;
}

}  // namespace

TEST_CASE("the scratch of a conversion has no bank conflicts where both sides hold a word", "[layout][conversion]") {
  std::string error;
  struct Case {
    Layout const *from, *to;
    int element_bytes;
  };
  auto const squares = [](std::int64_t rows, std::int64_t columns, std::int64_t width, std::int64_t side, int warps) {
    Layout const* const way = Layout::blocked({rows, columns}, {side, width}, warps, {1, 0});
    Layout const* const back = Layout::blocked({columns, rows}, {side, width}, warps, {1, 0});
    return std::pair(way, back->transposed({1, 0}));
  };
  std::vector<Case> cases = {{wgmma_layout({64, 64}, 4, error), Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), 2}};
  for (int warps : {4, 8}) {
    auto const halves = squares(64, 64, 8, 2, warps), wide = squares(128, 96, 8, 2, warps);
    auto const words = squares(64, 128, 4, 2, warps), bytes = squares(128, 128, 16, 4, warps);
    cases.push_back({halves.first, halves.second, 2});
    cases.push_back({wide.first, wide.second, 2});
    cases.push_back({words.first, words.second, 4});
    cases.push_back({bytes.first, bytes.second, 1});
  }
  for (Case const& one : cases) {
    INFO(one.from->text() << " to " << one.to->text());
    int best = -1;
    for (Layout const* memory : scratch_layouts(*one.from, *one.to, one.element_bytes)) {
      CHECK(memory->shape() == one.from->shape());
      CHECK((memory->injective() && memory->surjective()));
      BankCost const cost = cost_through(*memory, *one.from, *one.to, one.element_bytes);
      int const beyond = cost.wavefronts - cost.min;
      best = best < 0 ? beyond : std::min(best, beyond);
    }
    CHECK(best == 0);
  }
}

TEST_CASE("tiles of different shapes have no common scratch", "[layout][conversion]") {
  CHECK(scratch_layouts(*Layout::blocked({64, 64}, {1, 8}, 4, {1, 0}), *Layout::blocked({64, 32}, {1, 8}, 4, {1, 0}), 2)
            .empty());
}
