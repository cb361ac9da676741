// Tests that the pass expand-math changes no bit: the simulator gives the same before and after it.
#include "../unit/sim/sim_support.hpp"
#include "ir/values/elementary.hpp"
#include "sim/compare.hpp"
#include "support/elementary.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using test::HostTensor;
using test::module_of;

namespace {

void check_unchanged(std::string const& op, Element operand, Element result, std::string const& attributes = "") {
  std::string const in(name(operand)), out(name(result));
  bool const two = op.find("%b") != std::string::npos;
  auto module = module_of("kernel @k(%x: in tensor<?x" + in + ">, %z: in tensor<?x" + in + ">, %y: out tensor<?x" +
                          out + ">) {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0 : tile<999x" + in +
                          ">\n" + (two ? "  %b = load %z, %0 : tile<999x" + in + ">\n" : "") + "  %r = " + op +
                          attributes + " : tile<999x" + out + ">\n  store %y, %r, %0\n  return\n}\n");
  HostTensor x = test::random_column(operand, 999, 30), z = test::random_column(operand, 999, 31);
  HostTensor before(result, {999}), after(result, {999});
  sim::run(module.kernel(), {x.view(), z.view(), before.view()});
  transform::run_pipeline(module, "expand-math", {});
  INFO(ir::print(module));
  for (ir::Op const& each : module.kernel().body()) {
    CHECK_FALSE(ir::is_expanded(each.info()));
    bool const arithmetic = !each.is<ir::CastOp>() && !each.is<ir::LoadOp>() && each.result_count() == 1;
    if (arithmetic)
      CHECK((each.result()->type().element() != Element::f16 && each.result()->type().element() != Element::bf16));
  }
  REQUIRE(ir::verify(module).empty());
  sim::run(module.kernel(), {x.view(), z.view(), after.view()});
  auto const difference = sim::compare(after.view(), before.view());
  INFO(difference.text);
  CHECK(difference.none());
}

}  // namespace

TEST_CASE("expanded elementary functions give the same bits", "[sim]") {
  for (std::string const& op : test::elementary_names())
    for (Element element : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
      INFO(op << " of " << name(element));
      check_unchanged(op + " %a", element, element);
    }
  for (test::ElementaryRow2 const& row : test::elementary_rows_2)
    for (Element element : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
      INFO(row.name << " of " << name(element));
      check_unchanged(std::string(row.name) + " %a, %b", element, element);
    }
}

TEST_CASE("expanded-math does not hold for a module with an unexpanded function", "[sim]") {
  for (test::ElementaryRow const& row : test::elementary_rows) {
    INFO(row.name);
    auto module = module_of(
        "kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) {\n  %0 = constant {value = 0 : i64} "
        ": i64\n  %a = load %x, %0 : tile<8xf32>\n  %r = " +
        std::string(row.name) + " %a : tile<8xf32>\n  store %y, %r, %0\n  return\n}\n");
    CHECK(transform::why_not(transform::Property::expanded_math, module) ==
          (row.expanded ? row.name + std::string(" in @k") : ""));
    transform::run_pipeline(module, "expand-math", {});
    CHECK(transform::why_not(transform::Property::expanded_math, module).empty());
  }
}

TEST_CASE("16-bit arithmetic done in f32 gives the same bits", "[sim]") {
  for (Element element : {Element::f16, Element::bf16}) {
    for (std::string const op : {"add", "sub", "mul", "div", "min", "max"})
      check_unchanged(op + " %a, %b", element, element);
    for (std::string const op : {"neg", "abs"}) check_unchanged(op + " %a", element, element);
    for (std::string const predicate : {"eq", "ne", "lt", "le", "gt", "ge"})
      check_unchanged("compare %a, %b", element, Element::boolean, " {predicate = " + predicate + "}");
  }
}

TEST_CASE("casts from and to narrow floats through f32 give the same bits", "[sim]") {
  for (int from = 0; from < element_count; ++from)
    for (int to = 1; to < element_count; ++to) {
      auto const a = static_cast<Element>(from), b = static_cast<Element>(to);
      INFO(name(a) << " to " << name(b));
      if (a == b || (!is_narrow_float(a) && !is_narrow_float(b))) continue;
      std::string const in(name(a)), out(name(b));
      auto module = module_of("kernel @k(%x: in tensor<?x" + in + ">, %y: out tensor<?x" + out +
                              ">) {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0 : tile<999x" + in +
                              ">\n  %r = cast %a : tile<999x" + out + ">\n  store %y, %r, %0\n  return\n}\n");
      HostTensor x = test::random_column(a, 999, 32), before(b, {999}), after(b, {999});
      sim::run(module.kernel(), {x.view(), before.view()});
      transform::run_pipeline(module, "expand-math", {});
      sim::run(module.kernel(), {x.view(), after.view()});
      INFO(ir::print(module));
      for (ir::Op const& op : module.kernel().body())
        if (op.is<ir::CastOp>())
          CHECK_FALSE((is_f8(op.operand(0)->type().element()) || is_f8(op.result()->type().element())));
      auto const difference = sim::compare(after.view(), before.view());
      INFO(difference.text);
      CHECK(difference.none());
    }
}

TEST_CASE("every code of an 8-bit float expands to the simulator's value", "[sim]") {
  for (std::string const element : {"e4m3", "e5m2"}) {
    INFO(element);
    auto module = module_of("kernel @k(%x: in tensor<?x" + element +
                            ">, %y: out tensor<?xf32>) {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0 "
                            ": tile<256x" +
                            element + ">\n  %r = cast %a : tile<256xf32>\n  store %y, %r, %0\n  return\n}\n");
    Element const e = element == "e4m3" ? Element::e4m3 : Element::e5m2;
    HostTensor x(e, {256}), before(Element::f32, {256}), after(Element::f32, {256});
    for (std::int64_t i = 0; i < 256; ++i) x.set(i, ir::Constant{e, static_cast<std::uint64_t>(i)});
    sim::run(module.kernel(), {x.view(), before.view()});
    transform::run_pipeline(module, "expand-math", {});
    sim::run(module.kernel(), {x.view(), after.view()});
    auto const difference = sim::compare(after.view(), before.view());
    INFO(difference.text);
    CHECK(difference.none());
  }
}

TEST_CASE("products of 8-bit floats become products of f32 with the same bits", "[sim]") {
  for (std::string const left : {"e4m3", "e5m2"})
    for (std::string const right : {"e4m3", "e5m2"}) {
      INFO(left << " by " << right);
      auto module = module_of("kernel @k(%x: in tensor<?x?x" + left + ">, %z: in tensor<?x?x" + right +
                              ">, %y: out tensor<?x?xf32>) {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, "
                              "%0, %0 : tile<7x40x" +
                              left + ">\n  %b = load %z, %0, %0 : tile<40x9x" + right +
                              ">\n  %c = constant {value = 0.25 : f32} : tile<7x9xf32>\n  %r = dot %a, %b, %c : "
                              "tile<7x9xf32>\n  store %y, %r, %0, %0\n  return\n}\n");
      auto const element_of = [](std::string const& text) { return text == "e4m3" ? Element::e4m3 : Element::e5m2; };
      HostTensor x(element_of(left), {7, 40}), z(element_of(right), {40, 9}), before(Element::f32, {7, 9}),
          after(Element::f32, {7, 9});
      std::mt19937_64 random(34);
      x.fill(random, -4, 4), z.fill(random, -4, 4);
      sim::run(module.kernel(), {x.view(), z.view(), before.view()});
      transform::run_pipeline(module, "expand-math", {});
      for (ir::Op const& op : module.kernel().body())
        if (op.is<ir::DotOp>()) CHECK(op.operand(0)->type().element() == Element::f32);
      sim::run(module.kernel(), {x.view(), z.view(), after.view()});
      CHECK(sim::compare(after.view(), before.view()).none());
    }
}

TEST_CASE("sums of 16-bit floats in f32 give the same bits", "[sim]") {
  for (std::string const element : {"f16", "bf16"})
    for (std::string const combine : {"sum", "max", "min"})
      for (std::string const order : {"any", "pairwise"}) {
        auto module = module_of("kernel @k(%x: in tensor<?x?x" + element + ">, %y: out tensor<?x?x" + element +
                                ">) {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0, %0 : tile<9x111x" +
                                element + ">\n  %r = reduce %a {axis = 1, combine = " + combine + ", order = " + order +
                                "} : tile<9x1x" + element + ">\n  store %y, %r, %0, %0\n  return\n}\n");
        Element const e = element == "f16" ? Element::f16 : Element::bf16;
        std::mt19937_64 random(33);
        HostTensor x(e, {9, 111}), before(e, {9, 1}), after(e, {9, 1});
        x.fill(random);
        sim::run(module.kernel(), {x.view(), before.view()});
        transform::run_pipeline(module, "expand-math", {});
        sim::run(module.kernel(), {x.view(), after.view()});
        CHECK(sim::compare(after.view(), before.view()).none());
      }
}
