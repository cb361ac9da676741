#include "codegen/nvptx/ptx/tma.hpp"

#include <fmt/format.h>

#include "tegula/support/error.hpp"

namespace tegula::codegen::nvptx::ptx {
namespace {

/// Returns "[map, {c0, c1}]".
std::string box(Assembly& assembly, llvm::Value* map, Values const& coordinates) {
  std::string const name = assembly.in(map);
  std::vector<std::string> names;
  for (llvm::Value* coordinate : coordinates) names.push_back(assembly.number(coordinate));
  return "[" + name + ", " + braces(names) + "]";
}

std::string at(Assembly& assembly, llvm::Value* address) { return "[" + assembly.in(address) + "]"; }

/// Returns ".2d", after a check of the rank.
std::string rank_of(Values const& coordinates) {
  if (coordinates.empty() || coordinates.size() > 5)
    throw InternalError(fmt::format("nvptx: a tensor copy of {} coordinates; TMA takes 1 to 5", coordinates.size()));
  return fmt::format(".{}d", coordinates.size());
}

std::string qualifiers(LoadOptions const& options) {
  return std::string(options.multicast != nullptr ? ".multicast::cluster" : "") +
         (options.policy != nullptr ? ".L2::cache_hint" : "");
}

std::string trailing(Assembly& assembly, LoadOptions const& options) {
  std::string text;
  if (options.multicast != nullptr) text += ", " + assembly.in(options.multicast);
  if (options.policy != nullptr) text += ", " + assembly.in(options.policy);
  return text;
}

char const* name_of(BulkReduce operation) {
  switch (operation) {
    case BulkReduce::add:
      return ".add";
    case BulkReduce::min:
      return ".min";
    case BulkReduce::max:
      return ".max";
    case BulkReduce::inc:
      return ".inc";
    case BulkReduce::dec:
      return ".dec";
    case BulkReduce::bit_and:
      return ".and";
    case BulkReduce::bit_or:
      return ".or";
    case BulkReduce::bit_xor:
      return ".xor";
  }
  return "";
}

void issue(Assembly& assembly, std::string const& text) { assembly.call(text + ";", AsmEffect::convergent); }

}  // namespace

llvm::Value* cache_policy(Builder& b, CachePolicy policy) {
  char const* const name = policy == CachePolicy::evict_first  ? "evict_first"
                           : policy == CachePolicy::evict_last ? "evict_last"
                                                               : "evict_normal";
  Assembly assembly(b);
  std::string const result = assembly.out(b.getInt64Ty());
  return assembly.call(std::string("createpolicy.fractional.L2::") + name + ".b64 " + result + ", 1.0;",
                       AsmEffect::pure)[0];
}

void tma_load(Builder& b, llvm::Value* destination, llvm::Value* map, Values const& coordinates, llvm::Value* barrier,
              LoadOptions options) {
  Assembly assembly(b);
  std::string text = "cp.async.bulk.tensor" + rank_of(coordinates) +
                     ".shared::cluster.global.mbarrier::complete_tx::bytes" + qualifiers(options) + " ";
  text += at(assembly, destination) + ", ";
  text += box(assembly, map, coordinates) + ", ";
  text += at(assembly, barrier);
  issue(assembly, text + trailing(assembly, options));
}

void tma_store(Builder& b, llvm::Value* map, Values const& coordinates, llvm::Value* source, llvm::Value* policy) {
  Assembly assembly(b);
  std::string text = "cp.async.bulk.tensor" + rank_of(coordinates) + ".global.shared::cta.bulk_group" +
                     (policy != nullptr ? ".L2::cache_hint " : " ");
  text += box(assembly, map, coordinates) + ", ";
  text += at(assembly, source);
  if (policy != nullptr) text += ", " + assembly.in(policy);
  issue(assembly, text);
}

void tma_reduce(Builder& b, BulkReduce operation, llvm::Value* map, Values const& coordinates, llvm::Value* source) {
  Assembly assembly(b);
  std::string text = "cp.reduce.async.bulk.tensor" + rank_of(coordinates) + ".global.shared::cta" + name_of(operation) +
                     ".bulk_group ";
  text += box(assembly, map, coordinates) + ", ";
  issue(assembly, text + at(assembly, source));
}

void tma_prefetch(Builder& b, llvm::Value* map, Values const& coordinates) {
  Assembly assembly(b);
  std::string const text = "cp.async.bulk.prefetch.tensor" + rank_of(coordinates) + ".L2.global ";
  issue(assembly, text + box(assembly, map, coordinates));
}

void prefetch_tensor_map(Builder& b, llvm::Value* map) {
  Assembly assembly(b);
  issue(assembly, "prefetch.tensormap " + at(assembly, map));
}

void bulk_prefetch(Builder& b, llvm::Value* global, llvm::Value* bytes, llvm::Value* predicate) {
  Assembly assembly(b);
  std::string const given = assembly.in(predicate);
  issue(assembly,
        "@" + given + " cp.async.bulk.prefetch.L2.global " + at(assembly, global) + ", " + assembly.in(bytes));
}

void bulk_load(Builder& b, llvm::Value* destination, llvm::Value* global, llvm::Value* bytes, llvm::Value* barrier,
               LoadOptions options) {
  Assembly assembly(b);
  std::string text = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes" + qualifiers(options) + " ";
  text += at(assembly, destination) + ", ";
  text += at(assembly, global) + ", ";
  text += assembly.number(bytes) + ", ";
  text += at(assembly, barrier);
  issue(assembly, text + trailing(assembly, options));
}

void bulk_store(Builder& b, llvm::Value* global, llvm::Value* source, llvm::Value* bytes) {
  Assembly assembly(b);
  std::string text = "cp.async.bulk.global.shared::cta.bulk_group ";
  text += at(assembly, global) + ", ";
  text += at(assembly, source) + ", ";
  issue(assembly, text + assembly.number(bytes));
}

void bulk_commit(Builder& b) { Assembly(b).call("cp.async.bulk.commit_group;", AsmEffect::convergent); }

void bulk_wait(Builder& b, int pending, bool read) {
  Assembly(b).call(fmt::format("cp.async.bulk.wait_group{} {};", read ? ".read" : "", pending), AsmEffect::convergent);
}

}  // namespace tegula::codegen::nvptx::ptx
