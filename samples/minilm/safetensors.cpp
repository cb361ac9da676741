#include "safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <tegula/dsl/element.hpp>

namespace minilm {
namespace {

using nlohmann::json;
using samples::printable;

// A header of more bytes is not one of a model: 100 MB are the limit of the format.
constexpr std::uint64_t max_header = 100'000'000;
// 2^40 elements are more than any file has; their bytes cannot wrap.
constexpr std::uint64_t max_elements = 1ULL << 40U;

struct ElementRow {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr ElementRow elements[] = {{"F64", 8},     {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F8_E4M3", 1},
                                   {"F8_E5M2", 1}, {"I64", 8}, {"I32", 4}, {"I16", 2},  {"I8", 1},
                                   {"U64", 8},     {"U32", 4}, {"U16", 2}, {"U8", 1},   {"BOOL", 1}};

template <class... Args>
[[noreturn]] void fail(std::string const& path, fmt::format_string<Args...> format, Args&&... args) {
  throw FileError(
      fmt::format("{}: damaged: {}; fetch the file again", path, fmt::format(format, std::forward<Args>(args)...)));
}

/// Parses the header; a key that stands twice in an object is an error, too.
json parsed(std::string const& path, std::string_view header) {
  std::vector<std::set<std::string>> keys;
  auto const seen = [&](int /*depth*/, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      fail(path, "{} stands twice in the header", printable(value.get<std::string>()));
    return true;
  };
  try {
    return json::parse(header.begin(), header.end(), seen);
  } catch (json::parse_error const& error) {
    fail(path, "the header is not JSON at byte {} of it", error.byte);
  }
}

/// Returns a field of a tensor, which must be there.
json const& field(std::string const& path, std::string const& name, json const& tensor, char const* key) {
  auto const found = tensor.find(key);
  if (found == tensor.end()) fail(path, "tensor {} has no field {}", printable(name), key);
  return *found;
}

std::vector<std::uint64_t> numbers(std::string const& path, std::string const& name, json const& tensor,
                                   char const* key) {
  std::vector<std::uint64_t> result;
  json const& list = field(path, name, tensor, key);
  if (!list.is_array()) fail(path, "{} of tensor {} is not a list", key, printable(name));
  for (json const& one : list) {
    if (!one.is_number_unsigned()) fail(path, "{} of tensor {} holds more than whole numbers", key, printable(name));
    result.push_back(one.get<std::uint64_t>());
  }
  return result;
}

Tensor read_tensor(std::string const& path, std::string const& name, json const& described,
                   std::span<std::byte const> data) {
  if (!described.is_object()) fail(path, "tensor {} has no fields", printable(name));
  json const& element = field(path, name, described, "dtype");
  auto const* const row = std::find_if(std::begin(elements), std::end(elements), [&](ElementRow const& one) {
    return element.is_string() && element.get_ref<std::string const&>() == one.name;
  });
  if (row == std::end(elements))
    fail(path, "tensor {} has elements {}", printable(name),
         printable(element.dump(-1, ' ', true, json::error_handler_t::replace)));
  Tensor tensor{std::string(row->name), {}, {}};
  std::uint64_t count = 1;
  for (std::uint64_t const extent : numbers(path, name, described, "shape")) {
    if (extent > max_elements / std::max<std::uint64_t>(count, 1))
      fail(path, "tensor {} has an extent of {}", printable(name), extent);
    count *= extent;
    tensor.extents.push_back(static_cast<std::int64_t>(extent));
  }
  auto const place = numbers(path, name, described, "data_offsets");
  if (place.size() != 2 || place[0] > place[1] || place[1] > data.size())
    fail(path, "tensor {} lies at {}, but there are {} bytes of data", printable(name), fmt::join(place, " to "),
         data.size());
  if (place[1] - place[0] != count * row->bytes)
    fail(path, "tensor {} has {} bytes, but its {} elements of {} are {}", printable(name), place[1] - place[0], count,
         row->name, count * row->bytes);
  tensor.bytes = data.subspan(static_cast<std::size_t>(place[0]), static_cast<std::size_t>(place[1] - place[0]));
  return tensor;
}

/// Converts elements of T.
template <class T>
std::vector<float> as_floats(std::span<std::byte const> bytes) {
  std::vector<float> result(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < result.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    result[i] = static_cast<float>(value);
  }
  return result;
}

}  // namespace

Safetensors::Safetensors(std::string const& path) : path_(path), bytes_(path, "a safetensors file") { read(); }

Safetensors::Safetensors(std::string name, std::string bytes) : path_(std::move(name)), bytes_(std::move(bytes)) {
  read();
}

void Safetensors::read() {
  auto const all = bytes_.as();
  std::uint64_t length = 0;
  if (all.size() < sizeof length)
    throw FileError(
        fmt::format("{}: has {} bytes, less than a header; give the path of a safetensors file", path_, all.size()));
  std::memcpy(&length, all.data(), sizeof length);
  if (length > max_header || length > all.size() - sizeof length)
    throw FileError(fmt::format("{}: its header would have {} bytes, of {} in the file; give a whole safetensors file",
                                path_, length, all.size()));
  auto const data = all.subspan(sizeof length + static_cast<std::size_t>(length));
  json const header =
      parsed(path_, {reinterpret_cast<char const*>(all.data()) + sizeof length, static_cast<std::size_t>(length)});
  if (!header.is_object()) fail(path_, "the header is not an object of JSON");
  for (auto const& [name, described] : header.items()) {
    if (name != "__metadata__") {
      tensors_.emplace(name, read_tensor(path_, name, described, data));
      continue;
    }
    if (!described.is_object() ||
        !std::all_of(described.begin(), described.end(), [](json const& one) { return one.is_string(); }))
      fail(path_, "its metadata are not texts by name");
  }
  check_places(data);
}

/// Checks that the tensors fill the data one after the other: no byte is in two of them, and none is left.
void Safetensors::check_places(std::span<std::byte const> data) const {
  std::vector<std::pair<std::byte const*, std::string const*>> order;
  for (auto const& [name, tensor] : tensors_)
    if (!tensor.bytes.empty()) order.emplace_back(tensor.bytes.data(), &name);
  std::sort(order.begin(), order.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
  std::byte const* end = data.data();
  for (auto const& [at, name] : order) {
    if (at != end)
      fail(path_, "tensor {} begins at byte {} of the data, but the tensors before end at {}", printable(*name),
           at - data.data(), end - data.data());
    end = at + tensors_.find(*name)->second.bytes.size();
  }
  if (end != data.data() + data.size())
    fail(path_, "the tensors end at byte {} of the data, which has {}", end - data.data(), data.size());
}

Tensor const& Safetensors::tensor(std::string const& name) const {
  auto const found = tensors_.find(name);
  if (found == tensors_.end())
    throw FileError(fmt::format("{}: tensor {} is missing; give a model of BERT's form", path_, name));
  return found->second;
}

std::vector<float> Safetensors::values(std::string const& name, std::vector<std::int64_t> const& extents) const {
  Tensor const& found = tensor(name);
  if (found.extents != extents)
    throw FileError(fmt::format("{}: tensor {} is {}; {} is expected", path_, name, fmt::join(found.extents, " x "),
                                fmt::join(extents, " x ")));
  if (found.element == "F32") return as_floats<float>(found.bytes);
  if (found.element == "F16") return as_floats<tegula::f16>(found.bytes);
  if (found.element == "BF16") return as_floats<tegula::bf16>(found.bytes);
  throw FileError(fmt::format("{}: tensor {} has elements {}; F32, F16 or BF16 is expected; convert the file", path_,
                              name, found.element));
}

}  // namespace minilm
