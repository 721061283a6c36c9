// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "import/arg_joining.h"
#include "import/chrome/chrome_rows.h"
#include "lacuna/analyzer/store_builder.h"

namespace lacuna::analyzer {

/// Puts the rows of all pieces together: renumbers texts, places and arguments, pairs begins with ends, makes
/// processes, threads, devices and queues, and computes nesting depths. One thread at a time.
class ChromeAssembly {
 public:
  /// What a worker's own numbers mean here; one for each ChromeRows, kept between its pieces.
  struct Mapping {
    std::vector<prof::StringId> strings;
    std::vector<std::uint32_t> locations;
    std::vector<std::uint32_t> streams;
  };

  /// Appends the rows, in the order of the file, of which `share` (0 … 1) is read with them.
  void merge(const ChromeRows& rows, Mapping& mapping, double share);
  /// Takes a member of the trace's top-level object, such as deviceProperties, as JSON.
  void addMember(std::string_view key, std::string_view json);
  /// The store; the assembly is empty afterwards. Uses a second thread where `threads` allows it.
  std::shared_ptr<const Store> finish(const std::filesystem::path& path, unsigned threads);
  StoreBuilder& builder() { return builder_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  /// A begin or an end that waits for its counterpart.
  struct Edge {
    prof::TimeNs timeNs = 0;
    std::uint64_t key = 0;  ///< what counterparts share: their place, or category and id of an asynchronous range
    std::size_t row = kEnd;
    std::uint32_t location = 0;
    bool isAsync = false;
    prof::ArgSetId args;  ///< of an end
    static constexpr std::size_t kEnd = SIZE_MAX;
  };
  struct DeviceInfo {
    std::string name;
    std::uint64_t memoryBytes = 0;
    std::uint32_t multiprocessors = 0;
    std::uint16_t major = 0, minor = 0;
  };

  void learn(const ChromeRows& rows, Mapping& mapping);
  void mergeArgs(const ChromeRows& rows, const Mapping& mapping, double share);
  void mergeLoose(const ChromeRows& rows, const Mapping& mapping, std::uint32_t setBase);
  std::vector<std::size_t> matchEdges(bool& isSound);
  void pairEdges();
  void endRange(std::size_t row, const Edge& end);
  void countUnread(const ChromeRows& rows);
  void warnOfUnread();
  std::uint32_t locationFor(const ChromeLocation& location);
  prof::TrackId trackFor(std::uint32_t location, prof::StringId name, prof::StringId series);

  void makePlaces();
  prof::ProcessId processFor(const std::string& pid);
  void readDeviceName(std::string_view token, prof::Device& device);
  [[nodiscard]] std::string ownerToken(std::string_view owner) const;
  prof::DeviceId deviceFor(const std::string& pid);
  void makeThread(std::uint32_t location);
  void makeQueue(std::uint32_t location);
  void readMetadata();
  prof::ProcessId nameFromMetadata(std::string_view event);
  bool rankFromMetadata(std::string_view event);
  using OwnDevices = std::map<std::pair<prof::ProcessId, std::uint32_t>, prof::DeviceId>;
  OwnDevices ownDevices();
  void placeRows();
  void nest();
  void readLivesOf();
  void flattenArgs();
  void addEnvironment(std::string_view key, std::string_view value);

  StoreBuilder builder_;
  std::uint64_t events_ = 0;
  std::uint32_t sets_ = 0;
  std::vector<ChromeLocation> locations_{1};
  std::unordered_map<std::string, std::uint32_t> locationNumbers_;
  std::vector<ArgStream> streams_;
  std::map<std::pair<prof::ArgScope, prof::StringId>, std::uint32_t> streamNumbers_;
  std::vector<std::string> metadata_;
  std::map<std::uint32_t, DeviceInfo> deviceInfo_;
  std::int32_t rank_ = -1;
  std::uint64_t unmatchedEnds_ = 0;
  std::uint64_t unreadSamples_ = 0, firstUnreadSample_ = 0;
  std::map<char, std::uint64_t> unreadPhases_;
  std::vector<ArgJoin> joins_;
  std::vector<MemoryTotals> memoryTotals_;  ///< of each row of the allocation table
  std::int64_t baseNs_ = 0;
  std::vector<Edge> edges_;
  std::map<std::tuple<std::uint32_t, prof::StringId, prof::StringId>, prof::TrackId> tracks_;

  // The rows of each place, once makePlaces() has run.
  std::vector<prof::ThreadId> threads_;
  std::vector<prof::QueueId> queues_;
  std::map<std::string, prof::ProcessId> processes_;
  std::map<std::string, prof::DeviceId> devices_;
  std::vector<std::uint32_t> deviceByIndex_;
};

}  // namespace lacuna::analyzer
