// Holds the draft of a running trace (nodes, values, regions) and emits IR from it.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ir/values/integer_range.hpp"
#include "ir/core/op.hpp"
#include "tegula/trace/recorder.hpp"

namespace tegula::trace {

/// Holds one op as it was recorded. Nodes with effects are in their region's list; the others are found from operands.
struct Node {
  ir::OpKind kind;
  std::vector<std::byte> attributes;
  std::vector<Id> operands;
  Id first_result = -1;
  int result_count = 0;
  int region = 0;
  location where;
  std::vector<int> regions;  ///< nested, of a loop or branch
  int effects_before = 0;    ///< statements begun before this one; for a load: before it was written
  std::vector<Id> written;   ///< tensor parameters stored to by this statement or in it
  Id memory = -1;            ///< of a read: the parameter
};

struct DraftValue {
  ir::Type type;
  int node = -1;  ///< -1: an argument of its region
  int result = 0;
  int region = 0;
  location where;
  ir::IntegerRange range;  ///< of an integer scalar
};

struct Region {
  RegionKind kind = RegionKind::kernel;
  int parent = -1;
  int depth = 0;
  location where;
  bool open = true;
  std::vector<int> effects;
  std::vector<int> loads;  ///< of tensors that are written, in the order recorded
  std::vector<Id> arguments;
  std::vector<Id> yields;
};

struct Draft {
  std::vector<Node> nodes;
  std::vector<DraftValue> values;
  std::vector<Region> regions;

  [[nodiscard]] Node const* definition(Id value) const {
    int const node = values[static_cast<std::size_t>(value)].node;
    return node < 0 ? nullptr : &nodes[static_cast<std::size_t>(node)];
  }
  /// True when `region` is `ancestor` or lies in it.
  [[nodiscard]] bool lies_in(int region, int ancestor) const {
    while (region >= 0 && region != ancestor) region = regions[static_cast<std::size_t>(region)].parent;
    return region == ancestor;
  }
};

/// Fills the function's body from the draft: effects of each region in order, before each the nodes it needs, operands
/// left to right. Loads that a later statement needs come before the store that ends their epoch, and all values
/// written before a record come before it. Ends with a return.
void emit_draft(Draft const& draft, ir::Function& function);

}  // namespace tegula::trace
