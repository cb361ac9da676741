// Prints the table of all figures on a GPU: kernels in C++, launched by the public launcher, beside their rivals in one
// process. Rivals are cuBLASLt, the driver's copy and Tegula's own plain product. Without a device it says so; --check
// then compares the kernels at small sizes on the host and compiles them for sm_90a.
#include "gpu/rows/program.hpp"

int main(int argc, char** argv) {
  using namespace tegula::bench;
  return run_table(argc, argv,
                   {{"products", product_rows},
                    {"attention", attention_rows},
                    {"memory", memory_rows},
                    {"norms", norm_rows},
                    {"long-rows", long_rows},
                    {"sampling", sampling_rows},
                    {"decode", decode_rows},
                    {"4-bits", four_bit_rows},
                    {"block-scaled", block_scaled_rows},
                    {"recurrences", recurrence_rows},
                    {"scores", score_rows},
                    {"transforms", transform_rows},
                    {"pictures", picture_rows}});
}
