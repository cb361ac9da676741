#include "block_ops.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("every op whose struct says so is simulated by warps, and no other", "[sim][block][N1]") {
  check_values();
  check_exchange();
  check_descriptors();
  for (int number = 0; number < ir::op_kind_count; ++number) {
    auto const kind = static_cast<ir::OpKind>(number);
    ir::OpInfo const& info = ir::op_info(kind);
    INFO(info.mnemonic);
    CHECK(info.runs(ir::on_warp_simulator) == (simulated_ops().count(kind) == 1));
  }
}
