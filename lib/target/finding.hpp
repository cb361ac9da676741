// Holds which rule of the target something breaks, as data that ops keep; a sentence is made where it is shown.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tegula/target/tma_rules.hpp"

namespace tegula::target {

/// Describes one kind of finding. Each {} of the sentence is a value in turn; {*} is a value that is a finding itself.
struct FindingKind {
  std::string_view name;
  TmaRule const* rule;  ///< of TMA that it breaks; null: none
  std::string_view sentence;
  /// Asks a layout for its own sentence about these values; empty: the layout has nothing against them.
  std::string (*asked)(std::vector<std::string> const& values) = nullptr;
};

/// Holds a kind and its values: numbers, shapes, names, or findings. As an attribute it is `address(2)`, `row(8x10,
/// 20)`.
class Finding {
 public:
  Finding() = default;
  template <class... V>
  explicit Finding(FindingKind const& kind, V const&... values) : kind_(&kind), values_{value(values)...} {}
  /// Reads data() back; any other text becomes a finding that states it as it is.
  static Finding from_data(std::string_view data);

  /// True if nothing was found.
  [[nodiscard]] bool empty() const { return kind_ == nullptr; }
  [[nodiscard]] bool is(FindingKind const& kind) const { return kind_ == &kind; }
  [[nodiscard]] std::string data() const;
  [[nodiscard]] TmaRule const* rule() const { return kind_ == nullptr ? nullptr : kind_->rule; }
  /// Returns the finding, with its values.
  [[nodiscard]] std::string sentence() const;
  /// Returns the sentence behind the name of the rule: "tma: address: the tensor's address ...".
  [[nodiscard]] std::string text() const;

 private:
  static std::string value(std::string_view text) { return std::string(text); }
  static std::string value(std::int64_t number) { return fmt::to_string(number); }
  static std::string value(int number) { return fmt::to_string(number); }
  static std::string value(Finding const& finding) { return finding.data(); }

  FindingKind const* kind_ = nullptr;
  std::vector<std::string> values_;
};

/// Repeat the reasons for which lib/layout has no such layout.
namespace layout_says {
std::string swizzled(std::vector<std::string> const& shape_bytes);
std::string accumulator(std::vector<std::string> const& shape_warps);
std::string left(std::vector<std::string> const& shape_bytes_warps);
}  // namespace layout_says

namespace finding {

namespace rule = tma_rule;

/// A sentence of the layouts' own, or of an attribute that names no kind.
inline constexpr FindingKind stated{"stated", nullptr, "{}"};

// Of copies by TMA.
inline constexpr FindingKind element_bytes{"element_bytes", &rule::element,
                                           "elements of {} bytes; 1, 2, 4 or 8 are possible"};
inline constexpr FindingKind no_bool{"no_bool", &rule::element, "no element of tensor maps is bool"};
inline constexpr FindingKind box_rank{"box_rank", &rule::rank, "a box of {} axes; 1 to 5 are possible"};
inline constexpr FindingKind tile_rank{"tile_rank", &rule::rank, "a tile of {} axes; 1 to 5 are possible"};
inline constexpr FindingKind tensor_rank{"tensor_rank", &rule::rank, "a tensor of {} axes; 1 to 5 are possible"};
inline constexpr FindingKind box_extent{"box_extent", &rule::box,
                                        "axis {} of box {} has {} elements; 1 to 256 are possible"};
inline constexpr FindingKind box_axis{"box_axis", &rule::box,
                                      "axis {} of box {} has {} elements but no axis in a view of {}"};
inline constexpr FindingKind box_parts{"box_parts", &rule::box, "boxes of {} do not make up a view of {}"};
inline constexpr FindingKind box_whole{"box_whole", &rule::box, "a box of {} does not fill a view of {}"};
inline constexpr FindingKind row{"row", &rule::row, "the last axis of box {} has {} bytes, not a multiple of 16"};
inline constexpr FindingKind span{"span", &rule::swizzle, "a swizzle of {} bytes; none, 32, 64 or 128 are possible"};
inline constexpr FindingKind span_exceeded{"span_exceeded", &rule::swizzle,
                                           "the last axis of box {} has {} bytes, more than the swizzle of {} bytes"};
inline constexpr FindingKind span_unfilled{
    "span_unfilled", &rule::swizzle,
    "the last axis of box {} has {} bytes, less than the swizzle of {} bytes; take a smaller swizzle"};
inline constexpr FindingKind swizzled_layout{
    "swizzled_layout", &rule::swizzle, "no swizzle fits a tile of {} with elements of {} bytes", layout_says::swizzled};
inline constexpr FindingKind outside{"outside", &rule::placement, "a view of {} at {} leaves the tile of {}"};
inline constexpr FindingKind begin{"begin", &rule::placement,
                                   "a copy begins at byte {} of the tile; it must be a multiple of 128"};
inline constexpr FindingKind displaced{
    "displaced", &rule::placement,
    "a copy with {} and box {} puts element {} at byte {} of the tile, its layout has it at byte {}"};
inline constexpr FindingKind layout{"layout", &rule::placement,
                                    "no copy writes the layout {}; dense and swizzled tiles are possible"};
inline constexpr FindingKind contiguous{"contiguous", &rule::contiguous,
                                        "the tensor's last axis is not known to be contiguous"};
inline constexpr FindingKind address{"address", &rule::address,
                                     "the tensor's address is known to be a multiple of {} bytes, not of 16"};
inline constexpr FindingKind stride{"stride", &rule::stride,
                                    "the stride of the tensor's rows is known to be a multiple of {} bytes, not of 16"};
inline constexpr FindingKind coordinate{"coordinate", &rule::coordinate,
                                        "the start of a copy along the tensor's last axis is known to be a multiple of "
                                        "{} bytes, not of 16"};
inline constexpr FindingKind direction{"direction", &rule::direction,
                                       "{} is written by the kernel too, through another proxy"};
inline constexpr FindingKind slice{"slice", &rule::slice, "the bounds of the slice are not known when a CTA begins"};
inline constexpr FindingKind pad{"pad", &rule::pad,
                                 "elements outside the tensor become 0, not the pad of a product's operand"};

inline constexpr FindingKind part{"part", nullptr, "the tile is padded, and a part of its box is loaded"};
inline constexpr FindingKind repeated{"repeated", nullptr,
                                      "it stands in a while_ loop, through which no ring counts its stages"};

inline constexpr FindingKind no_tma{"no_tma", nullptr, "{} has no TMA"};

// Of products on tensor cores.
inline constexpr FindingKind no_products{"no_products", nullptr, "tensor cores of {} do not multiply {}"};
inline constexpr FindingKind no_wgmma{"no_wgmma", nullptr, "{} has no wgmma"};
inline constexpr FindingKind no_f64{"no_f64", nullptr, "wgmma does not multiply f64"};
inline constexpr FindingKind full_f32{
    "full_f32", nullptr,
    "tensor cores take the upper 10 bits of the fraction of f32, for which the product must ask (precision tf32; or "
    "cast to f16 or bf16)"};
inline constexpr FindingKind i8_columns{"i8_columns", nullptr, "wgmma takes multiples of 16 columns of i8, not {}"};
inline constexpr FindingKind rows{"rows", nullptr, "wgmma takes multiples of 64 rows, not {}"};
inline constexpr FindingKind sums{"sums", nullptr,
                                  "wgmma keeps sums in registers, {} of each thread of {} warps, which have {}"};
inline constexpr FindingKind rhs_by_pointer{"rhs_by_pointer", nullptr,
                                            "wgmma reads rhs from shared memory, but it is not copied there: {*}"};
inline constexpr FindingKind rhs_handed{
    "rhs_handed", nullptr, "wgmma reads rhs from shared memory, but a loop or a branch hands it over in registers"};
inline constexpr FindingKind rhs_computed{"rhs_computed", nullptr,
                                          "wgmma reads rhs from shared memory, but it is computed"};
inline constexpr FindingKind few_bits{
    "few_bits", nullptr,
    "lhs is computed from elements of fewer bits, which mma takes word by word, and wgmma byte by byte"};
inline constexpr FindingKind accumulator_layout{
    "accumulator_layout", nullptr, "wgmma has no accumulator of {} for {} warps", layout_says::accumulator};
inline constexpr FindingKind left_layout{"left_layout", nullptr,
                                         "wgmma has no left operand of {} with elements of {} bytes for {} warps",
                                         layout_says::left};
inline constexpr FindingKind operand_a{"operand_a", nullptr, "wgmma: operand A {*}"};
inline constexpr FindingKind operand_b{"operand_b", nullptr, "wgmma: operand B {*}"};
inline constexpr FindingKind operand_axes{"axes", nullptr, "is a tile of {} axes, not of 2; take one stage of it"};
inline constexpr FindingKind operand_bytes{"bytes", nullptr, "has elements of {} bytes; 1, 2 or 4 are possible"};
inline constexpr FindingKind operand_origin{"origin", nullptr, "begins at {} of axis {}, beyond the tile of {}"};
inline constexpr FindingKind operand_depth{"depth", nullptr,
                                           "of {} has a K of {}, not a multiple of the {} that one instruction takes"};
inline constexpr FindingKind operand_columns{
    "columns", nullptr, "of {} is read {} columns at a time; one instruction takes a multiple of 8 up to 256"};
inline constexpr FindingKind operand_parts{"parts", nullptr, "of {} has {} {}, not a multiple of {}"};
inline constexpr FindingKind operand_strided{"strided", nullptr, "has neither K nor {} contiguous in its layout {}"};
inline constexpr FindingKind operand_transposed{
    "transposed", nullptr,
    "has {} contiguous and elements of {} bytes; only 16-bit elements can be transposed, others need K contiguous"};
inline constexpr FindingKind operand_mode{"mode", nullptr,
                                          "is not laid out as wgmma reads it: with a swizzle of {} {*}"};
inline constexpr FindingKind mode_distance{"distance", nullptr, "the distance of {} bytes does not fit a descriptor"};
inline constexpr FindingKind mode_start{
    "start", nullptr, "an instruction would start at byte {}, not in the first row of a pattern of {} bytes"};
inline constexpr FindingKind mode_reads{"reads", nullptr,
                                        "it reads byte {} for element {} of K in row {}, which lies at byte {}"};

inline constexpr FindingKind const* all[] = {&element_bytes,
                                             &no_bool,
                                             &box_rank,
                                             &tile_rank,
                                             &tensor_rank,
                                             &box_extent,
                                             &box_axis,
                                             &box_parts,
                                             &box_whole,
                                             &row,
                                             &span,
                                             &span_exceeded,
                                             &span_unfilled,
                                             &swizzled_layout,
                                             &outside,
                                             &begin,
                                             &displaced,
                                             &layout,
                                             &contiguous,
                                             &address,
                                             &stride,
                                             &coordinate,
                                             &repeated,
                                             &direction,
                                             &slice,
                                             &pad,
                                             &part,
                                             &no_tma,
                                             &no_products,
                                             &no_wgmma,
                                             &no_f64,
                                             &full_f32,
                                             &i8_columns,
                                             &rows,
                                             &sums,
                                             &rhs_by_pointer,
                                             &rhs_handed,
                                             &rhs_computed,
                                             &few_bits,
                                             &accumulator_layout,
                                             &left_layout,
                                             &operand_a,
                                             &operand_b,
                                             &operand_axes,
                                             &operand_bytes,
                                             &operand_origin,
                                             &operand_depth,
                                             &operand_columns,
                                             &operand_parts,
                                             &operand_strided,
                                             &operand_transposed,
                                             &operand_mode,
                                             &mode_distance,
                                             &mode_start,
                                             &mode_reads};

}  // namespace finding
}  // namespace tegula::target
