// Stands in for the CUDA driver where launches are recorded and not run: one device that is described, not there.
//
// Memory of the device is memory of the process, cleared. Copies and fills take place, all other work does nothing.
#pragma once

namespace tegula {
struct TargetInfo;
}  // namespace tegula

namespace tegula::runtime::cuda {

/// Makes cuda:0 of this process a device of that kind, the only one, in place of what the driver reports. A second call
/// replaces the first. Throws UserError if the driver is in use already, or in a build without cuda.h.
void describe_device(TargetInfo const& target);
/// Tells whether describe_device() was called.
bool device_is_described();

struct Driver;

struct DescribedDevice {
  /// Fills in the functions of a driver of the described device.
  static void answer(Driver& driver);
};

}  // namespace tegula::runtime::cuda
