// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/perfetto_tracks.h"

#include <iterator>
#include <string>

#include "formats/perfetto_schema.h"
#include "formats/proto_wire.h"

namespace lacuna::analyzer {
namespace {

using proto::Field;
using proto::Wire;

/// A track whose process is further up than this has none.
constexpr int kMostParents = 64;

void appendWord(std::string& commandLine, std::string_view word) {
  if (!commandLine.empty()) commandLine += ' ';
  commandLine += word;
}

}  // namespace

bool PerfettoTracks::readTrack(std::string_view bytes) {
  namespace t = perfetto::track;
  std::uint64_t uuid = 0;
  proto::Reader first(bytes);
  for (Field field; first.next(field);) {
    if (field.number == t::kUuid) uuid = field.value;
  }
  if (first.malformed()) return false;
  Track& track = tracks_[uuid];
  bool complete = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == t::kParent) track.parent = field.value;
    if (field.wire != Wire::Bytes) continue;
    if (field.number == t::kName || field.number == t::kStaticName)
      track.name = builder_.intern(field.bytes);
    if (field.number == t::kProcess) complete &= readProcess(field.bytes, track);
    if (field.number == t::kThread) complete &= readThread(field.bytes, uuid, nullptr);
    if (field.number == t::kCounter) complete &= readCounter(field.bytes, track);
  }
  return complete;
}

bool PerfettoTracks::readProcess(std::string_view bytes, Track& track) {
  track.isProcess = true;
  std::string commandLine;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) track.pid = static_cast<std::uint32_t>(field.value);
    if (field.number == 2 && field.wire == Wire::Bytes) appendWord(commandLine, field.bytes);
    if (field.number == 6 && field.wire == Wire::Bytes) track.name = builder_.intern(field.bytes);
  }
  if (!commandLine.empty()) track.commandLine = builder_.intern(commandLine);
  return !reader.malformed();
}

bool PerfettoTracks::readProcessTree(std::string_view bytes) {
  bool complete = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.wire != Wire::Bytes) continue;
    if (field.number == 1) complete &= listedProcess(field.bytes);
    if (field.number == 2) complete &= listedThread(field.bytes);
  }
  return complete && !reader.malformed();
}

bool PerfettoTracks::listedProcess(std::string_view bytes) {
  std::uint32_t pid = 0;
  std::string program, commandLine;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) pid = static_cast<std::uint32_t>(field.value);
    if (field.number != 3 || field.wire != Wire::Bytes) continue;
    if (commandLine.empty()) program = field.bytes;
    appendWord(commandLine, field.bytes);
  }
  if (!commandLine.empty())
    processTexts_[pid] = {builder_.intern(program), builder_.intern(commandLine)};
  return !reader.malformed();
}

bool PerfettoTracks::listedThread(std::string_view bytes) {
  std::uint32_t pid = 0, tid = 0;
  prof::StringId name;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) tid = static_cast<std::uint32_t>(field.value);
    if (field.number == 2 && field.wire == Wire::Bytes) name = builder_.intern(field.bytes);
    if (field.number == 3) pid = static_cast<std::uint32_t>(field.value);
  }
  if (name) threadNames_[{pid, tid}] = name;
  return !reader.malformed();
}

bool PerfettoTracks::readThread(std::string_view bytes, std::uint64_t uuid,
                                std::int64_t* legacyUs) {
  Track& track = tracks_[uuid];
  track.isThread = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1) track.pid = static_cast<std::uint32_t>(field.value);
    if (field.number == 2) track.tid = static_cast<std::uint32_t>(field.value);
    if (field.number == 5 && field.wire == Wire::Bytes) track.name = builder_.intern(field.bytes);
    if (field.number == 6 && legacyUs != nullptr) *legacyUs = field.signedValue();
  }
  return !reader.malformed();
}

bool PerfettoTracks::readCounter(std::string_view bytes, Track& track) {
  static constexpr std::string_view kUnits[] = {"", "ns", "count", "bytes"};
  static constexpr std::pair<std::string_view, std::string_view> kBuiltIn[] = {
      {}, {"thread time", "ns"}, {"thread instruction count", "count"}};
  track.isCounter = true;
  proto::Reader reader(bytes);
  for (Field field; reader.next(field);) {
    if (field.number == 1 && field.value > 0 && field.value < std::size(kBuiltIn)) {
      if (!track.name) track.name = builder_.intern(kBuiltIn[field.value].first);
      if (!track.unit) track.unit = builder_.intern(kBuiltIn[field.value].second);
    }
    if (field.number == 3 && field.value < 4) track.unit = builder_.intern(kUnits[field.value]);
    if (field.number == 6 && field.wire == Wire::Bytes) track.unit = builder_.intern(field.bytes);
    if (field.number == 4 && field.value != 0) track.multiplier = field.signedValue();
    if (field.number == 5) track.isIncremental = field.value != 0;
  }
  return !reader.malformed();
}

std::uint64_t PerfettoTracks::trackOfOther(std::uint64_t writer,
                                           std::optional<std::uint32_t> givenPid,
                                           std::optional<std::uint32_t> givenTid) {
  const Track* known = find(writer);
  const std::uint32_t pid = givenPid.value_or(known == nullptr ? 0 : known->pid);
  const std::uint32_t tid = givenTid.value_or(known == nullptr ? 0 : known->tid);
  // Process numbers have 22 bits at most, so that the two highest bits are free to set these tracks
  // apart.
  const std::uint64_t uuid = std::uint64_t{1} << 62 | std::uint64_t{pid & 0x3fffffffU} << 32 | tid;
  Track& track = tracks_[uuid];
  track.isThread = true;
  track.pid = pid;
  track.tid = tid;
  return uuid;
}

prof::ProcessId PerfettoTracks::processOf(std::uint64_t uuid, int depth) {
  const auto found = tracks_.find(uuid);
  if (found == tracks_.end() || depth > kMostParents) return places_.process(0, 0);
  const Track& track = found->second;
  if (!track.isProcess && !track.isThread) return processOf(track.parent, depth + 1);
  return places_.process(track.pid, track.pid);
}

void PerfettoTracks::namePlaces() {
  auto& processes = builder_.columns<prof::Process>();
  for (const auto& [uuid, track] : tracks_) {
    if (track.isThread && track.name) threadNames_[{track.pid, track.tid}] = track.name;
    const prof::ProcessId id = track.isProcess ? places_.findProcess(track.pid) : prof::ProcessId();
    if (!id) continue;
    if (track.name) processes.name[id.value - 1] = track.name;
    if (track.commandLine) processes.commandLine[id.value - 1] = track.commandLine;
  }
  for (std::size_t i = 0; i < processes.id.size(); ++i) {
    const auto listed = processTexts_.find(processes.osPid[i]);
    if (listed == processTexts_.end()) continue;
    if (!processes.name[i]) processes.name[i] = listed->second.name;
    if (!processes.commandLine[i]) processes.commandLine[i] = listed->second.commandLine;
  }
  auto& threads = builder_.columns<prof::Thread>();
  for (std::size_t i = 0; i < threads.id.size(); ++i) {
    if (threads.name[i] || !threads.process[i]) continue;
    const auto known =
        threadNames_.find({processes.osPid[threads.process[i].value - 1], threads.osTid[i]});
    if (known != threadNames_.end()) threads.name[i] = known->second;
  }
}

prof::ThreadId PerfettoTracks::threadOf(std::uint64_t uuid, int depth) {
  Track& track = tracks_[uuid];
  if (track.thread) return track.thread;
  const prof::ProcessId process = processOf(uuid, depth);
  if (track.isThread) {
    const std::uint64_t key = std::uint64_t{track.pid} << 32 | track.tid;
    track.thread = places_.thread(key, process, track.tid);
  } else {
    // Keys of threads have no more than 63 bits used by pids.
    track.thread = places_.thread(uuid ^ 0x9e3779b97f4a7c15ULL, process, 0);
  }
  const prof::StringId name = track.name       ? track.name
                              : track.isThread ? track.name
                                               : builder_.intern("track");
  if (name) builder_.columns<prof::Thread>().name[track.thread.value - 1] = name;
  return track.thread;
}

}  // namespace lacuna::analyzer
