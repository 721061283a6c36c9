// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "formats/nsys_schema.h"
#include "import/nsys/sqlite_file.h"
#include "import/trace_places.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Reads an export of Nsight Systems table by table; columns are found by name, so that older and
/// newer versions of the schema differ only in what is missing. Our own exports carry further
/// columns and tables, which win over the schema's. Used once.
class NsysImport {
 public:
  NsysImport(const SqliteFile& file, StoreBuilder& builder, const Progress& progress);
  /// Fails when it was cancelled or when there is no event table.
  prof::Status run();

 private:
  using Labels = std::map<std::int64_t, std::string>;

  [[nodiscard]] prof::Status checkTables() const;
  void readStrings();
  void readOwnTables();
  template <class Row>
  void readOwnTable();
  static std::vector<std::uint32_t> numberOwn(const std::vector<std::uint32_t>& ids);
  void readTarget();
  void readDevices();
  void readSystem();
  void readNames();
  void readKernels();
  void readGraphs();
  void readGraphNodes();
  void readCopies();
  void readMemsets();
  void readSyncs();
  void readCalls(const char* table, bool isSystem);
  void readLibraryRanges(const char* table, std::string_view domain);
  void readNvtx();
  [[nodiscard]] bool hasNvtxTypes() const;
  void readNvtxNames();
  void readOverheads();
  void readAllocations();
  void readMetrics();
  void readSamples();
  void readCallChains();
  void readSchedule();
  void readDiagnostics();
  void nameUnreadTables();

  /// Calls row(rows) for each row of a table whose first column, its time, is not NULL; further
  /// columns of ours follow those asked for.
  template <class Row, class Take>
  void each(const std::string& table, std::vector<std::string> columns, Take&& take,
            const char* order = "");
  template <class Row>
  void fillOwn(const SqliteRows& rows, int first, Row& row) const;
  template <class T>
  void assign(const SqliteRows& rows, int column, T& value) const;
  bool finishRows(const SqliteRows& rows);
  bool tick();

  Labels labelsOf(const char* table);
  template <std::size_t N>
  std::string_view labelOf(const Labels& labels, const std::array<nsys::Label, N>& known,
                           std::int64_t id) const;
  prof::StringId text(std::int64_t id) const;
  prof::StringId textOrId(const SqliteRows& rows, int column);
  prof::ThreadId thread(const SqliteRows& rows, int column);
  prof::ProcessId process(const SqliteRows& rows, int column);
  template <class Row>
  bool setTimes(const SqliteRows& rows, Row& row);
  template <class Row>
  void place(const SqliteRows& rows, int processColumn, int deviceColumn, int contextColumn,
             int streamColumn, Row& row);
  prof::DeviceId device(prof::ProcessId process, std::int64_t number);
  prof::MemoryKind memoryKind(const Labels& labels, const SqliteRows& rows, int column) const;
  std::string copyName(const prof::Memcpy& row, std::string_view label) const;

  const SqliteFile& file_;
  StoreBuilder& builder_;
  const Progress& progress_;
  TracePlaces places_;
  bool isOwn_ = false;  ///< the file carries our tables of places
  bool cancelled_ = false;
  std::uint64_t events_ = 0;
  double share_ = 0;
  std::uint64_t invertedTimes_ = 0;
  std::unordered_map<std::int64_t, prof::StringId> strings_;
  std::map<prof::Refers, std::unordered_map<std::uint32_t, std::uint32_t>> ownIds_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::int64_t>
      gpuOf_;  ///< (pid, CUDA's number) → the machine's
  std::map<std::int64_t, prof::Device> gpus_;
  // Processes count their domains and categories by themselves: by process, domain and category;
  // process 0 is for rows that do not name theirs.
  std::map<std::tuple<std::uint64_t, std::int64_t, std::int64_t>, std::string> categories_;
  std::map<std::pair<std::uint64_t, std::int64_t>, std::string> domains_;
  std::unordered_map<std::int64_t, prof::FrameId> chains_;
  std::set<std::string> read_;
};

template <class T>
constexpr bool isPlaceId() {
  return std::is_same_v<T, prof::ProcessId> || std::is_same_v<T, prof::ThreadId> ||
         std::is_same_v<T, prof::DeviceId> || std::is_same_v<T, prof::QueueId> ||
         std::is_same_v<T, prof::TrackId> || std::is_same_v<T, prof::FrameId> ||
         std::is_same_v<T, prof::ArgSetId>;
}

template <class T>
void NsysImport::assign(const SqliteRows& rows, int column, T& value) const {
  if constexpr (std::is_same_v<T, prof::StringId>) {
    value = text(rows.integer(column));
  } else if constexpr (isPlaceId<T>()) {
    const auto ids = ownIds_.find(prof::detail::refersOf<T>());
    if (ids == ownIds_.end()) return;
    const auto found = ids->second.find(static_cast<std::uint32_t>(rows.integer(column)));
    value = T(found == ids->second.end() ? 0 : found->second);
  } else if constexpr (std::is_same_v<T, double>) {
    value = rows.real(column);
  } else {
    value = static_cast<T>(rows.integer(column));
  }
}

template <class Row>
void NsysImport::fillOwn(const SqliteRows& rows, int first, Row& row) const {
  int column = first;
  Row::forEachMember([&]<auto Member>() {
    if (!rows.isNull(column)) assign(rows, column, row.*Member);
    ++column;
  });
}

template <class Row, class Take>
void NsysImport::each(const std::string& table, std::vector<std::string> columns, Take&& take,
                      const char* order) {
  read_.insert(table);
  if (cancelled_ || !file_.has(table)) return;
  const int own = static_cast<int>(columns.size());
  for (const prof::ColumnSpec& column : Row::columns()) {
    columns.push_back(isOwn_ ? std::string(nsys::kOwnColumn) + std::string(column.name) : "");
  }
  SqliteRows rows(file_, table, columns, order);
  std::uint64_t timeless = 0;
  while (rows.next() && tick()) {
    if (rows.isNull(0)) {
      ++timeless;
      continue;
    }
    Row row;
    if (!take(rows, row)) continue;
    if (isOwn_) fillOwn(rows, own, row);
    builder_.append(row);
  }
  if (timeless > 0) {
    builder_.addWarning(
        fmt::format("table {}: rows without a start, which were left out: {}", table, timeless));
  }
  finishRows(rows);
}

template <class Row>
bool NsysImport::setTimes(const SqliteRows& rows, Row& row) {
  row.startNs = rows.integer(0);
  if (rows.isNull(1)) {
    row.durNs = -1;
    if constexpr (requires { row.flags; }) row.flags = prof::kUnfinished;
  } else if (__builtin_sub_overflow(rows.integer(1), row.startNs, &row.durNs) || row.durNs < 0) {
    row.durNs = 0;
    ++invertedTimes_;
  }
  return true;
}

template <class Row>
void NsysImport::place(const SqliteRows& rows, int processColumn, int deviceColumn,
                       int contextColumn, int streamColumn, Row& row) {
  if (isOwn_ || rows.isNull(deviceColumn)) return;
  const prof::ProcessId owner = process(rows, processColumn);
  row.device = device(owner, rows.integer(deviceColumn));
  if constexpr (requires { row.queue; }) {
    if (rows.isNull(streamColumn)) return;
    const auto stream = static_cast<std::uint64_t>(rows.integer(streamColumn));
    const auto context = static_cast<std::uint64_t>(rows.integer(contextColumn));
    row.queue = places_.queue(row.device, owner, context << 32 ^ stream, stream);
  }
}

template <std::size_t N>
std::string_view NsysImport::labelOf(const Labels& labels, const std::array<nsys::Label, N>& known,
                                     std::int64_t id) const {
  if (const auto found = labels.find(id); found != labels.end()) return found->second;
  const auto found = std::ranges::find(known, id, &nsys::Label::id);
  return found == known.end() ? std::string_view() : found->label;
}

}  // namespace lacuna::analyzer
