// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "lacuna/prof/events.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

class Links;

/// Called now and then by long work, possibly from another thread, with 0 … 1; answering false
/// cancels it.
using Progress = std::function<bool(double)>;

struct OpenOptions {
  Progress progress;
  /// Threads that an importer may use, at least one.
  unsigned threads = 2;
  /// Opening fails where the file claims more.
  prof::Budget budget = prof::Budget::ofProcess();
};

/// The values of one column, its type as the table declares it.
struct ColumnView {
  const std::byte* data = nullptr;
  std::uint64_t rows = 0;
  prof::ColumnType type = prof::ColumnType::U64;
};

/// Rows of several columns of a table, as Store::scanTable hands them out.
struct RowBlock {
  std::uint64_t firstRow = 0;
  std::uint64_t rows = 0;
  /// One pointer for each column asked for, in that order.
  std::span<const std::byte* const> columns;
};

/// The position of a table in prof::allTables().
template <class Row>
constexpr std::size_t tableIndex() {
  std::size_t index = 0;
  std::size_t found = 0;
  prof::forEachTable([&]<class Other>() {
    if (std::is_same_v<Row, Other>) found = index;
    ++index;
  });
  return found;
}

/// One trace, whatever wrote it, as immutable columnar tables. Cheap to copy the pointer, safe for
/// many threads.
///
/// A table's rows are in the order of their first time column (of equal starts the longer first, so
/// that a parent comes before its children). `column` keeps what it decoded (meant for traces that
/// fit); `scan` streams blocks in bounded memory (meant for any size). A part of a file that turns
/// out to be damaged reads as zeros and is named in warnings().
class Store {
 public:
  /// The keeper of the tables: memory, or a file. Internal.
  class Backend;

  /// Opens any source, recognised by its content: .lcn, Kineto or Chrome JSON, an nsys SQLite
  /// export, a Perfetto trace, a memory snapshot (each also gz, zstd). Fails where the file cannot
  /// be read, is none of these, claims more than the budget allows, or the progress answered false.
  /// Damage in it is no failure (see warnings()).
  static prof::Result<std::shared_ptr<const Store>> open(const std::filesystem::path& path,
                                                         const OpenOptions& options = {});
  /// Used by builders.
  explicit Store(std::shared_ptr<const Backend> backend);
  ~Store();

  template <class Row>
  [[nodiscard]] std::uint64_t rows() const {
    return rows(tableIndex<Row>());
  }
  /// Valid as long as the store.
  template <auto Member>
  [[nodiscard]] std::span<const prof::ValueOf<Member>> column() const {
    const ColumnView view = column(tableIndex<prof::RowOf<Member>>(), prof::columnIndex<Member>());
    return {reinterpret_cast<const prof::ValueOf<Member>*>(view.data), view.rows};
  }
  /// Calls visit(std::uint64_t firstRow, std::span<const ValueOf<Members>>…) for each block that
  /// touches the window, in order. A block may hold rows outside of the window. A visit that
  /// returns bool ends the scan with false.
  template <auto... Members, class Visit>
  prof::Status scan(prof::TimeWindow window, Visit&& visit) const {
    using Row = prof::RowOf<std::get<0>(std::tuple{Members...})>;
    static_assert((std::is_same_v<Row, prof::RowOf<Members>> && ...),
                  "the columns of one scan belong to one table");
    static constexpr std::array<std::size_t, sizeof...(Members)> kColumns{
        prof::columnIndex<Members>()...};
    return scanTable(tableIndex<Row>(), kColumns, window, [&](const RowBlock& block) {
      return visitBlock<Members...>(block, visit, std::make_index_sequence<sizeof...(Members)>());
    });
  }
  /// One row, without keeping the columns it is in: of a file's large table only blocks around it
  /// are read.
  template <class Row>
  [[nodiscard]] Row row(std::uint64_t index) const {
    Row out;
    std::array<std::size_t, Row::columns().size()> columns{};
    std::array<std::byte*, Row::columns().size()> values{};
    std::size_t at = 0;
    Row::forEachMember([&]<auto Member>() {
      columns[at] = at;
      values[at++] = reinterpret_cast<std::byte*>(&(out.*Member));
    });
    readRow(tableIndex<Row>(), index, columns, values);
    return out;
  }

  /// The same by table and column number (see tableIndex), for code that treats all tables alike.
  [[nodiscard]] std::uint64_t rows(std::size_t table) const;
  [[nodiscard]] ColumnView column(std::size_t table, std::size_t column) const;
  void readRow(std::size_t table, std::uint64_t row, std::span<const std::size_t> columns,
               std::span<std::byte* const> out) const;
  prof::Status scanTable(std::size_t table, std::span<const std::size_t> columns,
                         prof::TimeWindow window,
                         const std::function<bool(const RowBlock&)>& visit) const;

  /// A text, cut at prof::kLongestText. Valid as long as the store; empty for an id that it does
  /// not have.
  [[nodiscard]] std::string_view text(prof::StringId id) const;
  /// The same, never cut: for texts that have a structure, such as the shapes of arguments, and for
  /// copies of a trace.
  [[nodiscard]] std::string_view wholeText(prof::StringId id) const;
  /// The id of a text, or the empty id when the trace never mentions it.
  [[nodiscard]] prof::StringId find(std::string_view text) const;
  /// Ids of texts are 0 … stringCount() - 1.
  [[nodiscard]] std::uint32_t stringCount() const;
  /// First start and last end of all events; {0, 0} for an empty trace.
  [[nodiscard]] prof::TimeWindow span() const;
  /// The links between rows: launches, nesting, owners, allocations, flows. Valid as long as the
  /// store.
  [[nodiscard]] const Links& links() const { return *links_; }
  /// The parts that could not be read, in words for people; shown with every report.
  [[nodiscard]] std::vector<std::string> warnings() const;
  /// The file that was opened, as it was named.
  [[nodiscard]] const std::filesystem::path& path() const;
  /// Internal.
  [[nodiscard]] const Backend& backend() const { return *backend_; }

 private:
  template <auto... Members, class Visit, std::size_t... At>
  static bool visitBlock(const RowBlock& block, Visit& visit, std::index_sequence<At...>) {
    const auto call = [&] {
      return visit(
          block.firstRow,
          std::span<const prof::ValueOf<Members>>(
              reinterpret_cast<const prof::ValueOf<Members>*>(block.columns[At]), block.rows)...);
    };
    if constexpr (std::is_same_v<decltype(call()), bool>) {
      return call();
    } else {
      call();
      return true;
    }
  }

  std::shared_ptr<const Backend> backend_;
  std::unique_ptr<const Links> links_;
};

/// Makes a store in memory: the end of every importer, and how tests write a trace by hand. One
/// thread at a time.
class StoreBuilder {
 public:
  StoreBuilder();
  ~StoreBuilder();
  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;

  /// The same text always gets the same id.
  prof::StringId intern(std::string_view text);
  [[nodiscard]] std::string_view text(prof::StringId id) const;

  template <class Row>
  void append(const Row& row) {
    columns<Row>().push(row);
  }
  /// The rows so far, to fill in bulk; all columns must have the same length when build() is
  /// called.
  template <class Row>
  typename Row::Columns& columns() {
    return std::get<typename Row::Columns>(*tables_);
  }

  void setPath(const std::filesystem::path& path);
  void addWarning(std::string text);

  /// Sorts the tables by time (stable) and hands them over; the builder is empty afterwards.
  std::shared_ptr<const Store> build();

 private:
  struct Impl;
  template <class>
  struct TupleOf;
  template <class... Row>
  struct TupleOf<std::tuple<Row...>> {
    using Type = std::tuple<typename Row::Columns...>;
  };
  using Tables = TupleOf<prof::AllRows>::Type;

  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Impl> impl_;
};

/// Sees an .lcn file grow. One thread at a time; the stores it gives are as any other, and
/// independent of it.
class StoreFollower {
 public:
  explicit StoreFollower(std::filesystem::path path) : path_(std::move(path)) {}

  /// A store of what is in the file by now, when that is more than last time; null when nothing was
  /// added. Costs one look at the file's size where nothing was added, else the headers and texts
  /// of what was. An error when the file cannot be read, as while its first bytes are written; the
  /// next poll may do better.
  prof::Result<std::shared_ptr<const Store>> poll();
  /// True once the writer has finished the file: there will be no more.
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  std::filesystem::path path_;
  std::optional<prof::Reader> reader_;
  std::uint64_t seenContent_ = 0;
  bool any_ = false;
  bool finished_ = false;
};

/// The arguments of events that have no column of their own (tables arg_set and arg), found by
/// event and name. The source of a trace names them: "Collective name", "In msg nelems" and so on.
/// An argument that only repeats a column (see the shape) is not here. Keep the store; safe for
/// many threads.
class Args {
 public:
  struct Value {
    prof::ArgType type = prof::ArgType::Null;
    std::uint64_t bits = 0;
  };

  explicit Args(const Store& store);

  /// The value of an argument of the event whose args column is `set`.
  [[nodiscard]] std::optional<Value> find(prof::ArgSetId set, prof::StringId key,
                                          prof::ArgScope scope = prof::ArgScope::Argument) const;
  [[nodiscard]] std::optional<Value> find(prof::ArgSetId set, std::string_view key) const {
    const prof::StringId id = store_.find(key);
    // A text that the trace does not have finds the number of the empty one.
    return id || key.empty() ? find(set, id) : std::nullopt;
  }
  /// The same as a text (as JSON text for lists and objects), or as a whole number; empty when it
  /// is of another type.
  [[nodiscard]] std::optional<std::string_view> text(prof::ArgSetId set,
                                                     std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(prof::ArgSetId set, std::string_view key) const;
  /// Names and order of all arguments of an event, as table arg_set describes them.
  [[nodiscard]] prof::StringId shape(prof::ArgSetId set) const;

  /// Appends a value as JSON; NaN and the infinities, which JSON does not have, as the texts "NaN",
  /// "Infinity" and
  /// "-Infinity".
  void appendJson(const Value& value, std::string& out) const;

 private:
  struct Run {
    std::size_t begin = 0, end = 0;
  };
  /// Rows of one key. Where files list their arguments event by event there are many runs, one
  /// after the other.
  struct Runs {
    std::vector<Run> list;
    bool isAscending = true;
  };
  [[nodiscard]] std::optional<Value> findIn(const Run& run, prof::ArgSetId set) const;

  const Store& store_;
  std::span<const prof::ArgSetId> sets_, ids_;
  std::span<const prof::ArgType> types_;
  std::span<const std::uint64_t> values_;
  std::span<const prof::StringId> shapes_;
  std::map<std::pair<prof::ArgScope, prof::StringId>, Runs> runs_;
};

}  // namespace lacuna::analyzer
