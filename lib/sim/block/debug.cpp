// Implements asserts and prints of warps. A print is as on a GPU. The first warp writes a line with all values, of
// tiles their types. Then each warp writes a line for each element that it owns.
#include <fmt/format.h>

#include "ir/text/text.hpp"
#include "sim/block/meaning.hpp"
#include "sim/debug.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

void print_elements(WarpProgram& warp, Op const& op, PrintOp const& attributes, int number) {
  ir::Value const& tile = *op.in<PrintOp>("values", number);
  Fragment const& fragment = warp.fragment(tile.type());
  Value const& value = warp.value(tile);
  with_storage(value.storage(), [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < fragment.count(); ++i) {
      auto const at = static_cast<std::size_t>(i);
      if (fragment.owner[at] == 0 || fragment.linear[at] >= support::max_printed_elements) continue;
      std::string place;
      for (int axis = 0; axis < fragment.rank; ++axis)
        place += fmt::format("{}{}", axis == 0 ? "" : ", ", fragment.at(i)[axis]);
      support::PrintLine line(warp.engine().launch().kernel().name(), named_block(warp.agent(), op),
                              attributes.text.view());
      line.add_word(fmt::format("v{}({}) =", number, place));
      line.add(printed(value.data<T>()[i]));
      line.write();
    }
  });
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, AssertOp const& attributes) {
  execute(warp.agent(), op, attributes);  // any element of the fragment
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, PrintOp const& attributes) {
  if (!warp.engine().launch().options().print) return Progress::done;
  auto const values = op.all<PrintOp>("values");
  if (warp.index() == 0) {
    support::PrintLine line(warp.engine().launch().kernel().name(), named_block(warp.agent(), op),
                            attributes.text.view());
    for (ir::Value const* operand : values) {
      if (operand->type().is_tile()) {
        line.add_word(short_text(operand->type()));
        continue;
      }
      Value const& value = warp.value(*operand);
      with_storage(value.storage(), [&]<class T>(std::type_identity<T>) { line.add(printed(*value.data<T>())); });
    }
    line.write();
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i]->type().is_tile()) print_elements(warp, op, attributes, static_cast<int>(i));
  return Progress::done;
}

}  // namespace tegula::sim::block
