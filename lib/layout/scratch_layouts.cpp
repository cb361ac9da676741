// Finds layouts of a tile in shared memory that two register layouts access without bank conflicts.
//
// An offset has three parts, from the lowest bits up. All coordinates are vectors over F2:
//
//   vector   elements that one access moves; both sides hold the first of them in a thread's registers
//   bank     the rest of the 128 bytes of all banks
//   row      the same bank, another word
//
// An access has no conflict if no two of its lanes differ by a row alone. So the rows span a complement of the space
// that vector and lanes span, on each side. Two spaces of one dimension always have a common complement.
#include <algorithm>
#include <bit>
#include <optional>

#include "layout/conversion.hpp"
#include "layout/layout_detail.hpp"

namespace tegula::layout {
namespace {

using detail::Elimination;
using Vectors = std::vector<std::uint64_t>;

constexpr int bank_row_bytes = detail::banks * detail::bank_bytes;
constexpr int access_bytes = 16;

int log2_of(int value) { return std::countr_zero(static_cast<unsigned>(value)); }

/// Holds vectors that are independent, in the order in which they came.
class Basis {
 public:
  /// False if the vector is in the span already.
  bool add(std::uint64_t vector) {
    if (!elimination_.add(vector, static_cast<int>(vectors_.size()))) return false;
    vectors_.push_back(vector);
    return true;
  }
  void add_up_to(std::size_t count, Vectors const& from) {
    for (std::uint64_t vector : from)
      if (vectors_.size() < count) add(vector);
  }
  [[nodiscard]] bool contains(std::uint64_t vector) const {
    Elimination copy = elimination_;
    return !copy.add(vector, 0);
  }
  [[nodiscard]] Vectors const& vectors() const { return vectors_; }
  [[nodiscard]] std::size_t size() const { return vectors_.size(); }

 private:
  Elimination elimination_;
  Vectors vectors_;
};

/// Holds what a register layout gives to its accesses: vectors of registers and of lanes.
struct Side {
  Vectors registers, lanes;
};

Side side_of(Layout const& layout) {
  Side side;
  for (Extents const& basis : layout.input(Dim::reg).bases)
    side.registers.push_back(detail::pack(basis, layout.atom()));
  for (Extents const& basis : layout.input(Dim::lane).bases) side.lanes.push_back(detail::pack(basis, layout.atom()));
  return side;
}

/// Finds vectors that both sides have in registers, at most `count`; those that one side names come first.
Vectors common_registers(Side const& a, Side const& b, std::size_t count) {
  Basis of_a, of_b, common;
  for (std::uint64_t vector : a.registers) of_a.add(vector);
  for (std::uint64_t vector : b.registers) of_b.add(vector);
  for (Side const* side : {&a, &b})
    for (std::uint64_t vector : side->registers)
      if (common.size() < count && of_a.contains(vector) && of_b.contains(vector)) common.add(vector);
  constexpr std::size_t most = 10;
  if (of_a.size() > most) return common.vectors();
  for (std::uint32_t chosen = 1; chosen < 1U << of_a.size() && common.size() < count; ++chosen) {
    std::uint64_t sum = 0;
    for (std::size_t bit = 0; bit < of_a.size(); ++bit)
      if ((chosen >> bit & 1) != 0) sum ^= of_a.vectors()[bit];
    if (of_b.contains(sum)) common.add(sum);
  }
  return common.vectors();
}

/// Returns the space in which no two words of an access may share a bank: its vector, the parts of a word, and the
/// lanes that are served at once.
Basis busy(Vectors const& vector, Vectors const& in_word, Side const& side, int element_bytes) {
  Basis result;
  for (std::uint64_t one : vector) result.add(one);
  for (std::uint64_t one : in_word) result.add(one);
  int const bytes = element_bytes << vector.size();
  std::size_t const served = bytes <= 4 ? 5 : bytes <= 8 ? 4 : 3;
  for (std::size_t i = 0; i < std::min(served, side.lanes.size()); ++i) result.add(side.lanes[i]);
  return result;
}

/// Completes a basis to `count` vectors, first by those of the other space.
void complete(Basis& basis, Basis const& other, std::size_t count, Vectors const& units) {
  basis.add_up_to(count, other.vectors());
  basis.add_up_to(count, units);
}

/// Returns a basis of a common complement of two spaces of one dimension.
Vectors common_complement(Basis const& a, Basis const& b, Vectors const& units) {
  Basis sum = b, back = a;
  Vectors only_a, only_b, result;
  for (std::uint64_t vector : a.vectors())
    if (sum.add(vector)) only_a.push_back(vector);
  for (std::uint64_t vector : b.vectors())
    if (back.add(vector)) only_b.push_back(vector);
  for (std::size_t i = 0; i < only_a.size(); ++i) result.push_back(only_a[i] ^ only_b[i]);
  for (std::uint64_t unit : units)
    if (sum.add(unit)) result.push_back(unit);
  return result;
}

Extents unpack(std::uint64_t vector, Extents const& atom) {
  Extents result;
  for (int axis = 0; axis < atom.size(); ++axis) {
    auto const extent = static_cast<std::uint64_t>(atom[axis]);
    result.push_back(static_cast<std::int64_t>(vector % extent));
    vector /= extent;
  }
  return result;
}

/// Searches the layout of scratch memory whose vectors hold the common registers and those of `wide`.
class ScratchSearch {
 public:
  ScratchSearch(Layout const& from, Layout const& to, int element_bytes)
      : shape_(from.shape()),
        atom_(from.atom()),
        element_bytes_(element_bytes),
        writer_(side_of(from)),
        reader_(side_of(to)),
        units_(units_of(atom_)),
        widest_(static_cast<std::size_t>(log2_of(access_bytes / element_bytes))),
        in_banks_(std::min(units_.size(), static_cast<std::size_t>(log2_of(bank_row_bytes / element_bytes)))),
        common_(common_registers(writer_, reader_, widest_)) {}

  std::vector<Layout const*> all() const {
    std::vector<Layout const*> result;
    for (Side const* wide : {static_cast<Side const*>(nullptr), &writer_, &reader_}) {
      Layout const* const memory = with_vectors_of(wide);
      if (memory != nullptr && std::find(result.begin(), result.end(), memory) == result.end())
        result.push_back(memory);
    }
    return result;
  }

 private:
  static Vectors units_of(Extents const& atom) {
    Vectors units;
    for (std::uint64_t unit = 1; unit < static_cast<std::uint64_t>(atom.product()); unit *= 2) units.push_back(unit);
    return units;
  }

  /// Returns the layout whose vectors are as wide as one side takes them; null: there is none without conflicts.
  [[nodiscard]] Layout const* with_vectors_of(Side const* wide) const {
    Basis vector;
    for (std::uint64_t one : common_) vector.add(one);
    if (wide != nullptr) vector.add_up_to(widest_, wide->registers);
    std::optional<Vectors> const rows = rows_of(vector, wide);
    if (!rows) return nullptr;
    Basis taken;
    for (std::uint64_t row : *rows) taken.add(row);
    Vectors bits;
    auto const put = [&](Vectors const& vectors) {
      for (std::uint64_t one : vectors)
        if (taken.add(one)) bits.push_back(one);
    };
    put(vector.vectors());
    if (bits.size() != vector.size()) return nullptr;  // a row lies within a vector
    put((wide == &reader_ ? reader_ : writer_).lanes);
    put(units_);
    bits.insert(bits.end(), rows->begin(), rows->end());
    return memory_of(bits);
  }

  /// Returns what tells rows of banks apart for both sides; nothing: one side has conflicts.
  [[nodiscard]] std::optional<Vectors> rows_of(Basis const& vector, Side const* wide) const {
    auto const word =
        std::min(vector.size(), static_cast<std::size_t>(log2_of(std::max(1, detail::bank_bytes / element_bytes_))));
    Vectors const in_word(vector.vectors().begin(), vector.vectors().begin() + static_cast<std::ptrdiff_t>(word));
    auto const moved = [&](Side const& side) { return wide == &side ? vector.vectors() : common_; };
    Basis written = busy(moved(writer_), in_word, writer_, element_bytes_);
    Basis read = busy(moved(reader_), in_word, reader_, element_bytes_);
    if (written.size() > in_banks_ || read.size() > in_banks_) return std::nullopt;
    Basis const before = written;
    complete(written, read, in_banks_, units_);
    complete(read, before, in_banks_, units_);
    return common_complement(written, read, units_);
  }

  [[nodiscard]] Layout const* memory_of(Vectors const& bits) const {
    LayoutInput offset{Dim::offset, {}, {}};
    for (std::uint64_t bit : bits) offset.bases.push_back(unpack(bit, atom_));
    for (int axis = atom_.size() - 1; axis >= 0; --axis) {
      Extents stride = detail::zeros(atom_.size());
      stride[axis] = atom_[axis];
      offset.digits.push_back({shape_[axis] / atom_[axis], stride});
    }
    return Layout::get({offset}, atom_.size());
  }

  Extents shape_, atom_;
  int element_bytes_;
  Side writer_, reader_;
  Vectors units_;
  std::size_t widest_, in_banks_;
  Vectors common_;
};

}  // namespace

std::vector<Layout const*> scratch_layouts(Layout const& from, Layout const& to, int element_bytes) {
  if (from.rank() == 0 || from.shape() != to.shape() || from.atom() != to.atom()) return {};
  if (!from.input(Dim::lane).digits.empty() || !to.input(Dim::lane).digits.empty()) return {};
  return ScratchSearch(from, to, element_bytes).all();
}

}  // namespace tegula::layout
