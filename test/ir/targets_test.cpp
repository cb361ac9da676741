// Tests that the table of hand-written kernels agrees with their texts, and its references with themselves.
#include "kernels/targets.hpp"

#include <filesystem>

#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tegula;

namespace {

std::filesystem::path file_of(test::Target const& target) {
  return std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(target.name) + ".tir";
}

}  // namespace

TEST_CASE("targets: every hand-written kernel takes the arguments of its table row") {
  int found = 0;
  for (test::Target const& target : test::targets()) {
    if (!std::filesystem::exists(file_of(target))) continue;
    ++found;
    INFO(std::string(target.name));
    auto const parsed = ir::parse(test::read_file(file_of(target).string()));
    REQUIRE(parsed.ok());
    ir::Function const& kernel = parsed.module.kernel();
    REQUIRE(!target.small.empty());
    auto const arguments = target.arguments(target.small.front(), 1);
    REQUIRE(static_cast<int>(arguments.size()) == kernel.parameter_count());
    for (int i = 0; i < kernel.parameter_count(); ++i) {
      test::TargetArgument const& argument = arguments[static_cast<std::size_t>(i)];
      ir::Type const& type = kernel.parameter(i)->type();
      INFO(std::string(argument.name));
      CHECK(type.is_tensor() == argument.is_tensor());
      CHECK(type.element() == argument.element);
      if (!argument.is_tensor()) continue;
      CHECK(type.rank() == argument.extents.size());
      Direction const direction = kernel.parameter_attributes()[static_cast<std::size_t>(i)].direction;
      CHECK((direction == Direction::out) == argument.output);
      CHECK((direction == Direction::inout) == argument.updated);
    }
  }
  CHECK(found >= 4);
}

TEST_CASE("targets: every file has a row in the table") {
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/target")) {
    bool known = false;
    for (test::Target const& target : test::targets()) known = known || entry.path().stem() == std::string(target.name);
    INFO(entry.path().string());
    CHECK(known);
  }
}

TEST_CASE("targets: references match their formulas, and a wrong element is named") {
  for (test::Target const& target : test::targets()) {
    INFO(std::string(target.name));
    Extents const& shape = target.small[1];
    auto arguments = target.arguments(shape, 5);
    auto& output = arguments[test::target_output(arguments)];
    CHECK(!test::target_error(target, shape, arguments).empty());  // an output nobody wrote
    std::int64_t const width = output.extents.back();
    for (std::int64_t row = 0; row * width < output.extents.product(); ++row) {
      auto const reference = target.row(arguments, row);
      REQUIRE(static_cast<std::int64_t>(reference.size()) == width);
      for (std::int64_t j = 0; j < width; ++j)
        output.set_number(row * width + j, reference[static_cast<std::size_t>(j)]);
      double sum = 0;
      for (double const value : reference) sum += value;
      if (target.name == "softmax") CHECK(std::abs(sum - 1) < 1e-12);
    }
    CHECK(test::target_error(target, shape, arguments) == "");
    output.set_number(0, output.number(0) + 1);
    CHECK(test::target_error(target, shape, arguments).find("the first at 0: found ") != std::string::npos);
  }
}
