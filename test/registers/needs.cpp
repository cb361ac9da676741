#include "registers/needs.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace tegula::registers {

using Json = nlohmann::ordered_json;

std::vector<Need> read_needs(std::string const& file) {
  std::vector<Need> result;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    Json const row = Json::parse(line);
    Need need;
    need.name = row.at("name");
    need.ptx = row.at("ptx");
    need.ptxas = row.at("ptxas");
    need.threads = row.at("threads");
    need.limit = row.at("limit");
    need.need = row.at("need");
    need.spilled = row.at("spilled");
    need.estimate = row.at("estimate");
    if (row.contains("roles"))
      for (Json const& role : row.at("roles"))
        need.roles.push_back({role.at("limit"), role.at("highest"), role.at("spills")});
    result.push_back(std::move(need));
  }
  return result;
}

std::string to_json_line(Need const& need) {
  Json row{{"name", need.name},       {"threads", need.threads},   {"limit", need.limit}, {"need", need.need},
           {"spilled", need.spilled}, {"estimate", need.estimate}, {"ptx", need.ptx},     {"ptxas", need.ptxas}};
  for (RoleNeed const& role : need.roles)
    row["roles"].push_back({{"limit", role.limit}, {"highest", role.highest}, {"spills", role.spills}});
  return row.dump() + "\n";
}

std::string needs_file() { return std::string(TEGULA_SOURCE_TEST_DIR) + "/registers/needs.jsonl"; }

}  // namespace tegula::registers
