// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "proc/scan.h"

#include <fmt/format.h>
#include <unistd.h>

#include "proc/proc_file.h"

namespace lacuna::collector::proc {

using sampler::PerfRecord;
using Kind = PerfRecord::Kind;

namespace {

PerfRecord recordOf(Kind kind, std::uint32_t pid, std::uint32_t tid, prof::TimeNs nowNs) {
  PerfRecord record;
  record.kind = kind;
  record.pid = pid;
  record.tid = tid;
  record.timeNs = nowNs;
  return record;
}

}  // namespace

void Scan::look(prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  for (auto& [tid, thread] : threads_) thread.there = false;
  lookAtProcess(root_, 0, nowNs, into);
  for (const std::uint32_t adopted : childrenOf(static_cast<std::uint32_t>(getpid()))) {
    if (adopted != root_) lookAtProcess(adopted, 0, nowNs, into);
  }
  for (auto at = threads_.begin(); at != threads_.end();) {
    if (at->second.there) {
      ++at;
      continue;
    }
    into.push_back(recordOf(Kind::Exit, at->second.pid, at->first, nowNs));
    at = threads_.erase(at);
  }
}

void Scan::lookAtProcess(std::uint32_t pid, std::uint32_t parent, prof::TimeNs nowNs, std::vector<PerfRecord>& into) {
  for (const std::uint32_t tid : threadsOf(pid)) lookAtThread(pid, tid, tid == pid ? parent : pid, nowNs, into);
  for (const std::uint32_t child : childrenOf(pid)) lookAtProcess(child, pid, nowNs, into);
}

void Scan::lookAtThread(std::uint32_t pid, std::uint32_t tid, std::uint32_t parent, prof::TimeNs nowNs,
                        std::vector<PerfRecord>& into) {
  Stat stat;
  if (!readStat(fmt::format("/proc/{}/task/{}/stat", pid, tid), stat) || stat.state == 'Z' || stat.state == 'X') return;
  const auto [at, fresh] = threads_.try_emplace(tid);
  Thread& thread = at->second;
  thread.there = true;
  if (fresh) {
    thread.pid = pid;
    into.push_back(recordOf(Kind::Fork, pid, tid, nowNs));
    into.back().parentPid = parent;
  }
  std::string name = nameOf(pid, tid);
  if (name != thread.name) {
    into.push_back(recordOf(Kind::Comm, pid, tid, nowNs));
    into.back().text = name;
    // A new name of the first thread is most often that of a new program.
    into.back().exec = pid == tid;
    thread.name = std::move(name);
  }
  Schedule schedule;
  if (!samples_ || !readSchedule(pid, tid, schedule)) return;
  if (!fresh && schedule.runNs > thread.runNs) {
    into.push_back(recordOf(Kind::Sample, pid, tid, nowNs));
    into.back().weightNs = schedule.runNs - thread.runNs;
  }
  thread.runNs = schedule.runNs;
  if (stat.state == thread.state) return;
  thread.state = stat.state;
  into.push_back(recordOf(Kind::Switch, pid, tid, nowNs));
  into.back().out = stat.state != 'R';
  into.back().cpu = stat.cpu;
}

}  // namespace lacuna::collector::proc
