// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lacuna/prof/bounds.h"
#include "store/lcn_scan.h"
#include "store/lcn_table.h"

namespace lacuna::analyzer {
namespace {

using Bytes = LcnBytes;
using prof::TimeNs;

std::vector<TimeNs> asTimes(const Bytes& bytes) {
  std::vector<TimeNs> times(bytes.size() / sizeof(TimeNs));
  if (!bytes.empty()) std::memcpy(times.data(), bytes.data(), bytes.size());
  return times;
}

/// A block's first start and last end, within what the bounds of its rows allow. One without times
/// has no window.
prof::TimeWindow boundedWindow(prof::TimeWindow window) {
  if (window.startNs > window.endNs) return window;
  return {std::clamp(window.startNs, -prof::kFarthestNs, prof::kFarthestNs),
          std::clamp(window.endNs, -prof::kFarthestNs, 2 * prof::kFarthestNs)};
}

}  // namespace

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
        std::ranges::stable_sort(table->blocks, {},
                                 [](const prof::BlockInfo& block) { return block.time.startNs; });
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
  for (std::size_t i = 0; i < wanted.size(); ++i)
    std::memset(out[i], 0, block.rows * widthOf(wanted[i].type));
  ++damagedReads_;
  const std::scoped_lock lock(warningMutex_);
  lateWarnings_.try_emplace(block.offset, status.error().message);
  return false;
}

void LcnBackend::bound(const prof::BlockInfo& block, const prof::ColumnSpec& column,
                       void* values) const {
  const prof::Bounds bounds = prof::boundsOf(column);
  if (!bounds.any()) return;
  const std::uint64_t far =
      column.type == prof::ColumnType::I64
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
    const auto lengths = table.length ? asTimes(decode(number, *table.length, table.orderDamaged))
                                      : std::vector<TimeNs>();
    table.order = timeOrder(times, table.length ? &lengths : nullptr);
    table.ordered = true;
  }
  auto& kept = table.kept[column];
  if (!kept) {
    bool damaged = table.orderDamaged;
    Bytes values = decode(number, column, damaged);
    table.damaged[column] = damaged;
    permuteRows(values, widthOf(type), table.order);
    kept = std::make_unique<const Bytes>(std::move(values));
  }
  if (table.damaged[column]) ++damagedReads_;
  return {kept->data(), table.rows, type};
}

prof::StringId LcnBackend::find(std::string_view text) const {
  if (text.empty()) return {};
  const std::scoped_lock lock(textMutex_);
  if (ids_.empty()) {
    for (std::uint32_t id = 1; id < stringCount(); ++id)
      ids_.try_emplace(reader_.text(prof::StringId(id)), id);
  }
  const auto found = ids_.find(text);
  return found == ids_.end() ? prof::StringId() : found->second;
}

std::vector<std::string> LcnBackend::warnings() const {
  std::vector<std::string> all;
  if (!reader_.complete())
    all.emplace_back("the file has no end: whoever wrote it was stopped, or still writes");
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

prof::Status LcnBackend::scan(std::size_t table, std::span<const std::size_t> columns,
                              prof::TimeWindow window,
                              const std::function<bool(const RowBlock&)>& visit) const {
  Scan(*this, *tables_[table], columns, window, visit).run();
  return {};
}

class LcnBackend::Stream final : public RowStream {
 public:
  Stream(const LcnBackend& store, Table& table, std::span<const std::size_t> columns,
         prof::TimeWindow window)
      : take_([this](const RowBlock& block) { return take(block); }),
        scan_(store, table, columns, window, take_) {
    for (const std::size_t column : columns)
      widths_.push_back(widthOf(table.spec.columns[column].type));
  }

  bool next(RowBlock& out) override {
    if (given_ < ready_.size()) ++given_;
    while (given_ == ready_.size()) {
      if (ended_) return false;
      ready_.clear();
      given_ = 0;
      ended_ = !scan_.advance();
    }
    const LcnPiece& piece = ready_[given_];
    pointers_.clear();
    for (const Bytes& values : piece.values) pointers_.push_back(values.data());
    out = {piece.firstRow, piece.rows, pointers_};
    return true;
  }

 private:
  bool take(const RowBlock& block) {
    LcnPiece& piece = ready_.emplace_back(LcnPiece{block.firstRow, block.rows, {}});
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      piece.values.emplace_back(block.columns[i], block.columns[i] + block.rows * widths_[i]);
    }
    return true;
  }

  std::vector<std::size_t> widths_;
  std::vector<LcnPiece> ready_;  ///< of the block that was read last
  std::size_t given_ = 0;        ///< the piece that next() gave last
  bool ended_ = false;
  std::vector<const std::byte*> pointers_;
  std::function<bool(const RowBlock&)> take_;
  Scan scan_;
};

std::unique_ptr<RowStream> LcnBackend::stream(std::size_t table,
                                              std::span<const std::size_t> columns,
                                              prof::TimeWindow window) const {
  return std::make_unique<Stream>(*this, *tables_[table], columns, window);
}

void LcnBackend::readRow(std::size_t number, std::uint64_t row,
                         std::span<const std::size_t> columns,
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

std::shared_ptr<const LcnBackend::Around> LcnBackend::rowsAround(
    Table& table, std::uint64_t row, std::span<const std::size_t> columns) const {
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
