// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "lacuna/prof/bounds.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {
namespace {

using Bytes = std::vector<std::byte>;
using prof::TimeNs;

void permute(Bytes& values, std::size_t width, const RowOrder& order) {
  if (order.empty()) return;
  Bytes sorted(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(sorted.data() + i * width, values.data() + order[i] * width, width);
  }
  values = std::move(sorted);
}

std::vector<TimeNs> asTimes(const Bytes& bytes) {
  std::vector<TimeNs> times(bytes.size() / sizeof(TimeNs));
  if (!bytes.empty()) std::memcpy(times.data(), bytes.data(), bytes.size());
  return times;
}

/// A block's first start and last end, within what the bounds of its rows allow. One without times has no window.
prof::TimeWindow boundedWindow(prof::TimeWindow window) {
  if (window.startNs > window.endNs) return window;
  return {std::clamp(window.startNs, -prof::kFarthestNs, prof::kFarthestNs),
          std::clamp(window.endNs, -prof::kFarthestNs, 2 * prof::kFarthestNs)};
}

/// What is known of a block once its times have been seen.
struct Seen {
  bool known = false;
  bool sorted = false;
  TimeNs lastStart = 0;
};

/// Rows that follow one another, as one step of a scan gave them.
struct Piece {
  std::uint64_t firstRow = 0;
  std::uint64_t rows = 0;
  std::vector<Bytes> values;
};

}  // namespace

/// The piece around the row of a large table that was asked for last: who asks for one asks for the next.
struct LcnBackend::Around {
  std::vector<std::size_t> columns;
  Piece piece;
  bool damaged = false;

  [[nodiscard]] bool holds(std::uint64_t row, std::span<const std::size_t> wanted) const {
    return row >= piece.firstRow && row - piece.firstRow < piece.rows && std::ranges::equal(columns, wanted);
  }
};

struct LcnBackend::Table {
  prof::TableSpec spec;
  std::optional<std::size_t> time, length;
  std::uint64_t rows = 0;
  std::vector<prof::BlockInfo> blocks;  ///< by first start; in file order for a table without time
  std::mutex mutex;
  std::vector<Seen> seen;                          ///< guarded by mutex
  std::vector<std::unique_ptr<const Bytes>> kept;  ///< guarded by mutex, each set once
  std::vector<bool> damaged;                       ///< guarded by mutex: what kept columns hold zeros for damage
  bool ordered = false;                            ///< guarded by mutex
  bool orderDamaged = false;                       ///< guarded by mutex
  RowOrder order;                                  ///< guarded by mutex, set once
  std::shared_ptr<const Around> around;            ///< guarded by mutex
};

LcnBackend::LcnBackend(prof::Reader reader) : reader_(std::move(reader)) {
  for (const prof::TableSpec& spec : prof::allTables()) {
    auto table = std::make_unique<Table>();
    table->spec = spec;
    table->time = columnWithHint(spec, prof::Hint::Time);
    table->length = columnWithHint(spec, prof::Hint::Length);
    if (const prof::TableInfo* info = reader_.table(spec.id)) {
      table->rows = info->rows;
      table->blocks = info->blocks;
      for (prof::BlockInfo& block : table->blocks) block.time = boundedWindow(block.time);
      if (table->time) {
        std::ranges::stable_sort(table->blocks, {}, [](const prof::BlockInfo& block) { return block.time.startNs; });
      }
    }
    table->seen.resize(table->blocks.size());
    table->kept.resize(spec.columnCount);
    table->damaged.resize(spec.columnCount);
    tables_.push_back(std::move(table));
  }
}

LcnBackend::~LcnBackend() = default;

std::uint64_t LcnBackend::rows(std::size_t table) const {
  return tables_[table]->rows;
}

bool LcnBackend::readBlock(const prof::BlockInfo& block, std::span<const prof::ColumnSpec> wanted,
                           std::span<void* const> out) const {
  const prof::Status status = reader_.readBlock(block, wanted, out);
  if (status) {
    for (std::size_t i = 0; i < wanted.size(); ++i) bound(block, wanted[i], out[i]);
    return true;
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) std::memset(out[i], 0, block.rows * widthOf(wanted[i].type));
  ++damagedReads_;
  const std::scoped_lock lock(warningMutex_);
  lateWarnings_.try_emplace(block.offset, status.error().message);
  return false;
}

void LcnBackend::bound(const prof::BlockInfo& block, const prof::ColumnSpec& column, void* values) const {
  const prof::Bounds bounds = prof::boundsOf(column);
  if (!bounds.any()) return;
  const std::uint64_t far = column.type == prof::ColumnType::I64
                                ? prof::bringBack(bounds, std::span(static_cast<std::int64_t*>(values), block.rows))
                                : prof::bringBack(bounds, std::span(static_cast<std::uint64_t*>(values), block.rows));
  if (far == 0) return;
  const std::scoped_lock lock(warningMutex_);
  far_[{block.offset, column.name}] = far;
}

prof::TimeWindow LcnBackend::span() const {
  return boundedWindow(reader_.span());
}

Bytes LcnBackend::decode(std::size_t number, std::size_t column, bool& damaged) const {
  const Table& table = *tables_[number];
  const prof::ColumnSpec& spec = table.spec.columns[column];
  const std::size_t width = widthOf(spec.type);
  Bytes all(table.rows * width);
  std::byte* at = all.data();
  for (const prof::BlockInfo& block : table.blocks) {
    void* out = at;
    if (!readBlock(block, {&spec, 1}, {&out, 1})) damaged = true;
    at += block.rows * width;
  }
  return all;
}

ColumnView LcnBackend::column(std::size_t number, std::size_t column) const {
  Table& table = *tables_[number];
  const prof::ColumnType type = table.spec.columns[column].type;
  const std::scoped_lock lock(table.mutex);
  if (!table.ordered && table.time) {
    const auto times = asTimes(decode(number, *table.time, table.orderDamaged));
    const auto lengths =
        table.length ? asTimes(decode(number, *table.length, table.orderDamaged)) : std::vector<TimeNs>();
    table.order = timeOrder(times, table.length ? &lengths : nullptr);
    table.ordered = true;
  }
  auto& kept = table.kept[column];
  if (!kept) {
    bool damaged = table.orderDamaged;
    Bytes values = decode(number, column, damaged);
    table.damaged[column] = damaged;
    permute(values, widthOf(type), table.order);
    kept = std::make_unique<const Bytes>(std::move(values));
  }
  if (table.damaged[column]) ++damagedReads_;
  return {kept->data(), table.rows, type};
}

prof::StringId LcnBackend::find(std::string_view text) const {
  if (text.empty()) return {};
  const std::scoped_lock lock(textMutex_);
  if (ids_.empty()) {
    for (std::uint32_t id = 1; id < stringCount(); ++id) ids_.try_emplace(reader_.text(prof::StringId(id)), id);
  }
  const auto found = ids_.find(text);
  return found == ids_.end() ? prof::StringId() : found->second;
}

std::vector<std::string> LcnBackend::warnings() const {
  std::vector<std::string> all;
  if (!reader_.complete()) all.emplace_back("the file has no end: whoever wrote it was stopped, or still writes");
  for (const prof::Damage& damage : reader_.damage()) {
    all.push_back(fmt::format("byte {}: {} ({} bytes)", damage.offset, damage.what, damage.bytes));
  }
  const std::scoped_lock lock(warningMutex_);
  for (const auto& [offset, text] : lateWarnings_) all.push_back(text);
  std::uint64_t far = 0;
  for (const auto& [where, count] : far_) far += count;
  if (far > 0) all.push_back(fmt::format("{} {}", far, kFarValues));
  return all;
}

/// One pass over a table. Rows of a block go out as soon as no later block can hold earlier ones; the rest waits in
/// `pending_`. Blocks outside of the window are counted, so that row numbers are those of `column`; their times are
/// read only where rows that go out lie among them, or else each window of a long trace would sort all that is before
/// it.
class LcnBackend::Scan {
 public:
  Scan(const LcnBackend& store, Table& table, std::span<const std::size_t> columns, prof::TimeWindow window,
       const std::function<bool(const RowBlock&)>& visit)
      : store_(store), table_(table), wanted_(columns.begin(), columns.end()), window_(window), visit_(visit) {}

  /// Blocks that cannot hold these rows are passed over; rows around them may come all the same.
  void restrictTo(std::uint64_t firstRow, std::uint64_t lastRow) {
    firstWanted_ = firstRow;
    lastWanted_ = lastRow;
  }

  void run() {
    while (advance()) {
    }
  }
  /// Reads one block more; false once there are none.
  bool advance() {
    if (stopped_) return false;
    const bool last = at_ >= table_.blocks.size() || firstRow_ > lastWanted_;
    if (last || (table_.time && table_.blocks[at_].time.startNs >= window_.endNs)) {
      flush(last ? INT64_MAX : table_.blocks[at_].time.startNs);
      stopped_ = true;
      return false;
    }
    const TimeNs horizon = at_ + 1 < table_.blocks.size() ? table_.blocks[at_ + 1].time.startNs : INT64_MAX;
    step(at_++, horizon);
    return true;
  }

 private:
  /// Rows with their order's columns first (start, length), then the wanted ones.
  struct Rows {
    std::size_t count = 0;
    std::vector<TimeNs> starts, lengths;
    std::vector<std::uint64_t> hidden;  ///< 0: a row to give; else how many rows this only counts
    std::vector<std::size_t> blocks;    ///< of rows that start and end together the one of the first block comes first
    std::vector<Bytes> values;
  };

  Seen seen(std::size_t i) const {
    const std::scoped_lock lock(table_.mutex);
    return table_.seen[i];
  }

  /// Loads times and lengths, and learns from them.
  void loadTimes(std::size_t i, Rows& rows) {
    const prof::BlockInfo& block = table_.blocks[i];
    rows.starts.resize(block.rows);
    rows.lengths.assign(block.rows, 0);
    std::vector<prof::ColumnSpec> specs{table_.spec.columns[*table_.time]};
    std::vector<void*> out{rows.starts.data()};
    if (table_.length) {
      specs.push_back(table_.spec.columns[*table_.length]);
      out.push_back(rows.lengths.data());
    }
    store_.readBlock(block, specs, out);
    Seen learnt{true, true, block.rows == 0 ? 0 : *std::ranges::max_element(rows.starts)};
    for (std::size_t r = 1; r < block.rows && learnt.sorted; ++r) learnt.sorted = !before(rows, r, r - 1);
    const std::scoped_lock lock(table_.mutex);
    table_.seen[i] = learnt;
  }

  static bool before(const Rows& rows, std::size_t a, std::size_t b) {
    return rows.starts[a] != rows.starts[b] ? rows.starts[a] < rows.starts[b] : rows.lengths[a] > rows.lengths[b];
  }

  void loadValues(std::size_t i, Rows& rows) {
    const prof::BlockInfo& block = table_.blocks[i];
    std::vector<prof::ColumnSpec> specs;
    std::vector<void*> out;
    rows.count = block.rows;
    rows.values.resize(wanted_.size());
    for (std::size_t c = 0; c < wanted_.size(); ++c) {
      specs.push_back(table_.spec.columns[wanted_[c]]);
      rows.values[c].resize(block.rows * widthOf(specs[c].type));
      out.push_back(rows.values[c].data());
    }
    store_.readBlock(block, specs, out);
  }

  void step(std::size_t i, TimeNs horizon) {
    const prof::BlockInfo& block = table_.blocks[i];
    if (!table_.time) {
      giveWhole(i, block.rows);
      return;
    }
    Seen known = seen(i);
    block_.starts.clear();
    if (!known.known) {
      loadTimes(i, block_);
      known = seen(i);
    }
    if (block.time.endNs < window_.startNs) {
      counted_.push_back(i);
      return;
    }
    if (pending_.count == 0) settle(block.time.startNs);
    if (pending_.count == 0 && counted_.empty() && known.sorted && known.lastStart < horizon) {
      giveWhole(i, block.rows);
      return;
    }
    if (block_.starts.empty()) loadTimes(i, block_);
    loadValues(i, block_);
    block_.hidden.assign(block.rows, 0);
    append(i);
    flush(horizon);
  }

  /// A block whose rows follow one another in the table's order.
  void giveWhole(std::size_t i, std::uint64_t rows) {
    if (firstRow_ + rows <= firstWanted_) {
      firstRow_ += rows;
      return;
    }
    loadValues(i, block_);
    give(block_, rows);
  }

  /// Counts what is before `horizon` of the blocks outside of the window: at once where no row goes out before it, at
  /// its place among those that do where it lies between two of them, and row by row where they lie within it.
  void settle(TimeNs horizon) {
    if (counted_.empty()) return;
    std::vector<TimeNs> ready;
    for (std::size_t r = 0; r < pending_.count; ++r) {
      if (pending_.hidden[r] == 0 && pending_.starts[r] < horizon) ready.push_back(pending_.starts[r]);
    }
    std::ranges::sort(ready);
    std::erase_if(counted_, [&](std::size_t i) {
      const prof::BlockInfo& block = table_.blocks[i];
      const TimeNs lastStart = seen(i).lastStart;
      const auto next = std::ranges::lower_bound(ready, block.time.startNs);
      if (next != ready.end() && *next <= lastStart) {
        loadTimes(i, block_);
        appendHidden(i, std::vector<std::uint64_t>(block.rows, 1));
      } else if (lastStart >= horizon) {
        return false;
      } else if (next == ready.begin()) {
        firstRow_ += block.rows;
      } else if (block.rows > 0) {
        block_.starts.assign(1, block.time.startNs);
        block_.lengths.assign(1, 0);
        appendHidden(i, {block.rows});
      }
      return true;
    });
  }

  /// Rows whose times are in block_ and whose values nobody sees.
  void appendHidden(std::size_t i, std::vector<std::uint64_t> hidden) {
    block_.count = hidden.size();
    block_.values.resize(wanted_.size());
    for (std::size_t c = 0; c < wanted_.size(); ++c) {
      block_.values[c].assign(hidden.size() * widthOf(table_.spec.columns[wanted_[c]].type), std::byte{0});
    }
    block_.hidden = std::move(hidden);
    append(i);
    late_ = true;
  }

  void append(std::size_t i) {
    pending_.values.resize(wanted_.size());
    const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    join(pending_.starts, block_.starts);
    join(pending_.lengths, block_.lengths);
    join(pending_.hidden, block_.hidden);
    pending_.blocks.insert(pending_.blocks.end(), block_.count, i);
    for (std::size_t c = 0; c < wanted_.size(); ++c) join(pending_.values[c], block_.values[c]);
    pending_.count += block_.count;
  }

  /// Hands out the pending rows that start before `horizon`, in order.
  void flush(TimeNs horizon) {
    if (stopped_) return;
    settle(horizon);
    if (pending_.count == 0) return;
    if (std::exchange(late_, false)) arrange(blockOrder());
    arrange(timeOrder(pending_.starts, &pending_.lengths));
    const auto end = horizon == INT64_MAX ? pending_.starts.end() : std::ranges::lower_bound(pending_.starts, horizon);
    const auto ready = static_cast<std::size_t>(end - pending_.starts.begin());
    for (std::size_t from = 0; from < ready && !stopped_;) {
      if (pending_.hidden[from] != 0) {
        firstRow_ += pending_.hidden[from++];
        continue;
      }
      std::size_t to = from + 1;
      while (to < ready && pending_.hidden[to] == 0) ++to;
      give(pending_, to - from, from);
      from = to;
    }
    drop(ready);
  }

  /// The order of blocks, in which rows are pending unless some of a block were counted late.
  [[nodiscard]] RowOrder blockOrder() const {
    RowOrder order(pending_.count);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return pending_.blocks[row]; });
    return order;
  }

  void arrange(const RowOrder& order) {
    reorder(pending_.starts, order);
    reorder(pending_.lengths, order);
    reorder(pending_.hidden, order);
    reorder(pending_.blocks, order);
    for (std::size_t c = 0; c < wanted_.size(); ++c) {
      permute(pending_.values[c], widthOf(table_.spec.columns[wanted_[c]].type), order);
    }
  }

  void drop(std::size_t count) {
    const auto cut = [&](auto& values, std::size_t width) {
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count * width));
    };
    cut(pending_.starts, 1);
    cut(pending_.lengths, 1);
    cut(pending_.hidden, 1);
    cut(pending_.blocks, 1);
    for (std::size_t c = 0; c < wanted_.size(); ++c) {
      cut(pending_.values[c], widthOf(table_.spec.columns[wanted_[c]].type));
    }
    pending_.count -= count;
  }

  void give(const Rows& rows, std::size_t count, std::size_t from = 0) {
    std::vector<const std::byte*> pointers;
    for (std::size_t c = 0; c < wanted_.size(); ++c) {
      pointers.push_back(rows.values[c].data() + from * widthOf(table_.spec.columns[wanted_[c]].type));
    }
    if (count > 0 && !visit_({firstRow_, count, pointers})) stopped_ = true;
    firstRow_ += count;
  }

  const LcnBackend& store_;
  Table& table_;
  std::vector<std::size_t> wanted_;
  prof::TimeWindow window_;
  const std::function<bool(const RowBlock&)>& visit_;
  Rows block_, pending_;
  std::vector<std::size_t> counted_;  ///< blocks outside of the window that are not in firstRow_ yet
  bool late_ = false;                 ///< pending rows of a counted block stand behind those of later ones
  std::size_t at_ = 0;                ///< the next block
  std::uint64_t firstRow_ = 0;
  std::uint64_t firstWanted_ = 0;
  std::uint64_t lastWanted_ = UINT64_MAX;
  bool stopped_ = false;
};

prof::Status LcnBackend::scan(std::size_t table, std::span<const std::size_t> columns, prof::TimeWindow window,
                              const std::function<bool(const RowBlock&)>& visit) const {
  Scan(*this, *tables_[table], columns, window, visit).run();
  return {};
}

class LcnBackend::Stream final : public RowStream {
 public:
  Stream(const LcnBackend& store, Table& table, std::span<const std::size_t> columns, prof::TimeWindow window)
      : take_([this](const RowBlock& block) { return take(block); }), scan_(store, table, columns, window, take_) {
    for (const std::size_t column : columns) widths_.push_back(widthOf(table.spec.columns[column].type));
  }

  bool next(RowBlock& out) override {
    if (given_ < ready_.size()) ++given_;
    while (given_ == ready_.size()) {
      if (ended_) return false;
      ready_.clear();
      given_ = 0;
      ended_ = !scan_.advance();
    }
    const Piece& piece = ready_[given_];
    pointers_.clear();
    for (const Bytes& values : piece.values) pointers_.push_back(values.data());
    out = {piece.firstRow, piece.rows, pointers_};
    return true;
  }

 private:
  bool take(const RowBlock& block) {
    Piece& piece = ready_.emplace_back(Piece{block.firstRow, block.rows, {}});
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      piece.values.emplace_back(block.columns[i], block.columns[i] + block.rows * widths_[i]);
    }
    return true;
  }

  std::vector<std::size_t> widths_;
  std::vector<Piece> ready_;  ///< of the block that was read last
  std::size_t given_ = 0;     ///< the piece that next() gave last
  bool ended_ = false;
  std::vector<const std::byte*> pointers_;
  std::function<bool(const RowBlock&)> take_;
  Scan scan_;
};

std::unique_ptr<RowStream> LcnBackend::stream(std::size_t table, std::span<const std::size_t> columns,
                                              prof::TimeWindow window) const {
  return std::make_unique<Stream>(*this, *tables_[table], columns, window);
}

void LcnBackend::readRow(std::size_t number, std::uint64_t row, std::span<const std::size_t> columns,
                         std::span<std::byte* const> out) const {
  Table& table = *tables_[number];
  const auto take = [&](std::size_t i, const std::byte* values, std::uint64_t at) {
    const std::size_t width = widthOf(table.spec.columns[columns[i]].type);
    std::memcpy(out[i], values + at * width, width);
  };
  if (table.rows <= kScanRows) {
    for (std::size_t i = 0; i < columns.size(); ++i) take(i, column(number, columns[i]).data, row);
    return;
  }
  const auto around = rowsAround(table, row, columns);
  if (around->damaged) ++damagedReads_;
  if (!around->holds(row, columns)) return;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    take(i, around->piece.values[i].data(), row - around->piece.firstRow);
  }
}

std::shared_ptr<const LcnBackend::Around> LcnBackend::rowsAround(Table& table, std::uint64_t row,
                                                                 std::span<const std::size_t> columns) const {
  {
    const std::scoped_lock lock(table.mutex);
    if (table.around && table.around->holds(row, columns)) return table.around;
  }
  auto around = std::make_shared<Around>();
  around->columns.assign(columns.begin(), columns.end());
  const std::function<bool(const RowBlock&)> visit = [&](const RowBlock& block) {
    if (row < block.firstRow || row >= block.firstRow + block.rows) return row >= block.firstRow;
    around->piece.firstRow = block.firstRow;
    around->piece.rows = block.rows;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::size_t width = widthOf(table.spec.columns[columns[i]].type);
      around->piece.values.emplace_back(block.columns[i], block.columns[i] + block.rows * width);
    }
    return false;
  };
  const std::uint64_t before = damagedReads_;
  Scan scan(*this, table, columns, {}, visit);
  scan.restrictTo(row, row);
  scan.run();
  around->damaged = damagedReads_ != before;
  const std::scoped_lock lock(table.mutex);
  table.around = around;
  return around;
}

}  // namespace lacuna::analyzer
