// Computes the family of attention, one kernel after another: with log-sum-exp, in a sliding window, with a bias, of
// ragged sequences, of pages, backward, and of 8-bit elements. An argument multiplies the numbers of tokens.
#include "support/attention.hpp"

#include <cstdlib>

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

int main(int argc, char** argv) {
  return samples::guarded("17_attention_family", [&] {
    using namespace samples;
    int const times = argc > 1 ? std::atoi(argv[1]) : 1;
    if (times < 1) throw std::runtime_error("the argument multiplies tokens; an integer from 1 on is expected");
    constexpr int d = 64;
    device const where = device::best();
    int wrong = 0;
    wrong += report("log-sum-exp", where, 2, d, [&](auto& run) { return check_lse<128, 128, d>(run, 4, times * 500); });
    wrong += report("window of 100", where, 2, d,
                    [&](auto& run) { return check_window<128, 128, d>(run, 4, times * 700, 100); });
    wrong +=
        report("bias", where, 2, d, [&](auto& run) { return check_bias<64, 64, d>(run, 4, times * 300, times * 504); });
    wrong += report("ragged lengths", where, 2, d, [&](auto& run) {
      return check_ragged<128, 128, d>(run, 4, {times * 300, 0, 1, times * 450});
    });
    wrong += report("pages", where, 2, d, [&](auto& run) {
      return check_paged<64, 64, d>(run, 2, 4, 100, {times * 700, 0, times * 130});
    });
    wrong += report("causal backward", where, 5, d,
                    [&](auto& run) { return check_backward<64, 128, 128, 64, d>(run, 4, times * 300); });
    wrong += report("backward", where, 5, d,
                    [&](auto& run) { return check_backward<64, 128, 128, 64, d, false>(run, 4, times * 300); });
    wrong += report("backward by sums", where, 5, d,
                    [&](auto& run) { return check_backward_by_sums<128, 128, d, false>(run, 4, times * 300); });
    wrong += report("e4m3", where, 2, d,
                    [&](auto& run) { return check_e4m3<128, 128, d>(run, 4, times * 300, times * 496); });
    return wrong == 0 ? 0 : 1;
  });
}
