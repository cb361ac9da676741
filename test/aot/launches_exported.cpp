// Records the launches of launches.cpp.
#include <tegula/exporter/exporter.hpp>

#include "launched.hpp"

static tegula::exported_launches const entry([](tegula::device where) {
  tegula::stream const order(where);
  tegula::test::Vectors vectors(where, 1024);
  tegula::test::launch_all(order, vectors);
  for (std::int64_t const size : {64, 4096}) (void)tegula::test::launch_product(order, size);
});
