// Collects rows of KernelPaths: equal ones of one source line count once, since the compiler repeats code.
#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tegula/abi/kernel_paths.hpp"

namespace tegula::abi {

inline bool same_line(location a, location b) { return a.line() == b.line() && std::string_view(a.file()) == b.file(); }

inline auto key_of(AccessPath const& row) {
  return std::tie(row.kind, row.path, row.memory, row.tile, row.bytes, row.reason);
}
inline auto key_of(DotPath const& row) { return std::tie(row.path, row.tiles, row.reason); }
inline auto key_of(PaddedTile const& row) { return std::tie(row.tile, row.written, row.used); }

template <class Row>
void add_once(std::vector<Row>& rows, Row row) {
  bool const known = std::any_of(rows.begin(), rows.end(), [&](Row const& other) {
    return key_of(other) == key_of(row) && same_line(other.where, row.where);
  });
  if (!known) rows.push_back(std::move(row));
}

inline std::vector<AccessPath>& rows_of(KernelPaths& paths, AccessPath::Kind kind) {
  return kind == AccessPath::Kind::load ? paths.loads : kind == AccessPath::Kind::store ? paths.stores : paths.indexed;
}

}  // namespace tegula::abi
