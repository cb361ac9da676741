// Cuts what follows from sums into shares of columns, one for each CTA.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Finds out whether CTAs can each compute and store their share of the columns of sums, and rewrites the ops after
/// the sums for it. A share keeps the registers of its columns in the threads that hold them.
///
///   before: %b = load %bias, %j : tile<128xf32>            after: %o = %rank * 32
///           %w = broadcast %b : tile<64x128xf32>                  %b = load %bias, %j + %o : tile<32xf32>
///           %y = add %sum, %w                                     %w = broadcast %b : tile<64x32xf32>
///           store %C, %y, %i, %j                                  %y = add %share, %w
///                                                                 store %C, %y, %i, %j + %o
class ColumnShares {
 public:
  /// `tail`: the ops after the sums, in order; they alone use the sums.
  ColumnShares(std::vector<ir::Value*> sums, std::vector<ir::Op*> tail, std::int64_t shares)
      : sums_(std::move(sums)), tail_(std::move(tail)), shares_(shares) {}

  /// Explains why the columns cannot be shared; empty: they can.
  std::string find();

  /// Returns the type of a share of a sum. Needs: find.
  [[nodiscard]] ir::Type const& share_of(ir::Value const& sum) const { return cuts_.at(&sum).type; }

  /// Rewrites the tail: `totals` take the place of the sums, and the share of number `rank` is computed and stored.
  void rewrite(std::vector<ir::Value*> const& totals, ir::Value& rank);

 private:
  struct Cut {
    int axis;
    ir::Type type;  ///< of the share
  };

  std::string find(ir::Op& op);
  std::string cut_effect(ir::Op& op);
  std::string cut_result(ir::Op& op);
  std::string demand(ir::Value& value, int axis);
  std::string demand_operands(ir::Op& op, int axis, layout::Layout const* result);
  std::string keep(ir::Value& value, int axis, layout::Layout const* preferred);
  [[nodiscard]] bool is_cut(ir::Value const& value) const { return cuts_.contains(&value); }
  [[nodiscard]] bool takes_a_share(ir::Op const& op) const;
  [[nodiscard]] std::string reads_what_others_store(ir::Op const& load) const;

  ir::Value* made(ir::Value& value);
  void make(ir::Op& op);
  ir::Value* moved(ir::Builder& builder, ir::Value& offset, std::int64_t columns);

  std::vector<ir::Value*> sums_;
  std::vector<ir::Op*> tail_;
  std::int64_t shares_;
  std::vector<ir::Op*> ops_;                  ///< of the tail and its blocks, in order
  std::unordered_set<ir::Op const*> inside_;  ///< the same
  std::map<ir::Value const*, Cut> cuts_;
  ir::ValueMap made_;
  ir::Value* rank_ = nullptr;
};

}  // namespace tegula::transform
