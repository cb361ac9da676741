// Emits counts, ranks and elements at places: a loop over the elements, in their order.
#include "codegen/host/emitter.hpp"

namespace tegula::codegen::host {

bool uses_places(ir::Op const& op) {
  return op.is<ir::HistogramOp>() || op.is<ir::RanksOp>() || op.is<ir::TakeOp>() || op.is<ir::PutOp>();
}

void FunctionEmitter::places_op(ir::Op const& op) {
  ir::Type const& type = op.result()->type();
  Buffer const result = target_of(*op.result(), &op);
  std::int64_t const used = scratch_used_;
  Buffer const tile = rows_of(*op.operand(0), op);
  auto const at = [&](llvm::Value* place) { return Index(1, Axis{place, false}); };
  auto const place_in = [&](llvm::Value* number, std::int64_t extent) {
    llvm::Value* const place = b.CreateZExt(number, b.getInt64Ty());  // a negative one is large
    return std::pair(place, b.CreateICmpULT(place, i64(extent)));
  };
  auto const add_one = [&](Buffer const& counters, llvm::Value* place) {
    llvm::Value* const address = this->address(counters, at(place));
    llvm::Value* const old = b.CreateLoad(b.getInt32Ty(), address);
    b.CreateStore(b.CreateAdd(old, b.getInt32(1)), address);
    return old;
  };
  if (op.is<ir::HistogramOp>()) {
    loop(i64(0), i64(type.elements()), i64(1),
         [&](llvm::Value* bin) { b.CreateStore(b.getInt32(0), address(result, at(bin))); });
    for_each_element(op.operand(0)->type(), [&](Index const& index) {
      auto const [place, inside] = place_in(element(tile, index), type.elements());
      when(inside, [&, counter = place] { add_one(result, counter); });
    });
  } else if (op.is<ir::RanksOp>()) {
    ir::Type const& starts = op.in<ir::RanksOp>("starts")->type();
    Buffer const next = rows(starts, &op);
    materialise(*op.in<ir::RanksOp>("starts"), next);
    for_each_element(type, [&](Index const& index) {
      auto const [place, inside] = place_in(element(tile, index), starts.elements());
      llvm::Value* const to = address(result, index);
      when(
          inside, [&, counter = place] { b.CreateStore(add_one(next, counter), to); },
          [&] { b.CreateStore(b.getInt32(-1U), to); });
    });
  } else if (op.is<ir::TakeOp>()) {
    Buffer const places = rows_of(*op.in<ir::TakeOp>("places"), op);
    llvm::Type* const held = storage_type(type.element());
    for_each_element(type, [&](Index const& index) {
      auto const [place, inside] = place_in(element(places, index), tile.shape[0]);
      llvm::Value* const found = b.CreateLoad(held, address(tile, at(b.CreateSelect(inside, place, i64(0)))));
      b.CreateStore(b.CreateSelect(inside, found, llvm::Constant::getNullValue(held)), address(result, index));
    });
  } else {
    Buffer const places = rows_of(*op.in<ir::PutOp>("places"), op);
    llvm::Type* const held = storage_type(type.element());
    for_each_element(type, [&](Index const& index) {
      auto const [place, inside] = place_in(element(places, index), type.elements());
      when(inside,
           [&, to = place] { b.CreateStore(b.CreateLoad(held, address(tile, index)), address(result, at(to))); });
    });
  }
  scratch_used_ = used;
  set_buffer(*op.result(), result);
}

}  // namespace tegula::codegen::host
