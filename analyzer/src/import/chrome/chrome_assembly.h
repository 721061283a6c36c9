// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "import/arg_joining.h"
#include "import/chrome/chrome_rows.h"
#include "import/chrome/imported_places.h"
#include "import/chrome/range_edges.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Puts the rows of all pieces together: renumbers texts, places and arguments, pairs begins with
/// ends, makes processes, threads, devices and queues, and computes nesting depths. One thread at a
/// time.
class ChromeAssembly {
 public:
  /// The meaning here of a worker's own numbers; one for each ChromeRows, kept between its pieces.
  struct Mapping {
    std::vector<prof::StringId> strings;
    std::vector<std::uint32_t> locations;
    std::vector<std::uint32_t> streams;
  };

  /// Appends the rows, in the order of the file; `share` (0 … 1) of the file is read with them.
  void merge(const ChromeRows& rows, Mapping& mapping, double share);
  /// Takes a member of the trace's top-level object, such as deviceProperties, as JSON.
  void addMember(std::string_view key, std::string_view json);
  /// The store; the assembly is empty afterwards. Uses a second thread where `threads` allows it.
  std::shared_ptr<const Store> finish(const std::filesystem::path& path, unsigned threads);
  StoreBuilder& builder() { return builder_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void learn(const ChromeRows& rows, Mapping& mapping);
  void mergeArgs(const ChromeRows& rows, const Mapping& mapping, double share);
  void mergeLoose(const ChromeRows& rows, const Mapping& mapping, std::uint32_t setBase);
  void countUnread(const ChromeRows& rows);
  void warnOfUnread(std::uint64_t unmatchedEnds);
  prof::TrackId trackFor(std::uint32_t location, prof::StringId name, prof::StringId series);

  void nest();
  void readLivesOf();
  void flattenArgs();
  void addEnvironment(std::string_view key, std::string_view value);

  StoreBuilder builder_;
  ImportedPlaces places_{builder_};
  std::uint64_t events_ = 0;
  std::uint32_t sets_ = 0;
  std::vector<ArgStream> streams_;
  std::map<std::pair<prof::ArgScope, prof::StringId>, std::uint32_t> streamNumbers_;
  std::vector<std::string> metadata_;
  std::uint64_t unreadSamples_ = 0, firstUnreadSample_ = 0;
  std::map<char, std::uint64_t> unreadPhases_;
  std::vector<ArgJoin> joins_;
  std::vector<MemoryTotals> memoryTotals_;  ///< of each row of the allocation table
  std::int64_t baseNs_ = 0;
  RangeEdges edges_;
  std::map<std::tuple<std::uint32_t, prof::StringId, prof::StringId>, prof::TrackId> tracks_;
};

}  // namespace lacuna::analyzer
