#include "support/dump.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "support/files.hpp"
#include "tegula/support/error.hpp"

namespace tegula::support {
namespace fs = std::filesystem;

std::string file_name_of(std::string_view kernel) {
  std::string name(kernel);
  for (char& character : name) {
    bool const plain = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
                       (character >= '0' && character <= '9') || character == '_' || character == '-' ||
                       character == '.';
    if (!plain) character = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  if (name.size() > 100) name.resize(100);
  return name;
}

std::string dump_file_name(std::string_view kernel, int number, std::string_view pass) {
  return fmt::format("{}.{:02}-{}.tir", file_name_of(kernel), number, file_name_of(pass));
}

Dump::Dump(Options const& options, std::string_view kernel)
    : options_(options),
      kernel_(kernel),
      selected_(!options.dump.empty() && (options.dump_kernel.empty() || options.dump_kernel == kernel)) {}

bool Dump::wants(DumpItem::Kind kind, std::string_view pass) const {
  if (!selected_) return false;
  for (DumpItem const& item : options_.dump) {
    if (item.kind != kind) continue;
    if (pass.empty() || item.pass == pass || item.pass == "all") return true;
  }
  return false;
}

void Dump::write_pass(int number, std::string_view pass, std::string_view text, bool changed, bool before) const {
  std::string file = dump_file_name(kernel_, number, pass);
  if (before) file.insert(file.size() - 4, ".before");
  emit(file, text, changed);
}

void Dump::write(std::string_view extension, std::string_view text) const {
  emit(fmt::format("{}.{}", file_name_of(kernel_), extension), text, true);
}

void Dump::emit(std::string const& file, std::string_view text, bool changed) const {
  if (options_.dump_dir.empty()) {
    std::string const all =
        changed ? fmt::format("// ---- {}\n{}", file, text) : fmt::format("// ---- {} (unchanged)\n", file);
    std::fwrite(all.data(), 1, all.size(), stderr);
    return;
  }
  std::string const path = (fs::path(options_.dump_dir) / file).string();
  if (!make_folders(options_.dump_dir) || !replace_file(path, {changed ? "" : "// (unchanged)\n", text}, Readers::user))
    throw UserError(fmt::format("TEGULA_DUMP_DIR: cannot write {}: {}; name a folder that can be written", path,
                                std::strerror(errno)));
}

std::optional<std::string> Dump::replacement(int number, std::string_view pass) const {
  if (options_.override_dir.empty()) return std::nullopt;
  return read_file((fs::path(options_.override_dir) / dump_file_name(kernel_, number, pass)).string());
}

std::string write_replay_file(Options const& options, std::string_view kernel, std::string_view text) {
  std::error_code error;
  fs::path const folder = options.replay_dir.empty() ? fs::temp_directory_path(error) : fs::path(options.replay_dir);
  if (error || (!options.replay_dir.empty() && !make_folders(folder.string()))) return {};
  return create_unique_file(folder.string(), "tegula-" + file_name_of(kernel), ".tir", text);
}

}  // namespace tegula::support
