// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/trace_state.h"

#include <algorithm>

#include "lacuna/prof/bounds.h"
#include "record/drain/saver.h"
#include "record/drain/trace_state_access.h"

namespace lacuna::prof::recording {
namespace {

/// Stamps of recorders are converted, those from outside are read: they may differ by a little.
constexpr TimeNs kSlackNs = 100'000;
/// A thread's work at its very end, when its recorder has seen it go, may make the recorder meet it
/// anew.
constexpr TimeNs kLastWordsNs = 1'000'000;
/// A thread is settled when it was over in so many rounds. By then recorders, CUPTI and observers
/// from outside have reported all they know of it.
constexpr TimeNs kRoundNs = 2'000'000'000;
constexpr std::uint32_t kRoundsOver = 15;

/// True when everybody who knew the thread as living has reported its end.
bool isOver(const ThreadInfo& info) {
  return info.recorders == 0 && (info.exitNs != 0 || (!info.seen && info.leftNs != 0));
}

/// True when a thread that began to record at `startNs` may be the one that is known by its number.
/// A number goes to another thread only when its holder is gone.
bool mayBe(const ThreadInfo& known, TimeNs startNs) {
  if (known.recorders > 0 || known.startNs == 0) return true;
  if (known.leftNs != 0) return startNs <= known.leftNs + kLastWordsNs;
  return known.seen && (known.exitNs == 0 || startNs <= known.exitNs);
}

}  // namespace

ProcessId TraceState::addProcess(const ProcessInfo& info) {
  processes_.push_back(info);
  const ProcessId id{static_cast<std::uint32_t>(processes_.size())};
  processByPid_[info.key.osPid] = id;
  processesByPid_.emplace(info.key.osPid, id);
  return id;
}

ProcessId TraceState::process(const ProcessInfo& info) {
  if (info.joinedNs != 0 && (stats_.firstJoinNs == 0 || info.joinedNs < stats_.firstJoinNs)) {
    stats_.firstJoinNs = info.joinedNs;
  }
  if (const auto known = processByKey_.find(info.key); known != processByKey_.end())
    return known->second;
  ProcessId id;
  const auto [begin, end] = processesByPid_.equal_range(info.key.osPid);
  for (auto at = begin; at != end; ++at) {
    const ProcessInfo& seen = processInfo(at->second);
    const bool lived =
        info.joinedNs == 0 || (seen.startNs <= info.joinedNs + kSlackNs &&
                               (seen.endNs == 0 || info.joinedNs <= seen.endNs + kSlackNs));
    if (!seen.seen || seen.recorded || !lived) continue;
    if (!id || seen.startNs > processInfo(id).startNs) id = at->second;
  }
  if (!id) {
    id = addProcess(info);
    processInfo(id).recorded = true;
  } else {
    ProcessInfo& seen = processInfo(id);
    ProcessInfo merged = info;
    merged.startNs = seen.startNs;
    merged.endNs = seen.endNs;
    merged.parent = seen.parent;
    merged.seen = merged.recorded = true;
    if (merged.name.empty()) merged.name = seen.name;
    if (merged.commandLine.empty()) merged.commandLine = seen.commandLine;
    seen = merged;
  }
  processByKey_[info.key] = id;
  return id;
}

ProcessId TraceState::processOf(std::uint32_t osPid) {
  const auto known = processByPid_.find(osPid);
  if (known != processByPid_.end()) return known->second;
  ProcessInfo info;
  info.key.osPid = osPid;
  return addProcess(info);
}

ProcessId TraceState::beginProcess(std::uint32_t osPid, ProcessId parent, TimeNs startNs) {
  ProcessId id;
  const auto [begin, end] = processesByPid_.equal_range(osPid);
  for (auto at = begin; at != end; ++at) {
    const ProcessInfo& known = processInfo(at->second);
    const TimeNs since = known.joinedNs != 0 ? known.joinedNs : known.startNs;
    if (known.seen || (since != 0 && since + kSlackNs < startNs)) continue;
    if (!id || since < processInfo(id).joinedNs) id = at->second;
  }
  if (!id) {
    ProcessInfo info;
    info.key.osPid = osPid;
    if (parent) {
      info.name = processInfo(parent).name;
      info.commandLine = processInfo(parent).commandLine;
    }
    id = addProcess(info);
  }
  ProcessInfo& info = processInfo(id);
  info.seen = true;
  info.parent = parent;
  info.startNs = startNs;
  return id;
}

ProcessId TraceState::execProcess(ProcessId process, TimeNs timeNs) {
  const ProcessInfo before = processInfo(process);
  const TimeNs since = before.joinedNs != 0 ? before.joinedNs : before.startNs;
  if (!before.recorded || since + kSlackNs >= timeNs) return process;
  processInfo(process).endNs = timeNs;
  return beginProcess(before.key.osPid, before.parent, timeNs);
}

ThreadId TraceState::addThread(ProcessId process, std::uint32_t osTid) {
  const ThreadId id{++lastThread_};
  ThreadInfo& info = threads_[id.value];
  info.process = process;
  info.osTid = osTid;
  threadByTid_[{process.value, osTid}] = id;
  return id;
}

ThreadInfo* TraceState::findThread(ThreadId id) {
  const auto known = threads_.find(id.value);
  return known != threads_.end() ? &known->second : nullptr;
}

void TraceState::alsoCall(ThreadId id, std::uint32_t ownTid) {
  ThreadInfo& info = threadInfo(id);
  info.ownTid = ownTid;
  const auto [at, fresh] = threadByTid_.try_emplace({info.process.value, ownTid}, id);
  // A number that is given again is the next one's; what is another thread's number here stays.
  if (!fresh && threadInfo(at->second).ownTid == ownTid) at->second = id;
}

void TraceState::settleThreads(TimeNs nowNs) {
  if (nowNs - lastRoundNs_ < kRoundNs) return;
  lastRoundNs_ = nowNs;
  for (auto at = threads_.begin(); at != threads_.end();) {
    ThreadInfo& info = at->second;
    if (!isOver(info)) info.roundsOver = 0;
    if (!isOver(info) || ++info.roundsOver < kRoundsOver) {
      ++at;
      continue;
    }
    writeThread(at->first, info);
    // From here on the number belongs to another thread.
    forgetNumber(info.process, info.osTid, at->first);
    if (info.ownTid != 0) forgetNumber(info.process, info.ownTid, at->first);
    at = threads_.erase(at);
  }
}

void TraceState::forgetNumber(ProcessId process, std::uint32_t tid, std::uint32_t id) {
  const auto known = threadByTid_.find({process.value, tid});
  if (known != threadByTid_.end() && known->second.value == id) threadByTid_.erase(known);
}

void TraceState::writeThread(std::uint32_t id, const ThreadInfo& info) {
  append(Thread{.id = ThreadId{id},
                .process = info.process,
                .osTid = info.osTid,
                .startNs = info.startNs,
                .endNs = std::max({info.startNs, info.endNs, info.exitNs}),
                .name = writer_.intern(info.name)});
}

ThreadId TraceState::enterThread(ProcessId process, std::uint32_t osTid, TimeNs startNs) {
  const auto known = threadByTid_.find({process.value, osTid});
  ThreadId id = known != threadByTid_.end() ? known->second : ThreadId{};
  if (id && !mayBe(threadInfo(id), startNs)) id = {};
  if (!id) id = addThread(process, osTid);
  ++threadInfo(id).recorders;
  return id;
}

ThreadId TraceState::beginThread(ProcessId process, std::uint32_t osTid, TimeNs startNs) {
  const auto known = threadByTid_.find({process.value, osTid});
  ThreadId id = known != threadByTid_.end() ? known->second : ThreadId{};
  if (id) {
    const ThreadInfo& info = threadInfo(id);
    if (info.seen || (info.startNs != 0 && info.startNs + kSlackNs < startNs)) id = {};
  }
  if (!id) id = addThread(process, osTid);
  ThreadInfo& info = threadInfo(id);
  info.seen = true;
  info.startNs = startNs;
  return id;
}

void TraceState::leaveThread(ThreadId id) {
  if (threadInfo(id).recorders > 0) --threadInfo(id).recorders;
}

ThreadId TraceState::threadOf(ProcessId process, std::uint32_t osTid) {
  if (osTid == 0) return {};
  const auto known = threadByTid_.find({process.value, osTid});
  return known != threadByTid_.end() ? known->second : addThread(process, osTid);
}

std::optional<DeviceId> TraceState::deviceOf(const std::string& uuid) const {
  const auto known = devices_.find(uuid);
  return known == devices_.end() ? std::nullopt : std::optional(known->second);
}

void TraceState::drop(TimeNs timeNs, ProcessId process, ThreadId thread, std::uint64_t count,
                      std::string_view reason) {
  addTo(stats_.dropped, count);
  append(Drop{.timeNs = timeNs,
              .process = process,
              .thread = thread,
              .count = count,
              .reason = writer_.intern(reason)});
}

void TraceState::log(TimeNs timeNs, LogLevel level, std::string_view text) {
  append(LogLine{.timeNs = timeNs,
                 .level = level,
                 .source = writer_.intern("lacuna"),
                 .text = writer_.intern(text)});
}

void TraceState::writeEverybody(TimeNs endNs) {
  std::uint32_t id = 0;
  for (const ProcessInfo& info : processes_) {
    const auto parent = processByPid_.find(info.parentPid);
    const auto code = exitCodes_.find(info.key.osPid);
    append(Process{.id = ProcessId{++id},
                   .parent = info.parent                                            ? info.parent
                             : info.parentPid != 0 && parent != processByPid_.end() ? parent->second
                                                                                    : ProcessId{},
                   .osPid = info.key.osPid,
                   .startNs = info.startNs != 0 ? info.startNs : endNs,
                   .endNs = std::max(info.startNs, info.endNs),
                   .name = writer_.intern(info.name),
                   .commandLine = writer_.intern(info.commandLine),
                   .exitCode = code != exitCodes_.end() ? code->second : info.exitCode,
                   .rank = info.rank});
  }
  for (const auto& [number, info] : threads_) writeThread(number, info);
}

void TraceState::save(Saver& saver) const {
  saver.put(static_cast<const DrainCounts&>(stats_));
  saver.put(numbers_);
  saver.putAll(processes_, [&](const ProcessInfo& info) {
    saver.put(info.key);
    saver.put(info.parentPid);
    saver.put(info.rank);
    saver.put(info.exitCode);
    saver.put(info.startNs);
    saver.put(info.endNs);
    saver.put(info.name);
    saver.put(info.commandLine);
    saver.put(info.joinedNs);
    saver.put(info.parent);
    saver.put(info.seen);
    saver.put(info.recorded);
  });
  saver.put(lastThread_);
  saver.putAll(threads_, [&](const auto& entry) {
    const ThreadInfo& info = entry.second;
    saver.put(entry.first);
    saver.put(info.process);
    saver.put(info.osTid);
    saver.put(info.ownTid);
    saver.put(info.recorders);
    saver.put(info.startNs);
    saver.put(info.endNs);
    saver.put(info.name);
    saver.put(info.named);
    saver.put(info.seen);
    saver.put(info.exitNs);
  });
  saver.putAll(devices_, [&](const auto& device) {
    saver.put(device.first);
    saver.put(device.second);
  });
  saver.putAll(exitCodes_, [&](const auto& code) {
    saver.put(code.first);
    saver.put(code.second);
  });
}

void TraceState::load(Loader& loader) {
  static_cast<DrainCounts&>(stats_) = loader.get<DrainCounts>();
  numbers_ = loader.get<decltype(numbers_)>();
  loader.getAll([&] {
    ProcessInfo info;
    info.key = loader.get<ProcessKey>();
    info.parentPid = loader.get<std::uint32_t>();
    info.rank = loader.get<std::int32_t>();
    info.exitCode = loader.get<std::int32_t>();
    info.startNs = loader.getTime();
    info.endNs = loader.getTime();
    info.name = loader.getText();
    info.commandLine = loader.getText();
    info.joinedNs = loader.getTime();
    info.parent = loader.get<ProcessId>();
    info.seen = loader.get<bool>();
    info.recorded = loader.get<bool>();
    if (!loader.ok()) return;
    const ProcessId id = addProcess(info);
    if (info.recorded) processByKey_[info.key] = id;
  });
  lastThread_ = loader.get<std::uint32_t>();
  loader.getAll([&] {
    const ThreadId id{loader.get<std::uint32_t>()};
    ThreadInfo info;
    info.process = loader.get<ProcessId>();
    info.osTid = loader.get<std::uint32_t>();
    const auto ownTid = loader.get<std::uint32_t>();
    info.recorders = loader.get<std::uint32_t>();
    info.startNs = loader.getTime();
    info.endNs = loader.getTime();
    info.name = loader.getText();
    info.named = loader.get<bool>();
    info.seen = loader.get<bool>();
    info.exitNs = loader.getTime();
    if (!loader.ok()) return;
    threads_[id.value] = info;
    threadByTid_[{info.process.value, info.osTid}] = id;
    if (ownTid != 0) alsoCall(id, ownTid);
  });
  loader.getAll([&] {
    const std::string uuid = loader.getText();
    devices_[uuid] = loader.get<DeviceId>();
  });
  loader.getAll([&] {
    const auto pid = loader.get<std::uint32_t>();
    exitCodes_[pid] = loader.get<std::int32_t>();
  });
}

void TraceStateAccess::nameProcess(ProcessId process, std::string_view name,
                                   std::string_view commandLine) {
  ProcessInfo& info = trace_.processInfo(process);
  // A recorder knows the program by its own name.
  if (info.recorded && !info.name.empty()) return;
  if (!name.empty()) info.name = name;
  // The line of the program before is not this one's.
  info.commandLine = commandLine;
}

void TraceStateAccess::endThread(ThreadId thread, TimeNs endNs) {
  if (ThreadInfo* info = trace_.findThread(thread)) info->exitNs = endNs;
}

void TraceStateAccess::nameThread(ThreadId thread, std::string_view name) {
  ThreadInfo* info = trace_.findThread(thread);
  if (info != nullptr && !info->named) info->name = name;
}

}  // namespace lacuna::prof::recording
