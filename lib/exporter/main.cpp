// Runs programs that compile kernels at build time.
#include "tegula/exporter/exporter.hpp"

int main(int count, char** values) { return tegula::jit::exporter_main(count, values); }
