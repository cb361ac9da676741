#include "runtime/cache/serialize.hpp"

#include <type_traits>

#include "abi/tensor_facts.hpp"

namespace tegula::runtime {
namespace {

class Writer {
 public:
  template <class Integer>
  requires(std::is_integral_v<Integer>) void operator()(Integer const& value) {
    auto const bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i) bytes_ += static_cast<char>(bits >> (8 * i) & 0xff);
  }
  template <class Enumeration>
  requires(std::is_enum_v<Enumeration>) void operator()(Enumeration const& value, Enumeration) {
    (*this)(static_cast<std::uint8_t>(value));
  }
  void operator()(std::string const& text) {
    (*this)(static_cast<std::uint64_t>(text.size()));
    bytes_ += text;
  }
  void operator()(Extents const& extents) {
    (*this)(static_cast<std::uint8_t>(extents.size()));
    for (std::int64_t const extent : extents) (*this)(extent);
  }
  template <class T>
  void list(std::vector<T> const& items, std::size_t) {
    (*this)(static_cast<std::uint64_t>(items.size()));
    for (T const& item : items) visit(*this, item);
  }
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Integer>
  requires(std::is_integral_v<Integer>) void operator()(Integer& value) {
    if (rest_.size() < sizeof(Integer)) return fail();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i)
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    if (std::is_same_v<Integer, bool> && bits > 1) return fail();
    value = static_cast<Integer>(bits);
    rest_.remove_prefix(sizeof(Integer));
  }
  template <class Enumeration>
  requires(std::is_enum_v<Enumeration>) void operator()(Enumeration& value, Enumeration last) {
    std::uint8_t number = 0;
    (*this)(number);
    if (number > static_cast<std::uint8_t>(last)) return fail();
    value = static_cast<Enumeration>(number);
  }
  void operator()(std::string& text) {
    std::uint64_t size = 0;
    (*this)(size);
    if (size > rest_.size()) return fail();
    text.assign(rest_.data(), static_cast<std::size_t>(size));
    rest_.remove_prefix(static_cast<std::size_t>(size));
  }
  void operator()(Extents& extents) {
    std::uint8_t size = 0;
    (*this)(size);
    if (size > max_rank) return fail();
    extents = {};
    for (int axis = 0; axis < size; ++axis) {
      std::int64_t extent = 0;
      (*this)(extent);
      extents.push_back(extent);
    }
  }
  template <class T>
  void list(std::vector<T>& items, std::size_t min_bytes) {
    std::uint64_t size = 0;
    (*this)(size);
    if (size > rest_.size() / min_bytes) return fail();
    items.resize(static_cast<std::size_t>(size));
    for (T& item : items) visit(*this, item);
  }
  [[nodiscard]] bool complete() const { return !failed_ && rest_.empty(); }

 private:
  void fail() {
    failed_ = true;
    rest_ = {};
  }

  std::string_view rest_;
  bool failed_ = false;
};

// One description of each struct serves both directions.

template <class Archive, class P>
requires std::is_same_v<std::remove_const_t<P>, ParameterInfo>
void visit(Archive& archive, P& parameter) {
  archive(parameter.kind, ParameterKind::scalar);
  archive(parameter.direction, Direction::inout);
  archive(parameter.element, static_cast<Element>(element_count - 1));
  archive(parameter.rank);
  for (TensorFactName const& fact : tensor_fact_names) archive(parameter.facts.*fact.flag);
}

template <class Archive, class I>
requires std::is_same_v<std::remove_const_t<I>, LaunchInstruction>
void visit(Archive& archive, I& instruction) {
  archive(instruction.op, LaunchOp::multiprocessors);
  archive(instruction.a);
  archive(instruction.b);
  archive(instruction.c);
  archive(instruction.value);
}

template <class Archive, class R>
requires std::is_same_v<std::remove_const_t<R>, Requirement>
void visit(Archive& archive, R& requirement) {
  archive(requirement.condition);
  archive(requirement.message);
  archive(requirement.file);
  archive(requirement.line);
}

template <class Archive, class P>
requires std::is_same_v<std::remove_const_t<P>, HostPhase>
void visit(Archive& archive, P& phase) {
  archive(phase.entry);
  archive(phase.blocks);
}

template <class Archive, class M>
requires std::is_same_v<std::remove_const_t<M>, TensorMapInfo>
void visit(Archive& archive, M& map) {
  archive(map.parameter);
  archive(map.axes);
  archive(map.box);
  archive(map.swizzle, Swizzle::b128);
  archive(map.l2_promotion, L2Promotion::b256);
  archive(map.nan_fill);
}

template <class Archive, class N>
requires std::is_same_v<std::remove_const_t<N>, ProfileName>
void visit(Archive& archive, N& name) {
  archive(name.name);
  archive(name.file);
  archive(name.line);
  archive(name.kind, RecordKind::tile);
}

template <class Archive, class R>
requires std::is_same_v<std::remove_const_t<R>, ProfileRole>
void visit(Archive& archive, R& role) {
  archive(role.name);
  archive(role.first_warp);
  archive(role.warps);
}

template <class Archive, class L>
requires std::is_same_v<std::remove_const_t<L>, ProfileLayout>
void visit(Archive& archive, L& layout) {
  archive(layout.strategy, ProfileStrategy::device);
  archive(layout.circular);
  archive(layout.rows);
  archive(layout.slots);
  archive(layout.shared_bytes);
  archive.list(layout.names, 21);
  archive.list(layout.roles, 16);
}

template <class Archive, class K>
requires std::is_same_v<std::remove_const_t<K>, CompiledKernel>
void visit(Archive& archive, K& kernel) {
  archive(kernel.name);
  archive(kernel.architecture);
  archive.list(kernel.parameters, 9);
  archive.list(kernel.launch.steps, 21);
  for (auto& step : kernel.launch.grid) archive(step);
  archive.list(kernel.launch.requirements, 24);
  archive(kernel.image_kind, ImageKind::cubin);
  archive(kernel.image);
  archive.list(kernel.phases, 12);
  archive(kernel.workspace_bytes);
  archive(kernel.scratch_bytes);
  archive(kernel.entry);
  archive(kernel.threads_per_cta);
  archive(kernel.shared_bytes);
  archive.list(kernel.tensor_maps, 9);
  archive(kernel.cluster);
  archive(kernel.dependent_launch);
  archive(kernel.largest.tile);
  archive(kernel.largest.op);
  archive(kernel.largest.file);
  archive(kernel.largest.line);
  visit(archive, kernel.profile);
}

}  // namespace

std::string serialize(CompiledKernel const& kernel) {
  Writer writer;
  visit(writer, kernel);
  return std::move(writer.bytes_);
}

std::optional<CompiledKernel> deserialize(std::string_view bytes) {
  CompiledKernel kernel;
  Reader reader(bytes);
  visit(reader, kernel);
  if (!reader.complete()) return std::nullopt;
  return kernel;
}

}  // namespace tegula::runtime
