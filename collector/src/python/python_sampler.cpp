// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/python_sampler.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/clock.h"
#include "proc/proc_file.h"

namespace lacuna::collector::python {
namespace {

constexpr std::int64_t kSearchEveryNs = 100'000'000;
constexpr std::int64_t kWriteEveryNs = 250'000'000;
/// All this may take one part in so many of a core's time, and more where the program leaves so
/// much of a core idle. Looks become rarer than they should where they would take more.
constexpr std::int64_t kPart = 100, kPartBesideIdle = 25;
constexpr double kIdleCores = 0.5;
/// The cost of a round is the mean over about so many.
constexpr std::int64_t kMeanOver = 16;
/// A sample stands for no more than this many periods: nobody knows where a thread was while it was
/// not sampled.
constexpr std::int64_t kMostPeriods = 4;
/// Processes that prepare batches are sampled so much less often: the training, whose moments
/// count, has the others.
constexpr std::uint64_t kRarer = 4;
/// A thread beside the first one that stays where it is gets a row this often.
constexpr std::int64_t kUnmovedNs = 1'000'000'000;
constexpr std::int64_t kForgetNs = 10'000'000'000;
/// A program that announces without end must not fill our memory.
constexpr std::size_t kMostProcesses = 1024;
/// In a row; the process may have begun to run another program, or to end.
constexpr int kMostFailures = 20;

std::int64_t threadCpuNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// The kernel counts a thread that waits for a core as running.
prof::ThreadState stateOf(char state) {
  switch (state) {
    case 'R':
      return prof::ThreadState::Running;
    case 'S':
      return prof::ThreadState::Sleeping;
    case 'D':
      return prof::ThreadState::Blocked;
    default:
      return prof::ThreadState::Unknown;
  }
}

}  // namespace

PythonSampler::PythonSampler(Settings settings, prof::Drainer& drainer)
    : settings_(std::move(settings)),
      drainer_(drainer),
      announcements_(settings_.folder),
      stopFd_(eventfd(0, EFD_CLOEXEC)) {}

PythonSampler::~PythonSampler() {
  finish();
  if (stopFd_ >= 0) close(stopFd_);
}

void PythonSampler::start() {
  thread_ = std::thread([this] { work(); });
}

void PythonSampler::finish() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  eventfd_write(stopFd_, 1);
  thread_.join();
  for (auto& process : processes_) end(*process);
  write();
  noteOutcome();
}

void PythonSampler::work() {
  while (!stopping_) {
    const prof::TimeNs now = nowNs();
    if (now - searchedNs_ >= kSearchEveryNs) {
      searchedNs_ = now;
      findNew();
    }
    if (settings_.recording()) {
      sampleAll();
    } else {
      pause();
    }
    if (now - wroteNs_ >= kWriteEveryNs) {
      measureIdle(now);
      wroteNs_ = now;
      write();
    }
    rest(nextRestNs());
    const std::int64_t before = std::exchange(cpuNs_, threadCpuNs());
    roundCpuNs_ += (cpuNs_ - before - roundCpuNs_) / kMeanOver;
  }
}

void PythonSampler::measureIdle(prof::TimeNs nowNs) {
  cpu_set_t own;
  std::uint64_t idleNs = 0;
  if (sched_getaffinity(0, sizeof own, &own) != 0 || !proc::readIdle(own, idleNs)) return;
  // The kernel may count a little of it back.
  const auto idle =
      static_cast<double>(idleNs) - static_cast<double>(std::exchange(idleNs_, idleNs));
  hasIdleCore_ = wroteNs_ != 0 && idle >= kIdleCores * static_cast<double>(nowNs - wroteNs_);
}

std::int64_t PythonSampler::periodNs() const {
  return std::max(settings_.periodNs, (hasIdleCore_ ? kPartBesideIdle : kPart) * roundCpuNs_);
}

std::int64_t PythonSampler::periodOf(const Process& process) const {
  return process.target->isHelper() ? static_cast<std::int64_t>(kRarer) * periodNs() : periodNs();
}

/// Not in step with the program: a loop that takes as long as a period would be seen at one place
/// only.
std::int64_t PythonSampler::nextRestNs() {
  if (processes_.empty()) return kSearchEveryNs;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const std::int64_t period = periodNs();
  return period / 2 + static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(period));
}

void PythonSampler::rest(std::int64_t ns) {
  pollfd polled{stopFd_, POLLIN, 0};
  const timespec wait{ns / 1'000'000'000, ns % 1'000'000'000};
  ppoll(&polled, 1, &wait, nullptr);
}

void PythonSampler::findNew() {
  for (const Announcements::Found& found : announcements_.take()) {
    if (found.layout.drawsBar) seesBar_ = true;
    // It runs another program now.
    for (auto& process : processes_) {
      if (process->target->pid() != found.pid) continue;
      end(*process);
      process.reset();
    }
    std::erase(processes_, nullptr);
    if (processes_.size() >= kMostProcesses) continue;
    auto process = std::make_unique<Process>();
    process->target =
        std::make_unique<Target>(found.layout, found.pid, found.foreign,
                                 [this](const std::string& function, const std::string& file) {
                                   return stacks_.numberOf(function, file);
                                 });
    processes_.push_back(std::move(process));
  }
}

/// No sample stands for time in which nothing was to be recorded.
void PythonSampler::pause() {
  for (auto& process : processes_) settleAll(*process);
}

void PythonSampler::sampleAll() {
  ++rounds_;
  for (auto& process : processes_) {
    if (process->target->isHelper() && rounds_ % kRarer != 0) continue;
    sampleProcess(*process);
    if (process->target->failures < kMostFailures) continue;
    end(*process);
    process.reset();
  }
  std::erase(processes_, nullptr);
}

void PythonSampler::sampleProcess(Process& process) {
  seen_.clear();
  const prof::TimeNs before = nowNs();
  if (!process.target->reader().read(seen_)) return fail(process);
  process.target->failures = 0;
  // The middle of the round is nearest to the moments of all.
  const prof::TimeNs now = before + (nowNs() - before) / 2;
  for (ThreadStack& stack : seen_) take(process, std::move(stack), now);
  for (auto at = process.threads.begin(); at != process.threads.end();) {
    const bool gone = now - at->second.lastNs >= kForgetNs;
    if (gone) settle(process, at->first, at->second);
    at = gone ? process.threads.erase(at) : std::next(at);
  }
}

void PythonSampler::take(Process& process, ThreadStack&& stack, prof::TimeNs nowNs) {
  const auto [at, fresh] = process.threads.try_emplace(stack.tid);
  Sampled& thread = at->second;
  const std::int64_t most = kMostPeriods * periodOf(process);
  const std::int64_t weightNs =
      fresh ? settings_.periodNs : std::clamp<std::int64_t>(nowNs - thread.lastNs, 1, most);
  ++samples_;
  if (process.target->isMain(stack.tid)) {
    thread.lastNs = nowNs;
    const std::uint32_t pid = process.target->pid(), tid = process.target->tidOf(stack.tid);
    rows_.push_back(
        {nowNs, pid, tid, weightNs, std::move(stack.frames), stateOf(thread.state.read(pid, tid))});
    return;
  }
  const bool moved = thread.frames != stack.frames || nowNs - weightNs > thread.lastNs;
  if (moved || nowNs - thread.waitsFromNs >= kUnmovedNs) {
    settle(process, stack.tid, thread);
    thread.waitsFromNs = nowNs - weightNs;
    thread.frames = std::move(stack.frames);
  }
  thread.lastNs = nowNs;
}

/// Writes what a thread beside the first one has been doing.
void PythonSampler::settle(Process& process, std::uint32_t tid, Sampled& thread) {
  if (thread.frames.empty() || thread.lastNs <= thread.waitsFromNs) return;
  rows_.push_back({thread.lastNs, process.target->pid(), process.target->tidOf(tid),
                   thread.lastNs - thread.waitsFromNs, std::move(thread.frames),
                   prof::ThreadState::Unknown});
  thread.frames.clear();
}

void PythonSampler::fail(Process& process) {
  Target& target = *process.target;
  ++target.failures;
  if (target.error() == ESRCH) target.failures = kMostFailures;
  if (target.error() != EPERM && target.error() != ENOSYS) return;
  target.failures = kMostFailures;
  if (std::exchange(refused_, true)) return;
  notes_.push_back(
      fmt::format("lines of Python programs are not recorded: the kernel does not let lacuna read "
                  "the memory of process {}. Remedy: see lacuna doctor",
                  target.pid()));
}

void PythonSampler::settleAll(Process& process) {
  for (auto& [tid, thread] : process.threads) settle(process, tid, thread);
  process.threads.clear();
}

void PythonSampler::end(Process& process) {
  settleAll(process);
  torn_ += process.target->reader().torn();
}

void PythonSampler::write() {
  if (rows_.empty()) return;
  drainer_.with([&](prof::Drainer::Access& access) {
    for (const Row& row : rows_) {
      const prof::FrameId stack = stacks_.add(row.frames, access);
      access.writer().append(
          prof::PythonSample{.timeNs = row.timeNs,
                             .thread = access.thread(row.pid, row.tid),
                             .stack = stack,
                             .weightNs = static_cast<std::uint64_t>(row.weightNs),
                             .state = row.state});
    }
    access.countRows(rows_.size());
  });
  rows_.clear();
}

/// A reader of the trace should know how good its samples are.
void PythonSampler::noteOutcome() {
  if (samples_ + torn_ == 0) return;
  drainer_.with([&](prof::Drainer::Access& access) {
    prof::Writer& out = access.writer();
    const auto note = [&](std::string_view key, std::uint64_t value) {
      out.append(
          prof::Environment{.key = out.intern(key), .value = out.intern(std::to_string(value))});
    };
    note("python_samples.period_ns", static_cast<std::uint64_t>(settings_.periodNs));
    note("python_samples.looks", samples_);
    note("python_samples.torn", torn_);
    note("python_samples.cpu_ns", static_cast<std::uint64_t>(cpuNs_));
    access.countRows(4);
  });
}

}  // namespace lacuna::collector::python
