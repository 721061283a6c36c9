// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Inspects a recording process after each of its instructions, as if it had been killed there. Its
// events must be recorded or counted as dropped, whichever instruction was the last.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>

#include <atomic>
#include <utility>
#include <vector>

#include "libprof/record/recorded.h"
#include "record/drain/process_reader.h"

// A sanitizer's instructions are many, and not those of the recorder.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace lacuna::prof {
namespace {

constexpr int kCannotBeTraced = 77;

struct Reached {
  std::atomic<std::uint64_t> prepared;  ///< events before the steps
  std::atomic<std::uint64_t> returned;  ///< steps
  std::atomic<std::uint64_t> over;
};

struct Step {
  void (*does)();
  std::uint64_t events;
};

LacunaName gName;
std::uint32_t gTrack;
std::uint64_t gStarted;

void push() {
  lacunaRangePush(gName);
}
void pop() {
  lacunaRangePop();
}
void mark() {
  lacunaMark(gName);
}
void count() {
  lacunaCounter(gTrack, 1);
}
void start() {
  LacunaEvent event{};
  event.name = gName;
  gStarted = lacunaRangeStart(&event);
}
void end() {
  lacunaRangeEnd(gStarted);
}

std::uint64_t marks(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) mark();
  return count;
}

/// Until the segments are full and one event is dropped.
std::uint64_t fill() {
  std::uint64_t marks = 0;
  for (; lacunaDropped() == 0; ++marks) mark();
  return marks;
}

class EveryInstructionTest : public RecordingTest {
 protected:
  using Prepare = std::uint64_t (*)();

  void SetUp() override {
    RecordingTest::SetUp();
    // Each trace is brought onto the disk, which takes longer than all else.
    std::string name = "/dev/shm/lacuna-test-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) {
      std::filesystem::remove_all(home_);
      home_ = name;
    }
    void* room =
        mmap(nullptr, sizeof(Reached), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(room, MAP_FAILED);
    progress_ = new (room) Reached;
  }
  void TearDown() override {
    munmap(progress_, sizeof(Reached));
    RecordingTest::TearDown();
  }

  /// Looks after each instruction of the steps at what a process would leave that is killed there.
  /// `drains`: what came before them was read, and its segments were given back.
  void checkAfterEach(Prepare prepare, const std::vector<Step>& steps, bool drains = false) {
    RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = 4 << 16;
    options.sharedMemory = false;
    ASSERT_OK(createRecording(recordingDir(), options));
    const pid_t child = startTraced(prepare, steps);
    if (child == 0) GTEST_SKIP() << "processes cannot be traced here";
    if (drains) drain();
    constexpr std::uint64_t kManyUnchanged = 100, kSomeOfMany = 16;
    std::uint64_t unchanged = 0;
    for (std::uint64_t instructions = 0; progress_->over == 0 && !HasFailure(); ++instructions) {
      SCOPED_TRACE("behind instruction " + std::to_string(instructions));
      // Reading the clocks takes thousands of instructions that change nothing.
      const bool idles = unchanged > kManyUnchanged && instructions % kSomeOfMany != 0;
      const bool changed = !idles && copyAsOfDead();
      unchanged = changed ? 0 : unchanged + 1;
      if (changed) expectAllAreCounted(steps);
      ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
      waitpid(child, nullptr, 0);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(progress_->returned, steps.size());
  }

 private:
  [[nodiscard]] std::filesystem::path copy() const { return home_ / "copy.recording"; }

  /// It waits before its first step.
  pid_t startTraced(Prepare prepare, const std::vector<Step>& steps) {
    const pid_t child = forkChild([&] {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(kCannotBeTraced);
      lacunaAttach(recordingDir().c_str());
      gName = lacunaName("name");
      gTrack = lacunaCounterTrack(lacunaName("track"), 0);
      progress_->prepared = prepare();
      raise(SIGSTOP);
      for (const Step& step : steps) {
        step.does();
        progress_->returned.fetch_add(1);
      }
      progress_->over = 1;
      for (;;) pause();
    });
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSTOPPED(status) ? child : 0;
  }
  void drain() {
    auto drainer = Drainer::create(recordingDir(), home_ / "first.lcn");
    ASSERT_OK(drainer);
    ASSERT_OK((*drainer).flush());
  }
  /// False where nothing has changed since it was called before.
  bool copyAsOfDead() {
    const std::filesystem::path from = recordersIn(recordingDir()).front();
    std::string now = readData(from);
    if (now == seen_ && progress_->returned == seenReturned_) return false;
    seen_ = std::move(now);
    seenReturned_ = progress_->returned;
    std::filesystem::create_directory(copy());
    std::filesystem::permissions(copy(), std::filesystem::perms::owner_all);
    for (const auto& entry : std::filesystem::directory_iterator(recordingDir())) {
      if (entry.path() != from)
        std::filesystem::copy_file(entry.path(), copy() / entry.path().filename());
    }
    writeData(copy() / from.filename(), std::filesystem::file_size(from));
    const auto file = recording::MappedFile::open(copy() / from.filename(), true);
    EXPECT_TRUE(file.ok());
    if (file.ok()) (*file).view().header().detached.store(1);
    return true;
  }
  /// Without the holes of the file, which are most of it.
  std::string readData(const std::filesystem::path& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    std::string data;
    parts_.clear();
    for (off_t at = lseek(file, 0, SEEK_DATA); at >= 0; at = lseek(file, at, SEEK_DATA)) {
      const off_t end = lseek(file, at, SEEK_HOLE);
      const std::size_t before = data.size();
      data.resize(before + static_cast<std::size_t>(end - at));
      EXPECT_EQ(pread(file, data.data() + before, data.size() - before, at), end - at);
      parts_.emplace_back(at, data.size() - before);
      at = end;
    }
    close(file);
    return data;
  }
  void writeData(const std::filesystem::path& path, std::uintmax_t size) const {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(file, static_cast<off_t>(size)), 0);
    std::size_t from = 0;
    for (const auto& [at, bytes] : parts_) {
      EXPECT_EQ(pwrite(file, seen_.data() + from, bytes, at), static_cast<ssize_t>(bytes));
      from += bytes;
    }
    close(file);
  }
  void expectAllAreCounted(const std::vector<Step>& steps) {
    ASSERT_OK(recover(copy(), trace()));
    Trace file(trace());
    std::uint64_t counted =
        file.rows<Range>().size() + file.rows<Mark>().size() + file.rows<CounterSample>().size();
    for (const Drop& drop : file.rows<Drop>()) counted += drop.count;
    const std::uint64_t returned = progress_->returned;
    std::uint64_t emitted = progress_->prepared;
    for (std::uint64_t i = 0; i < returned; ++i) emitted += steps[i].events;
    const std::uint64_t inFlight = returned < steps.size() ? steps[returned].events : 0;
    EXPECT_GE(counted, emitted) << "after " << returned << " steps";
    EXPECT_LE(counted, emitted + inFlight) << "after " << returned << " steps";
  }

  Reached* progress_ = nullptr;
  std::string seen_;
  std::uint64_t seenReturned_ = 0;
  std::vector<std::pair<off_t, std::size_t>>
      parts_;  ///< of the file that is not a hole: where, and bytes
};

TEST_F(EveryInstructionTest, OfRecordingWithinASegmentLosesNothing) {
  checkAfterEach([] { return marks(1); },
                 {{push, 1}, {mark, 1}, {count, 1}, {pop, 0}, {start, 1}, {end, 0}});
}

TEST_F(EveryInstructionTest, OfTakingAnotherSegmentLosesNothing) {
  constexpr std::uint64_t kSlots = (LACUNA_SEGMENT_BYTES - 64) / 16;
  checkAfterEach([] { return marks(kSlots - 1); }, {{push, 1}, {push, 1}, {pop, 0}, {pop, 0}});
}

TEST_F(EveryInstructionTest, OfDroppingIsCounted) {
  checkAfterEach(fill, {{push, 1},
                        {pop, 0},
                        {push, 1},
                        {push, 1},
                        {pop, 0},
                        {mark, 1},
                        {start, 1},
                        {end, 0},
                        {pop, 0}});
}

TEST_F(EveryInstructionTest, OfEndingAGapIsCounted) {
  const auto prepare = [] {
    push();
    const std::uint64_t filled = fill();
    push();
    push();
    pop();
    push();
    return 1 + filled + 3;
  };
  checkAfterEach(prepare, {{mark, 1}, {pop, 0}, {push, 1}, {pop, 0}, {pop, 0}, {pop, 0}}, true);
}

}  // namespace
}  // namespace lacuna::prof

#endif
