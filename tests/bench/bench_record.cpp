// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// The cost of recording, next to the floor: two TSC reads and two 16-byte appends to a
/// thread-local ring. A drainer process empties the segments into a file meanwhile. Rounds of each
/// kind take turns; medians count. A burst is far faster than any drainer on a second core, so
/// rounds are short (what a pool of 64 MiB holds) and the floor's rounds give it time.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "floor.h"
#include "lacuna/prof/recording.h"
#include "lacuna/prof/trace.h"

namespace {

using namespace lacuna::bench;
namespace fs = std::filesystem;
using lacuna::prof::DrainStats;

constexpr int kRounds = 201;

__attribute__((noinline)) double rangeRound(int ranges = kRanges) {
  return nsPerCall(ranges, [] { LACUNA_RANGE("range"); });
}

__attribute__((noinline)) double offRound(int ranges) {
  return nsPerCall(ranges, [] {
    LACUNA_RANGE("range");
    asm volatile("" ::: "memory");
  });
}

__attribute__((noinline)) double emptyRound(int ranges) {
  return nsPerCall(ranges, [] { asm volatile("" ::: "memory"); });
}

__attribute__((noinline)) double allocationRound() {
  std::uint64_t address = 0x1000;
  return nsPerCall(kRanges, [&] {
    address += 64;
    lacunaAllocate(address, 64, 0, 0);
    lacunaFree(address);
  });
}

/// A recording with a drainer in a process of its own, which reports at the end what it saw.
class Recorded {
 public:
  explicit Recorded(const fs::path& home) : directory_(home / "bench.recording") {
    lacuna::prof::RecordingOptions options;
    options.poolBytes = 64 << 20;
    check(lacuna::prof::createRecording(directory_, options));
    if (pipe(result_) != 0 || pipe(stop_) != 0) std::exit(1);
    drainer_ = fork();
    if (drainer_ == 0) drain(home / "bench.lcn");
    close(stop_[0]);
    if (lacunaAttach(directory_.c_str()) != 0) std::exit(1);
  }
  DrainStats end() {
    lacunaDetach();
    close(stop_[1]);
    DrainStats stats;
    if (read(result_[0], &stats, sizeof stats) != sizeof stats) std::exit(1);
    waitpid(drainer_, nullptr, 0);
    return stats;
  }
  static void check(const lacuna::prof::Status& status) {
    if (status.ok()) return;
    fmt::print(stderr, "bench_record: {}\n", status.error().message);
    std::exit(1);
  }

 private:
  [[noreturn]] void drain(const fs::path& file) {
    close(stop_[1]);
    auto drainer = lacuna::prof::Drainer::create(directory_, file);
    if (!drainer.ok()) check(drainer.status());
    (*drainer).start();
    char byte = 0;
    while (read(stop_[0], &byte, 1) > 0) {
    }
    check((*drainer).finish());
    const DrainStats stats = (*drainer).stats();
    _exit(write(result_[1], &stats, sizeof stats) == sizeof stats ? 0 : 1);
  }

  fs::path directory_;
  int result_[2] = {};
  int stop_[2] = {};
  pid_t drainer_ = 0;
};

struct Figures {
  double floor, range, overFloor, off, coldOverFloor, allocation, threads;
};

double onNewThread(const std::function<double()>& work) {
  double result = 0;
  std::thread([&] { result = work(); }).join();
  return result;
}

/// CPU time of this process while so many threads begin, work and end.
double cpuOf(int threads, const std::function<void()>& work) {
  const double start = nowNs(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(work);
  for (std::thread& thread : all) thread.join();
  return nowNs(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/// The CPU time that recording takes per event, with the work spread over `threads`: a thread's
/// first event and its end included, but not what the system takes for threads that do nothing.
double cpuPerEvent(int threads) {
  constexpr int kEvents = 64 * 40'000;
  const double bare = cpuOf(threads, [] {});
  return (cpuOf(threads, [=] { rangeRound(kEvents / 2 / threads); }) - bare) / kEvents;
}

void letTheDrainerCatchUp() {
  usleep(3000);
}

Figures measureOn() {
  std::vector<double> floors, ranges, colds, coldFloors, allocations, threads;
  for (int round = 0; round < kRounds; ++round) {
    inTurns(round, floors, ranges, [] { return rangeRound(); });
    allocations.push_back(allocationRound());
    letTheDrainerCatchUp();
  }
  for (int round = 0; round < kRounds / 4; ++round) {
    coldFloors.push_back(onNewThread([] { return floorRound(); }));
    colds.push_back(onNewThread([] { return rangeRound(); }));
    letTheDrainerCatchUp();
  }
  for (int round = 0; round < 25; ++round) {
    const double one = cpuPerEvent(1);
    usleep(400'000);
    threads.push_back(cpuPerEvent(64) / one);
    usleep(400'000);
  }
  return {.floor = median(floors),
          .range = median(ranges),
          .overFloor = medianRatio(ranges, floors),
          .off = 0,
          .coldOverFloor = medianRatio(colds, coldFloors),
          .allocation = median(allocations),
          .threads = median(threads)};
}

double measureOff() {
  std::vector<double> differences;
  for (int round = 0; round < 51; ++round) {
    const double empty = emptyRound(1'000'000);
    differences.push_back(offRound(1'000'000) - empty);
  }
  return median(differences);
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !json) {
    fmt::print(stderr, "usage: {} [--json]\n", argv[0]);
    return 2;
  }
  std::string home = (fs::temp_directory_path() / "lacuna-bench-XXXXXX").string();
  if (mkdtemp(home.data()) == nullptr) return 1;
  const double off = measureOff();
  Recorded recorded{fs::path(home)};
  Figures figures = measureOn();
  figures.off = off;
  const DrainStats stats = recorded.end();
  const auto fileBytes = fs::file_size(fs::path(home) / "bench.lcn");
  fs::remove_all(home);

  const auto print = [&](const char* name, double value, const char* unit,
                         const std::string& note) {
    if (json) {
      fmt::print("{{\"name\": \"record.{}\", \"value\": {:.4f}, \"unit\": \"{}\"}}\n", name, value,
                 unit);
    } else {
      fmt::print("{:<24} {:>8.3f} {:<6} {}\n", name, value, unit, note);
    }
  };
  print("floor_ns", figures.floor, "ns", "two stamps and two appends");
  print("range_ns", figures.range, "ns", "begin and end, drained meanwhile");
  print("range_over_floor", figures.overFloor, "ratio", "at most 1.1");
  print("off_ns", figures.off, "ns", "begin and end while nothing records; at most 0.6");
  print("cold_burst_over_floor", figures.coldOverFloor, "ratio",
        "first 10,000 ranges of a thread; at most 1.4");
  print("alloc_free_ns", figures.allocation, "ns", "at most 60");
  print("threads64_over_1", figures.threads, "ratio",
        "CPU time of recording per event; at most 1.3");
  print("dropped", static_cast<double>(stats.dropped), "events",
        fmt::format("of {}", stats.events + stats.dropped));
  print("file_bytes_per_event", static_cast<double>(fileBytes) / static_cast<double>(stats.events),
        "bytes", "a range is one event");
  return 0;
}
