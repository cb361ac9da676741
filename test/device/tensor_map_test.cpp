// Tests tensor maps on the device. Hand-written PTX copies boxes by TMA at ragged borders and negative starts, for
// several ranks, elements and swizzles; every byte is compared with a reference.
#if __has_include(<cuda.h>)

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "device/hand_written_ptx.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/ptxas.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/runtime/buffer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::runtime;
using namespace tegula::test;

namespace {

/// Writes c0, c1, ..: the coordinates from the scalar slots behind a tensor of so many axes, innermost first.
std::string coordinates_ptx(int rank) {
  std::string text;
  for (int i = 0; i < rank; ++i)
    text +=
        "  ld.param.u64 d0, [p" + number(1 + 2 * rank + rank - 1 - i) + "];\n  cvt.u32.u64 c" + number(i) + ", d0;\n";
  return text;
}

std::string coordinate_list(int rank) {
  std::string text = "{";
  for (int i = 0; i < rank; ++i) text += std::string(i == 0 ? "c" : ", c") + number(i);
  return text + "}";
}

/// Slots: a tensor of `rank` axes, `rank` scalars, a dense tensor of one axis, grid and multiprocessors.
int slot_count(int rank) { return 1 + 2 * rank + rank + 3 + launch_slots; }

/// Copies a box by one CTA of 32 threads to shared memory by TMA, and its bytes, as they lie there, to the dense
/// tensor.
std::string load_ptx(int rank, std::int64_t bytes) {
  return entry_ptx("tma_load", slot_count(rank), true,
                   coordinates_ptx(rank) + "  add.u32 bar, base, " + number(bytes) + ";\n" + R"(
  mov.b64 map, tm;
  cvta.param.u64 map, map;
  setp.ne.u32 p, tid, 0;
  @p bra ISSUED;
  mbarrier.init.shared::cta.b64 [bar], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], )" +
                       number(bytes) + ";\n  cp.async.bulk.tensor." + number(rank) +
                       "d.shared::cluster.global.mbarrier::complete_tx::bytes [base], [map, " + coordinate_list(rank) +
                       "], [bar];\n" + R"(
ISSUED:
  bar.sync 0;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 p, [bar], 0;
  @!p bra WAIT;
  ld.param.u64 g, [p)" +
                       number(1 + 3 * rank) + R"(];
  shl.b32 i, tid, 2;
COPY:
  setp.ge.u32 p, i, )" +
                       number(bytes) + R"(;
  @p bra DONE;
  add.u32 v, base, i;
  ld.shared.u32 v, [v];
  cvt.u64.u32 d0, i;
  add.u64 d0, d0, g;
  st.global.u32 [d0], v;
  add.u32 i, i, 128;
  bra COPY;
DONE:
)");
}

/// Copies back: the bytes of the dense tensor to shared memory, then by TMA to the box.
std::string store_ptx(int rank, std::int64_t bytes) {
  return entry_ptx("tma_store", slot_count(rank), true,
                   coordinates_ptx(rank) + R"(
  mov.b64 map, tm;
  cvta.param.u64 map, map;
  ld.param.u64 g, [p)" +
                       number(1 + 3 * rank) + R"(];
  shl.b32 i, tid, 2;
COPY:
  setp.ge.u32 p, i, )" +
                       number(bytes) + R"(;
  @p bra FILLED;
  cvt.u64.u32 d0, i;
  add.u64 d0, d0, g;
  ld.global.u32 v, [d0];
  add.u32 c4, base, i;
  st.shared.u32 [c4], v;
  add.u32 i, i, 128;
  bra COPY;
FILLED:
  fence.proxy.async.shared::cta;
  bar.sync 0;
  setp.ne.u32 p, tid, 0;
  @p bra DONE;
)" + (rank == 5 ? coordinates_ptx(rank) : "") +
                       "  cp.async.bulk.tensor." + number(rank) + "d.global.shared::cta.bulk_group [map, " +
                       coordinate_list(rank) + "], [base];\n" + R"(
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
DONE:
)");
}

/// Holds a tensor in bytes with room around it, so that writes beside it show.
struct Case {
  Element element = Element::f32;
  Extents extents;
  Extents strides;  ///< in elements; empty: dense
  Extents box;
  Swizzle swizzle = Swizzle::none;
  bool nan_fill = false;
};

std::int64_t box_bytes(Case const& c) { return c.box.product() * bytes(c.element); }

Extents strides_of(Case const& c) {
  if (!c.strides.empty()) return c.strides;
  Extents result = c.extents;
  std::int64_t next = 1;
  for (int axis = c.extents.size() - 1; axis >= 0; --axis) {
    result[axis] = next;
    next *= c.extents[axis];
  }
  return result;
}

std::int64_t reach(Case const& c) {
  std::int64_t last = 0;
  Extents const strides = strides_of(c);
  for (int axis = 0; axis < c.extents.size(); ++axis) last += (c.extents[axis] - 1) * strides[axis];
  return (last + 1) * bytes(c.element);
}

CompiledKernel kernel_of(Case const& c, bool load) {
  int const rank = c.extents.size();
  CompiledKernel kernel;
  kernel.name = kernel.entry = load ? "tma_load" : "tma_store";
  kernel.architecture = "sm_90a";
  kernel.image_kind = ImageKind::ptx;
  kernel.image = load ? load_ptx(rank, box_bytes(c)) : store_ptx(rank, box_bytes(c));
  kernel.threads_per_cta = 32;
  kernel.shared_bytes = box_bytes(c) + 64;
  kernel.parameters.push_back(parameter(load ? Direction::in : Direction::out, c.element, rank));
  for (int axis = 0; axis < rank; ++axis) {
    ParameterInfo scalar;
    scalar.kind = ParameterKind::scalar;
    scalar.element = Element::i64;
    kernel.parameters.push_back(scalar);
  }
  kernel.parameters.push_back(parameter(load ? Direction::out : Direction::in, Element::i32, 1));
  TensorMapInfo map;
  map.box = c.box;
  map.swizzle = c.swizzle;
  map.nan_fill = c.nan_fill;
  kernel.tensor_maps = {map};
  return kernel;
}

std::vector<Argument> arguments_of(Case const& c, void* memory, Extents const& start, buffer<std::int32_t>& box) {
  std::vector<Argument> arguments = {tensor(memory, c.element, c.extents, strides_of(c))};
  for (std::int64_t const at : start) {
    Argument& scalar = arguments.emplace_back();
    scalar.kind = ParameterKind::scalar;
    scalar.element = Element::i64;
    scalar.scalar = at;
  }
  arguments.push_back(tensor(box.data(), Element::i32, {box.size()}, {1}));
  return arguments;
}

/// Returns the place of a byte of the dense box in shared memory: 16-byte chunks exchanged by bits of the 128-byte row.
std::int64_t swizzled(std::int64_t offset, Swizzle mode) {
  std::int64_t const chunks = swizzle_bytes(mode) / 16;
  return chunks == 0 ? offset : offset ^ ((offset >> 7 & (chunks - 1)) << 4);
}

/// Calls visit(byte in the box as it lies in shared memory, byte in the tensor or -1 outside of it, byte within its
/// element).
template <class Visit>
void for_each_byte(Case const& c, Extents const& start, Visit const& visit) {
  int const size = bytes(c.element);
  Extents const strides = strides_of(c);
  for (std::int64_t linear = 0; linear < c.box.product(); ++linear) {
    std::int64_t rest = linear;
    std::int64_t at = 0;
    bool inside = true;
    for (int axis = c.box.size() - 1; axis >= 0; --axis) {
      std::int64_t const coordinate = start[axis] + rest % c.box[axis];
      rest /= c.box[axis];
      inside = inside && coordinate >= 0 && coordinate < c.extents[axis];
      at += coordinate * strides[axis];
    }
    for (int byte = 0; byte < size; ++byte)
      visit(swizzled(linear * size + byte, c.swizzle), inside ? at * size + byte : -1, byte);
  }
}

std::vector<unsigned char> random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned char> result(static_cast<std::size_t>(count));
  for (unsigned char& byte : result) byte = static_cast<unsigned char>(random() % 120);  // no NaN in any format
  return result;
}

/// True if the element in shared memory whose byte 0 is at `at` is a NaN.
bool is_nan(std::vector<unsigned char> const& memory, std::int64_t at, Element element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory.data() + at, static_cast<std::size_t>(bytes(element)));
  int const mantissa = info(element).mantissa;
  int const exponent = bytes(element) * 8 - 1 - mantissa;
  std::uint64_t const ones = (std::uint64_t{1} << exponent) - 1;
  return (bits >> mantissa & ones) == ones && (bits & ((std::uint64_t{1} << mantissa) - 1)) != 0;
}

void check_load(Case const& c, std::vector<Extents> const& starts) {
  cuda_stream const order;
  auto const kernel = load_on(kernel_of(c, true), order.where());
  std::int64_t const room = 256;
  std::vector<unsigned char> const memory = random_bytes(reach(c) + 2 * room, 7);
  buffer<unsigned char> on_device(order.where(), memory);
  buffer<std::int32_t> box(order.where(), box_bytes(c) / 4);
  for (Extents const& start : starts) {
    box.fill(order, -1);
    PreparedLaunch(kernel, arguments_of(c, on_device.data() + room, start, box)).run(order);
    std::vector<std::int32_t> words(static_cast<std::size_t>(box.size()));
    box.copy_to(order, words);
    order.synchronize();
    std::vector<unsigned char> found(static_cast<std::size_t>(box_bytes(c)));
    std::memcpy(found.data(), words.data(), found.size());
    std::int64_t wrong = 0;
    for_each_byte(c, start, [&](std::int64_t shared, std::int64_t at, int byte) {
      if (at < 0 && c.nan_fill) {
        wrong += byte == 0 && !is_nan(found, shared, c.element) ? 1 : 0;
        return;
      }
      int const expected = at < 0 ? 0 : memory[static_cast<std::size_t>(room + at)];
      wrong += found[static_cast<std::size_t>(shared)] != expected ? 1 : 0;
    });
    INFO("start " << start[0] << ", " << (start.size() > 1 ? start[1] : 0) << ", swizzle " << swizzle_bytes(c.swizzle));
    CHECK(wrong == 0);
  }
}

void check_store(Case const& c, std::vector<Extents> const& starts) {
  cuda_stream const order;
  auto const kernel = load_on(kernel_of(c, false), order.where());
  std::int64_t const room = 256;
  std::vector<unsigned char> const source = random_bytes(box_bytes(c), 11);
  std::vector<std::int32_t> words(source.size() / 4);
  std::memcpy(words.data(), source.data(), source.size());
  buffer<std::int32_t> box(order.where(), words);
  for (Extents const& start : starts) {
    std::vector<unsigned char> expected = random_bytes(reach(c) + 2 * room, 5);
    buffer<unsigned char> on_device(order.where(), expected);
    PreparedLaunch(kernel, arguments_of(c, on_device.data() + room, start, box)).run(order);
    std::vector<unsigned char> found(expected.size());
    on_device.copy_to(order, found);
    order.synchronize();
    for_each_byte(c, start, [&](std::int64_t shared, std::int64_t at, int) {
      if (at >= 0) expected[static_cast<std::size_t>(room + at)] = source[static_cast<std::size_t>(shared)];
    });
    INFO("start " << start[0] << ", " << (start.size() > 1 ? start[1] : 0));
    CHECK((found == expected));
  }
}

}  // namespace

TEST_CASE("the hand-written TMA kernels assemble") {
  support::Options const options;
  if (runtime::cuda::find_ptxas(options).empty()) TEGULA_SKIP("no ptxas in PATH");
  for (int rank = 1; rank <= 5; ++rank) {
    CHECK_FALSE(runtime::cuda::assemble(options, load_ptx(rank, 4096), "sm_90a", "tma_load").cubin.empty());
    CHECK_FALSE(runtime::cuda::assemble(options, store_ptx(rank, 4096), "sm_90a", "tma_store").cubin.empty());
  }
}

TEST_CASE("TMA loads boxes of one axis, ragged and from negative starts") {
  TEGULA_NEED_HOPPER();
  check_load({Element::f32, {1000}, {}, {64}}, {{0}, {128}, {960}, {996}, {1000}, {-16}, {-64}, {-1000}});
  check_load({Element::boolean, {333}, {}, {256}}, {{0}, {160}, {-32}});
  check_load({Element::i64, {40}, {}, {16}}, {{0}, {32}, {-2}});
}

TEST_CASE("TMA loads boxes of two axes in every swizzle") {
  TEGULA_NEED_HOPPER();
  std::vector<Extents> const starts = {{0, 0}, {16, 8}, {30, 40}, {-3, -8}, {36, 64}, {40, 0}, {0, 80}, {-16, 0}};
  for (Element const element : {Element::bf16, Element::f16})
    for (auto const& [mode, row] : {std::pair{Swizzle::none, 24}, std::pair{Swizzle::b32, 16},
                                    std::pair{Swizzle::b64, 32}, std::pair{Swizzle::b128, 64}})
      check_load({element, {37, 72}, {80, 1}, {16, row}, mode}, starts);
  check_load({Element::f32, {37, 72}, {84, 1}, {24, 32}, Swizzle::b128}, {{0, 0}, {20, 52}, {-5, -4}});
  check_load({Element::boolean, {37, 72}, {80, 1}, {8, 128}, Swizzle::b128}, {{0, 0}, {33, 16}, {-5, -16}});
  check_load({Element::f64, {19, 6}, {6, 1}, {16, 16}, Swizzle::b128}, {{0, 0}, {9, 2}, {-1, -2}});
  check_load({Element::bf16, {3, 8}, {}, {256, 64}, Swizzle::b128}, {{0, 0}, {-200, -8}});  // beyond the tensor
}

TEST_CASE("TMA loads boxes of three to five axes with permuted and repeated strides") {
  TEGULA_NEED_HOPPER();
  std::vector<Extents> const starts = {{0, 0, 0}, {3, 7, 12}, {-1, -2, -4}, {4, 8, 16}};
  check_load({Element::f32, {5, 9, 20}, {}, {2, 4, 8}}, starts);
  check_load({Element::f32, {5, 9, 20}, {}, {2, 4, 8}, Swizzle::b32}, starts);
  check_load({Element::f32, {5, 9, 20}, {20, 100, 1}, {1, 8, 16}, Swizzle::b64}, starts);  // permuted
  check_load({Element::f32, {5, 9, 20}, {20, 0, 1}, {2, 4, 8}}, starts);                   // repeated
  check_load({Element::f32, {1, 9, 20}, {-7, 20, 1}, {1, 4, 8}}, {{0, 0, 0}, {0, 7, 12}, {-1, 0, 0}});
  check_load({Element::bf16, {2, 3, 5, 40}, {}, {1, 2, 4, 16}}, {{0, 0, 0, 0}, {1, 2, 3, 32}, {-1, 0, 0, 0}});
  check_load({Element::bf16, {2, 2, 3, 5, 40}, {}, {1, 1, 2, 4, 16}}, {{0, 0, 0, 0, 0}, {1, 1, 2, 3, 32}});
}

TEST_CASE("TMA fills with NaN where a map requests it") {
  TEGULA_NEED_HOPPER();
  for (Element const element : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
    Case c{element, {20, 48}, {}, {16, 16}};
    c.nan_fill = true;
    check_load(c, {{0, 0}, {10, 40}, {-2, -8}, {30, 0}});
  }
}

TEST_CASE("TMA loads nothing from a tensor without elements and stores nothing to it") {
  TEGULA_NEED_HOPPER();
  for (Case c :
       {Case{Element::bf16, {0, 64}, {64, 1}, {8, 64}, Swizzle::b128}, Case{Element::f32, {5, 0}, {}, {8, 8}}}) {
    check_load(c, {{0, 0}, {-4, -8}});
    check_store(c, {{0, 0}});
    c.nan_fill = true;
    check_load(c, {{0, 0}});
  }
}

TEST_CASE("TMA stores boxes and drops elements outside the tensor") {
  TEGULA_NEED_HOPPER();
  check_store({Element::f32, {1000}, {}, {64}}, {{0}, {960}, {996}, {1000}});
  for (auto const& [mode, row] : {std::pair{Swizzle::none, 24}, std::pair{Swizzle::b32, 16},
                                  std::pair{Swizzle::b64, 32}, std::pair{Swizzle::b128, 64}})
    check_store({Element::bf16, {37, 72}, {80, 1}, {16, row}, mode}, {{0, 0}, {16, 8}, {30, 40}, {40, 0}, {0, 80}});
  check_store({Element::f32, {5, 9, 20}, {20, 100, 1}, {2, 4, 8}}, {{0, 0, 0}, {3, 7, 12}});
  check_store({Element::bf16, {2, 2, 3, 5, 40}, {}, {1, 1, 2, 4, 16}}, {{0, 0, 0, 0, 0}, {1, 1, 2, 3, 32}});
}

TEST_CASE("views that TMA cannot copy are refused before any call of the driver") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  Case const c{Element::bf16, {37, 72}, {80, 1}, {16, 64}, Swizzle::b128};
  auto const kernel = load_on(kernel_of(c, true), order.where());
  buffer<unsigned char> memory(order.where(), 8192);
  buffer<std::int32_t> box(order.where(), box_bytes(c) / 4);
  CHECK_THROWS_WITH(PreparedLaunch(kernel, arguments_of(c, memory.data() + 2, {0, 0}, box)),
                    ContainsSubstring("tma_load: argument 1: TMA copies from addresses"));
  Case odd = c;
  odd.strides = {73, 1};
  CHECK_THROWS_WITH(PreparedLaunch(kernel, arguments_of(odd, memory.data(), {0, 0}, box)),
                    ContainsSubstring("axis 0 steps by 73 elements of bf16, 146 bytes"));
}

TEST_CASE("a prepared launch with tensor maps takes other arguments in place") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  Case const c{Element::f32, {1000}, {}, {64}};
  auto const kernel = load_on(kernel_of(c, true), order.where());
  buffer<float> a(order.where(), 1000), b(order.where(), 1000);
  a.fill(order, 1.5f);
  b.fill(order, 2.5f);
  buffer<std::int32_t> box(order.where(), 64);
  std::vector<std::int32_t> out(64);
  auto const first = [&](PreparedLaunch const& launch) {
    launch.run(order);
    box.copy_to(order, out);
    order.synchronize();
    float value = 0;
    std::memcpy(&value, out.data(), sizeof value);
    return value;
  };
  PreparedLaunch launch(kernel, arguments_of(c, a.data(), {0}, box));
  CHECK(first(launch) == 1.5f);
  launch.rebind(arguments_of(c, b.data(), {0}, box));
  CHECK(first(launch) == 2.5f);
  launch.rebind(arguments_of(c, a.data(), {996}, box));
  CHECK(first(launch) == 1.5f);
  CHECK(out[63] == 0);
}

TEST_CASE("a captured graph keeps the tensor maps of its launches") {
  TEGULA_NEED_HOPPER();
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  REQUIRE(library != nullptr);
  auto const function = [&](char const* name, auto type) {
    auto* const found = reinterpret_cast<decltype(type)>(::dlsym(library, name));
    REQUIRE(found != nullptr);
    return found;
  };
  using Handle = void*;
  auto const begin = function("cuStreamBeginCapture_v2", static_cast<int (*)(CUstream_st*, int)>(nullptr));
  auto const end = function("cuStreamEndCapture", static_cast<int (*)(CUstream_st*, Handle*)>(nullptr));
  auto const make =
      function("cuGraphInstantiateWithFlags", static_cast<int (*)(Handle*, Handle, unsigned long long)>(nullptr));
  auto const replay = function("cuGraphLaunch", static_cast<int (*)(Handle, CUstream_st*)>(nullptr));

  cuda_stream const order;
  Case const c{Element::f32, {1000}, {}, {64}};
  auto const kernel = load_on(kernel_of(c, true), order.where());
  buffer<float> a(order.where(), 1000);
  a.fill(order, 1.0f);
  buffer<std::int32_t> box(order.where(), 64);
  box.fill(order, 0);
  order.synchronize();
  cuda::ContextScope const current(order.where().number());  // the driver's own functions want one
  Handle graph = nullptr, executable = nullptr;
  REQUIRE(begin(order.handle(), 0) == 0);
  {
    // Its storage is gone when the graph runs.
    PreparedLaunch const launch(kernel, arguments_of(c, a.data(), {960}, box));
    launch.run(order);
  }
  REQUIRE(end(order.handle(), &graph) == 0);
  REQUIRE(make(&executable, graph, 0) == 0);
  for (float const value : {3.0f, 4.0f}) {
    a.fill(order, value);
    REQUIRE(replay(executable, order.handle()) == 0);
    std::vector<std::int32_t> out(64);
    box.copy_to(order, out);
    order.synchronize();
    float found[64];
    std::memcpy(found, out.data(), sizeof found);
    CHECK(found[0] == value);
    CHECK(found[39] == value);
    CHECK(found[40] == 0);
  }
}

#endif  // cuda.h
