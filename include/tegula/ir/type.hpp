// Defines the types of IR values.
#pragma once

#include <cstdint>

#include "tegula/support/element.hpp"
#include "tegula/support/extents.hpp"

namespace tegula::layout {
class Layout;  // lib/layout/layout.hpp: immutable, interned, lives for the process
}

namespace tegula::ir {

enum class TypeKind : std::uint8_t {
  none,
  scalar,      ///< `f32`, `i64`, `bool`: one value per block; indices are i64
  tile,        ///< `tile<128x64xbf16>`: a block-wide value; after layout assignment `tile<128x64xbf16, LAYOUT>`
  tensor,      ///< `tensor<?x?xbf16>`: a parameter in global memory with run-time extents and strides
  shared,      ///< `shared<4x128x64xbf16, swizzled(128)>`: a buffer in shared memory or a view of one; the layout maps
               ///< offsets to axes, and its extents may exceed the shape: those of the tile that contains the view
  global,      ///< `global<4096xi64, dense>`: the same in global memory; one for all CTAs
  mbarrier,    ///< `mbarrier<4>`: that many mbarrier objects in shared memory; `mbarrier`: one
  pending,     ///< `pending<64x256xf32, wgmma>`: a tile that an asynchronous product is still writing
  tensor_map,  ///< `tensor_map<128x64xbf16>`: a TMA descriptor, passed by value; the shape is the box of one copy
};

/// Holds a value type: small, copyable, compared by content (layouts are interned, so by pointer).
class Type {
 public:
  constexpr Type() = default;
  static constexpr Type scalar(Element element) { return {TypeKind::scalar, element, {}}; }
  static constexpr Type tile(Element element, Extents shape, layout::Layout const* layout = nullptr) {
    return {TypeKind::tile, element, shape, layout};
  }
  static constexpr Type tensor(Element element, int rank) {
    Extents extents;
    for (int i = 0; i < rank; ++i) extents.push_back(-1);
    return {TypeKind::tensor, element, extents};
  }
  static constexpr Type shared(Element element, Extents shape, layout::Layout const* layout) {
    return {TypeKind::shared, element, shape, layout};
  }
  static constexpr Type global(Element element, Extents shape, layout::Layout const* layout) {
    return {TypeKind::global, element, shape, layout};
  }
  /// Returns the type of mbarriers; an empty shape: one object.
  static constexpr Type mbarrier(Extents shape = {}) { return {TypeKind::mbarrier, Element::i64, shape}; }
  static constexpr Type pending(Element element, Extents shape, layout::Layout const* layout) {
    return {TypeKind::pending, element, shape, layout};
  }
  static constexpr Type tensor_map(Element element, Extents box) { return {TypeKind::tensor_map, element, box}; }
  static constexpr Type index() { return scalar(Element::i64); }

  [[nodiscard]] constexpr TypeKind kind() const { return kind_; }
  [[nodiscard]] constexpr bool is_scalar() const { return kind_ == TypeKind::scalar; }
  [[nodiscard]] constexpr bool is_tile() const { return kind_ == TypeKind::tile; }
  [[nodiscard]] constexpr bool is_tensor() const { return kind_ == TypeKind::tensor; }
  [[nodiscard]] constexpr bool is_shared() const { return kind_ == TypeKind::shared; }
  [[nodiscard]] constexpr bool is_global() const { return kind_ == TypeKind::global; }
  /// True for a buffer in shared or in global memory, or a view of one.
  [[nodiscard]] constexpr bool is_buffer() const { return is_shared() || is_global(); }
  [[nodiscard]] constexpr bool is_mbarrier() const { return kind_ == TypeKind::mbarrier; }
  [[nodiscard]] constexpr bool is_pending() const { return kind_ == TypeKind::pending; }
  [[nodiscard]] constexpr bool is_tensor_map() const { return kind_ == TypeKind::tensor_map; }
  /// True for a tile, or one that is still being written.
  [[nodiscard]] constexpr bool in_registers() const { return is_tile() || is_pending(); }
  [[nodiscard]] constexpr Element element() const { return element_; }
  /// Returns static extents; -1 per axis for a tensor; empty for a scalar and for one mbarrier.
  [[nodiscard]] constexpr Extents const& shape() const { return shape_; }
  [[nodiscard]] constexpr int rank() const { return shape_.size(); }
  /// Counts the elements of a tile; 1 for a scalar.
  [[nodiscard]] constexpr std::int64_t elements() const { return shape_.product(); }
  /// Returns the layout; null before layout assignment.
  [[nodiscard]] constexpr layout::Layout const* layout() const { return layout_; }

  /// Returns the same type with another kind: the tile that a pending one becomes, and back.
  [[nodiscard]] constexpr Type as(TypeKind kind) const { return {kind, element_, shape_, layout_}; }
  [[nodiscard]] constexpr Type with_element(Element element) const { return {kind_, element, shape_, layout_}; }
  [[nodiscard]] constexpr Type with_shape(Extents const& shape) const { return {kind_, element_, shape, nullptr}; }
  [[nodiscard]] constexpr Type with_layout(layout::Layout const* layout) const {
    return {kind_, element_, shape_, layout};
  }

  friend constexpr bool operator==(Type const&, Type const&) = default;

 private:
  constexpr Type(TypeKind kind, Element element, Extents const& shape, layout::Layout const* layout = nullptr)
      : kind_(kind), element_(element), shape_(shape), layout_(layout) {}

  TypeKind kind_ = TypeKind::none;
  Element element_ = Element::f32;
  Extents shape_;
  layout::Layout const* layout_ = nullptr;
};

}  // namespace tegula::ir
