#include "platform_macros.hpp"

#include <tegula/tegula.hpp>
