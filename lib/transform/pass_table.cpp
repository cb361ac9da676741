#include "transform/pass_table.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "support/string_buffer.hpp"
#include "transform/laid_out/circular_buffer.hpp"
#include "transform/laid_out/limit_registers.hpp"
#include "transform/laid_out/lower_online_softmax.hpp"
#include "transform/laid_out/raise_loads.hpp"
#include "transform/laid_out/share_atomic_results.hpp"
#include "transform/laid_out/share_reciprocals.hpp"
#include "transform/laid_out/sink_reductions.hpp"
#include "transform/laid_out/split_products.hpp"
#include "transform/laid_out/split_stores.hpp"
#include "transform/laid_out/test_masks.hpp"
#include "transform/placed/insert_barriers.hpp"
#include "transform/placed/insert_proxy_fences.hpp"
#include "transform/placed/take_turns.hpp"
#include "transform/planned/assign_layouts.hpp"
#include "transform/planned/lag_references.hpp"
#include "transform/planned/schedule_dots.hpp"
#include "transform/planned/skew_dots.hpp"
#include "transform/planned/split_loops.hpp"
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
#include "transform/staged/run_ahead.hpp"
#include "transform/staged/sink_scalars.hpp"
#include "transform/staged/specialize_warps.hpp"
#include "transform/tile/choose_memory_paths.hpp"
#include "transform/tile/expand_dots.hpp"
#include "transform/tile/narrow_masks.hpp"
#include "transform/tile/pad_tiles.hpp"
#include "transform/tile/persistent_grid.hpp"
#include "transform/tile/raise_dots.hpp"
#include "transform/tile/serpentine_loops.hpp"
#include "transform/tile/swap_operands.hpp"

namespace tegula::transform {
namespace {

constexpr PassInfo table[] = {
    {.name = "specialize",
     .summary = "writes facts of the compile options as parameter attributes, and stages as attributes of loops",
     .module = specialize},
    {.name = "contract-products",
     .summary = "adds products that only meet sums without rounding them",
     .function = contract_products},
    {.name = "relax-arithmetic",
     .summary = "states how many bits quotients, roots and powers of f32 need, and which powers may be 0",
     .module = relax_arithmetic},
    {.name = "remove-asserts",
     .summary = "removes asserts, with the ops that only they need",
     .function = remove_asserts},
    {.name = "insert-checks",
     .summary = "inserts the checks of bounds, overflow and NaN that the options ask for",
     .function = insert_checks},
    {.name = "inline-functions",
     .summary = "inlines calls except of functions marked noinline; removes uncalled functions",
     .module = inline_functions},
    {.name = "inline-all-functions",
     .summary = "inlines all calls; removes the functions",
     .module = inline_all_functions,
     .leaves = {Property::no_calls}},
    {.name = "bound-loops", .summary = "rewrites loops whose counters might wrap", .function = bound_loops},
    {.name = "remove-idle-bounds",
     .summary = "removes minima and maxima that ranges show to be idle",
     .function = remove_idle_bounds},
    {.name = "canonicalize",
     .summary = "folds constants, applies exact identities, resolves known branches and loops",
     .function = canonicalize},
    {.name = "eliminate-common-subexpressions",
     .summary = "merges equal pure ops, and equal loads without a write between them",
     .function = eliminate_common_subexpressions},
    {.name = "hoist-loop-invariants",
     .summary = "moves loop-invariant ops before the loop",
     .function = hoist_loop_invariants},
    {.name = "eliminate-dead-code",
     .summary = "removes unused ops, loop-carried values and results of branches",
     .function = eliminate_dead_code},
    {.name = "expand-math",
     .summary = "replaces elementary functions by arithmetic",
     .function = expand_math,
     .leaves = {Property::expanded_math}},
    {.name = "expand-device-math",
     .summary = "replaces elementary functions by arithmetic where the device has no instruction that is exact enough",
     .function = expand_device_math},
    {.name = "expand-dots",
     .summary = "replaces products of tf32x3 by three products of tf32",
     .function = expand_dots},
    {.name = "pad-tiles",
     .summary = "gives tiles whose extents have large odd factors the next extent that lanes and warps share",
     .function = pad_tiles},
    {.name = "persistent-grid",
     .summary = "makes CTAs persistent that have products in loops",
     .function = persistent_grid,
     .needs = {Property::no_calls}},
    {.name = "serpentine-loops",
     .summary = "runs loops of products backwards in every second tile of a CTA",
     .function = serpentine_loops,
     .needs = {Property::no_calls}},
    {.name = "swap-operands",
     .summary = "transposes products with too few rows for wgmma, or for the warpgroups of other products",
     .function = swap_operands,
     .needs = {Property::no_calls}},
    {.name = "raise-dots",
     .summary = "issues products as early as their factors are known",
     .function = raise_dots,
     .needs = {Property::no_calls}},
    {.name = "choose-memory-paths",
     .summary = "turns loads into TMA copies where the rules allow, if they feed products or loops with stages",
     .function = choose_memory_paths,
     .needs = {Property::no_calls}},
    {.name = "lag-references",
     .summary = "lets the reference of a softmax lag behind the running maximum",
     .function = lag_references,
     .needs = {Property::no_calls}},
    {.name = "skew-dots",
     .summary = "overlaps a product that takes the result of another with the first product of the next iteration",
     .function = skew_dots,
     .needs = {Property::no_calls}},
    {.name = "split-loops",
     .summary = "splits loops with products at the first iteration whose mask hides an element",
     .function = split_loops,
     .needs = {Property::no_calls}},
    {.name = "narrow-masks",
     .summary = "compares coordinates as 32-bit numbers with one scalar",
     .function = narrow_masks},
    {.name = "schedule-dots",
     .summary = "replaces dots by tensor core products; issues them, commits them and waits for them",
     .function = schedule_dots,
     .needs = {Property::no_calls},
     .leaves = {Property::no_dots}},
    {.name = "assign-layouts",
     .summary = "gives every tile a layout and converts where two layouts meet",
     .module = assign_layouts,
     .needs = {Property::no_dots},
     .leaves = {Property::layouts},
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "raise-loads",
     .summary = "issues loads of tiles ahead of arithmetic that does not feed them",
     .function = raise_loads,
     .needs = {Property::layouts}},
    {.name = "limit-registers",
     .summary = "says how many CTAs of a kernel that memory limits share a multiprocessor",
     .function = limit_registers,
     .needs = {Property::layouts}},
    {.name = "share-atomic-results",
     .summary = "hands old elements that atomics give to all threads that hold them",
     .function = share_atomic_results,
     .needs = {Property::layouts},
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "lower-online-softmax",
     .summary = "rescales the online-softmax state only where a running maximum grows",
     .function = lower_online_softmax,
     .needs = {Property::layouts}},
    {.name = "sink-reductions",
     .summary = "keeps loop-carried sums per lane until the loop ends",
     .function = sink_reductions,
     .needs = {Property::layouts}},
    {.name = "test-masks",
     .summary = "applies masks of single blocks only where they hide an element",
     .function = test_masks,
     .needs = {Property::layouts}},
    {.name = "share-reciprocals",
     .summary = "multiplies by one reciprocal a row instead of dividing, where results round to 16 bits",
     .function = share_reciprocals,
     .needs = {Property::layouts}},
    {.name = "split-products",
     .summary = "splits the loop of a product over the CTAs of a cluster and adds up their partial sums",
     .function = split_products,
     .needs = {Property::no_calls, Property::layouts},
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "split-stores",
     .summary = "stores results of products, or adds them in memory, through staging buffers and the TMA engine",
     .function = split_stores,
     .needs = {Property::layouts},
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "circular-buffer",
     .summary = "gives copied tiles stages of rings in shared memory, with full and empty barriers",
     .function = circular_buffer,
     .needs = {Property::layouts},
     .leaves = {Property::no_fetches},
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "specialize-warps",
     .summary = "clones the kernel for the warps that fill rings and for the warps that read them",
     .function = specialize_warps,
     .needs = {Property::layouts, Property::no_fetches}},
    {.name = "run-ahead",
     .summary = "moves fills of rings iterations ahead of their readers where warps are not specialised",
     .function = run_ahead,
     .needs = {Property::no_fetches}},
    {.name = "build-tensor-maps",
     .summary = "builds the descriptors of slices in global memory when a CTA begins",
     .function = build_tensor_maps,
     .breaks = {Property::shared_offsets, Property::barriers}},
    {.name = "dependent-launch",
     .summary = "overlaps the start of the kernel with the tail of the previous kernel",
     .function = dependent_launch,
     .needs = {Property::no_fetches}},
    {.name = "allocate-shared-memory",
     .summary = "places buffers, exchanges and called functions in shared memory",
     .function = allocate_shared_memory,
     .needs = {Property::layouts},
     .leaves = {Property::shared_offsets}},
    {.name = "insert-barriers",
     .summary = "closes hazards between threads of a CTA with barriers",
     .function = insert_barriers,
     .needs = {Property::layouts, Property::shared_offsets},
     .leaves = {Property::barriers}},
    {.name = "insert-proxy-fences",
     .summary = "fences accesses of threads from those of copies and tensor cores",
     .function = insert_proxy_fences,
     .needs = {Property::layouts, Property::shared_offsets, Property::barriers}},
    {.name = "take-turns",
     .summary = "lets warpgroups issue products in turn where exponentials take as long",
     .function = take_turns,
     .needs = {Property::layouts, Property::barriers}},
    {.name = "sink-scalars",
     .summary = "moves scalars that are only needed behind a product to its last wait",
     .function = sink_scalars,
     .needs = {Property::no_dots}},
    {.name = "carry-remainders",
     .summary = "carries remainder and quotient of counters that loops divide by a constant",
     .function = carry_remainders},
    {.name = "clamp-coordinates",
     .summary = "clamps TMA coordinates that may not fit 32 bits; they stay outside the tensor",
     .function = clamp_coordinates,
     .needs = {Property::no_fetches}},
    {.name = "prove-offsets",
     .summary = "states which offsets of loads and stores are never negative",
     .function = prove_offsets},
    {.name = "lower-profiling",
     .summary = "makes records to entries of a log in memory",
     .function = lower_profiling,
     .last = "records measure code as it will run: behind fences, TMA copies, canonical form and merged expressions"},
};

std::string names_of(PropertySet properties) {
  std::vector<std::string_view> names;
  for (int i = 0; i < property_count; ++i)
    if (properties.has(static_cast<Property>(i))) names.push_back(name(static_cast<Property>(i)));
  return names.empty() ? "-" : support::joined(names, ", ");
}

/// Finds the passes while the compiler compiles: an unknown name is a compile-time error.
template <class... Names>
consteval std::array<PassInfo const*, sizeof...(Names)> list(Names... names) {
  auto const one = [](std::string_view name) -> PassInfo const* {
    for (PassInfo const& pass : table)
      if (pass.name == name) return &pass;
    throw std::invalid_argument("no pass has this name");
  };
  return {one(names)...};
}

constexpr auto for_contraction = list("eliminate-common-subexpressions", "contract-products");
constexpr auto for_host = list("eliminate-common-subexpressions", "contract-products", "specialize", "inline-functions",
                               "bound-loops", "remove-idle-bounds", "canonicalize", "eliminate-common-subexpressions",
                               "hoist-loop-invariants", "eliminate-dead-code", "expand-math", "canonicalize",
                               "eliminate-common-subexpressions", "eliminate-dead-code", "lower-profiling");
constexpr auto for_cuda =
    list("eliminate-common-subexpressions", "contract-products", "specialize", "inline-functions", "bound-loops",
         "remove-idle-bounds", "canonicalize", "eliminate-common-subexpressions", "hoist-loop-invariants",
         "eliminate-dead-code", "relax-arithmetic", "pad-tiles", "narrow-masks", "expand-device-math",
         "relax-arithmetic", "canonicalize", "eliminate-common-subexpressions", "eliminate-dead-code", "assign-layouts",
         "eliminate-common-subexpressions", "eliminate-dead-code", "raise-loads", "limit-registers", "test-masks",
         "eliminate-dead-code", "share-atomic-results", "allocate-shared-memory", "insert-barriers", "prove-offsets",
         "lower-profiling");
constexpr auto for_cuda_block =
    list("eliminate-common-subexpressions", "contract-products", "specialize", "inline-all-functions", "bound-loops",
         "remove-idle-bounds", "canonicalize", "eliminate-common-subexpressions", "hoist-loop-invariants",
         "eliminate-dead-code", "relax-arithmetic", "expand-dots", "pad-tiles", "persistent-grid", "serpentine-loops",
         "hoist-loop-invariants", "swap-operands", "raise-dots", "choose-memory-paths", "lag-references", "skew-dots",
         "split-loops", "narrow-masks", "schedule-dots", "expand-device-math", "relax-arithmetic", "canonicalize",
         "eliminate-common-subexpressions", "eliminate-dead-code", "assign-layouts", "eliminate-common-subexpressions",
         "eliminate-dead-code", "raise-loads", "share-atomic-results", "lower-online-softmax", "test-masks",
         "sink-reductions", "share-reciprocals", "split-products", "split-stores", "circular-buffer",
         "specialize-warps", "run-ahead", "build-tensor-maps", "canonicalize", "eliminate-common-subexpressions",
         "eliminate-dead-code", "allocate-shared-memory", "insert-barriers", "insert-proxy-fences", "dependent-launch",
         "take-turns", "sink-scalars", "carry-remainders", "clamp-coordinates", "prove-offsets", "lower-profiling");
constexpr auto for_block =
    list("eliminate-common-subexpressions", "contract-products", "specialize", "bound-loops", "relax-arithmetic",
         "expand-device-math", "relax-arithmetic", "build-tensor-maps", "canonicalize",
         "eliminate-common-subexpressions", "eliminate-dead-code", "allocate-shared-memory", "insert-barriers",
         "insert-proxy-fences", "prove-offsets", "lower-profiling");

}  // namespace

std::span<PassInfo const> passes() { return table; }

PassInfo const* find_pass(std::string_view name) {
  for (PassInfo const& pass : table)
    if (pass.name == name) return &pass;
  return nullptr;
}

std::string describe_passes() {
  std::string text;
  for (PassInfo const& pass : table)
    text += fmt::format("{}\n    {}\n    needs: {}; leaves: {}\n", pass.name, pass.summary, names_of(pass.needs),
                        names_of(pass.leaves));
  return text;
}

Pipeline contraction() { return for_contraction; }
Pipeline host_pipeline() { return for_host; }
Pipeline cuda_pipeline() { return for_cuda; }
Pipeline cuda_block_pipeline() { return for_cuda_block; }
Pipeline block_pipeline() { return for_block; }

}  // namespace tegula::transform
