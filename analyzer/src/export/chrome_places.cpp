// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/chrome_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "formats/own_columns.h"
#include "links/range_launches.h"

namespace lacuna::analyzer {
namespace {

constexpr std::array<std::string_view, 4> kDeviceNames = {"device", "cpu", "cuda", "rocm"};

std::string_view unquoted(std::string_view token) {
  return json::isString(token) ? token.substr(1, token.size() - 2) : token;
}

}  // namespace

ChromePlaces::ChromePlaces(const Store& store) : store_(store) {
  readEnvironment();
  nameProcesses();
  nameThreads();
  nameDevices();
  nameQueues();
  for (std::uint64_t i = 0; i < store_.rows<prof::CounterTrack>(); ++i) {
    const auto row = store_.row<prof::CounterTrack>(i);
    tracks_[row.id] = row;
  }
}

void ChromePlaces::readEnvironment() {
  for (std::uint64_t i = 0; i < store_.rows<prof::Environment>(); ++i) {
    const auto row = store_.row<prof::Environment>(i);
    environment_.try_emplace(std::string(store_.text(row.key)), store_.wholeText(row.value));
  }
  isKineto_ = environment("source.format") == "kineto";
  hasLoose_ = isKineto_ && !environment_.contains(fmt::format("chrome.{}", kOwnChromeMember));
}

void ChromePlaces::nameProcesses() {
  for (std::uint64_t i = 0; i < store_.rows<prof::Process>(); ++i) {
    nameProcess(store_.row<prof::Process>(i));
  }
}

void ChromePlaces::nameThreads() {
  const FlowShifts shifts = flowShifts("threads");
  for (std::uint64_t i = 0; i < store_.rows<prof::Thread>(); ++i) {
    const auto row = store_.row<prof::Thread>(i);
    const auto pid = pids_.find(row.process);
    Place& place = threads_[row.id];
    place.pid = pid == pids_.end() ? "0" : pid->second;
    place.tid = tidFor("thread", place.pid, token("tid", row.id.value, row.osTid));
    place.flowShift = flowShift(shifts, row.id.value);
  }
}

void ChromePlaces::nameDevices() {
  for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
    const auto row = store_.row<prof::Queue>(i);
    filling_[row.device].insert(row.process);
  }
  for (std::uint64_t i = 0; i < store_.rows<prof::Device>(); ++i) {
    const auto row = store_.row<prof::Device>(i);
    devices_[row.id] = row;
    if (const auto owner = ownerOf(row); owner != pids_.end()) owners_.insert(owner->first);
  }
  for (std::uint64_t i = 0; i < store_.rows<prof::Device>(); ++i)
    nameDevice(store_.row<prof::Device>(i));
}

void ChromePlaces::nameQueues() {
  const FlowShifts shifts = flowShifts("queues");
  for (std::uint64_t i = 0; i < store_.rows<prof::Queue>(); ++i) {
    const auto row = store_.row<prof::Queue>(i);
    const prof::Device& device = devices_[row.device];
    const std::string_view name = store_.text(row.name);
    if (name == kOperatorQueue || name == kCollectiveQueue) operatorQueues_.insert(row.id);
    Place& place = queues_[row.id];
    place.pid = pidOf(device);
    place.tid = tidFor("queue", place.pid, token("stream", row.id.value, row.nativeId));
    place.device = device.index;
    place.multiprocessors = device.multiprocessors;
    place.stream = row.nativeId;
    place.flowShift = flowShift(shifts, row.id.value);
  }
}

std::string_view ChromePlaces::environment(const std::string& key) const {
  const auto found = environment_.find(key);
  return found == environment_.end() ? std::string_view() : found->second;
}

std::string ChromePlaces::token(std::string_view what, std::uint32_t id,
                                std::uint64_t number) const {
  const std::string key = fmt::format("chrome.{}.{}", what, id);
  const auto found = environment_.find(key);
  if (found == environment_.end()) return std::to_string(number);
  const bool isPlain = json::isString(found->second) || json::isNumber(found->second);
  if (isPlain && json::isValid(found->second)) return std::string(found->second);
  std::string quoted;
  json::appendQuoted(quoted, found->second);
  return quoted;
}

void ChromePlaces::nameDevice(const prof::Device& device) {
  const std::string given = givenDevice(device);
  const bool isShared = owners_.size() > 1 && ownerOf(device) != pids_.end();
  const std::string quoted = quotedDevice(device, "");
  deviceTokens_[device.id] = deviceTokensTaken_.take(
      given.empty() || isShared ? quoted : given, quoted,
      [&](int copy) { return quotedDevice(device, fmt::format("#{}", copy)); });
}

std::string ChromePlaces::givenDevice(const prof::Device& device) const {
  const bool isNumber =
      device.kind == prof::DeviceKind::Cuda || (isKineto_ && device.kind == prof::DeviceKind::Rocm);
  const bool isGiven = environment_.contains(fmt::format("chrome.device.{}", device.id.value));
  return isNumber || isGiven ? token("device", device.id.value, device.index) : std::string();
}

std::unordered_map<prof::ProcessId, std::string>::const_iterator ChromePlaces::ownerOf(
    const prof::Device& device) const {
  if (const auto owner = pids_.find(device.process); owner != pids_.end()) return owner;
  const auto filling = filling_.find(device.id);
  return filling == filling_.end() || filling->second.size() != 1
             ? pids_.end()
             : pids_.find(*filling->second.begin());
}

std::string ChromePlaces::quotedDevice(const prof::Device& device, std::string_view suffix) const {
  const auto kind = static_cast<std::size_t>(device.kind);
  const auto owner = ownerOf(device);
  return fmt::format(
      "\"{}:{}{}{}\"", kDeviceNames[std::min(kind, kDeviceNames.size() - 1)], device.index,
      owner == pids_.end() ? "" : fmt::format("@{}", unquoted(owner->second)), suffix);
}

void ChromePlaces::nameProcess(const prof::Process& process) {
  const std::string given = token("pid", process.id.value, process.osPid);
  const std::string name = pidsTaken_.take(
      given, given, [&](int copy) { return fmt::format("\"{}#{}\"", unquoted(given), copy); });
  if (name != given) renamed_.insert(process.id);
  pids_[process.id] = name;
}

std::string ChromePlaces::tidFor(std::string_view kind, const std::string& pid,
                                 const std::string& given) {
  UniqueNames& taken = tidsTaken_[fmt::format("{}\n{}", kind, pid)];
  return taken.take(given, given,
                    [&](int copy) { return fmt::format("\"{}#{}\"", unquoted(given), copy); });
}

ChromePlaces::FlowShifts ChromePlaces::flowShifts(std::string_view what) const {
  FlowShifts shifts;
  const auto stride = json::integerOf(environment("merge.flow_stride"));
  for (std::uint64_t input = 0; stride; ++input) {
    const auto last = json::integerOf(environment(fmt::format("merge.input{}.{}", input, what)));
    if (!last) break;
    const auto row = static_cast<std::uint64_t>(*last);
    if (shifts.empty() || row > shifts.rbegin()->first)
      shifts[row] = input * static_cast<std::uint64_t>(*stride);
  }
  return shifts;
}

std::uint64_t ChromePlaces::flowShift(const FlowShifts& shifts, std::uint32_t id) {
  const auto found = shifts.lower_bound(id);
  return found == shifts.end() ? 0 : found->second;
}

std::string ChromePlaces::pidOf(const prof::Device& device) const {
  const auto found = deviceTokens_.find(device.id);
  return found == deviceTokens_.end() ? token("device", device.id.value, device.index)
                                      : found->second;
}

std::string ChromePlaces::pidOf(const prof::CounterTrack& track) const {
  if (const auto thread = threads_.find(track.thread);
      thread != threads_.end() && !thread->second.pid.empty()) {
    return thread->second.pid;
  }
  if (const auto pid = pids_.find(track.process); pid != pids_.end() && !pid->second.empty())
    return pid->second;
  const auto device = deviceTokens_.find(track.device);
  return device == deviceTokens_.end() ? "0" : device->second;
}

}  // namespace lacuna::analyzer
