// Inserts the checks that compile options ask for.
#pragma once

#include <set>
#include <vector>

#include "ir/core/builder.hpp"
#include "tegula/abi/compile_options.hpp"
#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Inserts asserts with the line of the op that they check (Checks says what each kind finds). The compiler runs it
/// before all other passes, so every executor has them. Checks of scalars print the values first.
///
///   before: %t = gather %x, %i : tile<64xf32>   after: %end = extent %x {axis = 0} : i64   (splatted)
///                                                      %lower = compare %i, %minus_one {predicate = ge}
///                                                      %upper = compare %i, %ends {predicate = lt}
///                                                      %inside = and %lower, %upper
///                                                      assert %inside, %b0, %b1, %b2 {message = "check of ..."}
///                                                      %t = gather %x, %i : tile<64xf32>
///
/// - bounds: of each axis of a gather, scatter or atomic, that indices are inside, or -1, which leaves an element out;
///   of a load of one element, that it is inside; of other loads, of stores and of atomics of boxes, that some of the
///   box is. Loads that state their pad and stores that may miss are left alone.
/// - overflow: of i32 and i64 sums, differences and products from which offsets, indices or bounds of loops follow.
/// - nan: of elementwise ops, reductions, scans and products, that finite operands give finite results.
///   An element that only selects and stores that may miss could take, of the same block, is checked where one does.
/// A function that has checks of a kind gets no more of it. Needs: nothing.  Leaves: nothing.
bool insert_checks(ir::Function& function, Checks const& checks);

/// Inserts the same checks into code that runs op by op while it is appended, as on the debug device. There a sum is
/// checked when the first place follows from it.
class RunningChecks {
 public:
  explicit RunningChecks(Checks const& checks) : checks_(checks) {}
  /// Inserts the checks of the last op of a block: of bounds and overflow before it, of NaN after it.
  void insert(ir::Op& last);
  /// Appends the checks of overflow of the sums from which a number follows that decides a branch, a loop or a grid.
  void append(ir::Value const& number, ir::Block& block);

 private:
  void check_sums(std::vector<ir::Value const*> places, ir::Builder const& at);

  Checks checks_;
  std::set<ir::Value const*> checked_;  ///< values whose sums are
};
PassResult insert_checks(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
