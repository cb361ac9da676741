// Implements shadow memory: for each interval of bytes, its last write and the reads since. Intervals, not bytes: a
// copy of 16 KiB is four entries. Nothing here knows the order of accesses; the machine compares.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/machine/access.hpp"

namespace tegula::sim::machine {

/// Heads a list of reads in ReadLists; 0 is the empty list.
using ReadList = std::uint32_t;

/// Lists of reads that share tails. Lists are never changed, so entries may copy the head freely.
class ReadLists {
 public:
  struct Node {
    AccessRef ref = no_access;
    ReadList next = 0;
  };

  void reset() {
    nodes_.assign(1, {});
    remembered_ = {};
  }
  [[nodiscard]] Node const& node(ReadList list) const { return nodes_[list]; }

  /// Returns `list` with ref in front, without the entries for which covered(entry) holds. The last answer is
  /// remembered, because one action meets the same list in many neighbouring intervals.
  template <class Covered>
  ReadList add(ReadList list, AccessRef ref, Covered&& covered) {
    if (remembered_.list == list && remembered_.ref == ref) return remembered_.result;
    ReadList result = 0;
    bool drops = false;
    for (ReadList i = list; i != 0 && !drops; i = nodes_[i].next)
      drops = nodes_[i].ref == ref || covered(nodes_[i].ref);
    if (!drops) {
      result = list;
    } else {
      for (ReadList i = list; i != 0; i = nodes_[i].next) {
        if (nodes_[i].ref != ref && !covered(nodes_[i].ref)) result = push(nodes_[i].ref, result);
      }
    }
    result = push(ref, result);
    remembered_ = {list, ref, result};
    return result;
  }

 private:
  struct Remembered {
    ReadList list = UINT32_MAX;
    AccessRef ref = no_access;
    ReadList result = 0;
  };

  ReadList push(AccessRef ref, ReadList next) {
    nodes_.push_back({ref, next});
    return static_cast<ReadList>(nodes_.size() - 1);
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);
  Remembered remembered_;
};

/// Holds bytes of one page with one history.
struct Segment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  AccessRef write = no_access;
  ReadList reads = 0;
  AccessRef dead = no_access;  // warps that gave the bytes up since the last write
};

/// Holds the shadow of one space. Pages are made on first touch; a page is a sorted list of segments that covers it.
class ShadowSpace {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  /// Forgets all accesses; every byte's last write becomes `initial` (no_access: never written). Keeps storage.
  void reset(AccessRef initial) {
    initial_ = initial;
    for (auto& page : pages_) page.clear();
  }

  /// Calls f(segment, first byte of its page) for each segment of [begin, end), cut so that none sticks out. f may
  /// change write and reads.
  template <class F>
  void visit(std::uint64_t begin, std::uint64_t end, F&& f) {
    for_pages(begin, end, [&](std::vector<Segment>& page, std::uint64_t base, std::uint32_t from, std::uint32_t to) {
      std::size_t i = cut(page, from);
      std::size_t const last = cut_end(page, i, to);
      for (; i <= last; ++i) f(page[i], base);
    });
  }

  /// Replaces [begin, end) by one interval per page with this write and no reads.
  void overwrite(std::uint64_t begin, std::uint64_t end, AccessRef write) {
    for_pages(begin, end, [&](std::vector<Segment>& page, std::uint64_t, std::uint32_t from, std::uint32_t to) {
      std::size_t const first = cut(page, from);
      std::size_t const last = cut_end(page, first, to);
      page[first] = {from, to, write, 0, no_access};
      page.erase(page.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                 page.begin() + static_cast<std::ptrdiff_t>(last) + 1);
    });
  }

 private:
  template <class F>
  void for_pages(std::uint64_t begin, std::uint64_t end, F&& f) {
    while (begin < end) {
      std::uint64_t const number = begin / page_bytes;
      std::uint64_t const base = number * page_bytes;
      std::uint64_t const stop = std::min(end, base + page_bytes);
      if (number >= pages_.size()) pages_.resize(number + 1);
      std::vector<Segment>& page = pages_[number];
      if (page.empty()) page.push_back({0, page_bytes, initial_, 0, no_access});
      f(page, base, static_cast<std::uint32_t>(begin - base), static_cast<std::uint32_t>(stop - base));
      begin = stop;
    }
  }

  /// Returns the index of the segment that begins at `from`, cutting one in two if none does.
  static std::size_t cut(std::vector<Segment>& page, std::uint32_t from) {
    auto const found = std::upper_bound(page.begin(), page.end(), from,
                                        [](std::uint32_t value, Segment const& s) { return value < s.end; });
    std::size_t const i = static_cast<std::size_t>(found - page.begin());
    return page[i].begin == from ? i : (split(page, i, from), i + 1);
  }
  /// Returns the index of the segment that ends at `to`, searching on from segment i.
  static std::size_t cut_end(std::vector<Segment>& page, std::size_t i, std::uint32_t to) {
    while (page[i].end < to) ++i;
    if (page[i].end != to) split(page, i, to);
    return i;
  }
  static void split(std::vector<Segment>& page, std::size_t i, std::uint32_t at) {
    Segment tail = page[i];
    tail.begin = at;
    page[i].end = at;
    page.insert(page.begin() + static_cast<std::ptrdiff_t>(i) + 1, tail);
  }

  AccessRef initial_ = no_access;
  std::vector<std::vector<Segment>> pages_;
};

}  // namespace tegula::sim::machine
