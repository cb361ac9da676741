// Distributes the indices of rows over the threads that copy the rows.
#pragma once

#include <map>
#include <string>

#include "ir/core/op.hpp"
#include "layout/layout.hpp"

namespace tegula::transform {

/// Computes indices of rows again, each in the threads that copy chunks of its row. The ops stand beside those that
/// computed them before: in a loop, or ahead of it.
class RowPlaces {
 public:
  /// `chunks`: (rows, chunks of a row).
  explicit RowPlaces(layout::Layout const& chunks) : chunks_(chunks) {}

  /// Returns a scalar itself, and a tile of one column in the layout of the chunks' rows. Null: it follows from an op
  /// that `unknown` names.
  ir::Value* of(ir::Value& value);
  [[nodiscard]] std::string const& unknown() const { return unknown_; }

 private:
  ir::Value* computed(ir::Value& value);
  ir::Value* carried(ir::Value& value);
  [[nodiscard]] layout::Layout const* layout_of(ir::Type const& type) const;

  layout::Layout const& chunks_;
  std::map<ir::Value const*, ir::Value*> placed_;
  std::string unknown_;
};

}  // namespace tegula::transform
