// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <ostream>
#include <random>
#include <thread>

#include "libprof/record/recorded.h"

namespace lacuna::prof {
namespace {

constexpr int kThreads = 4;
/// Number of times that each end is tried, each time at another moment. Ending a process takes a
/// sanitizer up to half a second.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kRounds = 20;
#else
constexpr int kRounds = 200;
#endif

/// Shared by the test and its child: what each thread of the child had finished recording when it
/// died.
struct Progress {
  std::atomic<std::uint64_t> returned[kThreads];
  std::atomic<std::uint32_t> tid[kThreads];
};

class CrashTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
    void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    progress_ = new (shared) Progress;
    options_.poolBytes = 2 << 20;
    options_.maxPoolBytes = 64 << 20;
  }
  void TearDown() override {
    munmap(progress_, 4096);
    RecordingTest::TearDown();
  }
  void begin() {
    for (int i = 0; i < kThreads; ++i) {
      progress_->returned[i] = 0;
      progress_->tid[i] = 0;
    }
    beganNs_ = std::chrono::steady_clock::now().time_since_epoch().count();
    ASSERT_OK(createRecording(recordingDir(), options_));
  }

  /// A recording whose drainer died when all was drained and its state saved.
  void drainAMark() {
    begin();
    auto drainer = Drainer::create(recordingDir(), trace());
    ASSERT_OK(drainer);
    ASSERT_EQ(inChild([this] {
                lacunaAttach(recordingDir().c_str());
                lacunaMark(lacunaName("drained"));
              }),
              0);
    ASSERT_OK((*drainer).flush());
  }

  /// Records numbered marks and ranges and never comes back: number n is a mark whose payload is n,
  /// in a range. Where nobody drains or kills it in time it stops before the pool is full; that
  /// takes longer than any life here.
  void recordForEver(int index) {
    constexpr std::uint64_t kMost = 40'000;
    progress_->tid[index] = static_cast<std::uint32_t>(gettid());
    LacunaEvent event{};
    event.name = lacunaName("numbered");
    event.payloadType = LacunaPayloadU64;
    const LacunaName range = lacunaName("range");
    for (std::uint64_t n = 1; n <= kMost; ++n) {
      event.payload = n;
      event.correlation = ~n;
      lacunaRangePush(range);
      lacunaMarkEvent(&event);
      lacunaRangePop();
      progress_->returned[index].store(n, std::memory_order_release);
      // Full speed outruns any drainer on two cores, and then drops; this is about what was
      // recorded.
      if (n % 64 == 0) usleep(100);
    }
    for (;;) pause();
  }
  void recordOnAllThreads() {
    lacunaAttach(recordingDir().c_str());
    std::vector<std::thread> threads;
    for (int i = 1; i < kThreads; ++i) threads.emplace_back([this, i] { recordForEver(i); });
    recordForEver(0);
  }
  pid_t spawnRecorder() {
    const pid_t child = fork();
    if (child == 0) recordOnAllThreads();
    return child;
  }
  pid_t spawnDrainer() {
    const pid_t child = fork();
    if (child != 0) return child;
    DrainOptions options;
    options.flushEvery = std::chrono::milliseconds(3);  // many checkpoints in a short life
    auto drainer = Drainer::create(recordingDir(), trace(), options);
    while (drainer.ok()) {
      if (!(*drainer).drain().ok()) _exit(1);
      usleep(200);
    }
    _exit(1);
  }
  /// A random moment of its life; in one round of four that may be before it records at all.
  void letItLive(unsigned microseconds) {
    const bool wait = random_() % 4 != 0;
    for (int i = 0; wait && progress_->returned[0] == 0 && i < 400'000; ++i) usleep(100);
    usleep(random_() % microseconds);
  }
  static void killAndWait(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }

  /// One thread's ranges and the marks in them: range n is around mark n and before range n + 1,
  /// all within the run.
  void expectNoneTorn(std::vector<Range> ranges, const std::vector<TimeNs>& marks,
                      const std::string& when) const {
    // Long ones are in blocks of their own.
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& a, const Range& b) { return a.startNs < b.startNs; });
    const TimeNs now = std::chrono::steady_clock::now().time_since_epoch().count();
    TimeNs last = beganNs_;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const TimeNs endNs = ranges[i].startNs + ranges[i].durNs;
      ASSERT_GE(ranges[i].startNs, last)
          << when << ": range " << i << " begins within the one before";
      ASSERT_GE(endNs, ranges[i].startNs) << when << ": range " << i;
      // The last one may have been cut off.
      if (ranges[i].flags != 0 || i >= marks.size()) {
        ASSERT_EQ(i + 1, ranges.size()) << when << ": a range without its end or its mark";
      }
      if (i < marks.size()) {
        ASSERT_GE(marks[i], ranges[i].startNs) << when << ": range " << i;
        ASSERT_LE(marks[i], endNs) << when << ": range " << i;
      }
      last = endNs;
    }
    ASSERT_LE(last, now) << when;
  }

  /// Everything that had returned is there, in order, whole.
  void expectNothingLost(const std::string& when) {
    Trace file(trace());
    std::map<std::uint32_t, std::uint32_t> osTids;
    for (const Thread& thread : file.rows<Thread>()) osTids[thread.id.value] = thread.osTid;
    std::map<std::uint32_t, std::uint64_t> marks;
    std::map<std::uint32_t, std::uint64_t> ranges;
    std::map<std::uint32_t, std::vector<TimeNs>> times;
    std::map<std::uint32_t, std::vector<Range>> rangesOf;
    const std::vector<Mark> marksOfFile = file.rows<Mark>();
    for (const Mark& mark : marksOfFile) {
      std::uint64_t& last = marks[osTids[mark.thread.value]];
      ASSERT_EQ(mark.payload, last + 1)
          << when << ": a mark of thread " << osTids[mark.thread.value]
          << " is missing, doubled or out of order, number " << &mark - marksOfFile.data() << " of "
          << marksOfFile.size();
      ASSERT_EQ(file.text(mark.name), "numbered") << when;
      last = mark.payload;
      times[osTids[mark.thread.value]].push_back(mark.timeNs);
    }
    for (const Range& range : file.rows<Range>()) {
      if (range.flags == 0) ++ranges[osTids[range.thread.value]];
      rangesOf[osTids[range.thread.value]].push_back(range);
      ASSERT_EQ(file.text(range.name), "range") << when;
    }
    for (const auto& [tid, all] : rangesOf) {
      expectNoneTorn(all, times[tid], when + ", thread " + std::to_string(tid));
      if (HasFatalFailure()) return;
    }
    for (int i = 0; i < kThreads; ++i) {
      const std::uint32_t tid = progress_->tid[i];
      if (tid == 0) continue;
      const std::uint64_t returned = progress_->returned[i];
      ASSERT_GE(marks[tid], returned) << when << ": thread " << i;
      ASSERT_LE(marks[tid], returned + 1) << when << ": thread " << i;
      ASSERT_GE(ranges[tid], returned) << when << ": thread " << i;
      ASSERT_LE(ranges[tid], returned + 1) << when << ": thread " << i;
    }
    EXPECT_EQ(file.rows<Drop>().size(), 0u) << when;
    recorded_ += marks.empty() ? 0 : 1;
  }

  Progress* progress_ = nullptr;
  RecordingOptions options_;
  std::mt19937 random_{20240607};
  int recorded_ = 0;
  TimeNs beganNs_ = 0;
};

TEST_F(CrashTest, RecorderKilledLosesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    begin();
    const pid_t child = spawnRecorder();
    letItLive(8'000);
    killAndWait(child);
    const auto recovered = recover(recordingDir(), trace());
    ASSERT_OK(recovered);
    expectNothingLost("round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(recorded_, kRounds / 2);
}

TEST_F(CrashTest, RecorderKilledWhileDrainedLosesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    begin();
    DrainOptions options;
    options.flushEvery = std::chrono::milliseconds(3);
    auto drainer = Drainer::create(recordingDir(), trace(), options);
    ASSERT_OK(drainer);
    const pid_t child = spawnRecorder();
    (*drainer).start();
    letItLive(12'000);
    killAndWait(child);
    ASSERT_OK((*drainer).finish());
    expectNothingLost("round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(recorded_, kRounds / 2);
}

TEST_F(CrashTest, DrainerKilledThenRecorderLosesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    begin();
    const pid_t drainer = spawnDrainer();
    const pid_t child = spawnRecorder();
    letItLive(12'000);
    killAndWait(drainer);
    usleep(random_() % 3'000);
    killAndWait(child);
    ASSERT_OK(recover(recordingDir(), trace()));
    expectNothingLost("round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(recorded_, kRounds / 2);
}

TEST_F(CrashTest, BothKilledTogetherLosesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    begin();
    const pid_t drainer = spawnDrainer();
    const pid_t child = spawnRecorder();
    letItLive(12'000);
    kill(drainer, SIGKILL);
    killAndWait(child);
    killAndWait(drainer);
    ASSERT_OK(recover(recordingDir(), trace()));
    expectNothingLost("round " + std::to_string(round));
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(recorded_, kRounds / 2);
}

struct Ending {
  const char* name;
  void (*end)();

  friend std::ostream& operator<<(std::ostream& out, const Ending& ending) {
    return out << ending.name;
  }
};
constexpr Ending kEndings[] = {
    {"Abort", [] { abort(); }},
    {"Exit", [] { _exit(3); }},
    {"ExitGroup", [] { syscall(SYS_exit_group, 4); }},
    {"Exec", [] { execl("/bin/true", "true", static_cast<char*>(nullptr)); }},
};

/// A program that ends by itself while its other threads record.
class EndingTest : public CrashTest, public testing::WithParamInterface<Ending> {};

TEST_P(EndingTest, LosesNothing) {
  for (int round = 0; round < kRounds; ++round) {
    begin();
    const auto living = std::chrono::microseconds(random_() % 8'000);
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGABRT, SIG_DFL);
      std::thread([this] { recordOnAllThreads(); }).detach();
      while (progress_->returned[1] == 0) usleep(100);
      std::this_thread::sleep_for(living);
      GetParam().end();
    }
    waitpid(child, nullptr, 0);
    ASSERT_OK(recover(recordingDir(), trace()));
    expectNothingLost("round " + std::to_string(round));
    if (HasFatalFailure()) return;
    ASSERT_GE(progress_->returned[1], 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(, EndingTest, testing::ValuesIn(kEndings),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(CrashTest, ForkInAThreadedProgramRecordsBothSides) {
#ifdef __SANITIZE_THREAD__
  // It learns of forks from the C library, and its own locks may be held by a thread that the child
  // does not have.
  constexpr bool kRawForks = false;
#else
  constexpr bool kRawForks = true;
#endif
  constexpr std::size_t kChildren = kRawForks ? 2 : 1;
  for (int round = 0; round < kRounds; ++round) {
    begin();
    const auto living = std::chrono::microseconds(random_() % 2'000);
    const int end = inChild([&] {
      lacunaAttach(recordingDir().c_str());
      std::thread([this] { recordForEver(1); }).detach();
      while (progress_->returned[1] == 0) usleep(100);
      std::this_thread::sleep_for(living);
      lacunaMark(lacunaName("in the parent"));
      const int code = inChild([] {
        lacunaMark(lacunaName("in the child"));
        std::thread([] { lacunaMark(lacunaName("in its thread")); }).join();
      });
      if (code != 0) _exit(code);
      if (!kRawForks) return;
      // fork() without the C library's help, as a container runtime or a language runtime may do
      // it.
      if (const long raw = syscall(SYS_fork); raw == 0) {
        lacunaMark(lacunaName("in the child"));
        lacunaMark(lacunaName("in its thread"));
        syscall(SYS_exit_group, 0);
      } else {
        waitpid(static_cast<pid_t>(raw), nullptr, 0);
      }
    });
    ASSERT_EQ(end, 0);
    ASSERT_OK(recover(recordingDir(), trace()));
    Trace file(trace());
    std::map<std::string, std::uint64_t> marks;
    std::map<std::uint32_t, std::uint32_t> processOf;
    for (const Thread& thread : file.rows<Thread>())
      processOf[thread.id.value] = thread.process.value;
    std::map<std::uint32_t, int> inProcess;
    for (const Mark& mark : file.rows<Mark>()) {
      const std::uint64_t count = ++marks[file.text(mark.name)];
      ++inProcess[processOf[mark.thread.value]];
      if (file.text(mark.name) == "numbered") {
        ASSERT_EQ(mark.payload, count) << "round " << round;
      }
    }
    ASSERT_EQ(marks["in the parent"], 1u) << "round " << round;
    ASSERT_EQ(marks["in the child"], kChildren) << "round " << round;
    ASSERT_EQ(marks["in its thread"], kChildren) << "round " << round;
    ASSERT_GE(marks["numbered"], progress_->returned[1]) << "round " << round;
    ASSERT_EQ(file.rows<Process>().size(), 1 + kChildren) << "round " << round;
    ASSERT_EQ(inProcess.size(), 1 + kChildren) << "round " << round;
    std::size_t children = 0;
    for (const Process& process : file.rows<Process>()) children += process.parent ? 1 : 0;
    ASSERT_EQ(children, kChildren) << "round " << round;
  }
}

TEST_F(CrashTest, RecoverRefusesWhileSomebodyRecords) {
  begin();
  const pid_t child = spawnRecorder();
  while (progress_->returned[0] == 0) usleep(100);
  const auto refused = recover(recordingDir(), trace());
  killAndWait(child);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find(std::to_string(child)), std::string::npos)
      << refused.error().message;
  ASSERT_OK(recover(recordingDir(), trace()));
  expectNothingLost("after the refusal");
}

TEST_F(CrashTest, RecoverRefusesBeforeItReadsWhatWasWritten) {
  begin();
  const pid_t child = spawnRecorder();
  while (progress_->returned[0] == 0) usleep(100);
  {
    auto drainer = Drainer::create(recordingDir(), trace());
    ASSERT_OK(drainer);
    ASSERT_OK((*drainer).flush());
  }
  std::filesystem::remove(trace());
  const auto refused = recover(recordingDir(), home_ / "whole.lcn");
  killAndWait(child);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is still recording"), std::string::npos)
      << refused.error().message;
  EXPECT_FALSE(std::filesystem::exists(home_ / "whole.lcn.recovering"));
}

TEST_F(CrashTest, RecoverTakesFromTheTraceWhatWasSavedAndTouchesNothingBesideIt) {
  drainAMark();
  std::ofstream(trace(), std::ios::binary | std::ios::app) << "half a block";
  std::ofstream(home_ / "trace.lcn.part") << "mine";
  ASSERT_OK(recover(recordingDir(), home_ / "whole.lcn"));
  EXPECT_EQ(Trace(home_ / "whole.lcn").rows<Mark>().size(), 1u);
  std::ifstream part(home_ / "trace.lcn.part");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(part), {}), "mine");
}

TEST_F(CrashTest, RecoverFindsTheTraceThatWasMovedWithItsRecording) {
  options_.sharedMemory = false;
  drainAMark();
  const std::filesystem::path moved = home_ / "moved";
  std::filesystem::create_directories(moved);
  std::filesystem::rename(trace(), moved / "trace.lcn");
  const auto alone = recover(recordingDir(), home_ / "whole.lcn");
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().message.find("No such file"), std::string::npos) << alone.error().message;
  std::filesystem::rename(recordingDir(), moved / "trace.recording");
  ASSERT_OK(recover(moved / "trace.recording", home_ / "whole.lcn"));
  EXPECT_EQ(Trace(home_ / "whole.lcn").rows<Mark>().size(), 1u);
}

}  // namespace
}  // namespace lacuna::prof
