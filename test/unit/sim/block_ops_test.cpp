#include "block_ops.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("every op but dot and fetch is simulated by warps", "[sim][block][N1]") {
  check_values();
  check_exchange();
  check_descriptors();
  for (int number = 0; number < ir::op_kind_count; ++number) {
    auto const kind = static_cast<ir::OpKind>(number);
    INFO(ir::op_info(kind).mnemonic);
    CHECK((kind == ir::OpKind::DotOp || kind == ir::OpKind::FetchOp || simulated_ops().count(kind) == 1));
  }
}
