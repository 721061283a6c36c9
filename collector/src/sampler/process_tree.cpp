// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/process_tree.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace lacuna::collector::sampler {

using prof::ThreadState;

ProcessTree::Process& ProcessTree::processOf(const PerfRecord& record,
                                             prof::Drainer::Access& access) {
  const auto [at, fresh] = processes_.try_emplace(record.pid);
  if (fresh) {
    ++seen_;
    const auto parent = processes_.find(record.parentPid);
    at->second.id = access.beginProcess(
        record.pid, parent != processes_.end() ? parent->second.id : prof::ProcessId{},
        record.timeNs);
  }
  return at->second;
}

ProcessTree::Thread& ProcessTree::threadOf(const PerfRecord& record,
                                           prof::Drainer::Access& access) {
  const auto known = threads_.find(record.tid);
  if (known != threads_.end() && known->second.pid == record.pid) return known->second;
  Process& process = processOf(record, access);
  ++process.threads;
  Thread& thread = threads_[record.tid];
  thread = {access.beginThread(process.id, record.tid, record.timeNs), record.pid, 0,
            ThreadState::Unknown, 0};
  return thread;
}

void ProcessTree::take(const PerfRecord& record, prof::Drainer::Access& access) {
  switch (record.kind) {
    case PerfRecord::Kind::Fork:
      return fork(record, access);
    case PerfRecord::Kind::Exit:
      return exit(record, access);
    case PerfRecord::Kind::Comm:
      return rename(record, access);
    case PerfRecord::Kind::Map:
      return map(record, access);
    case PerfRecord::Kind::Sample:
      if (recording_) sample(record, access);
      return;
    case PerfRecord::Kind::Switch: {
      if (record.tid == 0) return;
      const ThreadState off = record.preempted ? ThreadState::Runnable : ThreadState::Sleeping;
      return enter(threadOf(record, access), record.out ? off : ThreadState::Running, record,
                   access);
    }
    case PerfRecord::Kind::Lost:
      return access.drop(record.timeNs, record.lost,
                         record.text.empty() ? "the kernel's sample buffer was full" : record.text);
    case PerfRecord::Kind::Window:
      return window(record, access);
  }
}

/// A number that comes again is somebody else's: that who had it has ended was not seen.
void ProcessTree::fork(const PerfRecord& record, prof::Drainer::Access& access) {
  const bool newProcess = record.pid != record.parentPid;
  if (const auto known = threads_.find(record.tid); known != threads_.end()) {
    const std::uint32_t before = known->second.pid;
    endThread(record.tid, record.timeNs, access);
    if (before != record.pid) endIfEmpty(before, record.timeNs, access);
  }
  if (newProcess) {
    endThreadsOf(record.pid, record.timeNs, access);
    endProcess(record.pid, record.timeNs, access);
    const auto parent = processes_.find(record.parentPid);
    AddressSpace inherited = parent != processes_.end() ? parent->second.space : AddressSpace();
    processOf(record, access).space = std::move(inherited);
  }
  threadOf(record, access);
}

void ProcessTree::exit(const PerfRecord& record, prof::Drainer::Access& access) {
  const auto thread = threads_.find(record.tid);
  if (thread == threads_.end() || thread->second.pid != record.pid) return;
  endThread(record.tid, record.timeNs, access);
  endIfEmpty(record.pid, record.timeNs, access);
}

void ProcessTree::endThread(std::uint32_t tid, prof::TimeNs timeNs, prof::Drainer::Access& access) {
  const auto thread = threads_.find(tid);
  writeState(thread->second, timeNs, access);
  access.endThread(thread->second.id, timeNs);
  const auto process = processes_.find(thread->second.pid);
  if (process != processes_.end() && process->second.threads > 0) --process->second.threads;
  threads_.erase(thread);
}

void ProcessTree::endThreadsOf(std::uint32_t pid, prof::TimeNs timeNs,
                               prof::Drainer::Access& access) {
  std::vector<std::uint32_t> ended;
  for (const auto& [tid, thread] : threads_) {
    if (thread.pid == pid) ended.push_back(tid);
  }
  for (const std::uint32_t tid : ended) endThread(tid, timeNs, access);
}

void ProcessTree::endIfEmpty(std::uint32_t pid, prof::TimeNs timeNs,
                             prof::Drainer::Access& access) {
  const auto process = processes_.find(pid);
  if (process != processes_.end() && process->second.threads == 0) endProcess(pid, timeNs, access);
}

void ProcessTree::endProcess(std::uint32_t pid, prof::TimeNs timeNs,
                             prof::Drainer::Access& access) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return;
  access.endProcess(process->second.id, timeNs);
  leavesImage(process->second, timeNs);
  processes_.erase(process);
}

void ProcessTree::rename(const PerfRecord& record, prof::Drainer::Access& access) {
  // A thread that is not the first one and runs another program takes the first one's number; its
  // own is not seen again.
  const bool anotherThread =
      record.exec && !threads_.contains(record.tid) && processes_.contains(record.pid);
  if (anotherThread) endThreadsOf(record.pid, record.timeNs, access);
  Thread& thread = threadOf(record, access);
  if (record.exec) {
    Process& process = processOf(record, access);
    process.space = {};
    leavesImage(process, record.timeNs);
    process.unknownImage = true;
    process.stranger = record.stranger;
    if (!record.image.empty()) runs(process, record.image, record.timeNs);
    const prof::ProcessId id = access.execProcess(process.id, record.timeNs);
    if (id != process.id) {
      process.id = id;
      writeState(thread, record.timeNs, access);
      access.endThread(thread.id, record.timeNs);
      thread.id = access.beginThread(id, record.tid, record.timeNs);
      thread.sinceNs = std::max(thread.sinceNs, record.timeNs);
    }
    access.nameProcess(process.id, record.text, record.commandLine);
  }
  access.nameThread(thread.id, record.text);
}

/// Each file once, however often it is executed.
void ProcessTree::runs(Process& process, const std::string& image, prof::TimeNs timeNs) {
  process.unknownImage = false;
  if (!image.starts_with('/') || image.starts_with("//")) return;
  images_.all.emplace(image, 0);
  process.image = image;
  process.imageSinceNs = timeNs;
  if (process.stranger) images_.strangers.insert(image);
}

void ProcessTree::leavesImage(Process& process, prof::TimeNs timeNs) {
  if (process.image.empty()) return;
  images_.all[process.image] += std::max<prof::TimeNs>(0, timeNs - process.imageSinceNs);
  process.image.clear();
}

void ProcessTree::map(const PerfRecord& record, prof::Drainer::Access& access) {
  Process& process = processOf(record, access);
  if (process.unknownImage) runs(process, record.text, record.timeNs);
  if (samplePeriodNs_ == 0) return;
  process.space.map(record.address,
                    {record.address + record.length, record.offset,
                     stacks_.moduleOf({record.text, record.device, record.inode, record.buildId})});
}

void ProcessTree::sample(const PerfRecord& record, prof::Drainer::Access& access) {
  if (record.tid == 0) return;
  const Thread& thread = threadOf(record, access);
  const prof::FrameId stack = stacks_.add(processOf(record, access).space, record.frames, access);
  const auto weightNs =
      record.weightNs != 0 ? record.weightNs : static_cast<std::uint64_t>(samplePeriodNs_);
  access.writer().append(prof::CpuSample{
      .timeNs = record.timeNs, .thread = thread.id, .stack = stack, .weightNs = weightNs});
  access.countRows(1);
  ++samples_;
}

void ProcessTree::writeState(const Thread& thread, prof::TimeNs endNs,
                             prof::Drainer::Access& access) {
  if (!recording_ || thread.state == ThreadState::Unknown || endNs <= thread.sinceNs) return;
  access.writer().append(prof::ThreadSpan{.startNs = thread.sinceNs,
                                          .durNs = endNs - thread.sinceNs,
                                          .thread = thread.id,
                                          .state = thread.state,
                                          .cpu = thread.cpu});
  access.countRows(1);
}

void ProcessTree::enter(Thread& thread, ThreadState state, const PerfRecord& record,
                        prof::Drainer::Access& access) {
  writeState(thread, record.timeNs, access);
  thread.sinceNs = record.timeNs;
  thread.state = state;
  thread.cpu = static_cast<std::uint16_t>(record.cpu);
}

/// States that last across an edge of the window are cut there.
void ProcessTree::window(const PerfRecord& record, prof::Drainer::Access& access) {
  for (auto& [tid, thread] : threads_) {
    writeState(thread, record.timeNs, access);
    thread.sinceNs = std::max(thread.sinceNs, record.timeNs);
  }
  recording_ = record.open;
}

void ProcessTree::finish(prof::TimeNs nowNs, prof::Drainer::Access& access) {
  for (const auto& [tid, thread] : threads_) writeState(thread, nowNs, access);
  for (auto& [pid, process] : processes_) {
    access.endProcess(process.id, nowNs);
    leavesImage(process, nowNs);
  }
}

}  // namespace lacuna::collector::sampler
