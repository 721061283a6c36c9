// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/chrome/chrome_rows.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The places of a Chrome trace: makes processes, threads, devices and queues of the pids and tids
/// of its events. First come all locations, then make(), then what asks for their rows.
class ImportedPlaces {
 public:
  struct DeviceInfo {
    std::string name;
    std::uint64_t memoryBytes = 0;
    std::uint32_t multiprocessors = 0;
    std::uint16_t major = 0, minor = 0;
  };

  explicit ImportedPlaces(StoreBuilder& builder) : builder_(builder) {}

  /// The number of a location, made where it is new.
  std::uint32_t locationFor(const ChromeLocation& location);
  ChromeLocation& location(std::uint32_t number) { return locations_[number]; }
  /// Properties of the device with this index, which the file gives.
  DeviceInfo& device(std::uint32_t index) { return deviceInfo_[index]; }
  [[nodiscard]] bool hasDevices() const { return !deviceInfo_.empty(); }
  void setRank(std::int32_t rank) { rank_ = rank; }

  void make();
  /// Turns the numbers of locations in the rows of all tables into threads, queues and devices.
  void placeRows();

  // After make(), by tokens as written: none for what has no events.
  [[nodiscard]] prof::ProcessId findProcess(const std::string& pid) const;
  [[nodiscard]] prof::DeviceId findDevice(const std::string& pid) const;
  [[nodiscard]] prof::ThreadId findThread(const std::string& pid, const std::string& tid) const;
  [[nodiscard]] prof::QueueId findQueue(const std::string& pid, const std::string& tid) const;
  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  [[nodiscard]] std::size_t locations() const { return locations_.size(); }

 private:
  /// Devices by the process that fills them and their number.
  using OwnDevices = std::map<std::pair<prof::ProcessId, std::uint32_t>, prof::DeviceId>;

  prof::ProcessId processFor(const std::string& pid);
  void readDeviceName(std::string_view token, prof::Device& device);
  [[nodiscard]] std::string ownerToken(std::string_view owner) const;
  prof::DeviceId deviceFor(const std::string& pid);
  void makeThread(std::uint32_t location);
  void makeQueue(std::uint32_t location);
  void placeOnHost();
  void placeOnDevices(const std::vector<prof::DeviceId>& deviceOf);
  void placeAllocations(const std::vector<prof::DeviceId>& deviceOf);
  [[nodiscard]] OwnDevices ownDevices();
  void toThreads(std::vector<prof::ThreadId>& column) const;
  void toQueues(std::vector<prof::QueueId>& column) const;
  void addEnvironment(std::string_view key, std::string_view value);

  StoreBuilder& builder_;
  std::vector<ChromeLocation> locations_{1};
  std::unordered_map<std::string, std::uint32_t> locationNumbers_;
  std::map<std::uint32_t, DeviceInfo> deviceInfo_;
  std::int32_t rank_ = -1;

  // The rows of each place, once make() has run.
  std::vector<prof::ThreadId> threads_;
  std::vector<prof::QueueId> queues_;
  std::map<std::string, prof::ProcessId> processes_;
  std::map<std::string, prof::DeviceId> devices_;
};

}  // namespace lacuna::analyzer
