// Writes loads, stores and tensors of random tile kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/pipeline_case.hpp"
#include "fuzz/tile_writer.hpp"

namespace tegula::fuzz {

/// Makes tensors of every kind, and loads and stores at every place. See random_tile_kernel.hpp for the kernels.
class TileMemory : protected TileWriter {
 protected:
  using TileWriter::TileWriter;
  enum class Values : std::uint8_t { whole, wild, scaled };
  struct Tensor {
    std::string name;
    Element element;
    int rank;
    Values values;
  };
  static constexpr double small = 8;  ///< operands of products

  // ---- choices
  Element any_element() {
    return one_of<Element>({operand_, operand_, operand_, Element::f32, Element::f32, Element::i32, Element::i16});
  }
  Values drawn() { return wild_ && chance(35) ? Values::wild : Values::whole; }
  /// Numbers of products in this kernel are such times 2^exponent_: elements hold them, and f32 holds their sums.
  void scale() {
    scaled_ = products_ && is_float(operand_);
    if (!scaled_) return;
    bool const wide = operand_ == Element::bf16 || operand_ == Element::f32;
    int const low = wide && !mixed_   ? -74
                    : is_f8(operand_) ? -9
                                      : -24,
              high = wide && !mixed_   ? 52
                     : is_f8(operand_) ? 6
                                       : 13;
    exponent_ = low + pick(high - low + 1);
  }
  /// Returns a tile of the pool that can get this shape, or a new one.
  Tile partner(Scope& scope, Extents const& shape) {
    for (int tries = 0; tries < 4; ++tries) {
      Tile const a = any(scope);
      if (broadcasts(a.type, shape)) return broadcast(a, shape);
      if (broadcasts(a.type, {shape[1], shape[0]}) && chance(60)) return broadcast(trans(a), shape);
    }
    return chance(60) ? load(scope, shape[0], shape[1], any_element())
                      : number(pick(7) - 3, Type::tile(Element::f32, shape));
  }

  // ---- memory
  std::string tensor(Element element, std::vector<std::int64_t> const& extents, Direction direction, double bound,
                     Values values = Values::whole) {
    test::RandomParameter parameter;
    parameter.any = values == Values::wild;
    if (values == Values::scaled) parameter.exponent = exponent_;
    if (values != Values::whole) parameter.specials = one_of({0, 0, 4096, 512, 64});
    parameter.is_tensor = true;
    parameter.written = direction != Direction::in;
    parameter.element = element;
    parameter.extents = extents;
    parameter.bound = static_cast<std::int64_t>(bound);
    std::int64_t const unit = 16 / bytes(element), last = extents.back();
    bool const aligned = chance(80);
    parameter.gap = aligned ? (last + unit - 1) / unit * unit - last : pick(5);
    parameter.inner = aligned || chance(80) ? 1 : 2;
    if (!aligned && chance(20)) {
      auto const axes = static_cast<int>(extents.size());
      parameter.reversed = 1 + pick((1 << axes) - 1);
      if ((parameter.reversed >> (axes - 1) & 1) != 0 && parameter.inner == 1) parameter.inner = 2;
    }
    std::string const facts = aligned ? " {unit_inner, aligned_16}" : parameter.inner == 1 ? " {unit_inner}" : "";
    std::string const word = direction == Direction::in ? "in " : direction == Direction::out ? "out " : "inout ";
    return add_parameter(parameter, word + ir::to_string(Type::tensor(element, static_cast<int>(extents.size()))),
                         facts);
  }
  /// Draws a number near `wanted`: a multiple, ragged, or less.
  std::int64_t near(std::int64_t wanted) {
    return std::max<std::int64_t>(
        chance(40) ? wanted : wanted - pick(static_cast<int>(std::min<std::int64_t>(wanted, 20))), 1);
  }
  /// Returns an offset for a box of this extent: of the block, of an iteration, or fixed.
  std::string offset(Scope const& scope, std::int64_t extent) {
    if (!scope.loops.empty() && chance(50)) {
      Loop const& loop = scope.loops[static_cast<std::size_t>(pick(static_cast<int>(scope.loops.size())))];
      return times(chance(70) ? loop.index : loop.number, extent);
    }
    if (chance(60)) return times(one_of<std::string>({"%b0", "%b1", "%block"}), extent);
    if (chance(8)) return chance(50) ? far() : argument(-pick(static_cast<int>(2 * extent)) - 1);
    return index(chance(70) ? 0 : pick(3) * extent / 2 - 8);
  }
  /// Returns an offset beyond 31, 32 or more bits, or the smallest such offset.
  std::string far() {
    std::int64_t const one = 1, bit = one << one_of({31, 32, 32, 33, 40, 60});
    std::int64_t const value = (chance(50) ? bit : -bit) + one_of({-1, 0, 0, 0, 1, 8});
    return chance(70) ? argument(value) : index(value);
  }
  /// Returns an offset of a store, moved so that places stay apart but some lie outside.
  std::string moved(std::string const& offset, std::int64_t extent) {
    if (!chance(7)) return offset;
    std::int64_t const by = -1 - pick(static_cast<int>(extent));
    std::string const min = chance(25) ? far() : chance(50) ? argument(by) : index(by);
    return scalar("add", offset, min);
  }
  /// Draws whole numbers for products, scaled where the kernel's are.
  Tile load_operand(Scope const& scope, std::int64_t rows, std::int64_t columns, Element element) {
    bool const scaled = scaled_ && !inside_function_ && is_float(element);
    return load(scope, rows, columns, element, scaled ? Values::scaled : Values::whole);
  }
  Tile load(Scope const& scope, std::int64_t rows, std::int64_t columns, Element element,
            Values values = Values::whole) {
    if (inside_function_) return number(pick(7) - 3, Type::tile(element, {rows, columns}));
    Box box = draw_box(scope, rows, columns, element, values);
    if (chance(8))
      box.source = slice(scope, box.source, Type::tensor(element, static_cast<int>(box.offsets.size())), rows, columns);
    std::string op = "load " + box.source;
    for (std::string const& at : box.offsets) op += ", " + at;
    bool const pads = values != Values::scaled && chance(5);
    if (pads) op += " {pad = " + ir::to_string(ir::make_constant(element, 3.0)) + "}";
    double const size = values != Values::whole ? any_size : pads ? 3 : 2;
    if (!box.in_the_middle) return tile(define(op, Type::tile(element, {rows, columns})), size);
    return tile(without_middle(op, Type::tile(element, {rows, 1, columns})), size);
  }
  /// Names where a load reads.
  struct Box {
    std::string source;
    std::vector<std::string> offsets;
    bool in_the_middle = false;  ///< the middle axis of three is the one of which the tile takes one element
  };
  Box draw_box(Scope const& scope, std::int64_t rows, std::int64_t columns, Element element, Values values) {
    int const rank = chance(12) && rows > 1 ? 3 : 2;
    bool const in_the_middle = rank == 3 && chance(50);
    if (takes_block_of_loop(scope, columns, element, values)) {
      Loop const& loop = scope.loops.back();
      return {loop.source, {times(one_of<std::string>({"%b0", "%b1"}), rows), times(loop.index, columns)}};
    }
    Box box{known_tensor(element, rank, values), {}, in_the_middle};
    int const single = in_the_middle ? 1 : 0;  // the axis of which the tile takes one element
    if (box.source.empty()) {
      std::vector<std::int64_t> extents = {near(rows * (1 + pick(3))), near(columns * (1 + pick(3)))};
      if (rank == 3) extents.insert(extents.begin() + single, 1 + pick(3));
      box.source = tensor(element, extents, Direction::in, 2, values);
      tensors_.push_back({box.source, element, rank, values});
    }
    box.offsets.push_back(offset(scope, rows)), box.offsets.push_back(offset(scope, columns));
    if (rank == 3) box.offsets.insert(box.offsets.begin() + single, offset(scope, 1));
    return box;
  }
  /// Tells whether a load reads the block of K that the loop is at.
  bool takes_block_of_loop(Scope const& scope, std::int64_t columns, Element element, Values values) {
    if (scope.loops.empty() || scope.loops.back().source.empty()) return false;
    Values const sources = scaled_ && is_float(operand_) ? Values::scaled : Values::whole;  // of loops
    return columns == k_ && element == scope.loops.back().element && values == sources && chance(80);
  }
  /// Returns a tensor that the kernel has; empty: none fits, or another one is wanted.
  std::string known_tensor(Element element, int rank, Values values) {
    std::string source;
    for (Tensor const& known : tensors_)
      if (source.empty() && known.element == element && known.rank == rank && known.values == values && chance(25))
        source = known.name;
    return source;
  }
  /// Loads a box with an axis of 1 in the middle, and takes that axis out.
  Entry without_middle(std::string const& load, Type const& type) {
    Element const element = type.element();
    std::string loaded = define(load, type).name;
    if (chance(30) && is_float(element) && bits(element) >= 16) loaded = define("neg " + loaded, type).name;
    return define((chance(50) ? "squeeze " + loaded + " {axes = [1]}" : "reshape " + loaded),
                  type.with_shape({type.shape()[0], type.shape()[2]}));
  }
  /// Cuts an axis of a tensor, from which boxes of so many rows and columns are loaded.
  std::string slice(Scope const& scope, std::string const& source, Type const& type, std::int64_t rows,
                    std::int64_t columns) {
    int const axis = pick(type.rank());
    std::int64_t const extent = axis == type.rank() - 1 ? columns : axis == type.rank() - 2 ? rows : 1;
    std::string const begin = chance(50) ? index(0) : offset(scope, extent);
    std::string const end =
        chance(75) ? scalar("add", begin, index(near(extent * (1 + pick(2))))) : offset(scope, extent);
    return define("slice " + source + ", " + begin + ", " + end + " {axis = " + text(axis) + "}", type).name;
  }
  /// Loads one row of a vector, as a tile of rank 2.
  Tile load_row(std::int64_t columns) {
    if (inside_function_) return number(pick(7) - 3, Type::tile(Element::f32, {1, columns}));
    std::string const source = tensor(Element::f32, {near(2 * columns)}, Direction::in, 2);
    Entry const row = define("load " + source + ", " + times("%b0", columns), Type::tile(Element::f32, {columns}));
    return tile(define("expand_dims " + row.name + " {axes = [0]}", Type::tile(Element::f32, {1, columns})), 2);
  }
  /// Stores rows as two axes of a box; false: they do not divide. `row`: the number of the place, of so many.
  bool store_as_box(Tile const& value, std::string const& row, std::int64_t places) {
    Extents const& shape = value.type.shape();
    std::int64_t const inner = one_of<std::int64_t>({2, 4, 8, 16, 64}), outer = shape[0] / inner;
    if (shape[0] % inner != 0) return false;
    std::vector<std::int64_t> const extents = {near(places * outer), near(inner), near(shape[1])};
    std::string const target = tensor(value.type.element(), extents, Direction::out, 0);
    kernel_.parameters.back().tolerance = value.error;
    std::string const box = define("reshape " + value.name, value.type.with_shape({outer, inner, shape[1]})).name;
    line("store " + target + ", " + box + ", " + moved(times(row, outer), outer) + ", " + moved("%zero", inner) + ", " +
         moved("%zero", shape[1]));
    return true;
  }
  /// Stores to a tensor of its own, at a place of this block and iteration alone.
  void store(Scope const& scope, Tile value) {
    if (inside_function_) return;
    Element const element = one_of<Element>({Element::f32, operand_, value.type.element()});
    value = cast(value, element);
    Extents const& shape = value.type.shape();
    std::string row = "%block";
    for (Loop const& loop : scope.loops)
      row = scalar("add", times(row, std::max<std::int64_t>(loop.trips, 1)), loop.number);
    std::int64_t const blocks = grid_[0] * grid_[1] * std::max<std::int64_t>(scope.turns(), 1);
    bool const as_product = scope.loops.empty() && chance(50), as_pages = !as_product && chance(15),
               as_heads = !as_product && !as_pages && chance(15);
    std::vector<std::int64_t> const extents =
        as_product ? std::vector<std::int64_t>{near(grid_[1] * shape[0]), near(grid_[0] * shape[1])}
        : as_pages ? std::vector<std::int64_t>{blocks, near(shape[0]), near(shape[1])}
        : as_heads ? std::vector<std::int64_t>{near(shape[0]), blocks, near(shape[1])}
                   : std::vector<std::int64_t>{near(blocks * shape[0]), near(shape[1])};
    if (as_heads && chance(50) && store_as_box(value, row, blocks)) return;
    std::string const target = tensor(element, extents, Direction::out, 0);
    kernel_.parameters.back().tolerance = value.error;
    if (as_heads) {
      Type const spread = Type::tile(element, {shape[0], 1, shape[1]});
      std::string const tile = define("expand_dims " + value.name + " {axes = [1]}", spread).name;
      line("store " + target + ", " + tile + ", " + moved("%zero", shape[0]) + ", " + row + ", " +
           moved("%zero", shape[1]));
      return;
    }
    std::string const first =
        as_pages ? row + ", " + moved("%zero", shape[0]) : moved(times(as_product ? "%b1" : row, shape[0]), shape[0]);
    std::string const second = moved(as_product ? times("%b0", shape[1]) : "%zero", shape[1]);
    line("store " + target + ", " + value.name + ", " + first + ", " + second);
  }
  /// Adds a tile to a box of a tensor of its own, atomically. Boxes of other blocks and iterations may be the same
  /// ones.
  void update(Scope& scope) {
    Tile value = chance(50) ? trans(partner(scope, {n_, m_})) : partner(scope, {m_, n_});
    if (inside_function_ || value.error != 0) return;
    value = fit(cast(value, Element::f32), small);
    std::int64_t const places = 1 + pick(2);
    std::string const target = tensor(Element::f32, {near(places * m_), near(places * n_)}, Direction::inout, 2);
    Type const type = Type::tile(Element::i64, {m_, n_});
    auto const along = [&](int axis, std::string const& first) {
      std::string const counted = define("iota {axis = " + text(axis) + "}", type).name;
      if (first == "%zero" && chance(70)) return counted;
      return define("add " + counted + ", " + define("splat " + first, type).name, type).name;
    };
    std::string const row = along(0, moved(chance(50) ? times("%b1", m_) : "%zero", m_));
    std::string const column = along(1, moved(chance(50) ? times("%b0", n_) : "%zero", n_));
    define("atomic_update " + target + ", " + value.name + ", " + row + ", " + column,
           Type::tile(Element::f32, {m_, n_}));
  }
  /// Makes a tensor that the kernel reads and writes at this block's place, and reads again.
  void read_and_write(Scope& scope) {
    if (inside_function_) return;
    change(scope, state(), times("%block", m_));
  }
  std::string state() {
    if (state_.empty()) state_ = tensor(Element::f32, {near(grid_[0] * grid_[1] * m_), near(n_)}, Direction::inout, 2);
    return state_;
  }
  void change(Scope& scope, std::string const& tensor, std::string const& row) {
    Type const type = Type::tile(Element::f32, {m_, n_});
    std::string const at = row + ", %zero";
    if (chance(60)) keep(scope, tile(define("load " + tensor + ", " + at, type), small));
    Tile value = partner(scope, {m_, n_});
    if (value.error != 0) return;
    value = fit(cast(value, Element::f32), small);
    line("store " + tensor + ", " + value.name + ", " + at);
    if (chance(60)) keep(scope, tile(define("load " + tensor + ", " + at, type), small));
  }
  std::string argument(std::int64_t value) {
    test::RandomParameter parameter;
    parameter.element = Element::i64;
    parameter.scalar = ir::make_constant(Element::i64, value);
    return add_parameter(parameter, "i64");
  }

  Element operand_ = Element::bf16;  ///< of products
  std::int64_t m_ = 64, n_ = 16, k_ = 16;
  std::int64_t grid_[2] = {1, 1};
  bool products_ = true, mixed_ = false;
  bool wild_ = false, scaled_ = false;
  std::int64_t exponent_ = 0;  ///< of scaled numbers
  bool inside_function_ = false;
  std::vector<Tensor> tensors_;
  std::string state_;  ///< the tensor that is read and written
};

}  // namespace tegula::fuzz
