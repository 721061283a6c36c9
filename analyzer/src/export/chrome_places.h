// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "export/unique_names.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The pids and tids of a trace's processes, threads, devices and queues in Chrome JSON, and the
/// facts that it gives of itself. Keeps no copy of the store, which must outlive it.
class ChromePlaces {
 public:
  struct Place {
    std::string pid, tid;
    std::uint32_t device = 0;
    std::uint32_t multiprocessors = 0;
    std::uint64_t stream = 0;
    std::uint64_t flowShift =
        0;  ///< on the ids of flows that repeat a correlation, in a merged trace
  };

  explicit ChromePlaces(const Store& store);

  [[nodiscard]] bool isKineto() const { return isKineto_; }
  /// True when ranges may have been pairs of events; those of ours have an argument for what they
  /// are.
  [[nodiscard]] bool hasLoose() const { return hasLoose_; }
  /// The first value of each key.
  [[nodiscard]] const std::map<std::string, std::string_view, std::less<>>& environment() const {
    return environment_;
  }
  [[nodiscard]] std::string_view environment(const std::string& key) const;

  /// A place without pid and tid where the trace does not describe it.
  [[nodiscard]] const Place& of(prof::ThreadId thread) const { return found(threads_, thread); }
  [[nodiscard]] const Place& of(prof::QueueId queue) const { return found(queues_, queue); }
  /// The place of a range, which lies on a queue or on a thread.
  [[nodiscard]] const Place& of(prof::QueueId queue, prof::ThreadId thread) const {
    return queue ? of(queue) : of(thread);
  }
  [[nodiscard]] bool has(prof::ThreadId thread) const { return threads_.contains(thread); }
  [[nodiscard]] bool has(prof::QueueId queue) const { return queues_.contains(queue); }
  /// Executions of such a queue stand for no event of their own.
  [[nodiscard]] bool isOperatorQueue(prof::QueueId queue) const {
    return operatorQueues_.contains(queue);
  }
  [[nodiscard]] bool hasOperatorQueues() const { return !operatorQueues_.empty(); }

  [[nodiscard]] bool has(prof::ProcessId process) const { return pids_.contains(process); }
  [[nodiscard]] const std::string& pidOf(prof::ProcessId process) const {
    return found(pids_, process);
  }
  /// True when a process has another pid than its file gave it.
  [[nodiscard]] bool isRenamed(prof::ProcessId process) const { return renamed_.contains(process); }

  [[nodiscard]] const std::map<prof::DeviceId, prof::Device>& devices() const { return devices_; }
  [[nodiscard]] const prof::Device& of(prof::DeviceId device) const {
    return found(devices_, device);
  }
  [[nodiscard]] std::string pidOf(const prof::Device& device) const;

  [[nodiscard]] const prof::CounterTrack& of(prof::TrackId track) const {
    return found(tracks_, track);
  }
  /// The pid of what a counter belongs to, the narrowest that is known.
  [[nodiscard]] std::string pidOf(const prof::CounterTrack& track) const;

 private:
  template <class Map, class Key>
  static const typename Map::mapped_type& found(const Map& map, Key key) {
    static const typename Map::mapped_type kNone{};
    const auto at = map.find(key);
    return at == map.end() ? kNone : at->second;
  }

  void readEnvironment();
  void nameProcesses();
  void nameThreads();
  void nameDevices();
  void nameQueues();
  /// A pid or tid as its file wrote it.
  std::string token(std::string_view what, std::uint32_t id, std::uint64_t number) const;
  /// A device as a pid. The number alone is a GPU, as Kineto has it. Other devices of ours have
  /// their kind in the name, such as "cpu:0@1234" for the CPU device of a process. In merged ranks
  /// each device has the process that fills it in its name, and where two are still alike
  /// "cuda:0#2" is the second.
  void nameDevice(const prof::Device& device);
  /// The pid that a device has in its file, or would have in Kineto's; empty where neither is so.
  std::string givenDevice(const prof::Device& device) const;
  /// The pid of the one process that fills a device's queues; the end where that is not one.
  std::unordered_map<prof::ProcessId, std::string>::const_iterator ownerOf(
      const prof::Device& device) const;
  std::string quotedDevice(const prof::Device& device, std::string_view suffix) const;
  /// A process as a pid. Ranks in containers may have the same one: the second process that is 7 is
  /// "7#2".
  void nameProcess(const prof::Process& process);
  /// A place as the tid of its pid. A number may come twice: tracks of other tools have none, the
  /// system reuses the numbers of threads that are gone, and processes that share a device number
  /// their streams alike. So the second thread that is 7 is "7#2".
  std::string tidFor(std::string_view kind, const std::string& pid, const std::string& given);
  /// Distances that the flows of a merged trace's inputs are moved, by the last row of each: inputs
  /// follow each other.
  using FlowShifts = std::map<std::uint64_t, std::uint64_t>;
  FlowShifts flowShifts(std::string_view what) const;
  static std::uint64_t flowShift(const FlowShifts& shifts, std::uint32_t id);

  const Store& store_;
  std::map<std::string, std::string_view, std::less<>> environment_;
  std::unordered_map<prof::ThreadId, Place> threads_;
  std::unordered_map<prof::QueueId, Place> queues_;
  std::set<prof::QueueId> operatorQueues_;
  std::map<prof::DeviceId, prof::Device> devices_;
  std::map<prof::DeviceId, std::string> deviceTokens_;
  std::set<prof::ProcessId> owners_;                             ///< that fill a device alone
  std::map<prof::DeviceId, std::set<prof::ProcessId>> filling_;  ///< who fills the queues of each
  UniqueNames deviceTokensTaken_;
  std::unordered_map<prof::TrackId, prof::CounterTrack> tracks_;
  std::unordered_map<prof::ProcessId, std::string> pids_;
  UniqueNames pidsTaken_;
  std::unordered_map<std::string, UniqueNames> tidsTaken_;  ///< by kind and pid
  std::set<prof::ProcessId> renamed_;
  bool isKineto_ = false;
  bool hasLoose_ = false;
};

}  // namespace lacuna::analyzer
