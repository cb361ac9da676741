// Defines the macros that a platform's header leaves behind, after the standard headers that Tegula and Boost.Hana
// need.
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#if __has_include(<boost/hana.hpp>)
#include <boost/hana.hpp>
#endif

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define interface struct
#define ERROR 0
#define CONST const
#define VOID void
#define IN
#define OUT
#define OPTIONAL
#define DELETE (0x00010000L)
#define STRICT 1
#define NO_ERROR 0L
#define TRUE 1
#define FALSE 0
#define OVERFLOW 3
#define UNDERFLOW 4
#define DOMAIN 1
#define HUGE 1e38
