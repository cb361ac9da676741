#include "ir/verify/verify_mbarriers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"

namespace tegula::ir {
namespace {

// Holds the possible states of an object at a point of the program, as a set over the paths that lead there.
using Set = std::uint8_t;
constexpr Set fresh = 1, live = 2, dead = 4;

/// Selects some objects of one array, numbered through all arrays of the kernel.
struct Objects {
  std::size_t first = 0, last = 0, step = 1;
  bool exact = true;  ///< these and no others, at each execution of the op
};

struct Array {
  Op const* alloc = nullptr;
  std::size_t first = 0, count = 0;
  Op const* invalidated = nullptr;  ///< the last mbarrier_inval of any of it
};

/// Records the actions of one partition, for comparing it with the others that run at the same time.
struct Partition {
  std::int64_t replicas = 1;
  std::vector<Op const*> changed;  ///< per object: the last op that initialises or invalidates it
  std::vector<bool> used;          ///< per object
  std::set<Op const*> touched;     ///< buffers
};

struct Bounds {
  std::int64_t lower = 0, upper = 0, step = 1;
};
std::optional<Bounds> constant_bounds(Loop const& loop) {
  auto const lower = constant_int(*loop.lower()), upper = constant_int(*loop.upper()),
             step = constant_int(*loop.step());
  if (!lower || !upper || !step || *step < 1) return std::nullopt;
  return Bounds{*lower, *upper, *step};
}

/// Finds the buffer under a view; null when it is not known.
Op const* buffer_of(Value const& value) {
  Op const* producer = value.defining_op();
  while (producer != nullptr && (producer->is<ViewOp>() || producer->is<TransViewOp>()))
    producer = producer->in("source")->defining_op();
  return producer != nullptr && producer->is<BufferAllocOp>() ? producer : nullptr;
}

bool overlap(std::int64_t a, std::int64_t a_bytes, std::int64_t b, std::int64_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

class Lives {
 public:
  std::vector<MbarrierError> run(Function const& function) {
    for (Op const& op : function.body()) {
      if (!op.is<BufferAllocOp>() || !op.result()->type().is_mbarrier()) continue;
      auto const count = static_cast<std::size_t>(op.result()->type().elements());
      arrays_.push_back({&op, objects_, count, nullptr});
      objects_ += count;
    }
    if (arrays_.empty()) return {};
    state_.assign(objects_, fresh);
    follow(function.body());
    for (Array const& array : arrays_) check_end(array, function);
    std::sort(found_.begin(), found_.end(),
              [&](auto const& a, auto const& b) { return order_.at(a.op) < order_.at(b.op); });
    return std::move(found_);
  }

 private:
  void error(Op const& op, std::string text) {
    if (reported_.insert(&op).second) found_.push_back({&op, std::move(text)});
  }

  // ---- names of objects

  Array* array_of(Op const* alloc) {
    for (Array& array : arrays_)
      if (array.alloc == alloc) return &array;
    return nullptr;
  }
  std::string name_of(std::size_t object) const {
    for (Array const& array : arrays_)
      if (object >= array.first && object < array.first + array.count)
        return to_string(*array.alloc->result()) + (array.count > 1 ? fmt::format("[{}]", object - array.first) : "");
    return "mbarrier";
  }

  std::optional<Objects> objects_of(Value const& value) {
    Array const* const array = array_of(buffer_of(value));
    if (array == nullptr) return std::nullopt;
    Objects all{array->first, array->first + array->count, 1, true};
    Op const* const view = value.defining_op();
    if (!view->is<ViewOp>()) return all;
    Value const& index = *view->in<ViewOp>("offsets");
    auto const count = static_cast<std::int64_t>(array->count);
    if (auto const known = constant_int(index); known && *known >= 0 && *known < count) {
      auto const object = array->first + static_cast<std::size_t>(*known);
      return Objects{object, object + 1, 1, true};
    }
    all.exact = false;
    std::optional<Loop> const loop = Loop::counted_by(index);
    if (!loop) return all;
    auto const bounds = constant_bounds(*loop);
    if (!bounds || bounds->lower < 0 || bounds->upper > count) return all;
    return Objects{array->first + static_cast<std::size_t>(bounds->lower),
                   array->first + static_cast<std::size_t>(std::max(bounds->upper, bounds->lower)),
                   static_cast<std::size_t>(bounds->step), false};
  }

  // ---- what ops do

  void follow(Block const& block) {
    for (Op const& op : block) visit(op);
  }

  void visit(Op const& op) {
    order_.try_emplace(&op, order_.size());
    check_bytes(op);
    if (op.is<MbarrierInitOp>()) return change(op, live);
    if (op.is<MbarrierInvalOp>()) return change(op, dead);
    if (!op.is<ViewOp>())
      for (Value const* operand : op.operands())
        if (operand->type().is_mbarrier()) use(op, *operand);
    if (op.is<IfOp>()) return branch(op);
    if (op.is<ForOp>()) {
      auto const bounds = constant_bounds(Loop(op));
      return loop(op, bounds && bounds->lower < bounds->upper);
    }
    if (op.is<RepeatOp>()) return loop(op, true);
    if (op.is<WarpSpecializeOp>()) return partitions(op);
    for (int i = 0; i < op.block_count(); ++i) follow(op.block(i));
  }

  void use(Op const& op, Value const& mbarrier) {
    auto const objects = objects_of(mbarrier);
    if (!objects) return;
    for (std::size_t i = objects->first; i < objects->last; i += objects->step) {
      if (partition_ != nullptr) partition_->used[i] = true;
      require_live(op, i, objects->exact);
    }
  }

  /// Requires a live object. Later iterations of a loop see, of objects that the loop counts, the state of the objects
  /// before.
  void require_live(Op const& op, std::size_t object, bool exact) {
    Set const set = state_[object];
    if (set == live || (!exact && again_)) return;
    std::string const name = name_of(object);
    if ((set & live) == 0)
      error(op, set == dead ? name + " was invalidated before" : "no mbarrier_init of " + name + " comes before it");
    else if ((set & dead) != 0)
      error(op, name + " was invalidated on a path to here");
    else
      error(op, name + " is initialised on some paths to here only");
  }

  void change(Op const& op, Set to) {
    auto const objects = objects_of(*op.in("mbarrier"));
    if (!objects) return;
    for (std::size_t i = objects->first; i < objects->last; i += objects->step) {
      if (to == dead)
        require_live(op, i, objects->exact);
      else if ((state_[i] & live) != 0 && objects->exact)
        error(op, name_of(i) + " is initialised already; add mbarrier_inval before it");
      state_[i] = to;
      if (partition_ == nullptr) continue;
      partition_->changed[i] = &op;
      partition_->used[i] = true;
      if (objects->exact && partition_->replicas > 1)
        error(op, fmt::format("each of {} groups does it to {}", partition_->replicas, name_of(i)));
    }
    if (to == dead) array_of(buffer_of(*op.in("mbarrier")))->invalidated = &op;
  }

  // ---- control flow

  void branch(Op const& op) {
    std::vector<Set> const before = state_;
    follow(op.block(0));
    std::vector<Set> const first = std::exchange(state_, before);
    follow(op.block(1));
    join(first);
  }

  /// `runs`: at least once.
  void loop(Op const& op, bool runs) {
    std::vector<Set> entry = state_;
    bool const outer = again_;
    for (;; again_ = true) {  // ends: sets only grow
      state_ = entry;
      follow(op.block());
      std::vector<Set> const end = state_;
      join(entry);
      if (state_ == entry) {
        if (runs) state_ = end;
        break;
      }
      entry = state_;
    }
    again_ = outer;
  }

  void partitions(Op const& op) {
    WarpSpecializeOp const& attributes = op.as<WarpSpecializeOp>();
    std::vector<Set> const before = state_;
    std::vector<std::vector<Set>> after;
    std::vector<Partition> all;
    for (int i = 0; i < op.block_count(); ++i) {
      Partition partition{attributes.replicas[i], std::vector<Op const*>(objects_), std::vector<bool>(objects_), {}};
      state_ = before;
      partition_ = &partition;
      follow(op.block(i));
      partition_ = nullptr;
      after.push_back(state_);
      all.push_back(std::move(partition));
    }
    state_ = before;
    for (std::size_t p = 0; p < all.size(); ++p)
      for (std::size_t i = 0; i < objects_; ++i) {
        if (all[p].changed[i] == nullptr) continue;
        state_[i] = after[p][i];
        for (std::size_t q = 0; q < all.size(); ++q)
          if (q != p) compare(*all[p].changed[i], i, all[q]);
      }
  }

  void compare(Op const& change, std::size_t object, Partition const& other) {
    if (other.used[object])
      return error(change, name_of(object) +
                               " is used by another partition at the same time; do it outside of "
                               "warp_specialize");
    for (Op const* buffer : other.touched)
      if (covers(buffer->as<BufferAllocOp>().offset, buffer_bytes(buffer->result()->type()), object))
        error(change, name_of(object) + " shares bytes with " + to_string(*buffer->result()) +
                          ", which another partition uses at the same time");
  }

  void join(std::vector<Set> const& other) {
    for (std::size_t i = 0; i < objects_; ++i) state_[i] |= other[i];
  }

  void check_end(Array const& array, Function const& function) {
    std::size_t ended = 0, initialised = 0;
    for (std::size_t i = array.first; i < array.first + array.count; ++i) {
      if ((state_[i] & dead) != 0 && (state_[i] & live) != 0)
        return error(*array.invalidated, name_of(i) + " is invalidated on some paths only");
      if ((state_[i] & live) != 0 && !function.is_kernel())
        return error(*array.alloc, name_of(i) + " lives when @" + function.name() +
                                       " returns its bytes to the caller; add mbarrier_inval before that");
      ended += (state_[i] & dead) != 0 ? 1 : 0;
      initialised += (state_[i] & (live | dead)) != 0 ? 1 : 0;
    }
    if (ended != 0 && ended != initialised)
      error(*array.invalidated, fmt::format("{} of the {} initialised objects of {} are invalidated; all or none",
                                            ended, initialised, to_string(*array.alloc->result())));
  }

  // ---- bytes

  bool covers(std::int64_t begin, std::int64_t size, std::size_t object) const {
    for (Array const& array : arrays_) {
      if (object < array.first || object >= array.first + array.count) continue;
      std::int64_t const offset = array.alloc->as<BufferAllocOp>().offset;
      return begin >= 0 && offset >= 0 &&
             overlap(begin, size, offset + 8 * static_cast<std::int64_t>(object - array.first), 8);
    }
    return false;
  }

  void check_range(Op const& op, std::int64_t begin, std::int64_t size, Op const* buffer) {
    for (Array const& array : arrays_) {
      std::int64_t const offset = array.alloc->as<BufferAllocOp>().offset;
      if (array.alloc == buffer || begin < 0 || offset < 0 ||
          !overlap(begin, size, offset, 8 * static_cast<std::int64_t>(array.count)))
        continue;
      for (std::size_t i = array.first; i < array.first + array.count; ++i)
        if ((state_[i] & live) != 0 && covers(begin, size, i))
          return error(op, fmt::format("{} at bytes {} to {} overlaps {}, which lives until mbarrier_inval",
                                       buffer == nullptr ? "its shared memory" : to_string(*buffer->result()), begin,
                                       begin + size, name_of(i)));
    }
  }

  void check_bytes(Op const& op) {
    if (op.is<ViewOp>() || op.is<TransViewOp>()) return;
    for (Value const* operand : op.operands()) {
      Op const* const buffer =
          operand->type().is_shared() || operand->type().is_mbarrier() ? buffer_of(*operand) : nullptr;
      if (buffer == nullptr) continue;
      if (partition_ != nullptr) partition_->touched.insert(buffer);
      check_range(op, buffer->as<BufferAllocOp>().offset, buffer_bytes(buffer->result()->type()), buffer);
    }
    std::int64_t const* const scratch = scratch_attribute(op);
    if (scratch != nullptr && *scratch >= 0) check_range(op, *scratch, scratch_bytes(op), nullptr);
    if (op.is<CallOp>() && op.as<CallOp>().virtual_bytes > 0)
      if (auto const begin = callee_offset(op)) check_range(op, *begin, op.as<CallOp>().virtual_bytes, nullptr);
  }

  std::vector<Array> arrays_;
  std::size_t objects_ = 0;
  std::vector<Set> state_;  ///< per object
  bool again_ = false;      ///< in a later iteration of a loop
  Partition* partition_ = nullptr;
  std::unordered_map<Op const*, std::size_t> order_;  ///< of the text
  std::set<Op const*> reported_;
  std::vector<MbarrierError> found_;
};

}  // namespace

std::vector<MbarrierError> mbarrier_errors(Function const& function) { return Lives().run(function); }

}  // namespace tegula::ir
