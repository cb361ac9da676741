// Tests the recorder alone: the emitted ops, and their order.
#include "support/catch.hpp"
#include "tegula/support/error.hpp"
#include "tegula/trace/recorder.hpp"

using namespace tegula;
using trace::Coordinate;
using trace::Handle;
using trace::Id;
using trace::Literal;
using trace::Recorder;

namespace {

ir::Type const tile64 = ir::Type::tile(Element::f32, {64});
ir::Type const index_type = ir::Type::index();

void state_grid(Recorder& recorder) {
  Id const one = recorder.index_value({{}, 7, false, false}, {});
  Handle block;
  recorder.grid("grid", &one, 1, &block, {});
}

Id load(Recorder& recorder, Handle tensor, std::int64_t at) {
  Coordinate const coordinate{{}, at, false, false};
  return recorder.load(tensor, recorder.epoch(), &coordinate, 1, {}, tile64, {}, {});
}

void store(Recorder& recorder, Handle tensor, Id value, std::int64_t at) {
  Coordinate const coordinate{{}, at, false, false};
  recorder.store(tensor, value, &coordinate, 1, {});
}

}  // namespace

TEST_CASE("the order of recording does not change the IR, and unused values are not emitted") {
  auto const traced = [](bool swapped) {
    Recorder recorder("k", {});
    Handle const x = recorder.tensor_parameter(Element::f32, 1, Direction::in, 1);
    Handle const y = recorder.tensor_parameter(Element::f32, 1, Direction::out, 1);
    state_grid(recorder);
    Id a = -1, b = -1;
    if (swapped) {
      b = load(recorder, x, 1);
      a = load(recorder, x, 0);
    } else {
      a = load(recorder, x, 0);
      b = load(recorder, x, 1);
    }
    (void)recorder.emit(ir::ExpOp(), {b}, tile64, {});  // dead
    Id const sum = recorder.emit(ir::SubOp(), {a, b}, tile64, {});
    store(recorder, y, sum, 0);
    return recorder.finish().text();
  };
  CHECK(traced(false) == traced(true));
  CHECK(traced(false).find("exp") == std::string::npos);
}

TEST_CASE("scalar ops are reused, folded, and hoisted out of loops") {
  Recorder recorder("k", {});
  Handle const x = recorder.tensor_parameter(Element::f32, 1, Direction::in, 1);
  Handle const y = recorder.tensor_parameter(Element::f32, 1, Direction::out, 1);
  state_grid(recorder);
  Id const n = recorder.extent(recorder.use(x, {}), 0, {});
  CHECK(n == recorder.extent(recorder.use(x, {}), -1, {}));
  Id const three = recorder.index_value({{}, 3, false, false}, {});
  Id const four = recorder.index_value({{}, 4, false, false}, {});
  CHECK(recorder.emit_scalar(ir::AddOp(), {three, four}, index_type, {}) ==
        recorder.index_value({{}, 7, false, false}, {}));
  Id const product = recorder.emit_scalar(ir::MulOp(), {n, three}, index_type, {});
  CHECK(product == recorder.emit_scalar(ir::MulOp(), {n, three}, index_type, {}));
  recorder.begin_loop(three, four, three, {nullptr, 0}, {}, {});
  Id const inside = recorder.emit_scalar(ir::MulOp(), {n, four}, index_type, {});
  Coordinate const at{recorder.handle(inside), 0, true, true};
  Id const zero = recorder.constant({}, tile64, {});
  recorder.store(y, zero, &at, 1, {});
  recorder.end_loop({nullptr, 0});
  std::string const text = recorder.finish().text();
  CHECK(text.find("mul") < text.find("for %i"));
}

TEST_CASE("loads of a written tensor are emitted before the next store") {
  Recorder recorder("k", {});
  Handle const x = recorder.tensor_parameter(Element::f32, 1, Direction::inout, 1);
  state_grid(recorder);
  Id const before = load(recorder, x, 0);
  Id const unused = load(recorder, x, 1);
  (void)unused;
  Id const zero = recorder.constant({}, tile64, {});
  store(recorder, x, zero, 0);
  store(recorder, x, before, 1);
  std::string const text = recorder.finish().text();
  CHECK(text.find("load") < text.find("store"));
  CHECK(text.find("load", text.find("store")) == std::string::npos);  // the unused one is gone
}

TEST_CASE("long chains of ops do not need deep recursion") {
  Recorder recorder("k", {});
  Handle const x = recorder.tensor_parameter(Element::f32, 1, Direction::in, 1);
  Handle const y = recorder.tensor_parameter(Element::f32, 1, Direction::out, 1);
  state_grid(recorder);
  Id value = load(recorder, x, 0);
  for (int i = 0; i < 50000; ++i) value = recorder.emit(ir::NegOp(), {value}, tile64, {});
  store(recorder, y, value, 0);
  CHECK(recorder.finish().text().size() > 1000000);
}

TEST_CASE("recorders nest, and none is active outside") {
  CHECK(Recorder::active() == nullptr);
  Recorder outer("outer", {});
  {
    Recorder inner("inner", {});
    CHECK(Recorder::active() == &inner);
    Handle const x = inner.tensor_parameter(Element::f32, 1, Direction::in, 1);
    CHECK_THROWS_AS(outer.use(x, {}), UserError);
  }
  CHECK(Recorder::active() == &outer);
  CHECK_THROWS_AS(outer.finish(), UserError);  // an error was swallowed
}
