#include "runtime/counters.hpp"

namespace tegula {

runtime::CounterCells& runtime::counter_cells() noexcept {
  static constinit CounterCells cells;
  return cells;
}

LaunchCounters launch_counters() {
  runtime::CounterCells const& cells = runtime::counter_cells();
  return {cells.launches,         cells.maps_encoded,   cells.maps_shared,
          cells.copies_to_device, cells.kernels_loaded, cells.kernels_compiled};
}

}  // namespace tegula
