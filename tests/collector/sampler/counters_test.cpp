// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "collector/sampler/trace_access.h"
#include "core/clock.h"
#include "proc/proc_file.h"

namespace lacuna::collector::proc {
namespace {

/// A total of this process at some moment, and the moment.
struct Reading {
  prof::TimeNs earliestNs = 0;
  prof::TimeNs latestNs = 0;
  double total = 0;
};

/// Looks at this process before and after something, which the trace must then show as a rate.
class CountersTest : public testing::Test {
 protected:
  CountersTest() { introduce(static_cast<std::uint32_t>(getpid())); }

  void introduce(std::uint32_t tid) {
    sampler::PerfRecord record;
    record.kind = sampler::PerfRecord::Kind::Fork;
    record.pid = static_cast<std::uint32_t>(getpid());
    record.tid = tid;
    record.parentPid = tid == record.pid ? 0 : record.pid;
    record.timeNs = nowNs();
    tree_.take(record, access_);
  }
  void ends(std::uint32_t tid) {
    sampler::PerfRecord record;
    record.kind = sampler::PerfRecord::Kind::Exit;
    record.pid = static_cast<std::uint32_t>(getpid());
    record.tid = tid;
    record.timeNs = nowNs();
    tree_.take(record, access_);
  }
  void sample() { counters_.sample(tree_, access_); }
  [[nodiscard]] std::size_t trackCount() const { return counters_.size(); }
  /// Reads the total on both sides of two looks, between which there is `work`.
  void around(const std::function<double()>& total, const std::function<void()>& work) {
    outer_[0] = read(total);
    counters_.sample(tree_, access_);
    inner_[0] = read(total);
    work();
    inner_[1] = read(total);
    counters_.sample(tree_, access_);
    outer_[1] = read(total);
  }
  /// Looks on both sides of `work`, during which recording is off.
  void aroundAPause(const std::function<void()>& work) {
    counters_.sample(tree_, access_);
    work();
    counters_.restart();
    counters_.sample(tree_, access_);
  }
  [[nodiscard]] double least() const {
    return (inner_[1].total - inner_[0].total) /
           static_cast<double>(outer_[1].latestNs - outer_[0].earliestNs) * 1e9;
  }
  [[nodiscard]] double most() const {
    return (outer_[1].total - outer_[0].total) /
           static_cast<double>(inner_[1].earliestNs - inner_[0].latestNs) * 1e9;
  }
  struct Track {
    std::string unit;
    std::vector<double> values;
  };
  /// The tracks of a name: of this process, or of its threads in the order of introduction.
  std::vector<Track> tracks(const std::string& name) {
    const prof::Reader reader = access_.read();
    const auto rows = *reader.table<prof::CounterTrack>();
    const auto samples = *reader.table<prof::CounterSample>();
    std::map<std::uint32_t, Track> found;
    for (std::size_t i = 0; i < rows.id.size(); ++i) {
      if (reader.text(rows.name[i]) != name) continue;
      Track& track = found[rows.thread[i].value];
      track.unit = reader.text(rows.unit[i]);
      for (std::size_t k = 0; k < samples.track.size(); ++k) {
        if (samples.track[k] == rows.id[i]) track.values.push_back(samples.value[k]);
      }
    }
    std::vector<Track> tracks;
    for (auto& [thread, track] : found) tracks.push_back(std::move(track));
    return tracks;
  }
  void expectOneRate(const std::string& name, const std::string& unit) {
    const auto found = tracks(name);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].unit, unit);
    ASSERT_EQ(found[0].values.size(), 1u);
    EXPECT_GE(found[0].values[0], least());
    EXPECT_LE(found[0].values[0], most());
  }

 private:
  static Reading read(const std::function<double()>& total) {
    Reading reading;
    reading.earliestNs = nowNs();
    reading.total = total();
    reading.latestNs = nowNs();
    return reading;
  }

  TraceAccess access_;
  sampler::ProcessTree tree_{1'000'000};
  Counters counters_;
  Reading outer_[2];
  Reading inner_[2];
};

double faults(long rusage::*which) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.*which);
}

/// Without what the process does by itself this would report that nothing happened.
void touchPages(std::size_t pages) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, pages * page);
}

TEST_F(CountersTest, MinorPageFaultsAreReported) {
  around([] { return faults(&rusage::ru_minflt); }, [] { touchPages(4096); });
  EXPECT_GT(least(), 0);
  expectOneRate("minor page faults", "1/s");
}

TEST_F(CountersTest, TimeOfTheRecorderItselfIsReported) {
  const auto ran = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 100 + static_cast<double>(time.tv_nsec) * 1e-7;
  };
  around(ran, [&] {
    for (const double until = ran() + 2; ran() < until;) {
    }
  });
  EXPECT_GT(least(), 0);
  expectOneRate("recorder CPU", "percent of a core");
}

TEST_F(CountersTest, TheTimeOfCoresWithNothingToDoIsReported) {
  cpu_set_t own;
  ASSERT_EQ(sched_getaffinity(0, sizeof own, &own), 0);
  const auto idle = [&] {
    std::uint64_t ns = 0;
    EXPECT_TRUE(readIdle(own, ns));
    return static_cast<double>(ns) * 1e-7;
  };
  around(idle, [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });
  expectOneRate("idle cores", "percent of a core");
  cpu_set_t none;
  CPU_ZERO(&none);
  std::uint64_t ns = 0;
  EXPECT_FALSE(readIdle(none, ns));
}

TEST_F(CountersTest, WhatHappensWhileRecordingIsOffBelongsToNoRate) {
  aroundAPause([] { touchPages(4096); });
  around([] { return faults(&rusage::ru_minflt); }, [] { touchPages(256); });
  const auto found = tracks("minor page faults");
  ASSERT_EQ(found.size(), 1u);
  ASSERT_EQ(found[0].values.size(), 2u)
      << "from the pause to the first sample after it, and on to the next";
  EXPECT_GE(found[0].values[1], least());
  EXPECT_LE(found[0].values[1], most());
}

/// A file whose content is on the disk alone.
class FileOnDisk {
 public:
  static constexpr std::size_t kBytes = 8 << 20;

  FileOnDisk() : path_("counters-test-" + std::to_string(getpid())) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const std::vector<char> part(1 << 20, 'x');
    for (std::size_t done = 0; done < kBytes; done += part.size()) {
      EXPECT_EQ(::write(fd_, part.data(), part.size()), static_cast<ssize_t>(part.size()));
    }
    fsync(fd_);
    posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
  }
  FileOnDisk(const FileOnDisk&) = delete;
  FileOnDisk& operator=(const FileOnDisk&) = delete;
  ~FileOnDisk() {
    ::close(fd_);
    unlink(path_.c_str());
  }
  /// Through its pages, so that they have to be fetched.
  void touch() const {
    void* pages = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, fd_, 0);
    ASSERT_NE(pages, MAP_FAILED);
    char sum = 0;
    for (std::size_t i = 0; i < kBytes; i += 512)
      sum = static_cast<char>(sum + static_cast<volatile char*>(pages)[i]);
    munmap(pages, kBytes);
    EXPECT_EQ(sum, static_cast<char>('x' * (kBytes / 512)));
  }

 private:
  std::string path_;
  int fd_ = -1;
};

TEST_F(CountersTest, DiskReadsAreReported) {
  const FileOnDisk file;
  const auto total = [] {
    std::uint64_t bytes = 0;
    readDiskBytes(static_cast<std::uint32_t>(getpid()), bytes);
    return static_cast<double>(bytes);
  };
  around(total, [&] { file.touch(); });
  if (least() == 0) GTEST_SKIP() << "files are in memory here, or /proc/PID/io cannot be read";
  expectOneRate("disk reads", "bytes/s");
}

TEST_F(CountersTest, MajorPageFaultsAreReported) {
  const FileOnDisk file;
  around([] { return faults(&rusage::ru_majflt); }, [&] { file.touch(); });
  if (least() == 0) GTEST_SKIP() << "files are in memory here";
  expectOneRate("major page faults", "1/s");
}

/// Two threads that share a core and would both run all the time.
class Rivals {
 public:
  Rivals() {
    for (std::size_t i = 0; i < 2; ++i) threads_[i] = std::thread([this, i] { compute(tids_[i]); });
    for (const auto& tid : tids_) {
      while (tid == 0) usleep(1000);
    }
  }
  Rivals(const Rivals&) = delete;
  Rivals& operator=(const Rivals&) = delete;
  ~Rivals() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] std::uint32_t tid(std::size_t i) const { return tids_[i]; }
  /// In nanoseconds.
  [[nodiscard]] std::uint64_t waited(std::size_t i) const {
    Schedule schedule;
    readSchedule(static_cast<std::uint32_t>(getpid()), tids_[i], schedule);
    return schedule.waitNs;
  }

 private:
  void compute(std::atomic<std::uint32_t>& tid) const {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int core = 0;
    while (!CPU_ISSET(core, &allowed)) ++core;
    CPU_ZERO(&allowed);
    CPU_SET(core, &allowed);
    sched_setaffinity(0, sizeof allowed, &allowed);
    tid = static_cast<std::uint32_t>(gettid());
    while (!stopping_) {
    }
  }

  std::atomic<bool> stopping_{false};
  std::atomic<std::uint32_t> tids_[2]{0, 0};
  std::thread threads_[2];
};

TEST_F(CountersTest, WaitingForACoreIsReportedForEachThread) {
  Schedule schedule;
  const auto self = static_cast<std::uint32_t>(getpid());
  if (!readSchedule(self, self, schedule)) GTEST_SKIP() << "the kernel does not account for it";
  const Rivals rivals;
  for (const std::size_t i : {0, 1}) introduce(rivals.tid(i));
  const auto both = [&] { return static_cast<double>(rivals.waited(0) + rivals.waited(1)); };
  around(both, [&] {
    const std::uint64_t before[] = {rivals.waited(0), rivals.waited(1)};
    // Each has to make room for the other, sooner or later.
    for (const std::size_t i : {0, 1}) {
      while (rivals.waited(i) < before[i] + 20'000'000) usleep(5000);
    }
  });
  auto found = tracks("waiting for a core");
  ASSERT_EQ(found.size(), 3u) << "the first thread, and both rivals";
  double sum = 0;
  for (const std::size_t i : {1, 2}) {
    EXPECT_EQ(found[i].unit, "percent");
    ASSERT_EQ(found[i].values.size(), 1u);
    EXPECT_GT(found[i].values[0], 0);
    sum += found[i].values[0];
  }
  // Nanoseconds a second as percent.
  EXPECT_GE(sum, least() * 1e-7 * 0.999);
  EXPECT_LE(sum, most() * 1e-7 * 1.001);
}

TEST_F(CountersTest, ThreadsThatHaveEndedTakeNoMemory) {
  Schedule schedule;
  const auto self = static_cast<std::uint32_t>(getpid());
  if (!readSchedule(self, self, schedule)) GTEST_SKIP() << "the kernel does not account for it";
  sample();
  const std::size_t before = trackCount();
  for (int i = 0; i < 20; ++i) {
    std::atomic<std::uint32_t> tid{0};
    std::atomic<bool> stopping{false};
    std::thread thread([&] {
      tid = static_cast<std::uint32_t>(gettid());
      while (!stopping) usleep(1000);
    });
    while (tid == 0) usleep(1000);
    introduce(tid);
    sample();
    EXPECT_EQ(trackCount(), before + 2);
    ends(tid);
    stopping = true;
    thread.join();
  }
  sample();
  EXPECT_EQ(trackCount(), before);
}

}  // namespace
}  // namespace lacuna::collector::proc
