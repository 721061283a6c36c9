// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tracks/track_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

namespace lacuna::analyzer {
namespace {

/// A name with each number as wide as the widest, so that "stream 7" comes before "stream 20";
/// without numbers for a width of 0.
std::string withNumbers(std::string_view name, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (width > end - i && end > i) out.append(width - (end - i), '0');
    if (end == i || width > 0) out += name.substr(i, std::max<std::size_t>(1, end - i));
    i = std::max(end, i + 1);
  }
  return out;
}

/// A thread's ranges and calls, and a queue's ranges and work, stay together. First comes the
/// thread that began its process. Names that differ in their numbers alone ("worker 0", "worker 1")
/// follow by number, the busiest such names first. Counters are last, as they are.
void sortTracks(TrackGroup& group, const std::set<prof::ThreadId>& first) {
  constexpr std::size_t kWidest = 20;
  struct Place {
    bool isCounter = false, isLater = false;
    std::uint64_t idleness = 0;
    std::string family, name;
    std::uint64_t owner = 0;
    auto operator<=>(const Place&) const = default;
  };
  const auto ownerOf = [](const Track& t) {
    return t.kind == TrackKind::Counter ? UINT64_MAX
                                        : (std::uint64_t{t.queue.value} << 32) + t.thread.value;
  };
  std::map<std::uint64_t, Place> places;
  std::map<std::string, std::uint64_t> busiest;
  for (const Track& track : group.tracks) {
    const std::uint64_t owner = ownerOf(track);
    Place& place = places[owner];
    place.isCounter = owner == UINT64_MAX;
    if (place.isCounter) continue;
    place.isLater = !first.contains(track.thread);
    place.owner = owner;
    // The label of a thread's calls is its name and more.
    const std::string name = withNumbers(track.label, kWidest);
    if (place.name.empty() || name.size() < place.name.size()) {
      place.name = name;
      place.family = withNumbers(track.label, 0);
    }
  }
  for (const Track& track : group.tracks) busiest[places[ownerOf(track)].family] += track.events;
  for (auto& [owner, place] : places) place.idleness = place.isCounter ? 0 : ~busiest[place.family];
  std::stable_sort(group.tracks.begin(), group.tracks.end(), [&](const Track& a, const Track& b) {
    return std::tie(places[ownerOf(a)], a.kind) < std::tie(places[ownerOf(b)], b.kind);
  });
}

/// The threads that began their processes, by their numbers or, where a trace has others, by their
/// name.
std::set<prof::ThreadId> firstThreads(const Store& store) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> processes;
  for (std::uint64_t i = 0; i < store.rows<prof::Process>(); ++i) {
    const auto row = store.row<prof::Process>(i);
    processes.emplace(row.id.value, row.osPid);
  }
  std::set<prof::ThreadId> threads;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto row = store.row<prof::Thread>(i);
    if (processes.contains({row.process.value, row.osTid}) || store.text(row.name) == "main")
      threads.insert(row.id);
  }
  return threads;
}

/// Counters of the instrumented runtime go by the names of its schema; people read these, with
/// units.
struct KnownCounter {
  std::string_view name, label, unit;
};
constexpr std::array<KnownCounter, 3> kKnownCounters{
    {{"lacuna.rt.loader.queue_depth", "batches ready", ""},
     {"lacuna.rt.loader.cpu_time", "loader CPU time", "ns"},
     {"lacuna.rt.queue.depth", "executions waiting", ""}}};

std::unordered_map<std::uint32_t, prof::Thread> threadRows(const Store& store) {
  std::unordered_map<std::uint32_t, prof::Thread> threads;
  for (std::uint64_t i = 0; i < store.rows<prof::Thread>(); ++i) {
    const auto row = store.row<prof::Thread>(i);
    threads[row.id.value] = row;
  }
  return threads;
}

/// A recording that goes on does not know yet who its threads are.
std::string threadLabel(const Store& store, std::uint32_t id, const prof::Thread& thread) {
  const std::string_view name = store.text(thread.name);
  if (!name.empty()) return std::string(name);
  return thread.id ? fmt::format("thread {}", thread.osTid) : fmt::format("thread #{}", id);
}

}  // namespace

Track& TrackAssembly::track(TrackKind kind, std::uint32_t id) {
  Track& track = tracks_[static_cast<std::size_t>(kind)][id];
  track.kind = kind;
  return track;
}

Track& TrackAssembly::memory(std::uint32_t device, std::uint32_t role) {
  Track& track = memory_[device][role];
  track.kind = TrackKind::Counter;
  track.device = prof::DeviceId(device);
  track.unit = "bytes";
  track.isMemory = true;
  track.memoryRole = role;
  return track;
}

void TrackAssembly::describeCounters() {
  auto threads = threadRows(store_);
  for (std::uint64_t i = 0; i < store_.rows<prof::CounterTrack>(); ++i) {
    const auto row = store_.row<prof::CounterTrack>(i);
    Track& counter = track(TrackKind::Counter, row.id.value);
    counter.process = row.process;
    counter.thread = row.thread;
    counter.device = row.device;
    counter.counterTrack = row.id;
    counter.label = store_.text(row.name);
    counter.unit = store_.text(row.unit);
    const auto known = std::find_if(kKnownCounters.begin(), kKnownCounters.end(),
                                    [&](const KnownCounter& k) { return k.name == counter.label; });
    if (known != kKnownCounters.end()) {
      counter.label = known->label;
      if (counter.unit.empty()) counter.unit = known->unit;
    }
    if (!row.thread) continue;
    const prof::Thread& thread = threads[row.thread.value];
    if (!counter.process) counter.process = thread.process;
    counter.label += " · " + threadLabel(store_, row.thread.value, thread);
  }
}

/// A CPU device's queue is a thread as well, and what it executes are ranges of that thread: shown
/// once, as the device's work.
void TrackAssembly::dropRepeatedQueues() {
  std::set<std::tuple<prof::ProcessId, std::string, std::uint64_t>> queues;
  for (const TrackGroup& group : groups_) {
    for (const Track& track : group.tracks) {
      if (track.kind == TrackKind::Work) queues.emplace(track.process, track.label, track.events);
    }
  }
  for (TrackGroup& group : groups_) {
    std::erase_if(group.tracks, [&](const Track& t) {
      return t.kind == TrackKind::Ranges && t.lanes.size() == 1 &&
             queues.contains({t.process, t.label, t.events});
    });
  }
}

template <class Visit>
void TrackAssembly::forEach(TrackKind kind, Visit&& visit) {
  auto& tracks = tracks_[static_cast<std::size_t>(kind)];
  for (; !tracks.empty(); tracks.erase(tracks.begin())) {
    auto& [id, track] = *tracks.begin();
    for (Lane& lane : track.lanes) {
      if (built_) lane.finish();
    }
    visit(id, track);
  }
}

TrackGroup& TrackAssembly::processGroup(std::uint32_t process) {
  if (const auto found = processGroups_.find(process); found != processGroups_.end())
    return groups_[found->second];
  processGroups_[process] = groups_.size();
  TrackGroup& group = groups_.emplace_back();
  group.process = prof::ProcessId(process);
  group.label = "Events without a process";
  return group;
}

TrackGroup& TrackAssembly::deviceGroup(std::uint32_t device) {
  if (const auto found = deviceGroups_.find(device); found != deviceGroups_.end())
    return groups_[found->second];
  deviceGroups_[device] = groups_.size();
  TrackGroup& group = groups_.emplace_back();
  group.isDevice = true;
  group.device = prof::DeviceId(device);
  group.label = "Device";
  return group;
}

void TrackAssembly::nameGroups() {
  std::vector<prof::Process> processes;
  for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i)
    processes.push_back(store_.row<prof::Process>(i));
  const bool numbered = std::any_of(processes.begin(), processes.end(),
                                    [](const auto& row) { return row.osPid != 0; });
  for (const prof::Process& row : processes) {
    const std::string_view name = store_.text(row.name);
    TrackGroup& group = processGroup(row.id.value);
    group.label = fmt::format("{} {}", name.empty() ? "process" : name, row.osPid);
    if (numbered && row.osPid == 0 && !name.empty()) {
      group.label = name;
      placesOnly_.insert(row.id);
    }
    if (row.rank >= 0) group.label += fmt::format(" · rank {}", row.rank);
  }
  for (std::uint64_t i = 0; i < store_.rows<prof::Device>(); ++i) {
    const auto row = store_.row<prof::Device>(i);
    static constexpr std::array<std::string_view, 4> kKinds{"device", "cpu", "cuda", "rocm"};
    TrackGroup& group = deviceGroup(row.id.value);
    group.label = fmt::format("{}:{}", kKinds[static_cast<std::size_t>(row.kind) % 4], row.index);
    if (row.name) group.label += fmt::format(" · {}", store_.text(row.name));
  }
}

void TrackAssembly::placeThreads() {
  auto threads = threadRows(store_);
  for (const TrackKind kind : {TrackKind::Ranges, TrackKind::Calls}) {
    forEach(kind, [&](std::uint32_t id, Track& track) {
      const prof::Thread& thread = threads[id];
      track.thread = prof::ThreadId(id);
      track.process = thread.process;
      track.label = threadLabel(store_, id, thread);
      if (kind == TrackKind::Calls) track.label += " · calls";
      processGroup(thread.process.value).tracks.push_back(std::move(track));
    });
  }
  forEach(TrackKind::AsyncRanges, [&](std::uint32_t id, Track& track) {
    track.process = prof::ProcessId(id);
    track.label = "ranges across threads";
    processGroup(id).tracks.push_back(std::move(track));
  });
}

void TrackAssembly::placeQueues() {
  std::unordered_map<std::uint32_t, prof::Queue> queues;
  for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
    const auto row = store_.row<prof::Queue>(i);
    queues[row.id.value] = row;
  }
  for (const TrackKind kind : {TrackKind::Annotations, TrackKind::Work}) {
    forEach(kind, [&](std::uint32_t id, Track& track) {
      const prof::Queue& queue = queues[id];
      track.queue = prof::QueueId(id);
      track.device = queue.device;
      track.process = queue.process;
      const std::string_view name = store_.text(queue.name);
      track.label = name.empty() ? fmt::format("queue {}", queue.nativeId) : std::string(name);
      if (kind == TrackKind::Annotations) track.label += " · ranges";
      deviceGroup(queue.device.value).tracks.push_back(std::move(track));
    });
  }
}

void TrackAssembly::placeCounters() {
  const auto place = [&](Track& track, TrackGroup& group) {
    if (built_) track.counter.finish();
    track.events = track.counter.size();
    group.tracks.push_back(std::move(track));
  };
  forEach(TrackKind::Counter, [&](std::uint32_t id, Track& track) {
    track.counterTrack = prof::TrackId(id);  // also of one that the trace does not describe
    TrackGroup& group =
        track.device ? deviceGroup(track.device.value) : processGroup(track.process.value);
    if (!track.device && !track.process && group.tracks.empty() && track.label == "recorder CPU")
      group.label = "Recorder and idle cores";
    place(track, group);
  });
  for (auto& [device, curves] : memory_) {
    TrackGroup& group = deviceGroup(device);
    if (device == 0 && group.tracks.empty()) group.label = "Host";
    // A single role is the whole curve.
    const bool alone = curves.size() <= 2;
    if (const auto all = curves.find(Track::kAllRoles); all != curves.end()) {
      all->second.label = kMemoryCurve;
      place(all->second, group);
    }
    for (auto& [role, track] : curves) {
      if (role == Track::kAllRoles || alone) continue;
      track.label = fmt::format("{}{}", kRoleCurve, kRoleCurves[role % kRoleCurves.size()]);
      place(track, group);
    }
  }
}

void TrackAssembly::nameDeeper() {
  for (TrackGroup& group : groups_) {
    for (Track& track : group.tracks) {
      if (track.deeper > 0)
        track.label += fmt::format(" · {} deeper ranges are not drawn", track.deeper);
    }
  }
}

std::shared_ptr<TrackSet> TrackAssembly::finish(bool built) {
  built_ = built;
  describeCounters();
  nameGroups();
  placeThreads();
  placeQueues();
  dropRepeatedQueues();
  placeCounters();
  nameDeeper();
  auto set = std::make_shared<TrackSet>();
  const std::set<prof::ThreadId> first = firstThreads(store_);
  for (TrackGroup& group : groups_) {
    if (group.tracks.empty()) continue;
    sortTracks(group, first);
    for (const Track& track : group.tracks) set->events += track.events;
    set->groups.push_back(std::move(group));
  }
  std::stable_partition(set->groups.begin(), set->groups.end(), [&](const TrackGroup& group) {
    return group.isDevice || !placesOnly_.contains(group.process);
  });
  set->span = store_.span();
  set->kept = !built_;
  return set;
}

}  // namespace lacuna::analyzer
