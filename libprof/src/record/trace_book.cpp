// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/trace_book.h"

#include <algorithm>

#include "record/saver.h"

namespace lacuna::prof::recording {

ProcessId TraceBook::process(const ProcessInfo& info) {
  const auto [at, fresh] = processByKey_.try_emplace(info.key, ProcessId{});
  if (!fresh) return at->second;
  processes_.push_back(info);
  at->second = ProcessId{static_cast<std::uint32_t>(processes_.size())};
  processByPid_[info.key.osPid] = at->second;
  return at->second;
}

ProcessId TraceBook::processOf(std::uint32_t osPid) {
  const auto known = processByPid_.find(osPid);
  if (known != processByPid_.end()) return known->second;
  ProcessInfo info;
  info.key.osPid = osPid;
  return process(info);
}

ThreadId TraceBook::enterThread(ProcessId process, std::uint32_t osTid) {
  ThreadId& known = threadByTid_[{process.value, osTid}];
  // A number is given to a new thread only when its old one is gone.
  if (!known || (threadInfo(known).recorders == 0 && threadInfo(known).startNs != 0)) {
    threads_.push_back({.process = process, .osTid = osTid, .name = {}});
    known = ThreadId{static_cast<std::uint32_t>(threads_.size())};
  }
  ++threadInfo(known).recorders;
  return known;
}

void TraceBook::leaveThread(ThreadId id) {
  if (threadInfo(id).recorders > 0) --threadInfo(id).recorders;
}

ThreadId TraceBook::threadOf(ProcessId process, std::uint32_t osTid) {
  if (osTid == 0) return {};
  ThreadId& known = threadByTid_[{process.value, osTid}];
  if (!known) {
    threads_.push_back({.process = process, .osTid = osTid, .name = {}});
    known = ThreadId{static_cast<std::uint32_t>(threads_.size())};
  }
  return known;
}

std::optional<DeviceId> TraceBook::deviceOf(const std::string& uuid) const {
  const auto known = devices_.find(uuid);
  return known == devices_.end() ? std::nullopt : std::optional(known->second);
}

void TraceBook::drop(TimeNs timeNs, ProcessId process, ThreadId thread, std::uint64_t count, std::string_view reason) {
  stats_.dropped += count;
  append(
      Drop{.timeNs = timeNs, .process = process, .thread = thread, .count = count, .reason = writer_.intern(reason)});
}

void TraceBook::log(TimeNs timeNs, LogLevel level, std::string_view text) {
  append(LogLine{.timeNs = timeNs, .level = level, .source = writer_.intern("lacuna"), .text = writer_.intern(text)});
}

void TraceBook::writeEverybody(TimeNs endNs) {
  std::uint32_t id = 0;
  for (const ProcessInfo& info : processes_) {
    const auto parent = processByPid_.find(info.parentPid);
    const auto code = exitCodes_.find(info.key.osPid);
    append(Process{.id = ProcessId{++id},
                   .parent = info.parentPid != 0 && parent != processByPid_.end() ? parent->second : ProcessId{},
                   .osPid = info.key.osPid,
                   .startNs = info.startNs != 0 ? info.startNs : endNs,
                   .endNs = std::max(info.startNs, info.endNs),
                   .name = writer_.intern(info.name),
                   .commandLine = writer_.intern(info.commandLine),
                   .exitCode = code != exitCodes_.end() ? code->second : info.exitCode,
                   .rank = info.rank});
  }
  id = 0;
  for (const ThreadInfo& info : threads_) {
    append(Thread{.id = ThreadId{++id},
                  .process = info.process,
                  .osTid = info.osTid,
                  .startNs = info.startNs,
                  .endNs = std::max(info.startNs, info.endNs),
                  .name = writer_.intern(info.name)});
  }
}

void TraceBook::save(Saver& saver) const {
  saver.put(stats_);
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
  });
  saver.putAll(threads_, [&](const ThreadInfo& info) {
    saver.put(info.process);
    saver.put(info.osTid);
    saver.put(info.recorders);
    saver.put(info.startNs);
    saver.put(info.endNs);
    saver.put(info.name);
    saver.put(info.named);
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

void TraceBook::load(Loader& loader) {
  stats_ = loader.get<DrainStats>();
  numbers_ = loader.get<decltype(numbers_)>();
  loader.getAll([&] {
    ProcessInfo info;
    info.key = loader.get<ProcessKey>();
    info.parentPid = loader.get<std::uint32_t>();
    info.rank = loader.get<std::int32_t>();
    info.exitCode = loader.get<std::int32_t>();
    info.startNs = loader.get<TimeNs>();
    info.endNs = loader.get<TimeNs>();
    info.name = loader.getText();
    info.commandLine = loader.getText();
    process(info);
  });
  loader.getAll([&] {
    ThreadInfo info;
    info.process = loader.get<ProcessId>();
    info.osTid = loader.get<std::uint32_t>();
    info.recorders = loader.get<std::uint32_t>();
    info.startNs = loader.get<TimeNs>();
    info.endNs = loader.get<TimeNs>();
    info.name = loader.getText();
    info.named = loader.get<bool>();
    threads_.push_back(info);
    threadByTid_[{info.process.value, info.osTid}] = ThreadId{static_cast<std::uint32_t>(threads_.size())};
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

}  // namespace lacuna::prof::recording
