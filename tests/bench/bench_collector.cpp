// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

/// The cost of `lacuna run` to the program it records. This program is measured itself: alone, and
/// under `lacuna run`, in pairs that take turns in who comes first; medians of the pairs' ratios
/// count. A range's cost is measured inside one recorded run, next to the floor. A child's time to
/// join is measured next to a child alone. The sampler's floor is the kernel's cost for samples
/// that nobody reads.
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "floor.h"

namespace {

using namespace lacuna::bench;
namespace fs = std::filesystem;

constexpr int kRounds = 201;
constexpr int kChildren = 200;

/// The way a whole program is measured: many short runs, for a machine shared with others has its
/// bad moments, and the median of many pairs does not see them.
struct Pairs {
  int count;
  double seconds;
};
constexpr Pairs kRangePairs{25, 1};
constexpr Pairs kSamplerPairs{41, 0.5};
constexpr int kChildPairs = 5;

// What is measured.

/// Arithmetic that no optimizer can shorten.
__attribute__((noinline)) std::uint64_t compute(std::uint64_t value, long loops) {
  for (long i = 0; i < loops; ++i) value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9u + 1;
  return value;
}

std::atomic<std::uint64_t> kept;

nvtxEventAttributes_t attributesOf(nvtxStringHandle_t text) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = text;
  return attributes;
}

__attribute__((noinline)) double rangeRound(nvtxDomainHandle_t domain,
                                            const nvtxEventAttributes_t& attributes) {
  return nsPerCall(kRanges, [&] {
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
  });
}

int appendBegin(nvtxDomainHandle_t, const nvtxEventAttributes_t*) {
  appendToRing(1);
  return 0;
}
int appendEnd(nvtxDomainHandle_t) {
  appendToRing(2);
  return 0;
}
decltype(&appendBegin) volatile beginCall = appendBegin;
decltype(&appendEnd) volatile endCall = appendEnd;

/// The floor through the two calls that NVTX makes: no tool that it calls can be below it.
__attribute__((noinline)) double calledRound(nvtxDomainHandle_t domain,
                                             const nvtxEventAttributes_t& attributes) {
  return nsPerCall(kRanges, [&] {
    if (const auto call = beginCall) call(domain, &attributes);
    if (const auto call = endCall) call(domain);
  });
}

/// The cost of the floor, of a range, of one over the other, and of the floor through calls over
/// the floor, in turns, as four numbers on standard output.
int measureRanges() {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
  const auto attributes = attributesOf(nvtxDomainRegisterStringA(domain, "range"));
  std::vector<double> floors, ranges, called;
  for (int round = 0; round < kRounds; ++round) {
    inTurns(round, floors, ranges, [&] { return rangeRound(domain, attributes); });
    called.push_back(calledRound(domain, attributes));
    usleep(3000);  // the drainer catches up
  }
  fmt::print("{} {} {} {}\n", median(floors), median(ranges), medianRatio(ranges, floors),
             medianRatio(called, floors));
  return 0;
}

/// Seconds of a program of `units` ranges around so much work each.
int runRanges(long units, long loops) {
  const double start = nowNs();
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
  const auto attributes = attributesOf(nvtxDomainRegisterStringA(domain, "range"));
  std::uint64_t value = 1;
  for (long i = 0; i < units; ++i) {
    nvtxDomainRangePushEx(domain, &attributes);
    value = compute(value, loops);
    nvtxDomainRangePop(domain);
  }
  kept = value;
  fmt::print("{}\n", (nowNs() - start) / 1e9);
  return 0;
}

/// Milliseconds from a fork to the end of a child that executes this program anew for one range:
/// the median of many.
int measureChildren() {
  std::vector<double> times;
  for (int i = 0; i < kChildren; ++i) {
    const double start = nowNs();
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "bench_collector", "one-range", nullptr);
      _exit(1);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    times.push_back((nowNs() - start) / 1e6);
  }
  fmt::print("{}\n", median(times));
  return 0;
}

int runOneRange() {
  nvtxRangePushA("one");
  nvtxRangePop();
  return 0;
}

/// Seconds of a program that computes on every core and annotates nothing.
int runThreads(long units, long loops) {
  const double start = nowNs();
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([=] { kept = compute(t, units * loops); });
  }
  for (std::thread& thread : threads) thread.join();
  fmt::print("{}\n", (nowNs() - start) / 1e9);
  return 0;
}

/// The kernel's samples of this process and of threads to come, without call chains, into a buffer
/// that nobody reads: each still takes its interrupt. Whether the kernel permits it.
bool sampleForNobody(std::uint64_t periodNs) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = periodNs;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.inherit = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 1u << 31;
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) * 2;
  for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); ++cpu) {
    const auto fd = static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd < 0 || mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED)
      return false;
  }
  return true;
}

// Measuring it.

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "bench_collector: {}\n", what);
  std::exit(1);
}

/// A folder for traces, gone at the end.
class Measurement {
 public:
  Measurement()
      : home_(fs::temp_directory_path() / fmt::format("lacuna-bench-collector-{}", getpid())) {
    self_ = fs::read_symlink("/proc/self/exe");
    if (!fs::exists(self_.parent_path() / "lacuna")) fail("there is no lacuna beside this program");
    fs::create_directories(home_);
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;
  ~Measurement() { fs::remove_all(home_); }

  /// The output of this program in another role; under `lacuna run` where options are given.
  std::string ask(const std::string& role, const char* runOptions) {
    std::string command = fmt::format("'{}' {}", self_.string(), role);
    const fs::path trace = home_ / "bench.lcn";
    if (runOptions != nullptr) {
      command = fmt::format("'{}' run -q --force {} -o '{}' -- {}",
                            (self_.parent_path() / "lacuna").string(), runOptions, trace.string(),
                            command);
    }
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) fail("cannot start " + command);
    char line[256] = "";
    const bool gotLine = std::fgets(line, sizeof line, pipe) != nullptr;
    if (pclose(pipe) != 0 || !gotLine) fail("this failed: " + command);
    if (runOptions != nullptr) bytes_ = static_cast<double>(fs::file_size(trace));
    return line;
  }
  double figure(const std::string& role, const char* runOptions) {
    return std::atof(ask(role, runOptions).c_str());
  }

  struct Slowdown {
    double ratio = 0;  ///< the median over pairs of recorded over plain
    double error = 0;  ///< its standard error, from the spread of the middle half
  };
  Slowdown slowdown(const std::string& role, const char* runOptions, int pairs) {
    return slowdown(role, role, runOptions, pairs);
  }
  Slowdown slowdown(const std::string& role, const std::string& recordedRole,
                    const char* runOptions, int pairs) {
    std::vector<double> ratios;
    figure(recordedRole, runOptions);
    for (int pair = 0; pair < pairs; ++pair) {
      double plain = 0;
      if (pair % 2 == 0) plain = figure(role, nullptr);
      const double recorded = figure(recordedRole, runOptions);
      if (pair % 2 != 0) plain = figure(role, nullptr);
      ratios.push_back(recorded / plain);
    }
    std::sort(ratios.begin(), ratios.end());
    const double middle = ratios[ratios.size() * 3 / 4] - ratios[ratios.size() / 4];
    // As for a normal distribution: the quartiles lie 1.35 deviations apart, and a median is 1.25
    // times as uncertain as a mean.
    return {median(ratios), 1.25 * middle / 1.35 / std::sqrt(pairs)};
  }
  struct Added {
    double floor = 0;
    double added = 0;
  };
  /// A figure alone, and the addition where it is recorded: medians over pairs.
  Added added(const std::string& role, const char* runOptions, int pairs) {
    std::vector<double> floors, differences;
    for (int pair = 0; pair < pairs; ++pair) {
      floors.push_back(figure(role, nullptr));
      differences.push_back(figure(role, runOptions) - floors.back());
    }
    return {median(floors), median(differences)};
  }
  [[nodiscard]] double bytes() const { return bytes_; }

 private:
  fs::path self_;
  fs::path home_;
  double bytes_ = 0;
};

/// Loops that take a microsecond.
long calibrate() {
  std::vector<double> perLoop;
  for (int round = 0; round < 21; ++round) {
    const double start = nowNs();
    kept = compute(kept, 1'000'000);
    perLoop.push_back((nowNs() - start) / 1e6);
  }
  return std::max(1L, static_cast<long>(1000 / median(perLoop)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "measure-ranges") return measureRanges();
  if (role == "measure-children") return measureChildren();
  if (role == "one-range") return runOneRange();
  if (role == "run-ranges" && argc == 4) return runRanges(std::atol(argv[2]), std::atol(argv[3]));
  if (role == "run-threads" && argc == 4) return runThreads(std::atol(argv[2]), std::atol(argv[3]));
  if (role == "run-sampled" && argc == 4) {
    return sampleForNobody(1'000'000) ? runThreads(std::atol(argv[2]), std::atol(argv[3])) : 1;
  }
  if (role == "may-sample") {
    fmt::print("{}\n", sampleForNobody(1'000'000) ? 1 : 0);
    return 0;
  }
  const bool json = role == "--json";
  if (argc > 2 || (argc > 1 && !json)) {
    fmt::print(stderr, "usage: {} [--json]\n", argv[0]);
    return 2;
  }
  Measurement measurement;
  double floor = 0, range = 0, overFloor = 0, calledOverFloor = 0;
  const std::string output = measurement.ask("measure-ranges", "");
  if (std::sscanf(output.c_str(), "%lf %lf %lf %lf", &floor, &range, &overFloor,
                  &calledOverFloor) != 4) {
    fail("no figures: " + output);
  }
  const long loops = calibrate();
  const auto units = static_cast<long>(kRangePairs.seconds * 1e6);
  const auto ranges =
      measurement.slowdown(fmt::format("run-ranges {} {}", units, loops), "", kRangePairs.count);
  const double bytes = measurement.bytes() / static_cast<double>(units);
  const auto children = measurement.added("measure-children", "--trace nvtx", kChildPairs);
  const std::string work =
      fmt::format("{} {}", static_cast<long>(kSamplerPairs.seconds * 1e6), loops);
  const std::string threads = "run-threads " + work;
  const auto sampled = measurement.slowdown(
      threads, "--trace samples --sampler auto --sample-rate 1000", kSamplerPairs.count);
  const auto timed = measurement.slowdown(
      threads, "--trace samples --sampler timer --sample-rate 1000", kSamplerPairs.count);

  const bool maySample = measurement.ask("may-sample", nullptr).starts_with("1");
  Measurement::Slowdown kernel{1, 0};
  if (maySample)
    kernel = measurement.slowdown(threads, "run-sampled " + work, nullptr, kSamplerPairs.count);

  const auto print = [&](const char* name, double value, const char* unit,
                         const std::string& note) {
    if (json) {
      fmt::print("{{\"name\": \"collector.{}\", \"value\": {:.4f}, \"unit\": \"{}\"}}\n", name,
                 value, unit);
    } else {
      fmt::print("{:<22} {:>8.3f} {:<6} {}\n", name, value, unit, note);
    }
  };
  print("floor_ns", floor, "ns", "two stamps and two appends");
  print("range_ns", range, "ns", "NVTX push and pop of a registered string, drained meanwhile");
  print("range_over_floor", overFloor, "ratio", "at most 1.15");
  print("called_over_floor", calledOverFloor, "ratio",
        "the floor behind NVTX's two calls: nothing below it is possible");
  const auto within = [](const Measurement::Slowdown& slowdown, const char* what) {
    return fmt::format("±{:.3f}; {}", slowdown.error, what);
  };
  print("slowdown_1m", ranges.ratio, "ratio",
        within(ranges, "a program of a million ranges a second; at most 1.05"));
  print("bytes_per_range", bytes, "bytes", "in the trace, counters included");
  print("child_ms", children.floor, "ms", "a child that executes a program for one range, alone");
  print("join_ms", children.added, "ms", "what it takes longer where it joins the recording");
  print("sampler_slowdown", sampled.ratio, "ratio",
        within(sampled, "a program on every core, 1000 samples a second each; at most 1.02"));
  if (maySample) {
    print("kernel_slowdown", kernel.ratio, "ratio",
          within(kernel, "the kernel's samples alone, which nobody reads"));
    print("sampler_over_kernel", sampled.ratio / kernel.ratio, "ratio", "what recording them adds");
  }
  print("timer_slowdown", timed.ratio, "ratio",
        within(timed, "the same with timers instead of the kernel's samples"));
  return 0;
}
