// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Programs drawn by chance, against a CUPTI that uses the freedoms which its documents leave it.
// Whatever it hands over is in the trace once; whatever it could not keep is counted.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "cupti/tracer.h"
#include "lacuna/prof/reader.h"
#include "records.h"
#include "row_collector.h"

namespace lacuna::collector::cupti {
namespace {

constexpr std::uint32_t kLaterKind = CUPTI_ACTIVITY_KIND_COUNT + 3;
struct LaterRecord {
  std::uint32_t kind = kLaterKind;
  std::uint32_t content[7] = {};
};

class Program {
 public:
  Program(void* cupti, std::uint32_t seed, bool hasUnsteadyClock, bool hasDriverRows)
      : cupti_(cupti),
        random_(seed),
        hasUnsteadyClock_(hasUnsteadyClock),
        hasDriverRows_(hasDriverRows),
        nodes_(2 + seed % 5) {}

  void run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) makeNode(nodes_[i]);
    const auto steps = std::uniform_int_distribution(20, 400)(random_);
    for (int step = 0; step < steps; ++step) act();
    for (const std::uint32_t kernel : running_) call<void(std::uint32_t)>("fakeEnd")(kernel);
  }
  /// Records that CUPTI kept or dropped.
  [[nodiscard]] std::uint64_t records() const { return records_; }
  /// Of nodes that CUPTI did not time.
  [[nodiscard]] std::uint64_t unstamped() const { return unstamped_; }
  [[nodiscard]] const std::vector<std::uint64_t>& nodes() const { return nodes_; }

 private:
  template <class Function>
  Function* call(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(cupti_, name));
  }
  /// A node, and its copy in the executable graph, which replays name.
  void makeNode(std::uint64_t& node) {
    static std::atomic<int> number{1};
    const int original = number++;
    const int copy = number++;
    call<void(int, int)>("fakeNodeMade")(original, 0);
    call<void(int, int)>("fakeNodeMade")(copy, original);
    node = 1000 + static_cast<std::uint64_t>(copy);
  }
  void replay(std::uint32_t correlation) {
    const auto count = static_cast<int>(nodes_.size());
    const std::uint32_t all = (1u << count) - 1;
    const auto lost = random_() % 3 == 0 ? static_cast<std::uint32_t>(random_()) & all : 0;
    const auto unstamped = random_() % 5 == 0 ? static_cast<std::uint32_t>(random_()) & all : 0;
    const auto records =
        static_cast<std::uint32_t>(call<int(std::uint32_t, std::uint32_t, const std::uint64_t*, int,
                                            std::uint32_t, std::uint32_t)>("fakeReplay")(
            correlation, 5, nodes_.data(), count, lost, unstamped));
    records_ += records;
    if (call<int()>("fakeRecordsGraphs")() == 0)
      unstamped_ += static_cast<std::uint32_t>(std::popcount(unstamped & ~lost));
  }
  void act() {
    static std::atomic<std::uint32_t> correlation{1};
    switch (std::uniform_int_distribution(0, 11)(random_)) {
      case 10:
        return replay(correlation++);
      case 11:
        if (!hasUnsteadyClock_ || random_() % 20 != 0) break;
        return call<void(std::int64_t)>("fakeClockStep")(
            std::uniform_int_distribution<std::int64_t>(-3'000'000'000, 3'000'000'000)(random_));
      case 0: {
        const LaterRecord record;
        call<void(const void*, std::size_t)>("fakeEmit")(&record, sizeof record);
        ++records_;
        break;
      }
      case 1:
        ++records_;
        running_.push_back(correlation++);
        call<void(std::uint32_t)>("fakeBegin")(running_.back());
        break;
      case 2:
        if (running_.empty()) break;
        call<void(std::uint32_t)>("fakeEnd")(running_.front());
        running_.erase(running_.begin());
        break;
      case 3:
        std::this_thread::yield();
        break;
      default:
        records_ += hasDriverRows_ ? 3 : 2;  // and the calls that launch it
        call<void(const char*, std::uint32_t)>("fakeKernel")("short", correlation++);
    }
  }

  void* cupti_;
  std::mt19937 random_;
  std::vector<std::uint32_t> running_;
  bool hasUnsteadyClock_, hasDriverRows_;
  std::vector<std::uint64_t> nodes_;  ///< of its graph, as replays name them
  std::uint64_t records_ = 0, unstamped_ = 0;
};

class Adversary : public testing::Test {
 protected:
  void SetUp() override {
    cupti_ = ::dlopen(FAKE_CUPTI, RTLD_NOW);
    ASSERT_NE(cupti_, nullptr) << ::dlerror();
  }
  template <class Function>
  Function* fake(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(cupti_, name));
  }
  void prepare(std::mt19937& random) {
    fake<void(int, std::uint32_t)>("fakeReset")(CUPTI_SUCCESS, sizeof(CUpti_ActivityKernel10));
    fake<void(std::uint32_t, std::uint32_t)>("fakeLaterKind")(kLaterKind, sizeof(LaterRecord));
    fake<void(std::uint32_t)>("fakeLateness")(static_cast<std::uint32_t>(random()));
    constexpr clockid_t kClocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC_RAW, CLOCK_BOOTTIME};
    fake<void(int, std::int64_t)>("fakeClock")(kClocks[random() % 3],
                                               static_cast<std::int64_t>(random() % 1'000'000));
    if (random() % 2 == 0)
      fake<void(std::int64_t)>("fakeClockDrift")(static_cast<std::int64_t>(random() % 1001) - 500);
    if (random() % 2 == 0) failOnce(random);
  }
  /// Any call, at any time. It succeeds when it is tried again.
  void failOnce(std::mt19937& random) {
    constexpr const char* kCalls[] = {
#define ADVERSARY_NAME(name, required) #name,
        LACUNA_CUPTI_FUNCTIONS(ADVERSARY_NAME)
#undef ADVERSARY_NAME
            "cuCtxGetCurrent",
        "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxSynchronize"};
    constexpr int kResults[] = {CUPTI_ERROR_UNKNOWN, CUPTI_ERROR_NOT_INITIALIZED,
                                CUPTI_ERROR_OUT_OF_MEMORY, CUPTI_ERROR_INVALID_OPERATION};
    fake<void(const char*, int, int, int)>("fakeFail")(kCalls[random() % std::size(kCalls)],
                                                       kResults[random() % std::size(kResults)],
                                                       static_cast<int>(random() % 30), 1);
  }
  static TracerOptions drawn(std::mt19937& random) {
    TracerOptions options;
    options.driver = FAKE_CUPTI;
    options.bufferBytes = std::size_t{4096} << (random() % 4);
    options.buffers = random() % 4;
    options.maxBuffers = 4 + random() % 60;
    options.flushEvery = std::chrono::milliseconds(1 + random() % 20);
    options.graphNodes = random() % 4 != 0;
    return options;
  }

  void* cupti_ = nullptr;
};

/// What the programs of one recording did.
struct Done {
  std::uint64_t records = 0, unstamped = 0;
  std::set<std::uint64_t> nodes;
  prof::TimeWindow run{};
  bool clockSteps = false;
};

void expectWhole(const RowCollector& rows, const TracerReport& report, const Done& done) {
  // Half of a bad reading of the clocks, on a busy machine.
  constexpr prof::TimeNs kReading = 20'000'000;
  std::set<std::pair<std::uint64_t, std::uint64_t>> kernels;
  for (const prof::Kernel& kernel : rows.all<prof::Kernel>()) {
    EXPECT_GE(kernel.startNs, done.run.startNs - kReading);
    EXPECT_LE(kernel.startNs, done.run.endNs + kReading);
    EXPECT_LE(kernel.durNs, done.run.endNs - done.run.startNs + 2 * kReading);
    EXPECT_TRUE(kernels.emplace(kernel.correlation, kernel.graphNodeId).second)
        << "kernel " << kernel.correlation << " twice";
    EXPECT_EQ(kernel.flags & prof::kUnfinished, 0u) << "it had ended before the recording did";
  }
  std::set<std::uint64_t> calls;
  for (const prof::ApiCall& call : rows.all<prof::ApiCall>())
    EXPECT_TRUE(calls.insert(call.correlation).second) << "call " << call.correlation << " twice";
  const DecodeStats& decoded = report.decoded;
  EXPECT_EQ(kernels.size() + calls.size() + decoded.unknownKinds + decoded.zeroStart +
                decoded.nestedCalls,
            decoded.records);
  EXPECT_EQ(decoded.records + report.droppedByCupti, done.records);
  EXPECT_LE(decoded.zeroStart, done.unstamped);
  if (report.droppedByCupti == 0) {
    EXPECT_EQ(decoded.zeroStart, done.unstamped);
  }
  EXPECT_EQ(report.droppedByCupti > 0, report.lostBuffers > 0);
  EXPECT_EQ(report.truncated, 0u);
  EXPECT_TRUE(done.clockSteps || report.clockTimesSet == 0);
}

void expectNodes(const RowCollector& rows, const TracerReport& report, const Done& done,
                 bool recorded) {
  std::set<std::uint64_t> copies;
  for (const prof::GraphNode& node : rows.all<prof::GraphNode>()) {
    if (node.original == 0) continue;
    EXPECT_TRUE(copies.insert(node.id).second) << "node " << node.id << " twice";
  }
  const bool some = report.text.find("nodes of graphs could not be followed") != std::string::npos;
  if (some) return;
  EXPECT_EQ(copies, recorded ? done.nodes : std::set<std::uint64_t>());
}

/// A child of the traced process, while that works, with or without CUDA.
void expectForkIsHarmless(void* cupti, Tracer& tracer, bool usesCuda) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(120);  // should it wait for a thread that it lacks
    auto* kernel =
        reinterpret_cast<void (*)(const char*, std::uint32_t)>(::dlsym(cupti, "fakeKernel"));
    for (std::uint32_t i = 0; usesCuda && i < 200; ++i) kernel("of a child", i);
    tracer.stop();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "a forked child";
}

/// Returns the number of records for which CUPTI had no buffer.
std::uint64_t playOnce(void* cupti, std::mt19937& random, const TracerOptions& options) {
  const bool clockSteps = random() % 4 == 0, driverRows = random() % 2 == 0;
  reinterpret_cast<void (*)(int)>(::dlsym(cupti, "fakeDriverRows"))(driverRows ? 1 : 0);
  RowCollector rows;
  Done done;
  done.clockSteps = clockSteps;
  done.run.startNs = nowNs();
  const auto tracer = Tracer::start(Library::load(FAKE_CUPTI), rows, options);
  if (tracer->report().state != TracerState::Running) {
    EXPECT_EQ(tracer->report().text.rfind("no CUDA timeline: ", 0), 0u) << tracer->report().text;
    return 0;
  }
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::thread> threads;
  const std::size_t count = 1 + random() % 6;
  for (std::size_t i = 0; i < count; ++i)
    programs.push_back(std::make_unique<Program>(cupti, static_cast<std::uint32_t>(random()),
                                                 clockSteps, driverRows));
  for (const auto& program : programs) threads.emplace_back([&program] { program->run(); });
  if (random() % 10 == 0) expectForkIsHarmless(cupti, *tracer, random() % 2 == 0);
  for (std::thread& thread : threads) thread.join();
  tracer->stop();
  done.run.endNs = nowNs();
  for (const auto& program : programs) {
    done.records += program->records();
    done.unstamped += program->unstamped();
    done.nodes.insert(program->nodes().begin(), program->nodes().end());
  }
  expectWhole(rows, tracer->report(), done);
  expectNodes(rows, tracer->report(), done, options.graphNodes);
  return tracer->report().droppedByCupti;
}

TEST_F(Adversary, LosesNothingThatIsNotCounted) {
  const char* wanted = std::getenv("LACUNA_SCHEDULES");
  const std::uint32_t schedules =
      wanted != nullptr ? static_cast<std::uint32_t>(std::strtoul(wanted, nullptr, 10)) : 500;
  std::uint32_t lossy = 0;
  for (std::uint32_t seed = 0; seed < schedules && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    prepare(random);
    // A program may end a recording and begin another.
    const std::size_t recordings = 1 + random() % 3;
    for (std::size_t i = 0; i < recordings; ++i)
      lossy += playOnce(cupti_, random, drawn(random)) > 0 ? 1 : 0;
    EXPECT_EQ(fake<int()>("fakeMisuses")(), 0);
  }
  // Else the buffers of all programs would be too many to tell.
  EXPECT_GT(lossy, schedules / 100);
  EXPECT_LT(lossy, schedules);
}

}  // namespace
}  // namespace lacuna::collector::cupti
