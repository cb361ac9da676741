#include "sim/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>

#include "abi/launch_errors.hpp"
#include "ir/core/visit_op.hpp"
#include "layout/layout.hpp"
#include "ir/core/value_memo.hpp"
#include "ir/memory/exchange.hpp"
#include "ir/text/text.hpp"
#include "ir/values/index_values.hpp"
#include "sim/compare.hpp"
#include "sim/elements.hpp"
#include "sim/meaning.hpp"
#include "support/diagnostics.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim {

using namespace ir;

namespace {

template <class OpStruct>
concept HasMeaning = requires(Agent& agent, Op const& op, OpStruct const& attributes) {
  execute(agent, op, attributes);
};
#define TEGULA_OP(name)                                \
  static_assert(ir::BlockOp<name> || HasMeaning<name>, \
                #name " must have a meaning to the simulator: add an overload of execute to sim/meaning.hpp");
#include "tegula/ir/ops.def"
#undef TEGULA_OP

void dispatch(Agent& agent, Op const& op) {
  visit_op(op.kind(), [&](auto type) {
    using OpStruct = typename decltype(type)::type;
    if constexpr (ir::BlockOp<OpStruct>)
      refuse_block_op(op);
    else
      execute(agent, op, op.as<OpStruct>());
  });
}

/// Generates random numbers whose sequence is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = (state_ += 0x9E3779B97F4A7C15U);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

std::vector<std::int64_t> order_of(std::int64_t blocks, Schedule const& schedule) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(blocks));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  if (schedule.kind == Schedule::Kind::descending) std::reverse(order.begin(), order.end());
  if (schedule.kind != Schedule::Kind::seeded) return order;
  Random random(schedule.seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.next() % i]);
  return order;
}

/// Computes grid and requirements, by an agent that stands for the host.
Grid run_launch_statements(Launch& launch) {
  Agent host(launch, 0);
  ValueMemo<bool> executed;  // each op once: a chain whose ops read the one before twice has exponentially many paths
  auto const compute = [&](ir::Value const& value) {
    executed.of(value, operands_of, [&](ir::Value const& each) {
      if (each.defining_op() != nullptr) dispatch(host, *each.defining_op());
      return true;
    });
  };
  Grid grid = {1, 1, 1};
  for (Op const& op : launch.kernel().body()) {
    if (op.is<RequireOp>()) {
      compute(*op.in<RequireOp>("condition"));
      if (!host.condition(*op.in<RequireOp>("condition")))
        throw UserError(abi::text_of_requirement(launch.kernel().name(), op.as<RequireOp>().message.view()),
                        op.where());
    } else if (op.is<GridOp>()) {
      for (int i = 0; i < op.operand_count(); ++i) {
        compute(*op.operand(i));
        grid[static_cast<std::size_t>(i)] = host.index(*op.operand(i));
        abi::check_grid_extent(launch.kernel().name(), grid[static_cast<std::size_t>(i)], static_cast<std::size_t>(i),
                               op.where());
      }
    }
  }
  return grid;
}

std::string one_line(Op const& op) {
  std::string text = print(op);
  return text.substr(0, text.find('\n'));
}

}  // namespace

void refuse_block_op(Op const& op) {
  throw UserError(
      "simulate: " + why_not_run(op.info(), on_tile_simulator) + "; kernels with block ops are simulated warp by warp",
      op.where());
}

Tensor dense(void* data, Element element, Extents const& extents) {
  Tensor result{data, element, extents, extents};
  std::int64_t stride = 1;
  for (int i = extents.size() - 1; i >= 0; --i) {
    result.strides[i] = stride;
    stride *= extents[i];
  }
  result.memory_begin = data;
  result.memory_end = static_cast<std::byte*>(data) + stride * bytes(element);
  return result;
}

std::int64_t block_count(Function const& kernel, Grid const& grid) {
  constexpr std::int64_t max = std::int64_t{1} << 30;
  if (std::find(grid.begin(), grid.end(), 0) != grid.end()) return 0;
  std::int64_t blocks = 1;
  for (std::int64_t const extent : grid)
    if (__builtin_mul_overflow(blocks, extent, &blocks) || blocks > max)
      throw UserError(fmt::format("simulate: @{}: a grid of {} x {} x {} blocks, at most {} can be simulated",
                                  kernel.name(), grid[0], grid[1], grid[2], max));
  return blocks;
}

Grid block_of(std::int64_t linear, Grid const& grid) {
  return {linear % grid[0], linear / grid[0] % grid[1], linear / (grid[0] * grid[1])};
}

// ---- launch

Launch::Launch(Function const& kernel, Arguments const& arguments, Options const& options)
    : kernel_(kernel), arguments_(arguments), options_(options) {
  check_arguments();
  if (kernel.parent() != nullptr)
    for (auto const& function : kernel.parent()->functions()) number_block(function->body());
  else
    number_block(kernel.body());
  find_overlaps();
  result_.schedule = options.schedule;
  result_.grid = run_launch_statements(*this);
  if (options.grid) result_.grid = *options.grid;
  for (std::size_t axis = 0; axis < result_.grid.size(); ++axis)
    abi::check_grid_extent(kernel.name(), result_.grid[axis], axis);
}

void Launch::number_block(Block const& block) {
  auto const add = [&](ir::Value const& value) { numbers_.emplace(&value, static_cast<int>(numbers_.size())); };
  for (int i = 0; i < block.argument_count(); ++i) add(*block.argument(i));
  for (Op const& op : block) {
    for (int i = 0; i < op.result_count(); ++i) add(*op.result(i));
    for (int i = 0; i < op.block_count(); ++i) number_block(op.block(i));
  }
}

void Launch::number(Op const& op) {
  for (int i = 0; i < op.result_count(); ++i) numbers_.emplace(op.result(i), static_cast<int>(numbers_.size()));
}

void Launch::check_arguments() const {
  auto const count = static_cast<std::size_t>(kernel_.parameter_count());
  if (arguments_.size() != count)
    throw UserError(fmt::format("{}: {} arguments but takes {}", kernel_.name(), arguments_.size(), count));
  for (std::size_t i = 0; i < count; ++i) {
    ir::Value const& parameter = *kernel_.parameter(static_cast<int>(i));
    Argument const& argument = arguments_[i];
    Type const given = argument.is_tensor ? Type::tensor(argument.tensor.element, argument.tensor.extents.size())
                                          : Type::scalar(argument.scalar.element);
    if (given != parameter.type())
      throw UserError(fmt::format("{}: argument {} is {} but the parameter is {}", kernel_.name(), i + 1,
                                  to_string(given), to_string(parameter.type())));
    if (!argument.is_tensor) continue;
    if (argument.tensor.strides.size() != argument.tensor.extents.size())
      throw UserError(fmt::format("{}: argument {} has {} extents but {} strides", kernel_.name(), i + 1,
                                  argument.tensor.extents.size(), argument.tensor.strides.size()));
    for (int axis = 0; axis < argument.tensor.extents.size(); ++axis)
      if (std::int64_t const extent = argument.tensor.extents[axis]; !abi::is_extent(extent))
        throw UserError(fmt::format("{}: argument {}: {}", kernel_.name(), i + 1, abi::text_of_extent(extent, axis)));
  }
}

namespace {

struct AddressRange {
  std::intptr_t low = 0, high = 0;  ///< [low, high)
};

AddressRange range_of(Tensor const& tensor) {
  if (tensor.extents.product() == 0) return {};
  auto const base = reinterpret_cast<std::intptr_t>(tensor.data);
  AddressRange range{base, base + bytes(tensor.element)};
  for (int i = 0; i < tensor.extents.size(); ++i) {
    auto const reach = math::wrapping_mul(math::wrapping_mul(tensor.extents[i] - 1, tensor.strides[i]),
                                          std::int64_t{bytes(tensor.element)});
    std::intptr_t& end = reach < 0 ? range.low : range.high;
    end = math::wrapping_add(std::int64_t{end}, reach);
  }
  return range;
}

/// Counts the bytes of the parts into which an element falls, so that no element of the other tensor begins inside of
/// one.
std::int64_t common_part(Tensor const& tensor, Tensor const& other) {
  std::int64_t const apart = reinterpret_cast<std::intptr_t>(tensor.data) - reinterpret_cast<std::intptr_t>(other.data);
  return std::gcd(std::gcd(bytes(tensor.element), bytes(other.element)), apart);
}

}  // namespace

void Launch::find_overlaps() {
  loads_noted_.assign(arguments_.size(), false);
  part_bytes_.assign(arguments_.size(), 1);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (!arguments_[i].is_tensor) continue;
    part_bytes_[i] = bytes(arguments_[i].tensor.element);
    for (std::size_t j = 0; j < arguments_.size(); ++j) {
      if (!arguments_[j].is_tensor) continue;
      AddressRange const mine = range_of(arguments_[i].tensor), other = range_of(arguments_[j].tensor);
      if (mine.low >= other.high || other.low >= mine.high) continue;
      bool const written = kernel_.parameter_attributes()[j].direction != Direction::in;
      if (options_.check_races && written) loads_noted_[i] = true;
      part_bytes_[i] = std::gcd(part_bytes_[i], common_part(arguments_[i].tensor, arguments_[j].tensor));
    }
  }
}

template <class Visit>
void Launch::each_part(int argument, void const* address, Visit const& visit) const {
  std::int64_t const size = bytes(arguments_[static_cast<std::size_t>(argument)].tensor.element);
  std::int64_t const step = part_bytes_[static_cast<std::size_t>(argument)];
  for (std::int64_t at = 0; at < size; at += step) visit(static_cast<std::byte const*>(address) + at);
}

// A block waits if it acquires so often in a row without a change, and is stuck if so many rounds of all bring none.
constexpr int patience = 1000;
constexpr std::size_t vain_rounds = 100;

void Launch::follow(Agent const& agent, void const* address, ir::MemoryOrder order) {
  order_.follow(agent.linear_block(), address, order);
}

void Launch::run_blocks() {
  Grid const& grid = result_.grid;
  // A block that waits for another one's flag gives way to the later blocks, and goes on after them.
  std::deque<std::unique_ptr<Agent>> waiting;
  auto const run = [&](std::unique_ptr<Agent> agent) {
    acquired_in_vain_ = 0;
    while (!agent->finished() && acquired_in_vain_ < patience) agent->step();
    if (agent->finished())
      ++result_.blocks;
    else
      waiting.push_back(std::move(agent));
  };
  for (std::int64_t linear : order_of(block_count(kernel_, grid), options_.schedule)) {
    auto agent = std::make_unique<Agent>(*this, linear);
    agent->enter({&kernel_.body(), kernel_.body().begin(), nullptr});
    run(std::move(agent));
  }
  std::size_t in_vain = 0;
  while (!waiting.empty()) {
    std::unique_ptr<Agent> agent = std::move(waiting.front());
    waiting.pop_front();
    std::size_t const others = waiting.size();
    std::int64_t const changes = changes_;
    run(std::move(agent));
    bool const waits_still = waiting.size() > others && changes == changes_;
    in_vain = waits_still ? in_vain + 1 : 0;
    if (!waits_still) continue;
    if (in_vain < vain_rounds * waiting.size()) continue;
    throw UserError(fmt::format("simulate: block {} waits at an atomic that acquires, for a value that no block "
                                "writes; blocks that wait: {}",
                                block_text(waiting.back()->block()), waiting.size()),
                    last_acquire_);
  }
  if (options_.report_unwritten) find_unwritten();
}

std::vector<std::byte>& Launch::buffer(Op const& alloc) {
  auto const [at, fresh] = buffers_->try_emplace(&alloc);
  if (fresh) at->second.resize(static_cast<std::size_t>(buffer_bytes(alloc.result()->type())));
  return at->second;
}

Result Launch::take_result() {
  for (auto const& [alloc, bytes] : *buffers_)
    if (options_.profile != nullptr && alloc->as<BufferAllocOp>().symbol.view() == profile_symbol)
      *options_.profile = bytes;
  return std::move(result_);
}

void Launch::find_unwritten() {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    if (!arguments_[i].is_tensor || kernel_.parameter_attributes()[i].direction != Direction::out) continue;
    std::int64_t missing = 0;
    std::string first;
    each_element(arguments_[i].tensor, [&](std::byte const* address, std::int64_t const* coordinates) {
      bool whole = true;
      each_part(static_cast<int>(i), address, [&](std::byte const* part) {
        auto const* const cell = shadow_.find(part);
        whole = whole && cell != nullptr && !cell->store.none();
      });
      if (whole) return;
      if (missing++ == 0) first = element_text(static_cast<int>(i), coordinates);
    });
    if (missing == 0) continue;
    result_.reports.push_back(
        {ReportKind::unwritten, first + " is never written", kernel_.where, {}, {}, {}, {}, {}, missing});
  }
}

std::string Launch::element_text(int tensor, std::int64_t const* coordinates) const {
  ir::Value const& parameter = *kernel_.parameter(tensor);
  int const rank = arguments_[static_cast<std::size_t>(tensor)].tensor.extents.size();
  return fmt::format("element {} of {}", coordinates_text(coordinates, rank),
                     parameter.name().empty() ? fmt::format("argument {}", tensor) : "%" + parameter.name());
}

void Launch::race(ReportKind kind, Agent const& agent, Op const& op, Shadow::Access const& earlier, int tensor,
                  std::int64_t const* coordinates) {
  Grid const other = block_of(earlier.block, result_.grid);
  report(kind, &op, earlier.op, agent.block(), other, [&] {
    auto const verb = [](Op const& access) {
      if (access.info().atomic()) return " changes ";
      return access.info().effects.list[0].access == Access::write ? " stores to " : " loads ";
    };
    return "block " + block_text(agent.block()) + verb(op) + agent.element_text(tensor, coordinates) +
           ", which block " + block_text(other) + verb(*earlier.op) + "too; blocks run in any order";
  });
}

namespace {

/// Tells whether two atomics of different blocks are one step for each other.
bool atomic_together(Op const& a, Op const& b) {
  auto const reaches = [](Op const& op) {
    if (op.is<ir::AtomicUpdateOp>()) return op.as<ir::AtomicUpdateOp>().scope != ir::AtomicScope::block;
    return !op.is<ir::CompareExchangeOp>() || op.as<ir::CompareExchangeOp>().scope != ir::AtomicScope::block;
  };
  return a.info().atomic() && b.info().atomic() && reaches(a) && reaches(b);
}

}  // namespace

bool Launch::ordered(Shadow::Access const& earlier, Shadow::Access const& later) const {
  return earlier.none() || order_.ordered(earlier.block, earlier.time, later.block);
}

void Launch::note_store(Agent const& agent, Op const& op, int tensor, void const* address,
                        std::int64_t const* coordinates) {
  Shadow::Access const mine{agent.linear_block(), &op, order_.time(agent.linear_block())};
  Shadow::Access earlier_store, earlier_load;
  each_part(agent.argument(tensor), address, [&](std::byte const* part) {
    Shadow::Cell& cell = shadow_.cell(part);
    if (options_.check_races) {
      if (!ordered(cell.store, mine) && !atomic_together(op, *cell.store.op)) earlier_store = cell.store;
      for (Shadow::Access const& load : cell.loads)
        if (!ordered(load, mine)) {
          earlier_load = load;
          break;
        }
    }
    cell.store = mine;
  });
  if (!earlier_store.none()) race(ReportKind::write_race, agent, op, earlier_store, tensor, coordinates);
  if (!earlier_load.none()) race(ReportKind::read_write_race, agent, op, earlier_load, tensor, coordinates);
}

void Launch::note_load(Agent const& agent, Op const& op, int tensor, void const* address,
                       std::int64_t const* coordinates) {
  Shadow::Access const mine{agent.linear_block(), &op, order_.time(agent.linear_block())};
  Shadow::Access earlier;
  each_part(agent.argument(tensor), address, [&](std::byte const* part) {
    Shadow::Cell& cell = shadow_.cell(part);
    if (!ordered(cell.store, mine)) earlier = cell.store;
    // Whoever comes after this load comes after one ordered before it.
    for (Shadow::Access& load : cell.loads)
      if (ordered(load, mine)) {
        load = mine;
        break;
      }
  });
  if (!earlier.none()) race(ReportKind::read_write_race, agent, op, earlier, tensor, coordinates);
}

Report* Launch::find(ReportKind kind, Op const* op, Op const* other) {
  for (Filed const& filed : filed_)
    if (filed.kind == kind && filed.op == op && filed.other == other)
      return filed.at < result_.reports.size() ? &result_.reports[filed.at] : &left_out_;
  return nullptr;
}

void Launch::add(ReportKind kind, Op const* op, Op const* other, Grid const& block, Grid const& other_block,
                 std::string text) {
  bool const full = result_.reports.size() >= static_cast<std::size_t>(options_.max_reports);
  filed_.push_back({kind, op, other, full ? static_cast<std::size_t>(-1) : result_.reports.size()});
  if (full) {
    ++result_.reports_left_out;
    return;
  }
  Report report{kind, std::move(text), op->where(), one_line(*op), {}, {}, block, other_block, 1};
  if (other != nullptr) {
    report.other = other->where();
    report.other_op = one_line(*other);
  }
  result_.reports.push_back(std::move(report));
}

bool Launch::is_index(ir::Value const& value) {
  if (!indices_) indices_ = ir::index_values(kernel_);
  return indices_->contains(&value);
}

// ---- agent

Agent::Agent(Launch& launch, std::int64_t linear_block, Holds holds)
    : launch_(launch),
      linear_block_(linear_block),
      holds_(holds),
      block_{},
      slots_(static_cast<std::size_t>(launch.value_count())) {
  // The host's agent exists before the grid is known.
  if (linear_block != 0) block_ = block_of(linear_block, launch.grid());
  for (int i = 0; i < launch.kernel().parameter_count(); ++i) {
    ir::Value const& parameter = *launch.kernel().parameter(i);
    Argument const& argument = launch.arguments()[static_cast<std::size_t>(i)];
    if (argument.is_tensor) {
      slots_[static_cast<std::size_t>(launch.number(parameter))].tensor = i;
      continue;
    }
    Value scalar(parameter.type(), precision());
    with_storage(scalar.storage(), [&]<class T>(std::type_identity<T>) {
      if constexpr (std::is_floating_point_v<T>)
        *scalar.data<T>() = static_cast<T>(to_double(argument.scalar));
      else
        *scalar.data<T>() = static_cast<T>(to_int(argument.scalar));
    });
    set(parameter, scalar);
  }
}

Value Agent::fresh(Type const& type) const {
  if (holds_ == Holds::tiles || !type.in_registers()) return Value(type, precision());
  return Value(type, precision(), std::int64_t{warp_lanes} * type.layout()->registers());
}

void Agent::step() {
  Frame& top = frames_.back();
  if (top.at == top.block->end())
    throw InternalError("simulator: a block of @" + launch_.kernel().name() + " ends without yield or return");
  Op const& op = *top.at;
  ++top.at;
  execute(op);
}

void Agent::execute(Op const& op) {
  launch_.count_step();
  dispatch(*this, op);
}

void Agent::set_index(ir::Value const& value, std::int64_t number) {
  Value result(Type::index(), precision());
  *result.data<std::int64_t>() = number;
  set(value, result);
}

Agent::ViewOfArgument Agent::view_of(int of) const {
  auto const arguments = launch_.arguments().size();
  if (static_cast<std::size_t>(of) >= arguments) return views_[static_cast<std::size_t>(of) - arguments];
  ViewOfArgument whole{view(of), of, {}, {}};
  for (int axis = 0; axis < whole.view.extents.size(); ++axis) {
    whole.origin.push_back(0);
    whole.axes.push_back(axis);
  }
  return whole;
}

void Agent::set_view(ir::Value const& value, ViewOfArgument view) {
  int& number = slots_[static_cast<std::size_t>(launch_.number(value))].tensor;
  auto const arguments = launch_.arguments().size();
  if (number < 0) {
    number = static_cast<int>(arguments + views_.size());
    views_.emplace_back();
  }
  views_[static_cast<std::size_t>(number) - arguments] = std::move(view);
}

void Agent::set_permuted(ir::Value const& value, int of, Extents const& permutation) {
  ViewOfArgument const from = view_of(of);
  ViewOfArgument result = from;
  for (int axis = 0; axis < permutation.size(); ++axis) {
    auto const at = static_cast<int>(permutation[axis]);
    result.view.extents[axis] = from.view.extents[at];
    result.view.strides[axis] = from.view.strides[at];
    result.axes[axis] = from.axes[at];
  }
  set_view(value, std::move(result));
}

void Agent::set_slice(ir::Value const& value, int of, int axis, std::int64_t begin, std::int64_t end) {
  ViewOfArgument slice = view_of(of);
  slice.origin[static_cast<int>(slice.axes[axis])] += begin;
  slice.view.extents[axis] = end - begin;
  // An address is computed as an integer: an empty slice of a wrong view may begin anywhere.
  std::int64_t const bytes_to_begin =
      math::wrapping_mul(math::wrapping_mul(begin, slice.view.strides[axis]), std::int64_t{bytes(slice.view.element)});
  slice.view.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slice.view.data) +
                                            static_cast<std::uintptr_t>(bytes_to_begin));
  set_view(value, std::move(slice));
}

std::string Agent::element_text(int tensor, std::int64_t const* coordinates) const {
  ViewOfArgument const of = view_of(tensor);
  Extents at = of.origin;
  for (int axis = 0; axis < of.axes.size(); ++axis) at[static_cast<int>(of.axes[axis])] += coordinates[axis];
  return launch_.element_text(argument(tensor), at.begin());
}

void Agent::copy(ir::Value const& from, ir::Value const& to) {
  slots_[static_cast<std::size_t>(launch_.number(to))] = slots_[static_cast<std::size_t>(launch_.number(from))];
}

// ---- public functions

Result run(Function const& kernel, Arguments const& arguments, Options const& options) {
  Launch launch(kernel, arguments, options);
  launch.run_blocks();
  return launch.take_result();
}

Grid launch_grid(Function const& kernel, Arguments const& arguments) {
  Options options;
  options.check_races = false;
  return Launch(kernel, arguments, options).grid();
}

Exploration explore_orders(Function const& kernel, Arguments const& arguments, int count, Options const& options,
                           std::uint64_t first) {
  using Contents = std::vector<std::vector<std::byte>>;
  std::vector<Tensor> written;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < arguments.size() && i < kernel.parameter_attributes().size(); ++i) {
    if (!arguments[i].is_tensor || kernel.parameter_attributes()[i].direction == Direction::in) continue;
    written.push_back(arguments[i].tensor);
    numbers.push_back(i);
  }
  auto const save = [&] {
    Contents result;
    for (Tensor const& tensor : written) result.push_back(contents(tensor));
    return result;
  };
  auto const restore = [&](Contents const& saved) {
    for (std::size_t i = 0; i < written.size(); ++i) set_contents(written[i], saved[i]);
  };
  auto const run_with = [&](Schedule const& order) {
    Options with = options;
    with.schedule = order;
    return run(kernel, arguments, with);
  };

  Exploration result;
  Contents const before = save();
  result.first_report = run_with(schedule::ascending);
  Contents const expected = save();
  for (int n = 0; n < count && !result.differing_seed; ++n) {
    std::uint64_t const seed = first + static_cast<std::uint64_t>(n);
    restore(before);
    Result outcome = run_with(schedule::seed(seed));
    ++result.orders;
    if (result.first_report.clean() && !outcome.clean()) result.first_report = std::move(outcome);
    Contents const found = save();
    for (std::size_t i = 0; i < written.size() && !result.differing_seed; ++i) {
      auto const at = std::mismatch(found[i].begin(), found[i].end(), expected[i].begin()).first;
      if (at == found[i].end()) continue;
      result.differing_seed = seed;
      std::int64_t linear = (at - found[i].begin()) / bytes(written[i].element);
      std::int64_t coordinates[max_rank] = {};
      for (int axis = written[i].extents.size() - 1; axis >= 0; --axis) {
        coordinates[axis] = linear % written[i].extents[axis];
        linear /= written[i].extents[axis];
      }
      ir::Value const& parameter = *kernel.parameter(static_cast<int>(numbers[i]));
      result.text =
          fmt::format("{}: element {} of {} depends on the order of blocks: {} differs from the ascending order",
                      kernel.name(), coordinates_text(coordinates, written[i].extents.size()),
                      parameter.name().empty() ? fmt::format("argument {}", numbers[i]) : "%" + parameter.name(),
                      to_string(schedule::seed(seed)));
    }
  }
  restore(expected);
  return result;
}

}  // namespace tegula::sim
