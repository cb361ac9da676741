// Computes the family of attention, one kernel after another: with log-sum-exp, in a sliding window, with a bias, of
// ragged sequences, of pages, backward, and of 8-bit elements.
#include "support/attention.hpp"

using namespace tegula;

namespace {

/// Runs one check and prints its line; a pair of a query and a key takes so many products of `width`.
template <class Check>
int report(char const* what, device where, int products, int width, Check const& check) {
  samples::TimedRun run(where);
  samples::Checked const found = check(run);
  return samples::report("17_attention_family", what, where, run.seconds(),
                         2e-9 * products * width * found.pairs / run.seconds(), "GFLOP/s", found.results);
}

}  // namespace

int main() {
  return samples::guarded("17_attention_family", [] {
    using namespace samples;
    constexpr int d = 64;
    device const where = device::best();
    int wrong = 0;
    wrong += report("log-sum-exp, 4 heads of 500", where, 2, d,
                    [](auto& run) { return check_lse<128, 128, d>(run, 4, 500); });
    wrong += report("window of 100, 4 heads of 700", where, 2, d,
                    [](auto& run) { return check_window<128, 128, d>(run, 4, 700, 100); });
    wrong += report("bias, 4 heads of 300 x 504", where, 2, d,
                    [](auto& run) { return check_bias<64, 64, d>(run, 4, 300, 504); });
    wrong += report("ragged, 4 heads of 300, 0, 1 and 450", where, 2, d, [](auto& run) {
      return check_ragged<128, 128, d>(run, 4, {300, 0, 1, 450});
    });
    wrong += report("pages, 8 heads on 2, sequences of 700, 0 and 130", where, 2, d, [](auto& run) {
      return check_paged<64, 64, d>(run, 2, 4, 100, {700, 0, 130});
    });
    wrong += report("backward, 4 heads of 300", where, 5, d,
                    [](auto& run) { return check_backward<64, 128, 128, 64, d>(run, 4, 300); });
    wrong += report("e4m3, 4 heads of 300 x 496", where, 2, d,
                    [](auto& run) { return check_e4m3<128, 128, d>(run, 4, 300, 496); });
    return wrong == 0 ? 0 : 1;
  });
}
