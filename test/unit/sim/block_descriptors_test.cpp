// Tests descriptors that a kernel builds for a slice, from IR: values at every begin and end, and each missing op.
#include "block_hazards.hpp"
#include "block_ops.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Copies up to 8 rows of the slice %n[0] .. %n[1] of %x through a descriptor in global memory.
constexpr char const* copied_slice =
    R"(kernel @k(%x: in tensor<?x?xf32>, %n: in tensor<?xi64>, %y: out tensor<?x?xf32>) warps = 2 {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  grid %one
  %map = tensor_map %x {box = [8, 32]} : tensor_map<8x32xf32>
  %begin = load %n, %zero : i64
  %end = load %n, %one : i64
  %s = slice %x, %begin, %end : tensor<?x?xf32>
  %d = buffer_alloc {align = 128, offset = 0} : shared<8x32xf32, dense>
  %full = buffer_alloc {align = 8, offset = 1024} : mbarrier
  %home = buffer_alloc {align = 8, offset = 1032} : shared<1xi64, dense>
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    build_tensor_map %map, %s, %home
    release_tensor_maps
    yield
  }
  barrier
  %m = device_tensor_map %map, %s, %home : tensor_map<8x32xf32>
  acquire_tensor_map %m
  elect {warp = 1} {
    mbarrier_expect %full {bytes = 1024}
    tma_load %m, %d, %full, %zero, %zero
    yield
  }
  mbarrier_wait %full, %zero
  %t = buffer_load %d : tile<8x32xf32, [register (2,0) (4,0), lane (0,1) (0,2) (0,4) (0,8) (0,16), warp (1,0)]>
  store %y, %t, %zero, %zero
  barrier
  elect {
    free_tensor_map %m
    yield
  }
  return
}
)";

HostTensor bounds(std::int64_t begin, std::int64_t end) {
  HostTensor result(Element::i64, {2});
  result.set_number(0, static_cast<double>(begin));
  result.set_number(1, static_cast<double>(end));
  return result;
}

}  // namespace

namespace tegula::test {

void check_descriptors() {
  constexpr std::int64_t rows = 12, columns = 32;
  HostTensor x = small_tensor(Element::f32, {rows, columns}, 4);
  for (auto const& [begin, end] :
       {std::pair<std::int64_t, std::int64_t>{0, 12}, {3, 9}, {4, 4}, {11, 12}, {-3, 2}, {9, 40}, {20, 30}, {7, 5}}) {
    HostTensor y(Element::f32, {8, columns}), n = bounds(begin, end);
    run_clean(copied_slice, {&x, &n, &y});
    std::int64_t const first = std::clamp<std::int64_t>(begin, 0, rows), last = std::clamp(end, first, rows);
    INFO("rows " << begin << " to " << end);
    CHECK(first_wrong(y, [&](std::int64_t i) {
            std::int64_t const row = first + i / columns;
            return row < last ? x.number(row * columns + i % columns) : 0.0;
          }) == "");
  }
}

}  // namespace tegula::test

TEST_CASE("a kernel copies a slice through a descriptor that it builds", "[sim][block][D7]") { check_descriptors(); }

TEST_CASE("hazards of descriptors that a kernel builds are found from ir", "[sim][block][D7]") {
  HostTensor x = small_tensor(Element::f32, {12, 32}, 4), n = bounds(2, 7), y(Element::f32, {8, 32});
  check_planted(
      copied_slice,
      {
          {"    release_tensor_maps\n", "", ReportKind::descriptor},
          {"  acquire_tensor_map %m\n", "", ReportKind::descriptor},
          {"    build_tensor_map %map, %s, %home\n", "", ReportKind::never_written},
          {"    build_tensor_map %map, %s, %home\n    release_tensor_maps\n",
           "    release_tensor_maps\n    build_tensor_map %map, %s, %home\n", ReportKind::descriptor},
          {"    free_tensor_map %m\n", "", ReportKind::open_at_exit},
          {"    free_tensor_map %m\n", "    free_tensor_map %m\n    free_tensor_map %m\n", ReportKind::misuse},
          {"  barrier\n  elect {\n    free", "  elect {\n    free", ReportKind::race_war},
          {"  mbarrier_wait %full, %zero\n", "", ReportKind::race_war},
      },
      {&x, &n, &y});
}
