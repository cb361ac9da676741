#include "transform/pass_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "support/string_buffer.hpp"
#include "transform/laid_out/circular_buffer.hpp"
#include "transform/laid_out/compute_by_chunks.hpp"
#include "transform/laid_out/join_reductions.hpp"
#include "transform/laid_out/limit_registers.hpp"
#include "transform/laid_out/lower_online_softmax.hpp"
#include "transform/laid_out/raise_loads.hpp"
#include "transform/laid_out/share_atomic_results.hpp"
#include "transform/laid_out/share_items.hpp"
#include "transform/laid_out/share_reciprocals.hpp"
#include "transform/laid_out/sink_reductions.hpp"
#include "transform/laid_out/split_products.hpp"
#include "transform/laid_out/split_stores.hpp"
#include "transform/laid_out/spread_rows.hpp"
#include "transform/laid_out/test_masks.hpp"
#include "transform/placed/insert_barriers.hpp"
#include "transform/placed/insert_proxy_fences.hpp"
#include "transform/placed/take_turns.hpp"
#include "transform/planned/assign_layouts.hpp"
#include "transform/planned/lag_references.hpp"
#include "transform/planned/schedule_dots.hpp"
#include "transform/planned/raise_dots.hpp"
#include "transform/planned/share_rings.hpp"
#include "transform/planned/skew_dots.hpp"
#include "transform/planned/split_loops.hpp"
#include "transform/planned/swap_operands.hpp"
#include "transform/profile/lower_profiling.hpp"
#include "transform/simplify/bound_loops.hpp"
#include "transform/simplify/canonicalize.hpp"
#include "transform/simplify/carry_remainders.hpp"
#include "transform/simplify/contract_products.hpp"
#include "transform/simplify/eliminate_common_subexpressions.hpp"
#include "transform/simplify/eliminate_dead_code.hpp"
#include "transform/simplify/expand_math.hpp"
#include "transform/simplify/hoist_loop_invariants.hpp"
#include "transform/simplify/inline_functions.hpp"
#include "transform/simplify/insert_checks.hpp"
#include "transform/simplify/prove_offsets.hpp"
#include "transform/simplify/relax_arithmetic.hpp"
#include "transform/simplify/remove_asserts.hpp"
#include "transform/simplify/remove_idle_bounds.hpp"
#include "transform/simplify/specialize.hpp"
#include "transform/staged/allocate_shared_memory.hpp"
#include "transform/staged/build_tensor_maps.hpp"
#include "transform/staged/clamp_coordinates.hpp"
#include "transform/staged/dependent_launch.hpp"
#include "transform/staged/load_ahead.hpp"
#include "transform/staged/run_ahead.hpp"
#include "transform/staged/sink_scalars.hpp"
#include "transform/staged/specialize_warps.hpp"
#include "transform/tile/choose_memory_paths.hpp"
#include "transform/tile/divide_blocks.hpp"
#include "transform/tile/expand_dots.hpp"
#include "transform/tile/expand_items.hpp"
#include "transform/tile/fold_boxes.hpp"
#include "transform/tile/fold_tables.hpp"
#include "transform/tile/forward_stores.hpp"
#include "transform/tile/narrow_masks.hpp"
#include "transform/tile/pad_tiles.hpp"
#include "transform/tile/persistent_grid.hpp"
#include "transform/tile/plan_kernel.hpp"
#include "transform/tile/serpentine_loops.hpp"

namespace tegula::transform {
namespace {

constexpr PassInfo table[] = {
    {.name = "specialize",
     .summary = "writes facts of the compile options as parameter attributes, and stages as attributes of loops",
     .module = specialize,
     .works_on = all_levels,
     .after = {{"contract-products", "the text alone says which products meet sums"}}},
    {.name = "contract-products",
     .summary = "adds products that only meet sums without rounding them",
     .function = contract_products,
     .works_on = all_levels},
    {.name = "relax-arithmetic",
     .summary = "states how many bits quotients, roots and powers of f32 need, and which powers may be 0",
     .module = relax_arithmetic,
     .works_on = {Level::tile, Level::staged}},
    {.name = "remove-asserts",
     .summary = "removes asserts, with the ops that only they need",
     .function = remove_asserts,
     .works_on = all_levels},
    {.name = "insert-checks",
     .summary = "inserts the checks of bounds, overflow and NaN that the options ask for",
     .function = insert_checks,
     .works_on = all_levels},
    {.name = "inline-functions",
     .summary = "inlines calls except of functions marked noinline; removes uncalled functions",
     .module = inline_functions,
     .works_on = {Level::tile, Level::staged}},
    {.name = "inline-device-functions",
     .summary = "the same for a GPU; inlines all calls where kernels have products, loops with stages or over tiles",
     .module = inline_device_functions,
     .works_on = {Level::tile, Level::staged},
     .leaves = {Property::whole_kernels}},
    {.name = "bound-loops",
     .summary = "rewrites loops whose counters might wrap",
     .function = bound_loops,
     .works_on = all_levels,
     .after = {{"specialize", "tests of steps become part of bounds"},
               {"inline-functions", "arguments of a call bound inlined loops"},
               {"inline-device-functions", "arguments of a call bound inlined loops"}}},
    {.name = "remove-idle-bounds",
     .summary = "removes minima and maxima that ranges show to be idle",
     .function = remove_idle_bounds,
     .works_on = all_levels,
     .after = {{"bound-loops", "ranges show some clamps of bounds to be idle"}}},
    {.name = "canonicalize",
     .summary = "folds constants, applies exact identities, resolves known branches and loops",
     .function = canonicalize,
     .works_on = all_levels,
     .after = {{"remove-idle-bounds", "sums meet where a bound stood between them"},
               {"expand-math", "expansions have constants to fold"},
               {"expand-device-math", "expansions have constants to fold"},
               {"build-tensor-maps", "coordinates of copies gain a term"},
               {"relax-arithmetic", "quotients gain constant factors"}}},
    {.name = "eliminate-common-subexpressions",
     .summary = "merges equal pure ops, and equal loads without a write between them",
     .function = eliminate_common_subexpressions,
     .works_on = all_levels,
     .after = {{"canonicalize", "equal ops have one form only then"},
               {"assign-layouts", "equal conversions of layouts become one"}}},
    {.name = "hoist-loop-invariants",
     .summary = "moves loop-invariant ops before the loop",
     .function = hoist_loop_invariants,
     .works_on = all_levels,
     .after = {{"persistent-grid", "ops that no tile changes leave the loop over tiles"},
               {"serpentine-loops", "the end of the mirrored counter leaves the loop over tiles"}}},
    {.name = "eliminate-dead-code",
     .summary = "removes unused ops, loop-carried values and results of branches",
     .function = eliminate_dead_code,
     .works_on = all_levels,
     .after = {{"canonicalize", "operands of folded ops stay behind"},
               {"fold-boxes", "tiles in front of shape ops stay behind"},
               {"hoist-loop-invariants", "loops may be left without ops"},
               {"test-masks", "masks that branches compute again stay behind"}}},
    {.name = "expand-math",
     .summary = "replaces elementary functions by arithmetic",
     .function = expand_math,
     .works_on = only(Level::tile),
     .leaves = {Property::expanded_math},
     .after = {{"eliminate-dead-code", "dead functions are not expanded"}}},
    {.name = "expand-device-math",
     .summary = "replaces elementary functions by arithmetic where the device has no instruction that is exact enough",
     .function = expand_device_math,
     .works_on = {Level::tile, Level::staged},
     .after = {{"relax-arithmetic", "exponentials of fewer bits become powers of 2"}}},
    {.name = "expand-dots",
     .summary =
         "replaces products of tf32x3 by three of tf32, and those of 8-bit floats by f16 where the GPU lacks them",
     .function = expand_dots,
     .works_on = only(Level::tile),
     .after = {{"eliminate-dead-code", "dead products are not expanded"}}},
    {.name = "forward-stores",
     .summary = "reads an element that was just stored from its tile",
     .function = forward_stores,
     .works_on = only(Level::tile),
     .after = {{"hoist-loop-invariants", "equal offsets are one value"}}},
    {.name = "expand-items",
     .summary = "finds elements of tiles at run-time places by reductions",
     .function = expand_items,
     .works_on = only(Level::tile),
     .after = {{"eliminate-dead-code", "dead items are not expanded"}}},
    {.name = "fold-tables",
     .summary = "computes tiles of floats that depend on no argument, and keeps them as constant data",
     .function = fold_tables,
     .works_on = only(Level::tile),
     .after = {{"canonicalize", "arithmetic has moved ahead of broadcasts, so tables are small"},
               {"eliminate-dead-code", "dead tiles would be computed"}}},
    {.name = "fold-boxes",
     .summary = "makes axes of extent 1 and orders of axes part of loads and stores",
     .function = fold_boxes,
     .works_on = only(Level::tile),
     .after = {{"canonicalize", "reshapes that only add or drop axes have one form"}}},
    {.name = "pad-tiles",
     .summary = "gives tiles whose extents have large odd factors the next extent that lanes and warps share",
     .function = pad_tiles,
     .works_on = only(Level::tile),
     .after = {{"eliminate-dead-code", "a dead op might fix the extent of an axis"},
               {"expand-items", "places are compared with the extents as written"}}},
    {.name = "divide-blocks",
     .summary = "halves blocks whose sums of products no warps hold",
     .function = divide_blocks,
     .works_on = only(Level::tile),
     .needs = {Property::whole_kernels},
     .after = {{"pad-tiles", "padded extents are divided"}}},
    {.name = "persistent-grid",
     .summary = "makes CTAs persistent that have products in loops",
     .function = persistent_grid,
     .works_on = only(Level::tile),
     .needs = {Property::whole_kernels},
     .after = {{"pad-tiles", "groups of rows follow from the bytes of padded tiles"},
               {"divide-blocks", "halves are blocks of their own"}}},
    {.name = "serpentine-loops",
     .summary = "runs loops of products backwards in every second tile of a CTA",
     .function = serpentine_loops,
     .works_on = only(Level::tile),
     .needs = {Property::whole_kernels},
     .after = {{"persistent-grid", "only persistent CTAs have a loop over tiles"}}},
    {.name = "choose-memory-paths",
     .summary = "turns loads into TMA copies where the rules allow, if they feed products or loops with stages",
     .function = choose_memory_paths,
     .works_on = only(Level::tile),
     .leads_to = Level::planned,
     .needs = {Property::whole_kernels}},
    {.name = "share-rings",
     .summary = "lets products that add to one sum take their operands from one ring",
     .function = share_rings,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels},
     .after = {{"choose-memory-paths", "only copies take rings"}}},
    {.name = "plan-kernel",
     .summary = "decides the warps of a kernel, and how and when each product is multiplied",
     .function = plan_kernel,
     .works_on = {Level::tile, Level::planned},
     .leaves = {Property::planned_dots},
     .after = {{"choose-memory-paths", "copied tiles are operands of more products"},
               {"share-rings", "rings that products share take memory once"}}},
    {.name = "swap-operands",
     .summary = "transposes the products that the plan swaps",
     .function = swap_operands,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels},
     .after = {{"plan-kernel", "the plan says which products"}}},
    {.name = "raise-dots",
     .summary = "issues products as early as the plan says",
     .function = raise_dots,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels},
     .after = {{"plan-kernel", "the plan says which products"},
               {"swap-operands", "transposed factors move with their products"}}},
    {.name = "lag-references",
     .summary = "updates the reference of a softmax only when its maximum grows by more than a slack",
     .function = lag_references,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels}},
    {.name = "skew-dots",
     .summary = "overlaps a product that takes the result of another with the first product of the next iteration",
     .function = skew_dots,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels},
     .after = {{"plan-kernel", "the plan says which products run late"},
               {"lag-references", "uses of a maximum are followed within one iteration"}}},
    {.name = "split-loops",
     .summary = "splits loops with products at the first iteration whose mask hides an element",
     .function = split_loops,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels},
     .after = {{"skew-dots", "each part would get a prologue and an epilogue"}}},
    {.name = "narrow-masks",
     .summary = "compares coordinates as 32-bit numbers with one scalar",
     .function = narrow_masks,
     .works_on = {Level::tile, Level::planned},
     .after = {{"split-loops", "bounds of masks are read as they are written, without clamps"}}},
    {.name = "schedule-dots",
     .summary = "replaces dots by tensor core products; issues them, commits them and waits for them",
     .function = schedule_dots,
     .works_on = only(Level::planned),
     .needs = {Property::whole_kernels, Property::planned_dots},
     .leaves = {Property::no_dots},
     .after = {{"plan-kernel", "each product's path stands in the plan"}}},
    {.name = "assign-layouts",
     .summary = "gives every tile a layout and converts where two layouts meet",
     .module = assign_layouts,
     .works_on = only(Level::planned),
     .leads_to = Level::laid_out,
     .needs = {Property::no_dots},
     .breaks = {Property::shared_offsets, Property::barriers},
     .after = {{"eliminate-dead-code", "dead tiles would decide layouts"}}},
    {.name = "spread-rows",
     .summary = "spreads rows that one CTA does not hold over a cluster",
     .function = spread_rows,
     .works_on = only(Level::laid_out),
     .needs = {Property::whole_kernels},
     .breaks = {Property::shared_offsets, Property::barriers},
     .after = {{"eliminate-dead-code", "dead tiles would be the largest"}}},
    {.name = "raise-loads",
     .summary = "issues loads of tiles ahead of arithmetic that does not feed them",
     .function = raise_loads,
     .works_on = only(Level::laid_out),
     .after = {{"eliminate-dead-code", "dead tiles would count as registers"},
               {"spread-rows", "parts of rows take fewer registers"}}},
    {.name = "limit-registers",
     .summary = "limits registers so that memory-bound kernels reach the wanted occupancy",
     .function = limit_registers,
     .works_on = only(Level::laid_out),
     .after = {{"raise-loads", "tiles that are loaded early take registers"}}},
    {.name = "share-atomic-results",
     .summary = "broadcasts the old values of an atomic to every thread whose layout holds them",
     .function = share_atomic_results,
     .works_on = only(Level::laid_out),
     .breaks = {Property::shared_offsets, Property::barriers},
     .after = {{"eliminate-dead-code", "old elements that nothing uses are not shared"}}},
    {.name = "lower-online-softmax",
     .summary = "rescales the online-softmax state only where a running maximum grows",
     .function = lower_online_softmax,
     .works_on = only(Level::laid_out)},
    {.name = "sink-reductions",
     .summary = "keeps loop-carried sums per lane until the loop ends",
     .function = sink_reductions,
     .works_on = only(Level::laid_out)},
    {.name = "test-masks",
     .summary = "applies masks of single blocks only where they hide an element",
     .function = test_masks,
     .works_on = only(Level::laid_out),
     .after = {{"limit-registers", "only straight-line kernels are limited, and tests of masks are branches"},
               {"lower-online-softmax", "masks move ahead of scales, but not out of branches"}}},
    {.name = "share-reciprocals",
     .summary = "multiplies by one reciprocal a row instead of dividing, where results round to 16 bits",
     .function = share_reciprocals,
     .works_on = only(Level::laid_out)},
    {.name = "share-items",
     .summary = "hands elements that become scalars from one thread to all where warps may differ",
     .function = share_items,
     .works_on = only(Level::laid_out),
     .breaks = {Property::shared_offsets, Property::barriers},
     .after = {{"lower-online-softmax", "votes of warps make tiles differ"},
               {"test-masks", "votes of warps make tiles differ"},
               {"share-reciprocals", "votes of warps make tiles differ"}}},
    {.name = "join-reductions",
     .summary = "brings reductions between warps side by side, which share a barrier",
     .function = join_reductions,
     .works_on = only(Level::laid_out),
     .after = {{"sink-reductions", "it changes what is reduced"}}},
    {.name = "split-products",
     .summary = "splits the loop of a product over the CTAs of a cluster and adds up their partial sums",
     .function = split_products,
     .works_on = only(Level::laid_out),
     .needs = {Property::whole_kernels},
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "split-stores",
     .summary = "stores results of products, or adds them in memory, through staging buffers and the TMA engine",
     .function = split_stores,
     .works_on = only(Level::laid_out),
     .breaks = {Property::shared_offsets, Property::barriers},
     .after = {{"split-products", "one CTA of a cluster stores, in a branch"}}},
    {.name = "compute-by-chunks",
     .summary = "loads and computes tiles that are stored in chunks chunk by chunk",
     .function = compute_by_chunks,
     .works_on = only(Level::laid_out),
     .breaks = {Property::barriers},
     .after = {{"split-stores", "it cuts results into the chunks"}}},
    {.name = "circular-buffer",
     .summary = "gives copied tiles stages of rings in shared memory, with full and empty barriers",
     .function = circular_buffer,
     .works_on = only(Level::laid_out),
     .leads_to = Level::staged,
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "specialize-warps",
     .summary = "clones the kernel for the warps that fill rings and for the warps that read them",
     .function = specialize_warps,
     .works_on = only(Level::staged)},
    {.name = "load-ahead",
     .summary = "loads tiles that nothing copies one iteration ahead of their use",
     .function = load_ahead,
     .works_on = only(Level::staged),
     .after = {{"specialize-warps", "the registers of the warps that compute are known"}}},
    {.name = "run-ahead",
     .summary = "moves fills of rings iterations ahead of their readers where warps are not specialised",
     .function = run_ahead,
     .works_on = only(Level::staged),
     .after = {{"specialize-warps", "only kernels without producer warps prefetch in this way"}}},
    {.name = "build-tensor-maps",
     .summary = "builds the descriptors of slices in global memory when a CTA begins",
     .function = build_tensor_maps,
     .works_on = only(Level::staged),
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "dependent-launch",
     .summary = "overlaps the start of the kernel with the tail of the previous kernel",
     .function = dependent_launch,
     .works_on = {Level::staged, Level::placed},
     .after = {{"insert-barriers", "the wait may stand after a barrier"}}},
    {.name = "allocate-shared-memory",
     .summary = "places buffers, exchanges and called functions in shared memory",
     .function = allocate_shared_memory,
     .works_on = only(Level::staged),
     .leads_to = Level::placed,
     .after = {{"eliminate-dead-code", "dead buffers take no memory"}}},
    {.name = "insert-barriers",
     .summary = "closes hazards between threads of a CTA with barriers",
     .function = insert_barriers,
     .works_on = only(Level::placed),
     .leaves = {Property::barriers}},
    {.name = "insert-proxy-fences",
     .summary = "fences accesses of threads from those of copies and tensor cores",
     .function = insert_proxy_fences,
     .works_on = only(Level::placed),
     .needs = {Property::barriers}},
    {.name = "take-turns",
     .summary = "lets warpgroups issue products in turn where exponentials take as long",
     .function = take_turns,
     .works_on = only(Level::placed),
     .needs = {Property::barriers}},
    {.name = "sink-scalars",
     .summary = "moves scalars that are only needed after a product to its last wait",
     .function = sink_scalars,
     .works_on = {Level::staged, Level::placed},
     .after = {{"specialize-warps", "producers and consumers have scalars of their own"}}},
    {.name = "carry-remainders",
     .summary = "carries remainder and quotient of counters that loops divide by a constant",
     .function = carry_remainders,
     .works_on = all_levels,
     .after = {{"insert-proxy-fences", "analyses read stage and parity of a ring off divisions"}}},
    {.name = "clamp-coordinates",
     .summary = "clamps TMA coordinates that may not fit 32 bits; they stay outside the tensor",
     .function = clamp_coordinates,
     .works_on = {Level::staged, Level::placed},
     .after = {{"insert-proxy-fences", "analyses read coordinates as they are written"}}},
    {.name = "prove-offsets",
     .summary = "states which offsets of loads and stores are never negative",
     .function = prove_offsets,
     .works_on = all_levels,
     .after = {{"carry-remainders", "changed offsets would have to be proven again"},
               {"clamp-coordinates", "changed offsets would have to be proven again"}}},
    {.name = "lower-profiling",
     .summary = "lowers record ops to stores into the profile buffer",
     .function = lower_profiling,
     .works_on = all_levels,
     .last = "records measure code as it will run: after fences, TMA copies, canonical form and merged expressions"},
};

constexpr PassInfo const* find(std::string_view name) {
  for (PassInfo const& pass : table)
    if (pass.name == name) return &pass;
  return nullptr;
}

/// Tells whether a row states its levels, and comes after passes that there are. A pass leads upwards.
constexpr bool is_complete(PassInfo const& pass) {
  return pass.works_on.from <= pass.works_on.to && (!pass.leads_to || *pass.leads_to > pass.works_on.to) &&
         std::all_of(pass.after.begin(), pass.after.end(),
                     [](After const& after) { return find(after.pass) != nullptr; });
}
static_assert(std::all_of(std::begin(table), std::end(table), is_complete));

std::string names_of(PropertySet properties) {
  std::vector<std::string_view> names;
  for (int i = 0; i < property_count; ++i)
    if (properties.has(static_cast<Property>(i))) names.push_back(name(static_cast<Property>(i)));
  return names.empty() ? "-" : support::joined(names, ", ");
}

/// Finds the passes while the compiler compiles: an unknown name is a compile-time error.
template <class... Names>
consteval std::array<PassInfo const*, sizeof...(Names)> list(Names... names) {
  auto const one = [](std::string_view name) {
    PassInfo const* const pass = find(name);
    return pass != nullptr ? pass : throw std::invalid_argument("no pass has this name");
  };
  return {one(names)...};
}

constexpr auto for_contraction = list("eliminate-common-subexpressions", "contract-products");
constexpr auto for_host =
    list("eliminate-common-subexpressions", "contract-products", "specialize", "inline-functions", "bound-loops",
         "remove-idle-bounds", "canonicalize", "eliminate-common-subexpressions", "hoist-loop-invariants",
         "eliminate-dead-code", "fold-tables", "fold-boxes", "eliminate-dead-code", "expand-math", "canonicalize",
         "eliminate-common-subexpressions", "eliminate-dead-code", "lower-profiling");
constexpr auto for_cuda = list(
    "eliminate-common-subexpressions", "contract-products", "specialize", "inline-device-functions", "bound-loops",
    "remove-idle-bounds", "canonicalize", "eliminate-common-subexpressions", "hoist-loop-invariants",
    "eliminate-dead-code", "fold-tables", "fold-boxes", "eliminate-dead-code", "forward-stores", "relax-arithmetic",
    "expand-dots", "expand-items", "pad-tiles", "divide-blocks", "persistent-grid", "serpentine-loops",
    "hoist-loop-invariants", "choose-memory-paths", "share-rings", "plan-kernel", "swap-operands", "raise-dots",
    "lag-references", "skew-dots", "split-loops", "narrow-masks", "schedule-dots", "expand-device-math",
    "relax-arithmetic", "canonicalize", "eliminate-common-subexpressions", "eliminate-dead-code", "assign-layouts",
    "eliminate-common-subexpressions", "eliminate-dead-code", "spread-rows", "raise-loads", "limit-registers",
    "share-atomic-results", "lower-online-softmax", "test-masks", "sink-reductions", "share-reciprocals", "share-items",
    "join-reductions", "split-products", "split-stores", "compute-by-chunks", "circular-buffer", "specialize-warps",
    "load-ahead", "run-ahead", "build-tensor-maps", "canonicalize", "eliminate-common-subexpressions",
    "eliminate-dead-code", "allocate-shared-memory", "insert-barriers", "insert-proxy-fences", "dependent-launch",
    "take-turns", "sink-scalars", "carry-remainders", "clamp-coordinates", "prove-offsets", "lower-profiling");
constexpr auto for_block =
    list("eliminate-common-subexpressions", "contract-products", "specialize", "bound-loops", "relax-arithmetic",
         "expand-device-math", "relax-arithmetic", "build-tensor-maps", "canonicalize",
         "eliminate-common-subexpressions", "eliminate-dead-code", "allocate-shared-memory", "insert-barriers",
         "insert-proxy-fences", "prove-offsets", "lower-profiling");

}  // namespace

std::span<PassInfo const> passes() { return table; }

PassInfo const* find_pass(std::string_view name) { return find(name); }

std::string describe_passes() {
  std::string text;
  for (PassInfo const& pass : table) {
    text += fmt::format("{}\n    {}\n    works on: {}; leads to: {}\n    needs: {}; leaves: {}\n", pass.name,
                        pass.summary, to_string(pass.works_on), pass.leads_to ? name(*pass.leads_to) : "-",
                        names_of(pass.needs), names_of(pass.leaves));
    for (After const& after : pass.after) text += fmt::format("    after {}: {}\n", after.pass, after.why);
    if (!pass.last.empty()) text += fmt::format("    last: {}\n", pass.last);
  }
  return text;
}

Pipeline contraction() { return for_contraction; }
Pipeline host_pipeline() { return for_host; }
Pipeline cuda_pipeline() { return for_cuda; }
Pipeline block_pipeline() { return for_block; }

}  // namespace tegula::transform
