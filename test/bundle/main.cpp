// Runs the bundled binary: argv[1] picks the program.
#include "support/run.hpp"

#include <cstdio>
#include <cstring>

#define ENTRY(kind, name, function) extern "C" int function(int, char**);
#include "entries.inc"
#undef ENTRY

namespace {

struct Entry {
  char const* kind;
  char const* name;
  int (*function)(int, char**);
};

constexpr Entry entries[] = {
#define ENTRY(kind, name, function) {kind, name, function},
#include "entries.inc"
#undef ENTRY
    {"", "", nullptr}};

int usage() {
  std::puts("usage: tegula test [catch2 arguments] | sample <name> | bench <name> | tool <name> | list [kind]");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  char const* kind = argv[1];
  if (std::strcmp(kind, "test") == 0) return tegula::test::run_tests(argc - 1, argv + 1);
  if (std::strcmp(kind, "list") == 0) {
    for (Entry const& entry : entries)
      if (entry.function != nullptr && (argc < 3 || std::strcmp(argv[2], entry.kind) == 0))
        std::printf("%s %s\n", entry.kind, entry.name);
    return 0;
  }
  if (argc < 3) return usage();
  for (Entry const& entry : entries)
    if (std::strcmp(entry.kind, kind) == 0 && std::strcmp(entry.name, argv[2]) == 0)
      return entry.function(argc - 2, argv + 2);
  std::printf("tegula: no %s named '%s'; 'tegula list' prints what there is\n", kind, argv[2]);
  return 2;
}
