// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/counters.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <ctime>
#include <unordered_set>

#include "core/clock.h"
#include "proc/proc_file.h"

namespace lacuna::collector::proc {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"CPU", "percent of a core"},
    {"resident memory", "bytes"},
    {"minor page faults", "1/s"},
    {"major page faults", "1/s"},
    {"disk reads", "bytes/s"},
    {"thread CPU", "percent of a core"},
    {"waiting for a core", "percent"},
    {"recorder CPU", "percent of a core"},
    {"recorder CPU on other cores", "percent of a core"},
    {"idle cores", "percent of a core"},
};

bool readClock(clockid_t clock, std::uint64_t& ns) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return false;
  ns = static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
       static_cast<std::uint64_t>(time.tv_nsec);
  return true;
}

/// The CPU time of another process, threads that have ended included. Exact, where /proc counts in
/// hundredths of a second.
bool readCpuTime(std::uint32_t pid, std::uint64_t& ns) {
  clockid_t clock = 0;
  return clock_getcpuclockid(static_cast<pid_t>(pid), &clock) == 0 && readClock(clock, ns);
}

/// The cores that threads of the program may run on; none where no thread can be seen.
cpu_set_t coresOf(const sampler::ProcessTree& tree) {
  cpu_set_t all, theirs;
  CPU_ZERO(&all);
  for (const auto& [tid, thread] : tree.threads()) {
    if (sched_getaffinity(static_cast<pid_t>(tid), sizeof theirs, &theirs) == 0)
      CPU_OR(&all, &all, &theirs);
  }
  return all;
}

/// True when none of the program's threads may run where the recorder does.
bool isApart(const cpu_set_t& programs) {
  cpu_set_t own, both;
  if (sched_getaffinity(0, sizeof own, &own) != 0) return false;
  CPU_AND(&both, &own, &programs);
  return CPU_COUNT(&programs) > 0 && CPU_COUNT(&both) == 0;
}

}  // namespace

Counters::Track& Counters::trackOf(What what, prof::ProcessId process, prof::ThreadId thread,
                                   prof::Drainer::Access& access) {
  Track& track = tracks_[{what, thread ? thread.value : process.value}];
  if (track.id) return track;
  track.id = access.newTrack();
  const auto& [name, unit] = kNames[static_cast<std::size_t>(what)];
  prof::Writer& writer = access.writer();
  writer.append(prof::CounterTrack{.id = track.id,
                                   .process = process,
                                   .thread = thread,
                                   .name = writer.intern(name),
                                   .unit = writer.intern(unit)});
  access.countRows(1);
  return track;
}

void Counters::put(Track& track, prof::TimeNs timeNs, double value, prof::Drainer::Access& access) {
  if (value == track.value) return;
  track.value = value;
  access.writer().append(prof::CounterSample{.timeNs = timeNs, .track = track.id, .value = value});
  access.countRows(1);
}

void Counters::putRate(Track& track, prof::TimeNs timeNs, std::uint64_t total, double scale,
                       prof::Drainer::Access& access) {
  if (track.lastNs != 0 && timeNs > track.lastNs && total >= track.total) {
    const double seconds = static_cast<double>(timeNs - track.lastNs) / 1e9;
    put(track, track.lastNs, static_cast<double>(total - track.total) / seconds * scale, access);
  }
  track.lastNs = timeNs;
  track.total = total;
}

void Counters::sampleProcess(std::uint32_t pid, const sampler::ProcessTree::Process& process,
                             prof::Drainer::Access& access) {
  static const auto kPage = static_cast<double>(sysconf(_SC_PAGESIZE));
  const auto track = [&](What what) -> Track& { return trackOf(what, process.id, {}, access); };
  Stat stat;
  std::uint64_t cpuNs = 0;
  const prof::TimeNs timeNs = nowNs();
  if (!readStat(fmt::format("/proc/{}/stat", pid), stat) || !readCpuTime(pid, cpuNs)) return;
  putRate(track(What::Cpu), timeNs, cpuNs, 1e-7, access);
  put(track(What::Resident), timeNs, static_cast<double>(stat.residentPages) * kPage, access);
  putRate(track(What::MinorFaults), timeNs, stat.minorFaults, 1, access);
  putRate(track(What::MajorFaults), timeNs, stat.majorFaults, 1, access);
  std::uint64_t diskBytes = 0;
  if (readDiskBytes(pid, diskBytes)) putRate(track(What::DiskReads), timeNs, diskBytes, 1, access);
}

void Counters::sampleThread(std::uint32_t tid, const sampler::ProcessTree::Thread& thread,
                            prof::Drainer::Access& access) {
  Schedule schedule;
  const auto process = prof::ProcessId{};
  const prof::TimeNs timeNs = nowNs();
  if (!readSchedule(thread.pid, tid, schedule)) return;
  putRate(trackOf(What::ThreadCpu, process, thread.id, access), timeNs, schedule.runNs, 1e-7,
          access);
  putRate(trackOf(What::ThreadWait, process, thread.id, access), timeNs, schedule.waitNs, 1e-7,
          access);
}

/// It belongs to no process of the trace: it is none of the program's.
void Counters::sampleRecorder(const cpu_set_t& programs, prof::Drainer::Access& access) {
  std::uint64_t cpuNs = 0;
  const prof::TimeNs timeNs = nowNs();
  if (!readClock(CLOCK_PROCESS_CPUTIME_ID, cpuNs)) return;
  if (isApart(programs)) recorderApartNs_ += cpuNs - recorderNs_;
  recorderNs_ = cpuNs;
  putRate(trackOf(What::Recorder, {}, {}, access), timeNs, recorderNs_ - recorderApartNs_, 1e-7,
          access);
  if (recorderApartNs_ > 0)
    putRate(trackOf(What::RecorderApart, {}, {}, access), timeNs, recorderApartNs_, 1e-7, access);
}

/// They show whether another program has the core that a thread of this one waits for.
void Counters::sampleIdle(const cpu_set_t& programs, prof::Drainer::Access& access) {
  std::uint64_t idleNs = 0;
  const prof::TimeNs timeNs = nowNs();
  if (readIdle(programs, idleNs))
    putRate(trackOf(What::Idle, {}, {}, access), timeNs, idleNs, 1e-7, access);
}

void Counters::sample(const sampler::ProcessTree& tree, prof::Drainer::Access& access) {
  const cpu_set_t programs = coresOf(tree);
  sampleRecorder(programs, access);
  sampleIdle(programs, access);
  for (const auto& [pid, process] : tree.processes()) sampleProcess(pid, process, access);
  for (const auto& [tid, thread] : tree.threads()) sampleThread(tid, thread, access);
  forgetTheEnded(tree);
}

/// The trace gives no number twice, so nothing comes of who has ended.
void Counters::forgetTheEnded(const sampler::ProcessTree& tree) {
  std::unordered_set<std::uint32_t> processes, threads;
  for (const auto& [pid, process] : tree.processes()) processes.insert(process.id.value);
  for (const auto& [tid, thread] : tree.threads()) threads.insert(thread.id.value);
  std::erase_if(tracks_, [&](const auto& entry) {
    const auto& [what, number] = entry.first;
    if (what == What::Recorder || what == What::RecorderApart || what == What::Idle) return false;
    const bool ofThread = what == What::ThreadCpu || what == What::ThreadWait;
    return !(ofThread ? threads : processes).contains(number);
  });
}

void Counters::restart() {
  for (auto& [key, track] : tracks_) {
    track.lastNs = 0;
    track.value = -1;
  }
}

}  // namespace lacuna::collector::proc
