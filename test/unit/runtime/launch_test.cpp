// Tests launch programs, argument checks and prepared launches with hand-made host entries.
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/argument_check.hpp"
#include "runtime/launch_program.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime;
using tegula::test::ContainsSubstring;

namespace {

template <class T>
constexpr Element element_for = sizeof(T) == 4 ? Element::f32 : Element::f64;

template <class T, int Rank>
Argument tensor(view<T, Rank> const& from) {
  Argument argument;
  argument.element = element_for<T>;
  argument.read_only = std::is_const_v<T>;
  argument.rank = Rank;
  argument.address = const_cast<std::remove_const_t<T>*>(from.data());
  for (int axis = 0; axis < Rank; ++axis) {
    argument.extents[axis] = from.extent(axis);
    argument.strides[axis] = from.stride(axis);
  }
  return argument;
}

Argument tensor(buffer<float>& from) {
  Argument argument = tensor(view<float, 1>(from.data(), from.size()));
  argument.allocation = from.allocation();
  return argument;
}

ParameterInfo parameter(Direction direction, int rank, Element element = Element::f32) {
  ParameterInfo info;
  info.direction = direction;
  info.rank = rank;
  info.element = element;
  return info;
}

/// Computes c = a + b over blocks of 4: slots a, n, stride, b, n, stride, c, n, stride, grid.
void add_entry(std::int64_t const* slots, std::int64_t first, std::int64_t last, void*, void*) {
  auto const address = [&](int slot) { return reinterpret_cast<float*>(static_cast<std::uintptr_t>(slots[slot])); };
  for (std::int64_t i = first * 4; i < last * 4 && i < slots[7]; ++i)
    address(6)[i * slots[8]] = address(0)[i * slots[2]] + address(3)[i * slots[5]];
}

CompiledKernel add_kernel() {
  CompiledKernel kernel;
  kernel.name = "add";
  kernel.parameters = {parameter(Direction::in, 1), parameter(Direction::in, 1), parameter(Direction::out, 1)};
  kernel.launch.steps = {{LaunchOp::extent, 2, 0, 0, 0},
                         {LaunchOp::constant, 0, 0, 0, 4},
                         {LaunchOp::ceil_div, 0, 1, 0, 0},
                         {LaunchOp::extent, 0, 0, 0, 0},
                         {LaunchOp::eq, 0, 3, 0, 0}};
  kernel.launch.grid = {2, -1, -1};
  kernel.launch.requirements = {{4, "a and c differ in extent", "add.cpp", 12}};
  kernel.phases = {{"add", -1}};
  return kernel;
}

std::shared_ptr<LoadedKernel const> loaded_add() { return make_loaded(add_kernel(), {{add_entry}, nullptr}); }

struct Vectors {
  std::vector<float> a, b, c;
  explicit Vectors(std::size_t n) : a(n), b(n), c(n, -1) {
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = static_cast<float>(i);
      b[i] = static_cast<float>(100 * i);
    }
  }
  [[nodiscard]] std::vector<Argument> arguments() { return {tensor(view(a)), tensor(view(b)), tensor(view(c))}; }
};

std::string refusal(std::vector<ParameterInfo> const& parameters, std::vector<Argument> const& arguments) {
  try {
    check_arguments("k", parameters, arguments, device::host());
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the launch program evaluates every op without overflow") {
  constexpr std::int64_t min = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max();
  auto const value = [](LaunchOp op, std::int64_t a, std::int64_t b, std::int64_t c = 0) {
    LaunchProgram program;
    program.steps = {{LaunchOp::constant, 0, 0, 0, a},
                     {LaunchOp::constant, 0, 0, 0, b},
                     {LaunchOp::constant, 0, 0, 0, c},
                     {op, 0, 1, 2, 0}};
    return evaluate(program, {}, 132).back();
  };
  CHECK(value(LaunchOp::add, max, 1) == min);
  CHECK(value(LaunchOp::sub, min, 1) == max);
  CHECK(value(LaunchOp::mul, max, 2) == -2);
  CHECK(value(LaunchOp::div, -7, 2) == -3);
  CHECK(value(LaunchOp::div, 5, 0) == 0);
  CHECK(value(LaunchOp::div, min, -1) == min);
  CHECK(value(LaunchOp::rem, -7, 2) == -1);
  CHECK(value(LaunchOp::rem, 5, 0) == 5);
  CHECK(value(LaunchOp::rem, min, -1) == 0);
  CHECK(value(LaunchOp::ceil_div, 7, 4) == 2);
  CHECK(value(LaunchOp::ceil_div, 8, 4) == 2);
  CHECK(value(LaunchOp::ceil_div, max, 2) == max / 2 + 1);
  CHECK(value(LaunchOp::ceil_div, 7, 0) == 0);
  CHECK(value(LaunchOp::min, 3, -4) == -4);
  CHECK(value(LaunchOp::max, 3, -4) == 3);
  CHECK(value(LaunchOp::bit_and, 6, 3) == 2);
  CHECK(value(LaunchOp::bit_or, 6, 3) == 7);
  CHECK(value(LaunchOp::bit_xor, 6, 3) == 5);
  CHECK(value(LaunchOp::lt, -1, 0) == 1);
  CHECK(value(LaunchOp::le, 0, 0) == 1);
  CHECK(value(LaunchOp::gt, 0, 0) == 0);
  CHECK(value(LaunchOp::ge, 0, 0) == 1);
  CHECK(value(LaunchOp::eq, 4, 4) == 1);
  CHECK(value(LaunchOp::ne, 4, 4) == 0);
  CHECK(value(LaunchOp::select, 0, 5, 6) == 6);
  CHECK(value(LaunchOp::multiprocessors, 0, 0) == 132);
  LaunchProgram wrong;
  wrong.steps = {{LaunchOp::add, 0, 1, 0, 0}};
  CHECK_THROWS_AS(evaluate(wrong, {}, 4), InternalError);
}

TEST_CASE("a prepared launch runs repeatedly and reads the current contents of its arrays") {
  Vectors v(11);
  PreparedLaunch const launch(loaded_add(), v.arguments());
  CHECK(launch.grid(0) == 3);
  stream const order(device::host());
  launch.run(order);
  CHECK(v.c[10] == 1010);
  v.a[10] = 5;
  launch.run(order);
  CHECK(v.c[10] == 1005);
}

TEST_CASE("a prepared launch takes other arguments, and keeps its own when they are refused") {
  Vectors v(11), w(30);
  stream const order(device::host());
  PreparedLaunch launch(loaded_add(), v.arguments());
  launch.rebind(w.arguments());
  CHECK(launch.grid(0) == 8);
  launch.run(order);
  CHECK(w.c[29] == 29 * 101);
  CHECK(v.c[10] == -1);
  std::vector<Argument> wrong = v.arguments();
  wrong[0].extents[0] = 7;
  CHECK_THROWS_AS(launch.rebind(wrong), UserError);
  CHECK_THROWS_AS(launch.rebind(std::span(wrong).first(2)), UserError);
  w.c[29] = -1;
  launch.run(order);
  CHECK(w.c[29] == 29 * 101);
  CHECK(v.c[10] == -1);
}

TEST_CASE("a failed requirement names message, values and line") {
  Vectors v(8);
  std::vector<Argument> arguments = v.arguments();
  arguments[0].extents[0] = 7;
  try {
    PreparedLaunch const launch(loaded_add(), arguments);
    FAIL("accepted");
  } catch (UserError const& error) {
    CHECK_THAT(error.what(), ContainsSubstring("add: a and c differ in extent; found 8 (axis 0 of argument 3) == 7"));
    CHECK(error.where().line() == 12);
    CHECK(std::string(error.where().file()) == "add.cpp");
  }
}

TEST_CASE("grids: zero runs nothing, an override replaces, bounds are checked") {
  Vectors v(8);
  stream const order(device::host());
  GridOverride grid{true, {1, 1, 1}};
  PreparedLaunch(loaded_add(), v.arguments(), grid).run(order);
  CHECK(v.c[3] == 303);
  CHECK(v.c[4] == -1);
  grid.extents[0] = 0;
  v.c[3] = -1;
  PreparedLaunch(loaded_add(), v.arguments(), grid).run(order);
  CHECK(v.c[3] == -1);
  grid.extents[0] = -2;
  CHECK_THROWS_WITH(PreparedLaunch(loaded_add(), v.arguments(), grid), ContainsSubstring("extent -2 of axis 0"));
  grid = {true, {1, 5, 1}};
  CHECK_THROWS_WITH(PreparedLaunch(loaded_add(), v.arguments(), grid),
                    ContainsSubstring("5 blocks given along axis 1"));
  CompiledKernel wide = add_kernel();
  wide.launch.grid = {2, 2, 2};
  auto const loaded = make_loaded(wide, {{add_entry}, nullptr});
  for (std::int64_t& extent : grid.extents) extent = std::int64_t{1} << 40;
  CHECK_THROWS_WITH(PreparedLaunch(loaded, v.arguments(), grid), ContainsSubstring("more blocks"));
  Vectors none(0);
  PreparedLaunch(loaded_add(), none.arguments()).run(order);
}

TEST_CASE("a buffer freed after the launch was prepared is a user error") {
  buffer<float> a(device::host(), 8), b(device::host(), 8), c(device::host(), 8);
  a.fill(1);
  b.fill(2);
  PreparedLaunch const launch(loaded_add(), std::vector<Argument>{tensor(a), tensor(b), tensor(c)});
  stream const order(device::host());
  launch.run(order);
  CHECK(c.on_host()(7) == 3);
  { buffer<float> const gone = std::move(b); }
  CHECK_THROWS_WITH(launch.run(order),
                    ContainsSubstring("was freed") && ContainsSubstring("after the launch was prepared"));
}

TEST_CASE("a kernel specialised on facts refuses a tensor without them") {
  CompiledKernel kernel = add_kernel();
  kernel.parameters[1].facts.unit_inner_stride = true;
  auto const loaded = make_loaded(kernel, {{add_entry}, nullptr});
  Vectors v(8);
  std::vector<float> wide(16);
  std::vector<Argument> arguments = v.arguments();
  CHECK_NOTHROW(PreparedLaunch(loaded, arguments));
  arguments[1] = tensor(view(wide).slice(0, 0, 16, 2));
  CHECK_THROWS_WITH(PreparedLaunch(loaded, arguments), ContainsSubstring("argument 2"));
}

TEST_CASE("facts follow from strides and address") {
  alignas(16) float data[64] = {};
  view const dense(data, 4, 16);
  CHECK(facts_of(tensor(dense)) == TensorFacts{true, true, true});
  CHECK(facts_of(tensor(dense.transposed())) == TensorFacts{false, false, false});
  CHECK(facts_of(tensor(dense.slice(1, 1, 15))) == TensorFacts{true, false, false});
  CHECK(facts_of(tensor(dense.slice(1, 4, 15))) == TensorFacts{true, true, false});
  CHECK(facts_of(tensor(dense.slice(1, 4, 16))) == TensorFacts{true, true, true});
  CHECK(facts_of(tensor(view(data, 4, 15))) == TensorFacts{true, false, false});
  CHECK(facts_of(tensor(view<float, 1>(data, 16))) == TensorFacts{true, true, false});  // lengths make no builds
  CHECK(facts_of(tensor(view(data, 1, 15))) == TensorFacts{true, true, false});
  CHECK(facts_of(tensor(dense.slice(1, 0, 1))) == TensorFacts{true, true, false});
  CHECK(facts_of(tensor(dense.slice(0, 0, 4, -1))) == TensorFacts{true, false, false});  // TMA cannot run backwards
  CHECK(facts_of(tensor(view<float, 2>(data, {4, 16}, {0, 1}))) == TensorFacts{true, true, true});
}

TEST_CASE("bad arguments are refused with the argument's number and the reason") {
  alignas(16) float data[64] = {};
  view const whole(data, 64);
  std::vector<ParameterInfo> const in = {parameter(Direction::in, 1)};
  std::vector<ParameterInfo> const out = {parameter(Direction::out, 1)};
  CHECK(refusal(in, {tensor(whole)}) == "accepted");
  CHECK_THAT(refusal(in, {}), ContainsSubstring("k: 0 arguments given, 1 expected"));
  CHECK_THAT(refusal({parameter(Direction::in, 2)}, {tensor(whole)}), ContainsSubstring("rank is 1 but 2"));
  CHECK_THAT(refusal({parameter(Direction::in, 1, Element::f64)}, {tensor(whole)}),
             ContainsSubstring("argument 1: the element is f32 but f64"));
  CHECK_THAT(refusal(out, {tensor(view<float const, 1>(whole))}), ContainsSubstring("const"));
  ParameterInfo scalar;
  scalar.kind = ParameterKind::scalar;
  CHECK_THAT(refusal({scalar}, {tensor(whole)}), ContainsSubstring("a scalar is expected"));

  Argument bad = tensor(whole);
  bad.extents[0] = -3;
  CHECK_THAT(refusal(in, {bad}), ContainsSubstring("extent -3 of axis 0 is negative"));
  bad = tensor(whole);
  bad.address = nullptr;
  CHECK_THAT(refusal(in, {bad}), ContainsSubstring("null address with extents 64xf32"));
  bad.extents[0] = 0;
  CHECK(refusal(in, {bad}) == "accepted");
  bad = tensor(whole);
  bad.address = reinterpret_cast<char*>(data) + 2;
  CHECK_THAT(refusal(in, {bad}), ContainsSubstring("not aligned to its element f32 of 4 bytes"));
  bad = tensor(whole);
  bad.strides[0] = std::int64_t{1} << 61;
  CHECK_THAT(refusal(in, {bad}), ContainsSubstring("do not fit 64 bits"));
  bad.strides[0] = -(std::int64_t{1} << 50);
  CHECK_THAT(refusal(in, {bad}), ContainsSubstring("outside the address space"));
  bad = tensor(whole);
  bad.strides[0] = 0;
  CHECK(refusal(in, {bad}) == "accepted");
  CHECK_THAT(refusal(out, {bad}), ContainsSubstring("elements overlap one another"));

  std::vector<ParameterInfo> const both = {parameter(Direction::in, 1), parameter(Direction::out, 1)};
  Argument const front = tensor(whole.slice(0, 0, 32));
  Argument const back = tensor(whole.slice(0, 32, 64));
  Argument const middle = tensor(whole.slice(0, 16, 48));
  Argument const even = tensor(whole.slice(0, 0, 64, 2));
  Argument const odd = tensor(whole.slice(0, 1, 64, 2));
  CHECK(refusal(both, {front, back}) == "accepted");
  CHECK(refusal(both, {even, odd}) == "accepted");
  CHECK_THAT(refusal(both, {front, middle}), ContainsSubstring("arguments 1 and 2 share memory"));
  CHECK_THAT(refusal(both, {even, front}), ContainsSubstring("share memory and the kernel writes argument 2"));
  std::vector<ParameterInfo> const two_out = {parameter(Direction::out, 1), parameter(Direction::inout, 1)};
  CHECK_THAT(
      refusal(two_out, {front, front}),
      ContainsSubstring("arguments 2 and 1 share memory and the kernel writes both; pass separate memory, or give "
                        "the kernel one parameter for it"));
  std::vector<ParameterInfo> const two_in = {parameter(Direction::in, 1), parameter(Direction::in, 1)};
  CHECK(refusal(two_in, {front, front}) == "accepted");

  bad = tensor(whole);
  bad.space = DeviceKind::cuda;
  CHECK_THAT(refusal(in, {bad}), ContainsSubstring("memory of a CUDA device on a stream of the host"));
  buffer<float> freed(device::host(), 4);
  Argument late = tensor(freed);
  freed.free();
  CHECK_THAT(refusal(in, {late}), ContainsSubstring("was freed"));
}
