// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/chrome/arg_shapes.h"
#include "import/chrome/chrome_categories.h"
#include "import/chrome/chrome_texts.h"
#include "import/chrome/json_walker.h"
#include "import/chrome/recent.h"
#include "import/snapshot/memory_totals.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {

/// Where an event of a Chrome trace lies: a pid and a tid, which name a thread, or a stream of a
/// device.
struct ChromeLocation {
  std::string pid, tid;  ///< tokens as written
  bool usedByHost = false;
  bool usedByDevice = false;
};

/// An event that needs its predecessors to become a row: a begin, an end, a counter.
struct LooseEvent {
  char phase = 0;  ///< B, E, C, and b and e for all that is asynchronous
  std::uint32_t location = 0;
  std::uint32_t args = 0;
  prof::TimeNs timeNs = 0;
  prof::StringId name, category, id;
  double value = 0;
  prof::StringId series;
};

/// Turns events of one piece of a file into rows. Texts, places and shapes that it learns stay from
/// piece to piece. It numbers them by itself; a ChromeAssembly renumbers them. `thread` and `queue`
/// columns hold location numbers.
class ChromeRows {
 public:
  /// Multiprocessors of each device, by index.
  using DeviceSizes = std::unordered_map<std::uint32_t, std::uint32_t>;
  explicit ChromeRows(const DeviceSizes& sizes);
  ChromeRows(const ChromeRows&) = delete;
  ChromeRows& operator=(const ChromeRows&) = delete;

  void add(const RawEvent& event);
  /// Forgets the rows, keeps what was learnt.
  void clearRows();

  prof::Range::Columns ranges;
  prof::Mark::Columns marks;
  prof::ApiCall::Columns calls;
  prof::Kernel::Columns kernels;
  prof::Memcpy::Columns copies;
  prof::Memset::Columns memsets;
  prof::Sync::Columns syncs;
  prof::Allocation::Columns allocations;
  std::vector<MemoryTotals> memoryTotals;  ///< of each of them
  prof::Flow::Columns flows;
  prof::Overhead::Columns overheads;
  std::vector<LooseEvent> loose;
  /// Metadata and phases without a meaning here, as their text.
  std::vector<std::string> metadata, others;
  std::vector<JsonWalker::Problem> problems;
  std::uint64_t events = 0;
  /// Values of counters that are no numbers, and the first event that has one.
  std::uint64_t unreadSamples = 0, firstUnreadSample = 0;
  /// Events of phases that have no meaning here.
  std::map<char, std::uint64_t> unreadPhases;

  StringPool strings;
  ArgShapes args;
  std::vector<ChromeLocation> locations;

 private:
  using Kind = ChromeCategories::Kind;
  enum class Use : std::uint8_t { Host, Device, Unknown };

  void addComplete(const RawEvent& event);
  void addInstant(const RawEvent& event);
  void addMark(const RawEvent& event);
  void addFlow(const RawEvent& event);
  void addCounter(const RawEvent& event);
  void addLoose(const RawEvent& event);
  void addAsyncMark(const RawEvent& event);
  void addRange(const RawEvent& event, Kind kind);
  void addCall(const RawEvent& event, Kind kind);
  void addKernel(const RawEvent& event);
  void addCopy(const RawEvent& event);
  void addMemset(const RawEvent& event);
  void addSync(const RawEvent& event);
  void addOverhead(const RawEvent& event);
  bool addAllocation(const RawEvent& event);

  bool readTime(const RawEvent& event);
  std::uint32_t locate(const RawEvent& event, Use use);
  void describeStream(const RawEvent& event);
  template <class Row>
  Row openWork(const RawEvent& event);
  template <class Row>
  void closeTransfer(const RawEvent& event, std::string_view category, ArgTable table, Row& row);
  prof::StringId asyncId(const RawEvent& event);
  void problem(const RawEvent& event, std::string_view what);
  template <class Row>
  void readOwnColumns(const RawEvent& event, Row& row);

  const DeviceSizes& sizes_;
  ChromeTexts texts_;
  std::unordered_map<std::string, std::uint32_t> locationNumbers_;
  Recent recentLocations_;
  ChromeCategories categories_;

  // The event at hand.
  prof::TimeNs startNs_ = 0;
  prof::TimeNs durNs_ = 0;
  std::string scratch_;
  simdjson::dom::parser ownParser_;
};

}  // namespace lacuna::analyzer
