#include "codegen/host/paths.hpp"

#include "abi/path_rows.hpp"
#include "ir/memory/accesses.hpp"
#include "layout/element_offsets.hpp"

namespace tegula::codegen::host {
namespace {

AccessPath::Kind kind_of(ir::Op const& op) {
  if (op.is<ir::LoadOp>()) return AccessPath::Kind::load;
  if (op.is<ir::StoreOp>()) return AccessPath::Kind::store;
  if (op.is<ir::GatherOp>()) return AccessPath::Kind::gather;
  return op.is<ir::ScatterOp>() ? AccessPath::Kind::scatter : AccessPath::Kind::atomic;
}

std::string tile_text(Extents const& shape, Element element) {
  return (shape.size() == 0 ? std::string() : layout::shape_text(shape) + "x") + std::string(name(element));
}

}  // namespace

void record_access(KernelPaths* paths, ir::Op const& op, AccessWidth const& width) {
  if (paths == nullptr) return;
  bool const reads = op.is<ir::LoadOp>() || op.is<ir::GatherOp>();
  ir::Value const& tensor = *op.in("tensor");
  ir::Type const& tile = (reads ? *op.result() : *op.in("tile")).type();
  AccessPath row;
  row.kind = kind_of(op);
  row.path = width.lanes > 1 ? Path::vector : Path::element;
  row.memory = ir::parameter_behind(tensor).name();
  row.tile = tile_text(tile.is_tile() ? tile.shape() : Extents{}, tensor.type().element());
  row.where = op.where();
  row.bytes = width.lanes * bytes(tensor.type().element());
  row.reason = width.reason;
  abi::add_once(abi::rows_of(*paths, row.kind), row);
}

void record_product(KernelPaths* paths, ir::Op const& dot, Path path, std::string reason) {
  if (paths == nullptr) return;
  ir::Type const &left = dot.lhs()->type(), &right = dot.rhs()->type();
  DotPath row;
  row.path = path;
  row.tiles = tile_text({left.shape()[0], right.shape()[1], left.shape()[1]}, left.element());
  row.where = dot.where();
  row.reason = std::move(reason);
  abi::add_once(paths->dots, row);
}

}  // namespace tegula::codegen::host
