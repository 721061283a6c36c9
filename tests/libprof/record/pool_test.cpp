// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "libprof/record/recorded.h"
#include "record/directory.h"
#include "record/layout.h"
#include "support/seeds.h"

namespace lacuna::prof {
namespace {

class PoolTest : public RecordingTest {
 protected:
  void create(std::uint64_t bytes, bool flight) {
    RecordingOptions options;
    options.poolBytes = bytes;
    options.maxPoolBytes = bytes;
    options.flightRecorder = flight;
    ASSERT_OK(createRecording(recordingDir(), options));
  }
  void begin(std::uint64_t bytes, bool flight) {
    create(bytes, flight);
    ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  }
  void finish() {
    lacunaDetach();
    auto drainer = Drainer::create(recordingDir(), trace());
    ASSERT_OK(drainer);
    ASSERT_OK((*drainer).finish());
    stats_ = (*drainer).stats();
  }
  static void markNumbers(std::uint64_t from, std::uint64_t to) {
    LacunaEvent event{};
    event.name = lacunaName("number");
    for (std::uint64_t n = from; n < to; ++n) {
      event.payload = n;
      lacunaMarkEvent(&event);
    }
  }
  DrainStats stats_;
};

TEST_F(PoolTest, FullPoolDropsTheNewestAndCountsThem) {
  begin(8 * recording::kSegmentBytes, false);
  constexpr std::uint64_t kMarks = 50'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([] { markNumbers(0, kMarks); });
  for (std::thread& thread : threads) thread.join();
  finish();
  Trace file(trace());
  const auto marks = file.rows<Mark>();
  std::uint64_t dropped = 0;
  for (const Drop& drop : file.rows<Drop>()) dropped += drop.count;
  EXPECT_EQ(marks.size() + dropped, 3 * kMarks);
  EXPECT_EQ(stats_.dropped, dropped);
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(marks.front().payload, 0u);
}

/// Segments that were emptied in place and others follow each other.
TEST_F(PoolTest, ADrainerThatDiesAnywhereInATinyPoolLeavesEachEventOnce) {
  for (std::uint32_t seed = 0; seed < test::seeds(40); ++seed) {
    SCOPED_TRACE(seed);
    begin(4 * recording::kSegmentBytes, false);
    auto drainer = Drainer::create(recordingDir(), trace());
    ASSERT_OK(drainer);
    std::mt19937 random(seed);
    std::uint64_t emitted = 0;
    for (std::uint32_t step = 0; step < 20; ++step) {
      const std::uint64_t more = random() % 6000;
      std::thread([&] { markNumbers(emitted, emitted + more / 8); }).join();
      markNumbers(emitted + more / 8, emitted + more);
      emitted += more;
      ASSERT_OK(random() % 3 == 0 ? (*drainer).drain().status() : (*drainer).flush());
    }
    markNumbers(emitted, emitted + 1000);
    emitted += 1000;
    drainer = Error{"it is dead"};
    lacunaDetach();
    const auto recovered = trace().parent_path() / "recovered.lcn";
    ASSERT_OK(recover(recordingDir(), recovered));
    Trace file(recovered);
    std::set<std::uint64_t> numbers;
    for (const Mark& mark : file.rows<Mark>())
      EXPECT_TRUE(numbers.insert(mark.payload).second) << mark.payload;
    std::uint64_t dropped = 0;
    for (const Drop& drop : file.rows<Drop>()) dropped += drop.count;
    EXPECT_EQ(numbers.size() + dropped, emitted);
    std::filesystem::remove(recovered);
    std::filesystem::remove(trace());
  }
}

TEST_F(PoolTest, MoreThreadsThanThereAreEntriesComeAndGo) {
  auto session = Session::start(trace());
  ASSERT_OK(session);
  constexpr std::uint64_t kThreads = 3000;
  static_assert(kThreads > recording::kMaxThreads);
  for (std::uint64_t n = 0; n < kThreads; ++n) {
    std::thread([n] { markNumbers(n, n + 1); }).join();
    // Still far quicker than the trace is written through, but not than its drainer gets to run.
    if (n % 100 == 0) {
      usleep(20'000);
      while (session->stats().events + 300 < n) usleep(1000);
    }
  }
  ASSERT_OK(session->stop());
  EXPECT_EQ(session->stats().dropped, 0u);
  EXPECT_EQ(Trace(trace()).rows<Mark>().size(), kThreads);
}

TEST_F(PoolTest, FlightRecorderKeepsTheNewest) {
  begin(8 * recording::kSegmentBytes, true);
  constexpr std::uint64_t kMarks = 100'000;
  markNumbers(0, kMarks);
  finish();
  Trace file(trace());
  const auto marks = file.rows<Mark>();
  std::uint64_t dropped = 0;
  for (const Drop& drop : file.rows<Drop>()) dropped += drop.count;
  EXPECT_EQ(marks.size() + dropped, kMarks);
  ASSERT_GT(marks.size(), 7000u);
  EXPECT_EQ(marks.back().payload, kMarks - 1);
  EXPECT_EQ(marks.front().payload, kMarks - marks.size());
}

TEST_F(PoolTest, FlightRecorderKeepsTheNewestOfThreadsThatComeAndGo) {
  begin(8 * recording::kSegmentBytes, true);
  constexpr std::uint64_t kThreads = 3000;
  for (std::uint64_t n = 0; n < kThreads; ++n) std::thread([n] { markNumbers(n, n + 1); }).join();
  EXPECT_EQ(lacunaDropped(), kThreads - 8);
  ASSERT_OK(snapshot(recordingDir(), home_ / "dump.lcn", {}));
  finish();
  for (const auto& path : {home_ / "dump.lcn", trace()}) {
    Trace file(path);
    const auto marks = file.rows<Mark>();
    std::uint64_t dropped = 0;
    for (const Drop& drop : file.rows<Drop>()) dropped += drop.count;
    EXPECT_EQ(marks.size(), 8u) << path;
    EXPECT_EQ(marks.size() + dropped, kThreads) << path;
    for (const Mark& mark : marks) EXPECT_GE(mark.payload, kThreads - 8) << path;
  }
}

TEST_F(PoolTest, FlightRecorderHasEntriesForThreadsAfterThousandsThatFoundNoRoom) {
  begin(4 * recording::kSegmentBytes, true);
  std::atomic<int> running = 0;
  std::atomic<bool> over = false;
  std::vector<std::thread> living;
  for (int i = 0; i < 4; ++i) {
    living.emplace_back([&] {
      markNumbers(0, 1);
      ++running;
      while (!over) usleep(1000);
    });
  }
  while (running < 4) usleep(1000);
  constexpr std::uint64_t kGone = 2500;
  static_assert(kGone > recording::kMaxThreads);
  for (std::uint64_t n = 0; n < kGone; ++n) std::thread([] { markNumbers(1, 2); }).join();
  over = true;
  for (std::thread& thread : living) thread.join();
  std::thread([] { markNumbers(2, 3); }).join();
  finish();
  Trace file(trace());
  const auto marks = file.rows<Mark>();
  EXPECT_TRUE(
      std::any_of(marks.begin(), marks.end(), [](const Mark& mark) { return mark.payload == 2; }));
  std::uint64_t dropped = 0;
  for (const Drop& drop : file.rows<Drop>()) {
    dropped += drop.count;
    EXPECT_EQ(file.text(drop.reason), "overwritten by newer events");
  }
  EXPECT_EQ(marks.size() + dropped, kGone + 5);
}

/// Rows that others refer to, and what the trace at the end of a ring still has of them.
class KeptRowsTest : public PoolTest {
 protected:
  static void describe() {
    record(Device{
        .id = DeviceId{3}, .kind = DeviceKind::Cuda, .name = StringId{lacunaName("device")}});
    record(Queue{.id = QueueId{5}, .device = DeviceId{3}, .name = StringId{lacunaName("queue")}});
    record(CounterTrack{
        .id = TrackId{7}, .device = DeviceId{3}, .name = StringId{lacunaName("watts")}});
    record(StackFrame{.id = FrameId{9}, .function = StringId{lacunaName("caller")}});
    reportKnob("knob", "on");
  }
  static void reportKnob(const std::string& key, const std::string& value) {
    record(Environment{.process = ProcessId{1},
                       .key = StringId{lacunaName(key.c_str())},
                       .value = StringId{lacunaName(value.c_str())}});
  }
  static void use() {
    record(Kernel{.startNs = 1, .durNs = 1, .queue = QueueId{5}, .device = DeviceId{3}});
    record(CounterSample{.timeNs = 1, .track = TrackId{7}, .value = 1});
    record(CpuSample{.timeNs = 1, .stack = FrameId{9}});
  }
  static void expectTheReferencesHold(Trace file) {
    const auto devices = file.rows<Device>();
    const auto queues = file.rows<Queue>();
    const auto tracks = file.rows<CounterTrack>();
    const auto frames = file.rows<StackFrame>();
    const auto environment = file.rows<Environment>();
    ASSERT_TRUE(devices.size() == 1 && queues.size() == 1 && tracks.size() == 1 &&
                frames.size() == 1);
    EXPECT_EQ(file.text(devices[0].name), "device");
    EXPECT_EQ(queues[0].device, devices[0].id);
    EXPECT_EQ(tracks[0].device, devices[0].id);
    EXPECT_EQ(std::count_if(environment.begin(), environment.end(),
                            [&](const Environment& row) { return file.text(row.key) == "knob"; }),
              1);
    for (const Kernel& row : file.rows<Kernel>()) EXPECT_EQ(row.queue, queues[0].id);
    for (const CounterSample& row : file.rows<CounterSample>()) EXPECT_EQ(row.track, tracks[0].id);
    for (const CpuSample& row : file.rows<CpuSample>()) EXPECT_EQ(row.stack, frames[0].id);
    EXPECT_EQ(file.rows<Kernel>().size(), 1u);
    EXPECT_GT(file.rows<Drop>().size(), 0u) << "the ring has turned";
    EXPECT_EQ(file.rows<Thread>().size(), 1u) << "and what is kept is no thread";
  }
};

TEST_F(KeptRowsTest, OutliveTheRing) {
  begin(8 * recording::kSegmentBytes, true);
  describe();
  for (int turn = 0; turn < 2; ++turn) {
    markNumbers(0, 100'000);
    use();
    ASSERT_OK(snapshot(recordingDir(), home_ / "dump.lcn", {}));
    expectTheReferencesHold(Trace(home_ / "dump.lcn"));
  }
  finish();
  expectTheReferencesHold(Trace(trace()));
}

TEST_F(KeptRowsTest, TakeAPartOfTheRingAtMostAndAreThenOverwritten) {
  begin(16 * recording::kSegmentBytes, true);
  constexpr std::uint64_t kRows = 40'000;  // two slots each; the ring has 65,472
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (std::uint64_t n = 0; n < kRows / 4; ++n) reportKnob("key", "value");
    });
  }
  for (std::thread& thread : threads) thread.join();
  markNumbers(0, 100'000);
  finish();
  EXPECT_EQ(stats_.damaged, 0u);
  EXPECT_EQ(stats_.events + stats_.dropped, kRows + 100'000);
  Trace file(trace());
  const auto rows = file.rows<Environment>();
  EXPECT_GE(rows.size(), 4 * 4'092u / 2);
  EXPECT_LE(rows.size(), 8 * 4'092u / 2)
      << "and what is in the last segment of a thread that has ended";
  EXPECT_EQ(file.rows<Mark>().back().payload, 99'999u);
}

TEST_F(KeptRowsTest, AForkedChildHasItsOwn) {
  begin(8 * recording::kSegmentBytes, true);
  describe();
  ASSERT_EQ(inChild([] {
              describe();
              markNumbers(0, 100'000);
            }),
            0);
  finish();
  EXPECT_EQ(Trace(trace()).rows<Queue>().size(), 2u);
}

TEST_F(PoolTest, SnapshotsOfAFlightRecorderThatIsOverwrittenMeanwhileAreComplete) {
  begin(16 * recording::kSegmentBytes, true);
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; !stop; n += 100) markNumbers(n, n + 100);
    });
  }
  constexpr std::uint64_t kMany = 8000;
  std::uint64_t last = 0;
  for (int i = 0; i < 10 || (last <= kMany && i < 10'000); ++i) {
    // While the threads have yet to fill the ring, too.
    SnapshotOptions options;
    options.reason = "test";
    const auto stats = snapshot(recordingDir(), trace(), options);
    ASSERT_OK(stats);
    EXPECT_EQ((*stats).damaged, 0u);
    Trace file(trace());
    std::map<ThreadId, std::uint64_t> next;
    for (const Mark& mark : file.rows<Mark>()) {
      const auto known = next.find(mark.thread);
      if (known != next.end()) {
        ASSERT_EQ(mark.payload, known->second);
      }
      next[mark.thread] = mark.payload + 1;
      last = std::max(last, mark.payload);
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(last, kMany);
  EXPECT_FALSE(std::filesystem::exists(recordingDir() / "snapshot"));
}

TEST_F(PoolTest, SnapshotsWhileThreadsComeAndGoGiveEachThreadItsOwn) {
  begin(16 * recording::kSegmentBytes, true);
  std::atomic<bool> stop = false;
  std::thread maker([&] {
    const auto markOwnNumber = [] {
      const auto tid = static_cast<std::uint64_t>(gettid());
      markNumbers(tid, tid + 1);
    };
    while (!stop) std::thread(markOwnNumber).join();
  });
  std::size_t seen = 0;
  for (int i = 0; i < 10 || (seen == 0 && i < 10'000); ++i) {
    const auto stats = snapshot(recordingDir(), trace(), {});
    ASSERT_OK(stats);
    EXPECT_EQ((*stats).damaged, 0u);
    Trace file(trace());
    std::map<ThreadId, std::uint64_t> osTids;
    for (const Thread& thread : file.rows<Thread>()) osTids[thread.id] = thread.osTid;
    for (const Mark& mark : file.rows<Mark>()) EXPECT_EQ(mark.payload, osTids[mark.thread]);
    seen += file.rows<Mark>().size();
  }
  stop = true;
  maker.join();
  EXPECT_GT(seen, 0u);
}

/// Processes of a flight recorder that has room for what one of them leaves.
class EndedProcesses : public PoolTest {
 protected:
  static constexpr std::uint64_t kRoom = 4 * recording::kSegmentBytes;

  void SetUp() override {
    PoolTest::SetUp();
    create(kRoom, true);
    trimmer_.emplace(recordingDir());
  }
  void markAndEnd(std::uint64_t n) {
    ASSERT_EQ(inChild([&] {
                lacunaAttach(recordingDir().c_str());
                markNumbers(n, n + 1);
              }),
              0);
  }
  /// It lives until it is killed.
  pid_t markAndLive(std::uint64_t n) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = forkChild([&] {
      lacunaAttach(recordingDir().c_str());
      markNumbers(n, n + 1);
      if (write(ends[1], "x", 1) != 1) return;
      for (;;) pause();
    });
    char marked = 0;
    EXPECT_EQ(read(ends[0], &marked, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return child;
  }
  void expectKept(std::uint64_t n) {
    finish();
    const auto marks = Trace(trace()).rows<Mark>();
    ASSERT_EQ(marks.size(), 1u);
    EXPECT_EQ(marks[0].payload, n);
  }
  std::optional<FlightTrimmer> trimmer_;
};

TEST_F(EndedProcesses, TheOneThatRecordedLastIsKept) {
  constexpr std::uint64_t kProcesses = 5;
  for (std::uint64_t n = 0; n < kProcesses; ++n) markAndEnd(n);
  EXPECT_EQ(trimmer_->trim(kRoom), kProcesses - 1);
  expectKept(kProcesses - 1);
}

TEST_F(EndedProcesses, OneThatOnlyTheNextSearchFindsIsNotTakenForLater) {
  const pid_t earlier = markAndLive(1);
  markAndEnd(2);
  EXPECT_EQ(trimmer_->trim(kRoom), 0u);
  kill(earlier, SIGKILL);
  endOf(earlier);
  EXPECT_EQ(trimmer_->trim(kRoom), 1u);
  expectKept(2);
}

TEST_F(EndedProcesses, OneThatEndedLongAfterTheOthersIsKeptThoughItWasSilent) {
  const pid_t silent = markAndLive(1);
  markAndEnd(2);
  for (int search = 0; search < 2; ++search) EXPECT_EQ(trimmer_->trim(kRoom), 0u);
  kill(silent, SIGKILL);
  endOf(silent);
  EXPECT_EQ(trimmer_->trim(kRoom), 1u);
  expectKept(1);
}

TEST_F(PoolTest, RangesMeetTheirOwnBeginningsAcrossAGap) {
  begin(4 * recording::kSegmentBytes, false);
  auto drainer = Drainer::create(recordingDir(), trace());
  ASSERT_OK(drainer);
  lacunaRangePush(lacunaName("outer"));
  while (lacunaDropped() == 0) lacunaMark(lacunaName("fill"));
  lacunaRangePush(lacunaName("dropped"));
  ASSERT_OK((*drainer).flush());
  lacunaMark(lacunaName("after"));
  lacunaRangePop();  // of the dropped one
  lacunaRangePop();  // of the outer one
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  Trace file(trace());
  const auto ranges = file.rows<Range>();
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].flags, kNoStart);
  EXPECT_EQ(ranges[0].depth, 1);
  EXPECT_EQ(file.text(ranges[1].name), "outer");
  EXPECT_EQ(ranges[1].flags, 0);
}

TEST_F(PoolTest, ThreadsShareATinyPoolWhileItIsDrained) {
  begin(4 * recording::kSegmentBytes, false);
  DrainOptions options;
  options.flushEvery = std::chrono::milliseconds(1);
  auto drainer = Drainer::create(recordingDir(), trace(), options);
  ASSERT_OK(drainer);
  (*drainer).start();
  constexpr std::uint64_t kMarks = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back([] { markNumbers(0, kMarks); });
  for (std::thread& thread : threads) thread.join();
  lacunaDetach();
  ASSERT_OK((*drainer).finish());
  EXPECT_EQ((*drainer).stats().events + (*drainer).stats().dropped, 8 * kMarks);
}

/// A recording as it is by default, and what this process has of it.
class FirstPoolTest : public PoolTest {
 protected:
  void begin() {
    ASSERT_OK(createRecording(recordingDir()));
    ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
    drainer_.emplace(*Drainer::create(recordingDir(), trace()));
  }
  void finish() {
    lacunaDetach();
    ASSERT_OK(drainer_->finish());
  }
  [[nodiscard]] std::filesystem::path file() const {
    return recordersIn(segmentFolder(recordingDir())).at(0);
  }
  [[nodiscard]] std::uint32_t segments() const {
    std::uint32_t count = 0;
    std::ifstream bytes(file(), std::ios::binary);
    bytes.seekg(offsetof(recording::Header, segmentCount));
    bytes.read(reinterpret_cast<char*>(&count), sizeof count);
    return count;
  }
  static void fillSegments(std::uint64_t count) {
    markNumbers(0, count * recording::kSegmentBytes / (3 * recording::kSlotBytes));
  }
  std::optional<Drainer> drainer_;
};

TEST_F(FirstPoolTest, AProcessWithFewEventsTakesLittle) {
  begin();
  const std::uint32_t first = segments();
  markNumbers(0, 10);
  ASSERT_OK(drainer_->drain());
  EXPECT_EQ(segments(), first) << "the drainer gives it no more than it can use";
  struct stat status {};
  ASSERT_EQ(stat(file().c_str(), &status), 0);
  EXPECT_LT(status.st_blocks * 512, 3 << 19) << "so it joins within a millisecond";
  finish();
}

TEST_F(FirstPoolTest, AProcessWithManyEventsFindsMoreReadyThanItUses) {
  begin();
  std::uint32_t before = segments();
  for (const std::uint32_t wanted : {16u, 32u, 64u, 128u}) {
    fillSegments(before / 2 + 1);
    EXPECT_EQ(segments(), before) << "it had room for that";
    ASSERT_OK(drainer_->drain());
    EXPECT_GE(segments(), wanted);
    before = segments();
  }
  finish();
  EXPECT_EQ(drainer_->stats().dropped, 0u);
}

TEST_F(FirstPoolTest, ABurstBeforeTheDrainerComesFindsRoomOfItsOwn) {
  begin();
  const std::uint32_t first = segments();
  fillSegments(3 * first);
  EXPECT_GT(segments(), 3 * first);
  finish();
  EXPECT_EQ(drainer_->stats().dropped, 0u);
}

TEST_F(PoolTest, SharedMemoryWithoutTheRoomThatIsAskedForIsLeftAlone) {
  RecordingOptions options;
  options.maxPoolBytes = options.sharedRoomBytes = std::uint64_t{1} << 50;
  ASSERT_OK(createRecording(recordingDir(), options));
  EXPECT_EQ(segmentFolder(recordingDir()), recordingDir());
  ASSERT_OK(removeRecording(recordingDir()));
  options.maxPoolBytes = recording::kSegmentBytes;  // it can use no more than that
  ASSERT_OK(createRecording(recordingDir(), options));
  EXPECT_NE(segmentFolder(recordingDir()), recordingDir());
}

TEST_F(PoolTest, SegmentsGoToTheFolderWithoutSharedMemory) {
  RecordingOptions options;
  options.sharedMemory = false;
  ASSERT_OK(createRecording(recordingDir(), options));
  ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  markNumbers(0, 10);
  EXPECT_FALSE(std::filesystem::exists(recordingDir() / "shm"));
  finish();
  EXPECT_EQ(Trace(trace()).rows<Mark>().size(), 10u);
}

TEST_F(PoolTest, FullSharedMemoryFallsBackToTheFolder) {
  RecordingOptions options;
  ASSERT_OK(createRecording(recordingDir(), options));
  // As a shared memory that is gone or full: there is no room at the end of the link.
  std::filesystem::remove_all(std::filesystem::read_symlink(recordingDir() / "shm"));
  std::filesystem::remove(recordingDir() / "shm");
  std::filesystem::create_directory_symlink("/proc/self", recordingDir() / "shm");
  ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  markNumbers(0, 10);
  finish();
  EXPECT_EQ(Trace(trace()).rows<Mark>().size(), 10u);
}

/// In a child whose shared memory is a file system of 2 MiB: records, with `fill` before it joins
/// or after.
class FullSharedMemoryTest : public PoolTest {
 protected:
  static constexpr int kNotAllowed = 77;
  static constexpr std::uint64_t kMarks = 200'000;

  void recordWhereItIsFull(bool fullBefore) {
    RecordingOptions options;
    options.poolBytes = 4 * recording::kSegmentBytes;
    options.sharedRoomBytes = 2 * options.poolBytes;
    ASSERT_OK(createRecording(recordingDir(), options));
    small_ = segmentFolder(recordingDir());
    const int end = inChild([&] {
      if (!mountSmall()) _exit(kNotAllowed);
      if (fullBefore) fill();
      if (lacunaAttach(recordingDir().c_str()) != 0) _exit(2);
      if (!fullBefore) fill();
      markNumbers(0, kMarks);
      lacunaDetach();
      auto drainer = Drainer::create(recordingDir(), trace());
      if (!drainer.ok() || !(*drainer).finish().ok()) _exit(3);
      if ((*drainer).stats().events + (*drainer).stats().dropped != kMarks) _exit(4);
    });
    std::filesystem::remove_all(small_);  // the child could remove only what lay over it
    if (end == kNotAllowed) GTEST_SKIP() << "mounting a file system is not allowed here";
    ASSERT_EQ(end, 0) << "SIGBUS would be 135";
    stored_ = Trace(trace()).rows<Mark>().size();
  }
  std::size_t stored_ = 0;

 private:
  std::filesystem::path small_;  ///< the folder of segments
  [[nodiscard]] bool mountSmall() const {
    const auto owner = recording::readFile(small_ / recording::kOwnerFile);
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    if (mount("tmpfs", small_.c_str(), "tmpfs", 0, "size=2m") != 0) return false;
    return owner.ok() && recording::replaceFile(small_ / recording::kOwnerFile, *owner).ok();
  }
  void fill() const {
    std::ofstream file(small_ / "filler", std::ios::binary);
    const std::string page(4096, 'x');
    while (file.write(page.data(), 4096).flush()) {
    }
  }
};

TEST_F(FullSharedMemoryTest, FullBeforeTheStartTheFolderServes) {
  recordWhereItIsFull(true);
  if (IsSkipped() || HasFailure()) return;
  EXPECT_EQ(stored_, kMarks);
}

TEST_F(FullSharedMemoryTest, FullLaterWhatFindsNoRoomIsCountedAndNothingCrashes) {
  recordWhereItIsFull(false);
  if (IsSkipped() || HasFailure()) return;
  EXPECT_GT(stored_, 1000u);
  EXPECT_LT(stored_, kMarks);
}

TEST_F(PoolTest, AFileSizeLimitIsKeptTo) {
  begin(64 * recording::kSegmentBytes, false);
  lacunaDetach();
  const auto recorded = [&](std::uint64_t limit) {
    return inChild([&] {
      const rlimit most{limit, limit};
      setrlimit(RLIMIT_FSIZE, &most);
      const int error = lacunaAttach(recordingDir().c_str());
      if (error != 0) _exit(-error);
      markNumbers(0, 100'000);
    });
  };
  const std::uint64_t head = recording::Offsets(64).segments;
  EXPECT_EQ(recorded(head + 8 * recording::kSegmentBytes), 0) << "fewer segments, and no signal";
  EXPECT_EQ(recorded(head + recording::kSegmentBytes), EFBIG);
  EXPECT_EQ(recorded(10), EFBIG) << "not even room to say so";
  finish();
  EXPECT_GT(stats_.rows, 0u);
  EXPECT_GT(stats_.dropped, 0u);
}

TEST_F(PoolTest, JoiningNothingIsAnError) {
  EXPECT_EQ(lacunaAttach((home_ / "nowhere").c_str()), -ENOENT);
  EXPECT_EQ(lacunaAttach(home_.c_str()), -ENOENT);
  EXPECT_EQ(lacunaIsRecording(), 0);
  EXPECT_FALSE(Drainer::create(home_, trace()).ok());
  EXPECT_FALSE(recover(home_, trace()).ok());
}

TEST_F(PoolTest, ARecordingOfAnotherVersionNotesThatAProcessCannotJoin) {
  RecordingOptions options;
  options.sharedMemory = false;
  ASSERT_OK(createRecording(recordingDir(), options));
  const auto setVersion = [&](char version) {
    std::fstream(recordingDir() / recording::kSettingsFile,
                 std::ios::in | std::ios::out | std::ios::binary)
        .seekp(8)
        .put(version);
  };
  setVersion(99);
  EXPECT_EQ(lacunaAttach(recordingDir().c_str()), -EPROTONOSUPPORT);
  EXPECT_EQ(lacunaIsRecording(), 0);
  std::ifstream note(recordingDir() / (std::to_string(getpid()) + ".failed"));
  std::string text;
  std::getline(note, text);
  EXPECT_NE(text.find("of another version of Lacuna"), std::string::npos) << text;
  setVersion(static_cast<char>(recording::kVersion));
}

TEST_F(PoolTest, SecondDrainerIsRefused) {
  ASSERT_OK(createRecording(recordingDir()));
  auto first = Drainer::create(recordingDir(), trace());
  ASSERT_OK(first);
  EXPECT_FALSE(Drainer::create(recordingDir(), home_ / "other.lcn").ok());
  ASSERT_OK((*first).finish());
}

TEST_F(PoolTest, DamagedSegmentsNeverHarmTheDrainer) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 60; ++round) {
    RecordingOptions options;
    options.poolBytes = options.maxPoolBytes = 4 * recording::kSegmentBytes;
    options.flightRecorder = round % 2 != 0;
    ASSERT_OK(createRecording(recordingDir(), options));
    ASSERT_EQ(inChild([this] {
                lacunaAttach(recordingDir().c_str());
                for (int i = 0; i < 500; ++i)
                  record(Queue{.id = QueueId{5}, .device = DeviceId{3}});
                markNumbers(0, 2000);
              }),
              0);
    const std::filesystem::path file = recordersIn(recordingDir() / "shm").at(0);
    {
      std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
      const recording::Offsets offsets(4);
      for (int i = 0; i < 200; ++i) {
        // Anything but the words that make it a recording of a process that is gone.
        const std::uint64_t regions[] = {
            offsetof(recording::Header, bootId) + random() % 2000,
            offsets.threads + random() % 4096, offsets.strings + random() % 4096,
            offsets.segments + random() % (4 * recording::kSegmentBytes)};
        const std::uint64_t word = random() >> random() % 64;
        bytes.seekp(static_cast<std::streamoff>(regions[random() % 4]));
        bytes.write(reinterpret_cast<const char*>(&word), sizeof word);
      }
    }
    ASSERT_OK(recover(recordingDir(), trace()));
    EXPECT_TRUE(Reader::open(trace()).ok());
  }
}

}  // namespace
}  // namespace lacuna::prof
