// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/chrome/imported_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "formats/json_text.h"

namespace lacuna::analyzer {
namespace {

std::optional<std::uint32_t> smallNumber(const std::string& token) {
  const auto number = json::integerOf(token);
  if (!number || *number < 0 || *number > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

/// Our exports call the second process that is 7 "7#2", and threads and streams likewise.
std::optional<std::uint32_t> sharedNumber(std::string_view text) {
  const std::size_t copy = text.find('#');
  return copy == std::string_view::npos ? std::nullopt
                                        : smallNumber(std::string(text.substr(0, copy)));
}

template <class Map>
auto findIn(const Map& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

}  // namespace

std::uint32_t ImportedPlaces::locationFor(const ChromeLocation& location) {
  const auto [at, isNew] = locationNumbers_.try_emplace(
      location.pid + '\n' + location.tid, static_cast<std::uint32_t>(locations_.size()));
  if (isNew) locations_.push_back(location);
  return at->second;
}

/// A pid or tid that is no small number is kept as it was written, under the number of its row.
prof::ProcessId ImportedPlaces::processFor(const std::string& pid) {
  const auto [at, isNew] = processes_.try_emplace(
      pid, prof::ProcessId(static_cast<std::uint32_t>(processes_.size()) + 1));
  if (!isNew) return at->second;
  prof::Process process;
  process.id = at->second;
  process.exitCode = -1;
  process.rank = rank_;
  if (const auto number = smallNumber(pid)) {
    process.osPid = *number;
  } else {
    std::string scratch;
    const std::string_view text = json::textOf(pid, scratch);
    process.rank = -1;
    addEnvironment(fmt::format("chrome.pid.{}", process.id.value), pid);
    if (const auto shared = sharedNumber(text)) {
      process.osPid = *shared;
    } else {
      process.name = builder_.intern(text);
    }
  }
  builder_.append(process);
  return at->second;
}

/// Our exports call the CPU device of process 1234 "cpu:0@1234", and the second device that is
/// cuda:0 "cuda:0#2".
void ImportedPlaces::readDeviceName(std::string_view token, prof::Device& device) {
  static constexpr std::pair<std::string_view, prof::DeviceKind> kKinds[] = {
      {"\"device:", prof::DeviceKind::Other},
      {"\"cpu:", prof::DeviceKind::Cpu},
      {"\"cuda:", prof::DeviceKind::Cuda},
      {"\"rocm:", prof::DeviceKind::Rocm}};
  for (const auto& [prefix, kind] : kKinds) {
    if (!token.starts_with(prefix) || !token.ends_with('"')) continue;
    std::string_view rest = token.substr(prefix.size(), token.size() - prefix.size() - 1);
    const std::size_t at = rest.find('@');
    const auto index = smallNumber(std::string(rest.substr(0, std::min(at, rest.find('#')))));
    if (!index) return;
    device.kind = kind;
    device.index = *index;
    if (at != std::string_view::npos) device.process = processFor(ownerToken(rest.substr(at + 1)));
    return;
  }
}

/// The owner of a device: "7" as well as "7#2" may be a process, or the second device of process 7.
std::string ImportedPlaces::ownerToken(std::string_view owner) const {
  const auto isPid = [&](const std::string& token) {
    return std::ranges::any_of(locations_,
                               [&](const ChromeLocation& place) { return place.pid == token; });
  };
  for (std::string_view name = owner;; name = name.substr(0, name.rfind('#'))) {
    std::string quoted = fmt::format("\"{}\"", name);
    if (isPid(quoted)) return quoted;
    if (name.find('#') == std::string_view::npos) return std::string(name);
  }
}

prof::DeviceId ImportedPlaces::deviceFor(const std::string& pid) {
  const auto [at, isNew] =
      devices_.try_emplace(pid, prof::DeviceId(static_cast<std::uint32_t>(devices_.size()) + 1));
  if (!isNew) return at->second;
  prof::Device device;
  device.id = at->second;
  device.kind = prof::DeviceKind::Cuda;
  if (const auto number = smallNumber(pid)) {
    device.index = *number;
  } else {
    addEnvironment(fmt::format("chrome.device.{}", device.id.value), pid);
    readDeviceName(pid, device);
  }
  const auto info = deviceInfo_.find(device.index);
  if (info != deviceInfo_.end() && device.kind == prof::DeviceKind::Cuda) {
    device.name = builder_.intern(info->second.name);
    device.memoryBytes = info->second.memoryBytes;
    device.multiprocessors = info->second.multiprocessors;
    device.computeMajor = info->second.major;
    device.computeMinor = info->second.minor;
  }
  builder_.append(device);
  return at->second;
}

void ImportedPlaces::makeThread(std::uint32_t location) {
  const ChromeLocation& place = locations_[location];
  prof::Thread thread;
  thread.id =
      prof::ThreadId(static_cast<std::uint32_t>(builder_.columns<prof::Thread>().id.size()) + 1);
  thread.process = processFor(place.pid);
  if (const auto number = smallNumber(place.tid)) {
    thread.osTid = *number;
  } else if (const auto cut = json::integerOf(place.tid); cut && *cut < 0 && *cut >= INT32_MIN) {
    // The lower half of a pthread_t, which its writer took for a signed number.
    thread.osTid = static_cast<std::uint32_t>(*cut);
    addEnvironment(fmt::format("chrome.tid.{}", thread.id.value), place.tid);
  } else {
    std::string scratch;
    const std::string_view text = json::textOf(place.tid, scratch);
    if (const auto shared = sharedNumber(text)) {
      thread.osTid = *shared;
    } else {
      thread.name = builder_.intern(text);
    }
    addEnvironment(fmt::format("chrome.tid.{}", thread.id.value), place.tid);
  }
  builder_.append(thread);
  threads_[location] = thread.id;
}

void ImportedPlaces::makeQueue(std::uint32_t location) {
  const ChromeLocation& place = locations_[location];
  prof::Queue queue;
  queue.id =
      prof::QueueId(static_cast<std::uint32_t>(builder_.columns<prof::Queue>().id.size()) + 1);
  queue.device = deviceFor(place.pid);
  const auto number = json::integerOf(place.tid);
  if (number && *number >= 0) {
    queue.nativeId = static_cast<std::uint64_t>(*number);
  } else {
    std::string scratch;
    queue.nativeId = sharedNumber(json::textOf(place.tid, scratch)).value_or(0);
    addEnvironment(fmt::format("chrome.stream.{}", queue.id.value), place.tid);
  }
  queue.process = builder_.columns<prof::Device>().process[queue.device.value - 1];
  builder_.append(queue);
  queues_[location] = queue.id;
}

void ImportedPlaces::make() {
  threads_.assign(locations_.size(), {});
  queues_.assign(locations_.size(), {});
  for (std::uint32_t i = 1; i < locations_.size(); ++i) {
    if (locations_[i].usedByDevice) makeQueue(i);
    if (locations_[i].usedByHost || !locations_[i].usedByDevice) makeThread(i);
  }
}

/// Devices that name the process that fills them, by it and their number: an allocation's process
/// shows which of several with that number it means.
ImportedPlaces::OwnDevices ImportedPlaces::ownDevices() {
  OwnDevices own;
  const auto& devices = builder_.columns<prof::Device>();
  for (std::size_t i = 0; i < devices.id.size(); ++i) {
    if (devices.process[i] && devices.kind[i] != prof::DeviceKind::Cpu)
      own.try_emplace({devices.process[i], devices.index[i]}, devices.id[i]);
  }
  return own;
}

void ImportedPlaces::placeRows() {
  placeOnHost();
  std::vector<prof::DeviceId> deviceOf(builder_.columns<prof::Queue>().id.size() + 1);
  const auto& queues = builder_.columns<prof::Queue>();
  for (std::size_t i = 0; i < queues.id.size(); ++i)
    deviceOf[queues.id[i].value] = queues.device[i];
  placeOnDevices(deviceOf);
  placeAllocations(deviceOf);
}

void ImportedPlaces::toThreads(std::vector<prof::ThreadId>& column) const {
  for (prof::ThreadId& id : column) id = threads_[id.value];
}

void ImportedPlaces::toQueues(std::vector<prof::QueueId>& column) const {
  for (prof::QueueId& id : column) id = queues_[id.value];
}

void ImportedPlaces::placeOnHost() {
  auto& ranges = builder_.columns<prof::Range>();
  toThreads(ranges.thread);
  toThreads(ranges.endThread);
  toQueues(ranges.queue);
  toThreads(builder_.columns<prof::Mark>().thread);
  toThreads(builder_.columns<prof::ApiCall>().thread);
  toThreads(builder_.columns<prof::Overhead>().thread);
  toThreads(builder_.columns<prof::Allocation>().thread);
  auto& tracks = builder_.columns<prof::CounterTrack>();
  for (std::size_t i = 0; i < tracks.id.size(); ++i) {
    const std::uint32_t location = tracks.thread[i].value;
    tracks.thread[i] = threads_[location];
    tracks.process[i] = processFor(locations_[location].pid);
  }
  auto& flows = builder_.columns<prof::Flow>();
  for (std::size_t i = 0; i < flows.id.size(); ++i) {
    const std::uint32_t location = flows.thread[i].value;
    flows.thread[i] = threads_[location];
    if (!flows.thread[i]) flows.queue[i] = queues_[location];
  }
}

void ImportedPlaces::placeOnDevices(const std::vector<prof::DeviceId>& deviceOf) {
  const auto onDevice = [&](auto& columns) {
    toQueues(columns.queue);
    for (std::size_t i = 0; i < columns.queue.size(); ++i)
      columns.device[i] = deviceOf[columns.queue[i].value];
  };
  onDevice(builder_.columns<prof::Kernel>());
  onDevice(builder_.columns<prof::Memcpy>());
  onDevice(builder_.columns<prof::Memset>());
  onDevice(builder_.columns<prof::Sync>());
}

void ImportedPlaces::placeAllocations(const std::vector<prof::DeviceId>& deviceOf) {
  auto& allocations = builder_.columns<prof::Allocation>();
  toQueues(allocations.queue);
  const OwnDevices own = ownDevices();
  for (std::size_t i = 0; i < allocations.queue.size(); ++i) {
    prof::DeviceId& device = allocations.device[i];
    if (allocations.queue[i]) {
      device = deviceOf[allocations.queue[i].value];
    } else if (device) {
      const prof::ThreadId thread = allocations.thread[i];
      const auto process =
          thread ? builder_.columns<prof::Thread>().process[thread.value - 1] : prof::ProcessId();
      const auto found = own.find({process, device.value - 1});
      device = found != own.end() ? found->second : deviceFor(std::to_string(device.value - 1));
    }
  }
}

prof::ProcessId ImportedPlaces::findProcess(const std::string& pid) const {
  return findIn(processes_, pid);
}

prof::DeviceId ImportedPlaces::findDevice(const std::string& pid) const {
  return findIn(devices_, pid);
}

prof::ThreadId ImportedPlaces::findThread(const std::string& pid, const std::string& tid) const {
  const std::uint32_t location = findIn(locationNumbers_, pid + '\n' + tid);
  return location == 0 ? prof::ThreadId() : threads_[location];
}

prof::QueueId ImportedPlaces::findQueue(const std::string& pid, const std::string& tid) const {
  const std::uint32_t location = findIn(locationNumbers_, pid + '\n' + tid);
  return location == 0 ? prof::QueueId() : queues_[location];
}

void ImportedPlaces::addEnvironment(std::string_view key, std::string_view value) {
  builder_.append(prof::Environment{{}, builder_.intern(key), builder_.intern(value)});
}

}  // namespace lacuna::analyzer
