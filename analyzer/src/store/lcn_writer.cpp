// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "lacuna/prof/writer.h"
#include "store/backend.h"

namespace lacuna::analyzer {
namespace {

/// New numbers of argument sets, in the order in which they are added, in memory that follows how
/// many there are.
class ArgSetNumbers {
 public:
  /// For a table of so many sets, whose greatest id is `greatest`; none above it is known.
  ArgSetNumbers(std::uint64_t sets, std::uint32_t greatest) : greatest_(greatest) {
    // So many entries of an array take about as much as one of a map.
    constexpr std::uint64_t kEntriesPerSet = 16;
    if (greatest / kEntriesPerSet <= sets) dense_.assign(std::size_t{greatest} + 1, 0);
  }

  void add(std::uint32_t id) {
    if (id == 0 || id > greatest_) return;
    std::uint32_t& number = dense_.empty() ? sparse_[id] : dense_[id];
    if (number == 0) number = ++count_;
  }
  /// 0 for what was not added.
  [[nodiscard]] std::uint32_t of(std::uint32_t id) const {
    if (!dense_.empty()) return id < dense_.size() ? dense_[id] : 0;
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }

 private:
  std::uint32_t greatest_;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint32_t, std::uint32_t> sparse_;
};

/// Copies a store's tables into a writer, column by column.
class LcnCopy {
 public:
  LcnCopy(const Store& store, prof::Writer& writer, const LcnWriteOptions& options)
      : store_(store),
        writer_(writer),
        options_(options),
        strings_(store.stringCount(), UINT32_MAX) {}

  prof::Status run() {
    numberArgSets();
    const auto tables = prof::allTables();
    for (std::size_t table = 0; table < tables.size(); ++table) {
      if (tables[table].id == prof::ArgSet::kTable || tables[table].id == prof::Arg::kTable)
        continue;
      if (const auto status = copy(table); !status) return status;
    }
    copyArgSets();
    copyArgs();
    return writer_.status();
  }

 private:
  std::uint32_t mapped(std::uint32_t id) {
    if (id == 0 || id >= strings_.size()) return 0;
    if (strings_[id] == UINT32_MAX)
      strings_[id] = writer_.intern(store_.wholeText(prof::StringId(id))).value;
    return strings_[id];
  }

  /// Numbers the argument sets in the order in which the tables' rows refer to them.
  void numberArgSets() {
    if (store_.rows<prof::ArgSet>() == 0) return;
    const auto ids = store_.column<&prof::ArgSet::id>();
    argSets_ = ArgSetNumbers(ids.size(), std::ranges::max(ids).value);
    prof::forEachTable([&]<class Row>() {
      if constexpr (requires(Row row) { row.args; }) {
        for (const prof::ArgSetId id : store_.column<&Row::args>()) argSets_.add(id.value);
      }
    });
  }

  void change(const prof::ColumnSpec& spec, std::byte* values, std::uint64_t rows) {
    if (spec.refers != prof::Refers::String && spec.refers != prof::Refers::ArgSet) return;
    auto* ids = reinterpret_cast<std::uint32_t*>(values);
    for (std::uint64_t i = 0; i < rows; ++i) {
      ids[i] = spec.refers == prof::Refers::String ? mapped(ids[i]) : argSets_.of(ids[i]);
    }
  }

  prof::Status copy(std::size_t table) {
    const prof::TableSpec& spec = prof::allTables()[table];
    std::vector<std::size_t> columns(spec.columnCount);
    std::iota(columns.begin(), columns.end(), 0U);
    bool cancelled = false;
    std::vector<std::vector<std::byte>> values(spec.columnCount);
    std::vector<const void*> pointers(spec.columnCount);
    const auto status = store_.scanTable(table, columns, {}, [&](const RowBlock& block) {
      for (std::size_t c = 0; c < spec.columnCount; ++c) {
        values[c].assign(block.columns[c],
                         block.columns[c] + block.rows * widthOf(spec.columns[c].type));
        change(spec.columns[c], values[c].data(), block.rows);
        pointers[c] = values[c].data();
      }
      writer_.appendColumns(spec, pointers, block.rows);
      done_ += block.rows;
      cancelled = options_.progress &&
                  !options_.progress(static_cast<double>(done_) / static_cast<double>(total()));
      return !cancelled && writer_.status().ok();
    });
    if (cancelled) return prof::Error{"the conversion was cancelled"};
    return status ? writer_.status() : status;
  }

  std::uint64_t total() {
    if (total_ == 0) {
      for (std::size_t i = 0; i < prof::allTables().size(); ++i) total_ += store_.rows(i);
    }
    return std::max<std::uint64_t>(total_, 1);
  }

  void copyArgSets() {
    const auto ids = store_.column<&prof::ArgSet::id>();
    const auto shapes = store_.column<&prof::ArgSet::shape>();
    prof::ArgSet::Columns sorted;
    sorted.id.resize(argSets_.count());
    sorted.shape.resize(argSets_.count());
    for (std::uint32_t i = 0; i < argSets_.count(); ++i) sorted.id[i].value = i + 1;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint32_t id = argSets_.of(ids[i].value);
      if (id == 0) continue;  // an argument set of no event
      sorted.shape[id - 1].value = mapped(shapes[i].value);
    }
    writer_.append<prof::ArgSet>(sorted);
  }

  /// By name, and within a name in the order of the events.
  void copyArgs() {
    const auto sets = store_.column<&prof::Arg::set>();
    const auto scopes = store_.column<&prof::Arg::scope>();
    const auto keys = store_.column<&prof::Arg::key>();
    std::vector<ArgPlace> order;
    const auto sameName = [&](std::size_t a, std::size_t b) {
      return keys[a] == keys[b] && scopes[a] == scopes[b];
    };
    for (std::size_t from = 0; from < sets.size();) {
      std::size_t to = from;
      order.clear();
      for (; to < sets.size() && sameName(from, to); ++to) {
        const std::uint32_t set = argSets_.of(sets[to].value);
        if (set != 0) order.push_back({set, static_cast<std::uint32_t>(to - from)});
      }
      // Sorted in place: what a stable sort takes besides would be a large part of a trace with
      // many arguments.
      std::ranges::sort(order);
      appendArgs(order, from);
      from = to;
    }
  }

  /// Where in a run of one name's rows the argument of a set is. Runs are of less than 2^32 rows,
  /// as sets are.
  struct ArgPlace {
    std::uint32_t set = 0;
    std::uint32_t row = 0;
    auto operator<=>(const ArgPlace&) const = default;
  };

  void appendArgs(const std::vector<ArgPlace>& order, std::size_t firstRow) {
    constexpr std::size_t kPiece = 65536;
    const auto scopes = store_.column<&prof::Arg::scope>();
    const auto keys = store_.column<&prof::Arg::key>();
    const auto types = store_.column<&prof::Arg::type>();
    const auto values = store_.column<&prof::Arg::value>();
    prof::Arg::Columns piece;
    piece.reserve(std::min(kPiece, order.size()));
    for (const ArgPlace& place : order) {
      const std::size_t row = firstRow + place.row;
      const bool isText = types[row] == prof::ArgType::Text || types[row] == prof::ArgType::Json;
      const std::uint64_t value =
          isText ? mapped(static_cast<std::uint32_t>(values[row])) : values[row];
      piece.push({prof::ArgSetId(place.set), scopes[row], prof::StringId(mapped(keys[row].value)),
                  types[row], value});
      if (piece.set.size() < kPiece) continue;
      writer_.append<prof::Arg>(piece);
      piece = {};
      piece.reserve(kPiece);
    }
    writer_.append<prof::Arg>(piece);
  }

  const Store& store_;
  prof::Writer& writer_;
  const LcnWriteOptions& options_;
  std::vector<std::uint32_t> strings_;
  ArgSetNumbers argSets_{0, 0};
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

prof::Status writeLcn(const Store& store, const std::filesystem::path& path,
                      const LcnWriteOptions& options) {
  prof::WriterOptions how;
  how.zstdLevel = options.zstdLevel;
  how.blockRows = options.blockRows;
  auto writer = prof::Writer::create(path, how);
  if (!writer) return writer.status();
  prof::Status status = LcnCopy(store, *writer, options).run();
  if (status) status = writer->finish();
  std::error_code ignored;
  // Not a device or a pipe.
  if (!status && std::filesystem::is_regular_file(path, ignored))
    std::filesystem::remove(path, ignored);
  return status;
}

}  // namespace lacuna::analyzer
