// Lowers copies of the aligned pieces that cover rows, and the loads that shift them: rows at any multiple of their
// element's bytes reach shared memory by cp.async.
#include <llvm/IR/Intrinsics.h>

#include <map>
#include <set>

#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/global_address.hpp"
#include "codegen/nvptx/inline_ptx.hpp"
#include "codegen/nvptx/pack_words.hpp"
#include "codegen/nvptx/ptx/cp_async.hpp"
#include "codegen/nvptx/ptx/math.hpp"
#include "codegen/nvptx/ptx/warp.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx {
namespace {

constexpr std::int64_t piece_bytes = 16;

/// Gives a box of rows of a tensor, and what of it lies inside.
class RowsOfBox {
 public:
  RowsOfBox(Emitter& e, ir::Op const& op, ir::Value const& tensor, std::span<ir::Value* const> offsets)
      : e_(e), b_(e.b), parts_(e.tensors.of(tensor)), offsets_(offsets), size_(bytes(tensor.type().element())) {
    if (!parts_.attributes.facts.unit_inner_stride)
      refuse(op, "pieces of 16 bytes cover adjacent elements, but the tensor's inner stride is not known to be 1");
    start_ = element_address(e, tensor, offsets);
    pitch_ = b_.CreateMul(parts_.strides[last() - 1], e.i64(size_));
  }

  /// Returns the address of the box's first element (i64), and the bytes from a row to the next one.
  [[nodiscard]] llvm::Value* start() const { return start_; }
  [[nodiscard]] llvm::Value* pitch() const { return pitch_; }

  /// Counts the columns inside the tensor, of so many (i32).
  llvm::Value* columns(std::int64_t count) { return clamp(left(last()), count); }
  /// Counts the rows inside the tensor, of so many (i32): none where the box lies outside along another axis.
  llvm::Value* rows(std::int64_t count) {
    llvm::Value* inside = b_.CreateICmpULT(offset(last()), parts_.extents[last()]);
    for (std::size_t axis = 0; axis + 1 < last(); ++axis)
      inside = b_.CreateAnd(inside, b_.CreateICmpULT(offset(axis), parts_.extents[axis]));
    return b_.CreateSelect(inside, clamp(left(last() - 1), count), e_.i32(0));
  }
  /// Returns the address behind the last byte of the tensor.
  llvm::Value* end() {
    llvm::Value* elements = e_.i64(1);
    for (std::size_t axis = 0; axis <= last(); ++axis) {
      llvm::Value* const others = b_.CreateSub(parts_.extents[axis], e_.i64(1));
      llvm::Value* const along = axis == last() ? others : b_.CreateMul(others, parts_.strides[axis]);
      elements = b_.CreateAdd(elements, limited(llvm::Intrinsic::smax, along, 0));
    }
    return b_.CreateAdd(parts_.address, b_.CreateMul(elements, e_.i64(size_)));
  }
  /// Clamps an i64 to 0 .. most, as i32.
  llvm::Value* clamp(llvm::Value* value, std::int64_t most) {
    llvm::Value* const low = limited(llvm::Intrinsic::smax, value, 0);
    return b_.CreateTrunc(limited(llvm::Intrinsic::smin, low, most), b_.getInt32Ty());
  }

 private:
  [[nodiscard]] std::size_t last() const { return offsets_.size() - 1; }
  llvm::Value* offset(std::size_t axis) { return b_.CreateSExt(e_.scalar(*offsets_[axis]), b_.getInt64Ty()); }
  llvm::Value* left(std::size_t axis) { return b_.CreateSub(parts_.extents[axis], offset(axis)); }
  llvm::Value* limited(llvm::Intrinsic::ID id, llvm::Value* value, std::int64_t limit) {
    return e_.intrinsic(id, {value, e_.i64(limit)}, {b_.getInt64Ty()});
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  TensorParts const& parts_;
  std::span<ir::Value* const> offsets_;
  int size_;
  llvm::Value *start_, *pitch_;
};

/// Copies pieces of rows.
class CoverCopy {
 public:
  CoverCopy(Emitter& e, RowsOfBox& box, llvm::Value* destination, std::int64_t rows, std::int64_t row_bytes)
      : e_(e),
        b_(e.b),
        box_(box),
        destination_(destination),
        row_bytes_(row_bytes),
        inside_(box.rows(rows)),
        end_(box.end()) {}

  /// Returns the address of a row's first element.
  llvm::Value* row_begin(llvm::Value* row) {
    return b_.CreateAdd(box_.start(), b_.CreateMul(b_.CreateZExt(row, b_.getInt64Ty()), box_.pitch()));
  }
  /// Copies piece `piece` of row `row`, both i32, which begins at an address.
  void copy(llvm::Value* row, llvm::Value* piece, llvm::Value* begin) {
    llvm::Value* const aligned = b_.CreateAnd(begin, e_.i64(-piece_bytes));
    llvm::Value* const ahead = b_.CreateMul(piece, e_.i32(piece_bytes));
    llvm::Value* const from = b_.CreateAdd(aligned, b_.CreateZExt(ahead, b_.getInt64Ty()));
    llvm::Value* const valid =
        b_.CreateSelect(b_.CreateICmpULT(row, inside_), box_.clamp(b_.CreateSub(end_, from), piece_bytes), e_.i32(0));
    llvm::Value* const place = b_.CreateAdd(b_.CreateMul(row, e_.i32(row_bytes_)), ahead);
    ptx::cp_async(b_, b_.CreateAdd(destination_, place), from, piece_bytes, valid);
  }

  /// Copies the same piece of rows `first`, `first + step`, ... The address goes from row to row: a multiple of the
  /// pitch for each would be kept from one iteration of a loop to the next.
  void copy_rows(llvm::Value* first, std::int64_t step, std::int64_t count, llvm::Value* piece) {
    llvm::Value* begin = row_begin(first);
    llvm::Value* const apart = b_.CreateMul(box_.pitch(), e_.i64(step));
    share(count, [&](std::int64_t done) {
      std::int64_t const passed = done / e_.threads() * step;
      if (done != 0) begin = b_.CreateAdd(begin, apart);
      copy(b_.CreateAdd(first, e_.i32(passed)), piece, begin);
    });
  }

  /// Hands the numbers 0 .. count - 1 to the executing threads: thread t of n gets t, t + n, ...
  template <class Each>
  void share(std::int64_t count, Each const& each) {
    for (std::int64_t done = 0; done < count; done += e_.threads()) {
      if (done + e_.threads() <= count) {
        each(done);
        continue;
      }
      llvm::BasicBlock *const here = e_.block("piece"), *const rest = e_.block("pieces.end");
      llvm::Value* const number = b_.CreateAdd(e_.thread(), e_.i32(done));
      b_.CreateCondBr(b_.CreateICmpULT(number, e_.i32(count)), here, rest);
      b_.SetInsertPoint(here);
      each(done);
      b_.CreateBr(rest);
      b_.SetInsertPoint(rest);
    }
  }

 private:
  Emitter& e_;
  llvm::IRBuilder<>& b_;
  RowsOfBox& box_;
  llvm::Value* destination_;
  std::int64_t row_bytes_;
  llvm::Value *inside_, *end_;
};

/// Loads the elements of a box from pieces, each row shifted by its own bytes.
class ShiftedLoad {
 public:
  ShiftedLoad(Emitter& e, RowsOfBox& box, ir::Type const& pieces, llvm::Value* address, ir::Type const& tile)
      : e_(e),
        b_(e.b),
        layout_(*tile.layout()),
        element_(tile.element()),
        size_(bytes(tile.element())),
        row_bytes_(pieces.shape()[1] * size_),
        address_(address),
        start_(b_.CreateTrunc(box.start(), b_.getInt32Ty())),
        pitch_(b_.CreateTrunc(box.pitch(), b_.getInt32Ty())),
        columns_(box.columns(tile.shape()[1])) {
    constexpr std::size_t max_kept = 8;
    std::set<std::int64_t> rows;
    for (int reg = 0; reg < layout_.registers(); ++reg) rows.insert(layout_.part(layout::Dim::reg, reg)[0]);
    anew_ = rows.size() > max_kept;
  }

  Registers load() {
    auto const of_word = static_cast<int>(word_bytes / size_);
    int const group = layout_.contiguous(1) >= of_word ? of_word : 1;
    Registers result;
    for (int reg = 0; reg < layout_.registers(); reg += group) {
      llvm::Value* const at = b_.CreateAdd(row(reg), column(reg));
      llvm::Value* const first = e_.coordinates.of_register(layout_, 1, reg);
      std::int64_t const constant = layout_.part(layout::Dim::reg, reg)[1];
      if (group == 1 && of_word > 1)
        one(at, first, result);
      else
        word(at, first, constant, result);
    }
    return result;
  }

 private:
  /// Returns the address of a row's first element. Those of many rows are not kept from one iteration to the next.
  llvm::Value* row(int reg) {
    llvm::Value*& known = rows_[layout_.part(layout::Dim::reg, reg)[0]];
    if (known != nullptr) return known;
    llvm::Value* number = e_.coordinates.of_register(layout_, 0, reg);
    if (anew_) number = ptx::copied_here(b_, number);
    llvm::Value* const shift =
        b_.CreateAnd(b_.CreateAdd(start_, b_.CreateMul(number, pitch_)), e_.i32(piece_bytes - 1));
    llvm::Value* const place = b_.CreateAdd(b_.CreateMul(number, e_.i32(row_bytes_)), shift);
    return known = b_.CreateAdd(address_, place);
  }
  llvm::Value* column(int reg) { return b_.CreateMul(e_.coordinates.of_register(layout_, 1, reg), e_.i32(size_)); }

  /// Loads one element of less than a word.
  void one(llvm::Value* at, llvm::Value* column, Registers& result) {
    llvm::Type* const type = b_.getIntNTy(static_cast<unsigned>(size_ * 8));
    llvm::Value* const inside = b_.CreateICmpSLT(column, columns_);
    Registers const zero = {llvm::ConstantInt::get(b_.getInt16Ty(), 0)};
    llvm::Value* const bits = load_vector(b_, "shared", inside, at, 0, zero, static_cast<int>(size_ * 8))[0];
    result.push_back(e_.from_bits(b_.CreateZExtOrTrunc(bits, type), element_));
  }

  /// Loads the elements of a word, which may lie in two.
  void word(llvm::Value* at, llvm::Value* column, std::int64_t constant, Registers& result) {
    llvm::Value* bits = nullptr;
    if (size_ == word_bytes) {
      bits = load32(at, 0);
    } else {
      llvm::Value* const aligned = b_.CreateAnd(at, e_.i32(-word_bytes));
      llvm::Value* const low = load32(aligned, 0);
      llvm::Value* const high = load32(aligned, word_bytes);
      llvm::Value* const shift = b_.CreateShl(at, e_.i32(3));  // bits, of which the instruction takes the rest by 32
      bits = ptx::shift_right_pair(b_, low, high, shift);
    }
    bits = b_.CreateAnd(bits, mask(column, constant));
    if (size_ == word_bytes)
      result.push_back(e_.from_bits(bits, element_));
    else
      unpack_word(e_, element_, words_for(element_, static_cast<int>(word_bytes / size_)), bits, result);
  }
  llvm::Value* load32(llvm::Value* at, std::int64_t constant) {
    return load_vector(b_, "shared", nullptr, at, constant, {llvm::PoisonValue::get(b_.getInt32Ty())}, 32)[0];
  }

  /// Returns the bits of a word from this column on that lie inside the tensor.
  llvm::Value* mask(llvm::Value* column, std::int64_t constant) {
    llvm::Value*& known = masks_[constant];
    if (known != nullptr) return known;
    llvm::Value* const left = b_.CreateSub(columns_, column);
    llvm::Value* result = e_.i32(-1);
    for (std::int64_t count = word_bytes / size_ - 1; count >= 0; --count) {
      std::int64_t const bits = (std::int64_t{1} << (8 * size_ * count)) - 1;
      result = b_.CreateSelect(b_.CreateICmpSGT(left, e_.i32(count)), result, e_.i32(bits));
    }
    return known = result;
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  layout::Layout const& layout_;
  Element element_;
  std::int64_t size_, row_bytes_;
  llvm::Value *address_, *start_, *pitch_, *columns_;
  bool anew_ = false;
  std::map<std::int64_t, llvm::Value*> rows_, masks_;  ///< by what the register adds to the row, and to the column
};

}  // namespace

void lower(ir::CpAsyncCoverOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &tensor = *op.in<ir::CpAsyncCoverOp>("tensor"), &view = *op.in<ir::CpAsyncCoverOp>("destination");
  RowsOfBox box(e, op, tensor, op.all<ir::CpAsyncCoverOp>("offsets"));
  std::int64_t const rows = view.type().shape()[0], row_bytes = view.type().shape()[1] * bytes(view.type().element());
  std::int64_t const pieces = row_bytes / piece_bytes - 1;  // beside a row's last one
  CoverCopy cover(e, box, e.scalar(view), rows, row_bytes);
  llvm::IRBuilder<>& b = e.b;
  if (e.threads() % pieces == 0)  // a thread keeps its piece
    cover.copy_rows(b.CreateUDiv(e.thread(), e.i32(pieces)), e.threads() / pieces, rows * pieces,
                    b.CreateURem(e.thread(), e.i32(pieces)));
  else
    cover.share(rows * pieces, [&](std::int64_t done) {
      llvm::Value* const number = b.CreateAdd(e.thread(), e.i32(done));
      llvm::Value* const row = b.CreateUDiv(number, e.i32(pieces));
      cover.copy(row, b.CreateURem(number, e.i32(pieces)), cover.row_begin(row));
    });
  cover.copy_rows(e.thread(), e.threads(), rows, e.i32(pieces));
}

void lower(ir::ShiftedLoadOp const&, ir::Op const& op, Emitter& e) {
  ir::Value const &tensor = *op.in<ir::ShiftedLoadOp>("tensor"), &pieces = *op.in<ir::ShiftedLoadOp>("pieces");
  RowsOfBox box(e, op, tensor, op.all<ir::ShiftedLoadOp>("offsets"));
  e.set(*op.result(), ShiftedLoad(e, box, pieces.type(), e.scalar(pieces), op.result()->type()).load());
}

}  // namespace tegula::codegen::nvptx
