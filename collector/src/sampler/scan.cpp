// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/scan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/regular_file.h"
#include "proc/proc_file.h"
#include "sampler/exec_lines.h"
#include "symbols/module_file.h"

namespace lacuna::collector::proc {

using sampler::PerfRecord;
using Kind = PerfRecord::Kind;

namespace {

/// A thread that its own timer does not reach (it blocks the signal, or began behind our back) is
/// not left out.
constexpr std::uint64_t kUnheardNs = 50'000'000;

PerfRecord recordOf(Kind kind, std::uint32_t pid, std::uint32_t tid, prof::TimeNs nowNs) {
  PerfRecord record;
  record.kind = kind;
  record.pid = pid;
  record.tid = tid;
  record.timeNs = nowNs;
  return record;
}

}  // namespace

Scan::Scan(std::uint32_t root, bool samples)
    : root_(root), begunNs_(nowNs()), scannedNs_(begunNs_), samples_(samples) {
  readClocks();
}

void Scan::scan(prof::TimeNs nowNs, bool recording, std::vector<PerfRecord>& into) {
  recording_ = recording;
  readClocks();
  goneNs_.clear();
  for (auto& [tid, thread] : threads_) thread.there = false;
  visitProcess(root_, 0, nowNs, into);
  for (const std::uint32_t adopted : childrenOf(static_cast<std::uint32_t>(getpid()))) {
    if (adopted != root_) visitProcess(adopted, 0, nowNs, into);
  }
  // A thread that has ended may have done so, and may have sampled itself, since the scan began.
  const prof::TimeNs endNs = std::max(nowNs, collector::nowNs());
  for (auto at = threads_.begin(); at != threads_.end();) {
    if (at->second.there) {
      ++at;
      continue;
    }
    into.push_back(recordOf(Kind::Exit, at->second.pid, at->first, endNs));
    if (at->first == at->second.pid) goneNs_[at->first] = endNs;
    at = threads_.erase(at);
  }
  scannedNs_ = nowNs;
}

void Scan::readClocks() {
  // It changes only when the machine sleeps; the reading's own jitter must not.
  const prof::TimeNs ahead = clockNs(CLOCK_BOOTTIME) - nowNs();
  if (bootNs_ == 0 || std::abs(ahead - bootNs_) > 10'000'000) bootNs_ = ahead;
}

void Scan::visitProcess(std::uint32_t pid, std::uint32_t parent, prof::TimeNs nowNs,
                        std::vector<PerfRecord>& into) {
  for (const std::uint32_t tid : threadsOf(pid))
    visitThread(pid, tid, tid == pid ? parent : pid, nowNs, into);
  for (const std::uint32_t child : childrenOf(pid)) visitProcess(child, pid, nowNs, into);
}

void Scan::visitThread(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent,
                       prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  Stat stat;
  if (!readStat(fmt::format("/proc/{}/task/{}/stat", pid, tid), stat) || stat.state == 'Z' ||
      stat.state == 'X')
    return;
  prof::TimeNs startNs = startOf(stat, pid, tid, nowNs);
  const auto known = threads_.find(tid);
  if (known != threads_.end() && known->second.startTicks != 0 &&
      known->second.startTicks != stat.startTicks) {
    // The number was given again since the last scan, so its owner has ended, and the next began
    // after that scan.
    startNs = std::max(startNs, scannedNs_);
    into.push_back(recordOf(Kind::Exit, known->second.pid, tid, startNs));
    threads_.erase(known);
  }
  const auto [at, fresh] = threads_.try_emplace(tid);
  Thread& thread = at->second;
  thread.there = true;
  thread.startTicks = stat.startTicks;
  if (fresh) begin(thread, pid, tid, parent, startNs, into);
  std::string name = nameOf(pid, tid);
  if (!name.empty() && name != thread.name) {  // empty: it has just ended
    into.push_back(recordOf(Kind::Comm, pid, tid, nowNs));
    into.back().text = name;
    into.back().exec = pid == tid && runsAnother(pid, thread);
    if (into.back().exec) describe(into.back(), thread);
    thread.name = std::move(name);
  }
  Schedule schedule;
  if (!samples_ || !readSchedule(pid, tid, schedule)) return;
  const bool unheard = !themselves_.contains(pid) || schedule.runNs > thread.runNs + kUnheardNs;
  if (!fresh && recording_ && unheard && schedule.runNs > thread.runNs) {
    into.push_back(recordOf(Kind::Sample, pid, tid, nowNs));
    into.back().weightNs = schedule.runNs - thread.runNs;
  }
  if (unheard || !recording_) thread.runNs = std::max(thread.runNs, schedule.runNs);
  if (stat.state == thread.state) return;
  thread.state = stat.state;
  into.push_back(recordOf(Kind::Switch, pid, tid, nowNs));
  into.back().out = stat.state != 'R';
  into.back().cpu = stat.cpu;
}

/// True when a process runs another program than it did, which `thread` knows from here on. False
/// where /proc no longer shows the program, for the process is ending.
bool Scan::runsAnother(std::uint32_t pid, Thread& thread) {
  std::string program = programOf(pid);
  if (program.empty() || program == thread.program) return false;
  thread.program = std::move(program);
  return true;
}

/// Adds to `exec` what it runs now.
void Scan::describe(PerfRecord& exec, const Thread& thread) {
  sampler::readExecLine(exec);
  exec.image = thread.program;
  const int fd = openRegularFile(fmt::format("/proc/{}/exe", exec.pid));
  if (fd < 0) return;
  if (!symbols::readMappedAs(fd, exec.device, exec.inode)) exec.inode = 0;
  ::close(fd);
}

void Scan::begin(Thread& thread, std::uint32_t pid, std::uint32_t tid, std::uint32_t parent,
                 prof::TimeNs startNs, std::vector<PerfRecord>& into) {
  thread.pid = pid;
  if (const auto known = threads_.find(parent); pid == tid && known != threads_.end()) {
    // A forked child runs what its parent runs until it reports otherwise.
    thread.program = known->second.program;
    // Hundredths of a second, which is what a process knows its own beginning in, may put it before
    // its parent's.
    startNs = std::max(startNs, known->second.startNs);
  }
  thread.startNs = startNs;
  into.push_back(recordOf(Kind::Fork, pid, tid, startNs));
  into.back().parentPid = parent;
}

/// When it began, not when it was first seen: its recorder may have reported it in between. /proc
/// counts in hundredths of a second, so a thread may seem older than its process.
prof::TimeNs Scan::startOf(const Stat& stat, std::uint32_t pid, std::uint32_t tid,
                           prof::TimeNs nowNs) const {
  const prof::TimeNs perTick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  const auto process = threads_.find(pid);
  const bool known = tid != pid && process != threads_.end();
  const prof::TimeNs least = known ? std::max(begunNs_, process->second.startNs) : begunNs_;
  return std::clamp(static_cast<prof::TimeNs>(stat.startTicks) * perTick - bootNs_,
                    std::min(least, nowNs), nowNs);
}

bool Scan::introduce(std::uint32_t pid, prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  if (pid == static_cast<std::uint32_t>(getpid()) || threads_.contains(pid)) return true;
  Stat stat;
  if (pid <= 1 || !readStat(fmt::format("/proc/{}/stat", pid), stat)) return false;
  const bool ours = pid == root_ || introduce(stat.parent, nowNs, into);
  if (ours) visitThread(pid, pid, pid == root_ ? 0 : stat.parent, nowNs, into);
  return ours;
}

void Scan::meet(std::uint32_t pid, std::uint32_t parent, const std::string& name,
                prof::TimeNs startNs, std::vector<PerfRecord>& into, bool exec) {
  // It ended as it was about to report itself, and we have reported all that there is but its
  // samples.
  if (const auto gone = goneNs_.find(pid); gone != goneNs_.end() && startNs <= gone->second) return;
  themselves_.insert(pid);
  // A parent that does not report itself (a static shell) may not have been seen yet.
  if (!threads_.contains(pid)) introduce(parent, startNs, into);
  const auto [at, fresh] = threads_.try_emplace(pid);
  Thread& thread = at->second;
  thread.there = true;
  if (fresh) begin(thread, pid, pid, parent, startNs, into);
  const bool another = runsAnother(pid, thread) || exec;
  if (fresh || another || name != thread.name) {
    into.push_back(recordOf(Kind::Comm, pid, pid, std::max(startNs, thread.startNs)));
    into.back().text = name;
    into.back().exec = another;
    if (another) describe(into.back(), thread);
  }
  thread.name = name;
}

std::uint64_t Scan::account(std::uint32_t pid, std::uint32_t tid, std::uint64_t cpuNs) {
  Thread& thread = threads_[tid];
  thread.pid = pid;
  thread.there = true;
  const std::uint64_t weightNs = cpuNs > thread.runNs ? cpuNs - thread.runNs : 1;
  thread.runNs = std::max(thread.runNs, cpuNs);
  return weightNs;
}

void Scan::leave(std::uint32_t pid, const std::set<std::uint32_t>& threads, prof::TimeNs endNs,
                 std::vector<PerfRecord>& into) {
  themselves_.erase(pid);
  const auto end = [&](std::uint32_t tid) {
    const auto at = threads_.find(tid);
    if (at == threads_.end() || at->second.pid != pid) return;
    into.push_back(recordOf(Kind::Exit, pid, tid, endNs));
    threads_.erase(at);
  };
  for (const std::uint32_t tid : threads) end(tid);
  end(pid);
}

}  // namespace lacuna::collector::proc
