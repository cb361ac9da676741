// Makes arguments without memory: tests and measurements ask the models of launches about their sizes.
#pragma once

#include <cstdint>

#include "tegula/runtime/argument.hpp"

namespace tegula::runtime {

/// Returns a dense row-major matrix at no address.
inline Argument matrix_argument(Element element, std::int64_t rows, std::int64_t columns) {
  Argument argument;
  argument.element = element;
  argument.rank = 2;
  argument.extents[0] = rows;
  argument.extents[1] = columns;
  argument.strides[0] = columns;
  argument.strides[1] = 1;
  return argument;
}

}  // namespace tegula::runtime
