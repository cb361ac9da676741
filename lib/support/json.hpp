// Prints JSON that is safe to embed: text that is not UTF-8 is replaced.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace tegula::support {

using Json = nlohmann::ordered_json;

inline std::string text_of(Json const& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace tegula::support
