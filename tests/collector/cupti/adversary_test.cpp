// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Programs drawn by chance, against a CUPTI that uses the freedoms which its documents leave it.
// Whatever it hands over is in the trace once; whatever it could not keep is counted.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
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
  Program(void* cupti, std::uint32_t seed) : cupti_(cupti), random_(seed) {}

  void run() {
    const auto steps = std::uniform_int_distribution(20, 400)(random_);
    for (int step = 0; step < steps; ++step) act();
    for (const std::uint32_t kernel : running_) call<void(std::uint32_t)>("fakeEnd")(kernel);
  }
  /// Records that CUPTI kept or dropped.
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  template <class Function>
  Function* call(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(cupti_, name));
  }
  void act() {
    static std::atomic<std::uint32_t> correlation{1};
    switch (std::uniform_int_distribution(0, 9)(random_)) {
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
        records_ += 2;  // and the call that launches it
        call<void(const char*, std::uint32_t)>("fakeKernel")("short", correlation++);
    }
  }

  void* cupti_;
  std::mt19937 random_;
  std::vector<std::uint32_t> running_;
  std::uint64_t records_ = 0;
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
  }
  static TracerOptions drawn(std::mt19937& random) {
    TracerOptions options;
    options.driver = FAKE_CUPTI;
    options.bufferBytes = std::size_t{4096} << (random() % 4);
    options.buffers = random() % 4;
    options.maxBuffers = 4 + random() % 60;
    options.flushEvery = std::chrono::milliseconds(1 + random() % 20);
    return options;
  }

  void* cupti_ = nullptr;
};

void expectWhole(const RowCollector& rows, const TracerReport& report, std::uint64_t records,
                 prof::TimeWindow run) {
  // Half of a bad reading of the clocks, on a busy machine.
  constexpr prof::TimeNs kReading = 20'000'000;
  std::map<std::uint64_t, int> seen;
  for (const prof::Kernel& kernel : rows.all<prof::Kernel>()) {
    EXPECT_GE(kernel.startNs, run.startNs - kReading);
    EXPECT_LE(kernel.startNs, run.endNs + kReading);
    EXPECT_EQ(++seen[kernel.correlation], 1) << "kernel " << kernel.correlation;
    EXPECT_EQ(kernel.flags & prof::kUnfinished, 0u) << "it had ended before the recording did";
  }
  const std::size_t calls = rows.all<prof::ApiCall>().size();
  EXPECT_EQ(seen.size() + calls + report.decoded.unknownKinds, report.decoded.records);
  EXPECT_EQ(report.decoded.records + report.droppedByCupti, records);
  EXPECT_EQ(report.droppedByCupti > 0, report.lostBuffers > 0);
  EXPECT_EQ(report.truncated, 0u);
}

/// Returns the number of records for which CUPTI had no buffer.
std::uint64_t playOnce(void* cupti, std::mt19937& random, const TracerOptions& options) {
  RowCollector rows;
  const auto tracer = Tracer::start(Library::load(FAKE_CUPTI), rows, options);
  EXPECT_EQ(tracer->report().state, TracerState::Running) << tracer->report().text;
  const prof::TimeNs startNs = nowNs();
  std::vector<std::unique_ptr<Program>> programs;
  std::vector<std::thread> threads;
  const std::size_t count = 1 + random() % 6;
  for (std::size_t i = 0; i < count; ++i)
    programs.push_back(std::make_unique<Program>(cupti, static_cast<std::uint32_t>(random())));
  for (const auto& program : programs) threads.emplace_back([&program] { program->run(); });
  for (std::thread& thread : threads) thread.join();
  tracer->stop();
  std::uint64_t records = 0;
  for (const auto& program : programs) records += program->records();
  expectWhole(rows, tracer->report(), records, {startNs, nowNs()});
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
