// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "import/chrome/json_walker.h"
#include "import/snapshot/memory_totals.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {

/// Where an event of a Chrome trace lies: a pid and a tid, which name a thread, or a stream of a device.
struct ChromeLocation {
  std::string pid, tid;  ///< tokens as written
  bool usedByHost = false;
  bool usedByDevice = false;
};

/// Values of one argument name over many events.
struct ArgStream {
  struct Value {
    std::uint32_t set = 0;
    prof::ArgType type = prof::ArgType::Null;
    std::uint64_t bits = 0;
  };
  prof::ArgScope scope = prof::ArgScope::Argument;
  prof::StringId key;
  std::vector<Value> values;
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

/// Turns events of one piece of a file into rows. What it learns of texts, places and shapes stays from piece to piece
/// and is numbered by itself; a ChromeAssembly renumbers it. `thread` and `queue` columns hold location numbers.
class ChromeRows {
 public:
  /// Multiprocessors of each device, by index.
  using DeviceSizes = std::unordered_map<std::uint32_t, std::uint32_t>;
  explicit ChromeRows(const DeviceSizes& sizes);

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
  prof::ArgSet::Columns sets;
  std::vector<ArgStream> streams;
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
  std::vector<ChromeLocation> locations;

 private:
  enum class Kind : std::uint8_t { Range, DeviceRange, Runtime, Driver, Kernel, Memcpy, Memset, Sync, Overhead };
  enum class Use : std::uint8_t { Host, Device, Unknown };
  struct Edge {
    char mode =
        0;  ///< kShapeField and kShapeConstant edges have one child, arguments one for each of stored and repeated
    std::string key;
    ArgRule rule = ArgRule::None;
    std::uint32_t stream = 0;
    std::array<std::uint32_t, 2> child{};
  };
  struct Node {
    std::uint32_t last = 0;
    std::vector<Edge> edges;
    std::unordered_map<std::string, std::uint32_t> many;  ///< edges by mode and key, where they are many
    std::uint32_t parent = 0;
    std::string line;     ///< how a set of arguments goes on from the parent's; empty where it begins
    prof::StringId text;  ///< all lines, once a set has ended here
  };
  struct Extra {
    std::string_view key, value;
  };
  struct Category {
    std::string token;
    Kind kind = Kind::Range;
    prof::StringId id;
  };
  /// Numbers of what was looked up last, which is mostly what is looked up next.
  class Recent {
   public:
    template <class Is>
    [[nodiscard]] std::uint32_t* find(Is&& is) {
      const auto found = std::find_if(numbers_.begin(), numbers_.end(), is);
      return found == numbers_.end() ? nullptr : &*found;
    }
    void add(std::uint32_t number) { numbers_[next_++ % numbers_.size()] = number; }

   private:
    std::array<std::uint32_t, 8> numbers_{};
    std::size_t next_ = 0;
  };

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
  const Category& categoryOf(std::string_view cat);
  prof::StringId textId(std::string_view token);
  prof::StringId asyncId(const RawEvent& event);
  prof::StringId jsonId(std::string_view token);
  prof::ArgSetId keepArgs(ArgTable table, const RawEvent& event);
  prof::ArgSetId keepEndArgs(const RawEvent& event);
  [[nodiscard]] std::string linesTo(std::uint32_t node) const;
  prof::ArgSetId setOf(std::uint32_t node);
  bool repeats(ArgRule rule, std::string_view token);
  void store(std::uint32_t stream, std::string_view token);
  std::uint32_t step(std::uint32_t node, char mode, std::string_view key, ArgTable table, std::string_view value);
  Edge& edgeFor(std::uint32_t node, char mode, std::string_view key, ArgTable table);
  std::uint32_t streamFor(prof::ArgScope scope, std::string_view key);
  void problem(const RawEvent& event, std::string_view what);
  template <class Row>
  void readOwnColumns(const RawEvent& event, Row& row);

  const DeviceSizes& sizes_;
  std::vector<Node> nodes_;
  std::map<std::pair<prof::ArgScope, std::string>, std::uint32_t, std::less<>> streamNumbers_;
  std::unordered_map<std::string, std::uint32_t> locationNumbers_;
  Recent recentLocations_;
  std::vector<Category> categories_{1};
  std::unordered_map<std::string, std::uint32_t> categoryNumbers_;
  Recent recentCategories_;
  std::vector<bool> isJson_;  ///< by text: whether it is known to be well-formed

  // Of the event at hand.
  ArgSource source_;
  prof::TimeNs startNs_ = 0;
  prof::TimeNs durNs_ = 0;
  std::vector<Extra> extras_;
  std::string scratch_, scratch2_;
  simdjson::dom::parser ownParser_;
};

}  // namespace lacuna::analyzer
