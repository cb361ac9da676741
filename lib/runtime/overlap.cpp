#include "runtime/overlap.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "support/wide_integer.hpp"

namespace tegula::runtime {
using support::Int128;
namespace {

/// Limits the nodes that one question may visit; well-nested strides need a few dozen.
constexpr int max_nodes = 200'000;

struct Term {
  std::int64_t coefficient;  ///< > 0
  std::int64_t max;          ///< the variable runs over [0, most]
};

/// Returns the inverse of a modulo m, which have no common factor.
std::int64_t inverse(std::int64_t a, std::int64_t m) {
  Int128 before = 0, now = 1;
  for (std::int64_t left = m, right = a % m; right != 0;) {
    std::int64_t const quotient = left / right;
    left = std::exchange(right, left - quotient * right);
    before = std::exchange(now, before - quotient * now);
  }
  return static_cast<std::int64_t>(((before % m) + m) % m);
}

/// Searches an assignment with sum coefficient * variable == target. Terms are in descending order of coefficient, so
/// that a choice for the largest leaves a small range to the rest.
class BoundedSum {
 public:
  void add(std::int64_t coefficient, std::int64_t max) {
    if (max > 0 && coefficient > 0) terms_[count_++] = {coefficient, max};
  }

  Overlap solve(std::int64_t target) {
    std::sort(terms_, terms_ + count_, [](Term const& a, Term const& b) { return a.coefficient > b.coefficient; });
    merge_equal();
    room_[count_] = 0;
    divisor_[count_] = 0;
    for (int i = count_ - 1; i >= 0; --i) {
      room_[i] = room_[i + 1] + static_cast<Int128>(terms_[i].coefficient) * terms_[i].max;
      divisor_[i] = std::gcd(divisor_[i + 1], terms_[i].coefficient);
      step_[i] = std::max<std::int64_t>(divisor_[i + 1] / divisor_[i], 1);
      inverse_[i] = inverse(terms_[i].coefficient / divisor_[i], step_[i]);
    }
    nodes_ = 0;
    return search(0, target);
  }

 private:
  void merge_equal() {
    int kept = 0;
    for (int i = 0; i < count_; ++i) {
      if (kept > 0 && terms_[kept - 1].coefficient == terms_[i].coefficient) {
        terms_[kept - 1].max += terms_[i].max;
      } else {
        terms_[kept++] = terms_[i];
      }
    }
    count_ = kept;
  }

  Overlap search(int at, Int128 target) {
    if (target < 0 || target > room_[at]) return Overlap::none;
    if (target == 0) return Overlap::some;
    if (at == count_ || target % divisor_[at] != 0) return Overlap::none;
    if (++nodes_ > max_nodes) return Overlap::unknown;
    Int128 const coefficient = terms_[at].coefficient;
    Int128 const rest = room_[at + 1];
    Int128 const min = target <= rest ? 0 : (target - rest + coefficient - 1) / coefficient;
    Int128 const max = std::min<Int128>(terms_[at].max, target / coefficient);
    // Only every so many values leave a multiple of the divisor of the other terms.
    Int128 const step = step_[at];
    Int128 const wanted = target / divisor_[at] % step * inverse_[at] % step;
    Int128 const largest = max - ((max - wanted) % step + step) % step;
    // The largest first: mostly it leaves a remainder below the next coefficient.
    for (Int128 value = largest; value >= min; value -= step) {
      Overlap const found = search(at + 1, target - value * coefficient);
      if (found != Overlap::none) return found;
    }
    return Overlap::none;
  }

  Term terms_[2 * max_rank + 3] = {};
  int count_ = 0;
  Int128 room_[2 * max_rank + 4] = {};
  std::int64_t divisor_[2 * max_rank + 4] = {};
  std::int64_t step_[2 * max_rank + 3] = {};     ///< between values of a term that the others can complete
  std::int64_t inverse_[2 * max_rank + 3] = {};  ///< of the term's coefficient / divisor, modulo its step
  int nodes_ = 0;
};

bool empty(Footprint const& footprint) {
  for (int axis = 0; axis < footprint.rank; ++axis)
    if (footprint.extents[axis] <= 0) return true;
  return false;
}

std::int64_t magnitude(std::int64_t value) { return value < 0 ? -value : value; }

/// Normalises. Each axis runs upwards from the lowest address; axes that follow one another without a gap become one.
Footprint normalized(Footprint const& footprint) {
  Footprint result;
  result.base = byte_range(footprint).first;
  result.element_bytes = footprint.element_bytes;
  for (int axis = 0; axis < footprint.rank; ++axis) {
    if (footprint.extents[axis] == 1 || footprint.strides[axis] == 0) continue;
    int at = result.rank++;
    for (; at > 0 && result.strides[at - 1] > magnitude(footprint.strides[axis]); --at) {
      result.strides[at] = result.strides[at - 1];
      result.extents[at] = result.extents[at - 1];
    }
    result.strides[at] = magnitude(footprint.strides[axis]);
    result.extents[at] = footprint.extents[axis];
  }
  int kept = 0;
  std::int64_t inner_stride = result.element_bytes;
  std::int64_t inner_extent = 1;
  bool inner_is_element = true;
  Footprint merged;
  merged.base = result.base;
  merged.element_bytes = result.element_bytes;
  for (int axis = 0; axis < result.rank; ++axis) {
    if (result.strides[axis] == inner_stride * inner_extent) {
      // Merges with the axis inside it, or the element itself.
      inner_extent *= result.extents[axis];
      if (inner_is_element) {
        merged.element_bytes = inner_extent * inner_stride;
      } else {
        merged.extents[kept - 1] = inner_extent;
      }
      continue;
    }
    inner_is_element = false;
    inner_stride = result.strides[axis];
    inner_extent = result.extents[axis];
    merged.strides[kept] = inner_stride;
    merged.extents[kept] = inner_extent;
    ++kept;
  }
  merged.rank = kept;
  return merged;
}

}  // namespace

ByteRange byte_range(Footprint const& footprint) {
  if (empty(footprint)) return {};
  ByteRange range{footprint.base, footprint.base + footprint.element_bytes};
  for (int axis = 0; axis < footprint.rank; ++axis) {
    std::int64_t const reach = (footprint.extents[axis] - 1) * footprint.strides[axis];
    (reach < 0 ? range.first : range.last) += reach;
  }
  return range;
}

Overlap overlap(Footprint const& a, Footprint const& b) {
  if (empty(a) || empty(b)) return Overlap::none;
  ByteRange const ra = byte_range(a);
  ByteRange const rb = byte_range(b);
  if (ra.last <= rb.first || rb.last <= ra.first) return Overlap::none;
  Footprint const na = normalized(a);
  Footprint const nb = normalized(b);
  // base_a + sum s*x + i == base_b + sum t*y + j, with i and j inside the elements. With y' = most - y and j' likewise,
  // all coefficients are positive and the target is the distance from a's first byte to b's last.
  BoundedSum sum;
  for (int axis = 0; axis < na.rank; ++axis) sum.add(na.strides[axis], na.extents[axis] - 1);
  for (int axis = 0; axis < nb.rank; ++axis) sum.add(nb.strides[axis], nb.extents[axis] - 1);
  sum.add(1, na.element_bytes - 1);
  sum.add(1, nb.element_bytes - 1);
  return sum.solve(rb.last - 1 - ra.first);
}

Overlap self_overlap(Footprint const& footprint) {
  if (empty(footprint)) return Overlap::none;
  for (int axis = 0; axis < footprint.rank; ++axis)
    if (footprint.extents[axis] > 1 && footprint.strides[axis] == 0) return Overlap::some;
  // Well nested, as almost always: each stride is at least as long as the reach of all smaller ones.
  bool nested = true;
  std::int64_t reach = footprint.element_bytes;
  int order[max_rank];
  int count = 0;
  for (int axis = 0; axis < footprint.rank; ++axis)
    if (footprint.extents[axis] > 1) order[count++] = axis;
  std::sort(order, order + count,
            [&](int x, int y) { return magnitude(footprint.strides[x]) < magnitude(footprint.strides[y]); });
  for (int i = 0; i < count && nested; ++i) {
    std::int64_t const stride = magnitude(footprint.strides[order[i]]);
    nested = stride >= reach;
    reach += stride * (footprint.extents[order[i]] - 1);
  }
  if (nested) return Overlap::none;
  // Two elements differ by d_axis along each axis, |d| <= extent - 1, first at axis k with d_k >= 1 and d = 0 before.
  // They share a byte if the sum of stride * d lies strictly within one element's length of 0.
  for (int k = 0; k < count; ++k) {
    BoundedSum sum;
    std::int64_t target = -magnitude(footprint.strides[order[k]]);
    sum.add(magnitude(footprint.strides[order[k]]), footprint.extents[order[k]] - 2);
    for (int i = k + 1; i < count; ++i) {
      std::int64_t const stride = magnitude(footprint.strides[order[i]]);
      std::int64_t const max = footprint.extents[order[i]] - 1;
      sum.add(stride, 2 * max);
      target += stride * max;
    }
    sum.add(1, 2 * (footprint.element_bytes - 1));
    target += footprint.element_bytes - 1;
    Overlap const found = sum.solve(target);
    if (found != Overlap::none) return found;
  }
  return Overlap::none;
}

}  // namespace tegula::runtime
