// Hazards between CTAs: of a cluster, of a grid and of the grid before it.
#include "block_hazards.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("hazards of clusters are found from ir", "[sim][block][N1]") {
  // 15, 25: copies to both CTAs of a pair.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 10), y(Element::f32, {4, 32});
  std::string const sound = R"(kernel @pair(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
  %two = constant {value = 2 : i64} : i64
  grid %two
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %map = tensor_map %x {box = [1, 32]} : tensor_map<1x32xf32>
  %s = buffer_alloc {align = 128} : shared<2x32xf32, dense>
  %full = buffer_alloc {align = 8} : mbarrier
  %used = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    mbarrier_init %used {arrivals = 2}
    fence_mbarrier_init
    yield
  }
  cluster_arrive
  cluster_wait
  %r = cluster_rank : i64
  %mine = view %s, %r, %0 : shared<32xf32, dense>
  elect {
    mbarrier_expect %full {bytes = 256}
    tma_load %map, %mine, %full, %r, %0 {multicast = 3}
    yield
  }
  mbarrier_wait %full, %0
  %a = buffer_load %s : tile<2x32xf32, [register (1,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]>
  warp_barrier
  elect {
    mbarrier_arrive %used, %0
    mbarrier_arrive %used, %1
    yield
  }
  mbarrier_wait %used, %0 {scope = cluster}
  %row = mul %r, %two : i64
  store %y, %a, %row, %0
  cluster_arrive
  cluster_wait
  return
}
)";
  check_planted(sound,
                {
                    {"  cluster_arrive\n  cluster_wait\n  %r", "  %r", ReportKind::use_before_init},
                    {"mbarrier_wait %used, %0 {scope = cluster}", "mbarrier_wait %used, %0", ReportKind::wrong_scope},
                    {"{bytes = 256}", "{bytes = 128}", ReportKind::wrong_byte_count},
                    {"multicast = 3", "multicast = 1", ReportKind::wrong_byte_count},
                    {"  cluster_wait\n  return", "  return", ReportKind::barrier_misuse},
                },
                {&x, &y});
}

TEST_CASE("hazards of parts that CTAs exchange are found from ir", "[sim][block][N1]") {
  // Two turns through one slot: the second CTA writes again only when the first one has read.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 12), y(Element::f32, {1, 32});
  std::string const sound =
      R"(kernel @hand_over(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
  %2 = constant {value = 2 : i64} : i64
  grid %2
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %s = buffer_alloc {align = 128} : shared<32xf32, dense>
  %full = buffer_alloc {align = 8} : mbarrier
  %empty = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    mbarrier_init %empty
    fence_mbarrier_init
    yield
  }
  cluster_arrive
  cluster_wait
  %r = cluster_rank : i64
  %a = load %x, %r, %0 : tile<32xf32, [lane (1) (2) (4) (8) (16)]>
  %first = compare %r, %0 : bool
  for %i = %0 to %2 step %1 {
    if %first {
      elect {
        mbarrier_expect %full {bytes = 128}
        yield
      }
      mbarrier_wait %full, %i {scope = cluster}
      %b = buffer_load %s : tile<32xf32, [lane (1) (2) (4) (8) (16)]>
      warp_barrier
      elect {
        mbarrier_arrive %empty, %1
        yield
      }
      %c = add %a, %b : tile<32xf32, [lane (1) (2) (4) (8) (16)]>
      store %y, %c, %0, %0
      yield
    } else {
      %before = xor %i, %1 : i64
      mbarrier_wait %empty, %before {scope = cluster}
      peer_store %s, %a, %full, %0
      yield
    }
    yield
  }
  if %first {
    yield
  } else {
    mbarrier_wait %empty, %1 {scope = cluster}
    yield
  }
  return
}
)";
  check_planted(sound,
                {
                    {"  cluster_arrive\n  cluster_wait\n", "", ReportKind::use_before_init},
                    {"      mbarrier_wait %full, %i {scope = cluster}\n", "", ReportKind::never_written},
                    {"      mbarrier_wait %empty, %before {scope = cluster}\n", "", ReportKind::race_war},
                    {"      warp_barrier\n", "", ReportKind::race_war},
                    {"    mbarrier_wait %empty, %1 {scope = cluster}\n", "", ReportKind::peer_lifetime},
                    {"{bytes = 128}", "{bytes = 64}", ReportKind::wrong_byte_count},
                    {"peer_store %s, %a, %full, %0", "peer_store %s, %a, %full, %2", ReportKind::misuse},
                },
                {&x, &y});
}

TEST_CASE("hazards of the previous grid are found from ir", "[sim][block][N1]") {
  HostTensor x = small_tensor(Element::f32, {32}, 11), y(Element::f32, {32});
  std::string const t = "tile<32xf32, [lane (1) (2) (4) (8) (16)]>";
  std::string const sound = with(R"(kernel @after(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  launch_dependents
  wait_dependencies
  %a = load %x, %0 : TILE
  store %y, %a, %0
  return
}
)",
                                 "TILE", t);
  check_planted(sound,
                {{"  wait_dependencies\n  %a = load %x, %0 : " + t + "\n",
                  "  %a = load %x, %0 : " + t + "\n  wait_dependencies\n", ReportKind::race_raw}},
                {&x, &y});
}

TEST_CASE("races between blocks are found from ir", "[sim][block]") {
  HostTensor y(Element::f32, {32});
  std::string const t = "tile<32xf32, [lane (1) (2) (4) (8) (16)]>";
  std::string const sound = with(R"(kernel @blocks(%y: out tensor<?xf32>) warps = 1 {
  %2 = constant {value = 2 : i64} : i64
  %16 = constant {value = 16 : i64} : i64
  grid %2
  %b = block_index : i64
  %one = constant {value = 1 : f32} : tile<16xf32, [lane (1) (2) (4) (8) (0)]>
  %at = mul %b, %16 : i64
  store %y, %one, %at
  return
}
)",
                                 "TILE", t);
  check_planted(sound, {{"%at = mul %b, %16", "%at = mul %b, %2", ReportKind::race_waw}}, {&y});
}
