// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <optional>
#include <thread>

#include "lacuna/prof/announced.h"
#include "libprof/record/recorded.h"

namespace lacuna::prof {
namespace {

using SessionTest = RecordingTest;

TEST_F(SessionTest, ScopedRangesBecomeNestedRows) {
  auto session = Session::start(trace());
  ASSERT_OK(session);
  {
    LACUNA_RANGE("outer", "lib", "group", 0xff112233);
    LACUNA_RANGE("inner", "lib");
  }
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const auto rows = file.rows<Range>();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(file.text(rows[0].name), "inner");
  EXPECT_EQ(rows[0].depth, 1);
  EXPECT_EQ(file.text(rows[1].name), "outer");
  EXPECT_EQ(file.text(rows[1].domain), "lib");
  EXPECT_EQ(file.text(rows[1].category), "group");
  EXPECT_EQ(rows[1].colour, 0xff112233u);
  EXPECT_EQ(rows[1].depth, 0);
  EXPECT_LE(rows[1].startNs, rows[0].startNs);
  EXPECT_GE(rows[1].startNs + rows[1].durNs, rows[0].startNs + rows[0].durNs);
}

TEST_F(SessionTest, DomainsNestByThemselves) {
  auto session = Session::start(trace());
  const LacunaName domain = lacunaName("other");
  lacunaRangePush(lacunaName("a"));
  lacunaDomainRangePush(domain, lacunaName("b"));
  lacunaRangePop();
  lacunaDomainRangePop(domain);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const auto rows = file.rows<Range>();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(file.text(rows[0].name), "a");
  EXPECT_EQ(file.text(rows[1].name), "b");
  EXPECT_EQ(rows[1].depth, 0);
}

TEST_F(SessionTest, EventKeepsEverythingItCarries) {
  auto session = Session::start(trace());
  const LacunaEvent event{.name = lacunaName("n"),
                          .domain = lacunaName("d"),
                          .category = lacunaName("c"),
                          .text = lacunaName("[2, 3]"),
                          .colour = 7,
                          .payloadType = LacunaPayloadF64,
                          .payload = std::bit_cast<std::uint64_t>(2.5),
                          .correlation = 99};
  lacunaRangePushEvent(&event);
  lacunaDomainRangePop(event.domain);
  lacunaMarkEvent(&event);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  ASSERT_EQ(file.rows<Range>().size(), 1u);
  const Range range = file.rows<Range>()[0];
  EXPECT_EQ(file.text(range.text), "[2, 3]");
  EXPECT_EQ(range.payloadType, PayloadType::F64);
  EXPECT_EQ(std::bit_cast<double>(range.payload), 2.5);
  EXPECT_EQ(range.correlation, 99u);
  ASSERT_EQ(file.rows<Mark>().size(), 1u);
  EXPECT_EQ(file.text(file.rows<Mark>()[0].category), "c");
}

TEST_F(SessionTest, RangeEndsOnAnotherThread) {
  auto session = Session::start(trace());
  LacunaEvent event{};
  event.name = lacunaName("request");
  const std::uint64_t range = lacunaRangeStart(&event);
  std::thread([range] { lacunaRangeEnd(range); }).join();
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const auto rows = file.rows<Range>();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].kind, RangeKind::StartEnd);
  EXPECT_TRUE(rows[0].endThread);
  EXPECT_NE(rows[0].endThread, rows[0].thread);
  EXPECT_EQ(rows[0].flags, 0);
}

TEST_F(SessionTest, ARangeStartedWhileNothingRecordedLeavesNoTrace) {
  LacunaEvent event{};
  event.name = lacunaName("request");
  const std::uint64_t range = lacunaRangeStart(&event);
  EXPECT_EQ(range, 0u);
  auto session = Session::start(trace());
  ASSERT_OK(session);
  lacunaRangeEnd(range);
  ASSERT_OK((*session).stop());
  EXPECT_EQ((*session).stats().events, 0u);
  EXPECT_TRUE(Trace(trace()).rows<Range>().empty());
}

TEST_F(SessionTest, OpenRangeIsFlaggedUnfinished) {
  auto session = Session::start(trace());
  lacunaRangePush(lacunaName("never ends"));
  lacunaMark(lacunaName("last seen"));
  ASSERT_OK((*session).stop());
  Trace file(trace());
  ASSERT_EQ(file.rows<Range>().size(), 1u);
  EXPECT_EQ(file.rows<Range>()[0].flags, kUnfinished);
  EXPECT_EQ(file.rows<Range>()[0].startNs + file.rows<Range>()[0].durNs,
            file.rows<Mark>()[0].timeNs);
}

TEST_F(SessionTest, CountersAllocationsFlowsAndLinesArrive) {
  auto session = Session::start(trace());
  lacunaCounter(lacunaCounterTrack(lacunaName("load"), lacunaName("percent")), 12.5);
  lacunaAllocate(0x1000, 64, lacunaName("w"), static_cast<std::uint8_t>(MemoryRole::Parameter));
  lacunaFree(0x1000);
  lacunaFlow(5, LacunaFlowEnd, lacunaName("f"), lacunaName("k"));
  lacunaLog(2, lacunaName("app"), lacunaName("careful"));
  ASSERT_OK((*session).stop());
  Trace file(trace());
  ASSERT_EQ(file.rows<CounterSample>().size(), 1u);
  EXPECT_EQ(file.rows<CounterSample>()[0].value, 12.5);
  EXPECT_EQ(file.text(file.rows<CounterTrack>()[0].unit), "percent");
  const auto allocations = file.rows<Allocation>();
  ASSERT_EQ(allocations.size(), 2u);
  EXPECT_EQ(allocations[0].role, MemoryRole::Parameter);
  EXPECT_EQ(allocations[1].action, MemoryAction::Free);
  EXPECT_EQ(file.rows<Flow>()[0].phase, FlowPhase::End);
  EXPECT_EQ(file.rows<LogLine>()[0].level, LogLevel::Warning);
}

TEST_F(SessionTest, RowsOfAnyTableAreRenumbered) {
  auto session = Session::start(trace());
  record(Device{.id = DeviceId{40},
                .kind = DeviceKind::Cuda,
                .name = StringId{lacunaName("H100")},
                .uuid = StringId{lacunaName("GPU-1")}});
  record(Queue{.id = QueueId{70}, .device = DeviceId{40}, .process = ProcessId{1}, .nativeId = 7});
  record(Kernel{.startNs = 100,
                .durNs = 5,
                .queue = QueueId{70},
                .device = DeviceId{40},
                .correlation = 3,
                .name = StringId{lacunaName("gemm")},
                .gridX = 8});
  record(
      ApiCall{.startNs = 90, .durNs = 4, .thread = ThreadId{static_cast<std::uint32_t>(gettid())}});
  ASSERT_OK((*session).stop());
  Trace file(trace());
  ASSERT_EQ(file.rows<Kernel>().size(), 1u);
  const Kernel kernel = file.rows<Kernel>()[0];
  EXPECT_EQ(kernel.startNs, 100);
  EXPECT_EQ(kernel.gridX, 8u);
  EXPECT_EQ(file.text(kernel.name), "gemm");
  EXPECT_EQ(kernel.device, file.rows<Device>()[0].id);
  EXPECT_EQ(kernel.queue, file.rows<Queue>()[0].id);
  EXPECT_EQ(file.rows<Queue>()[0].process, file.rows<Process>()[0].id);
  EXPECT_EQ(file.rows<ApiCall>()[0].thread, file.rows<Thread>()[0].id);
}

TEST_F(SessionTest, AnnouncementsOfAQueueBecomeItsRows) {
  auto session = Session::start(trace());
  const LacunaName domain = lacunaName("lacuna.rt");
  const AnnouncedMemory memory{.address = 0x1000,
                               .bytes = 256,
                               .sequence = 6,
                               .op = lacunaName("linear"),
                               .tensor = lacunaName("weight"),
                               .queue = 0,
                               .action = 0,
                               .role = static_cast<std::uint8_t>(MemoryRole::Parameter)};
  recordMemory(memory);
  const AnnouncedExecution inPlace{.correlation = 41, .sequence = 7};
  lacunaPushExecution_(domain, lacunaName("linear"), lacunaName("execution"), &inPlace);
  const AnnouncedExecution copy{.correlation = 42,
                                .sequence = 8,
                                .bytes = 4096,
                                .enqueueStartNs = 5000,
                                .enqueueNs = 90,
                                .enqueueThread = static_cast<std::uint32_t>(::gettid()),
                                .kind = 1};
  lacunaPushExecution_(domain, lacunaName("copy"), 0, &copy);
  lacunaDomainRangePop(domain);
  lacunaDomainRangePop(domain);
  const AnnouncedWait wait{.sequence = 8, .queue = 0, .kind = 1};
  lacunaPushWait_(domain, lacunaName("item"), 0, &wait);
  lacunaDomainRangePop(domain);
  ASSERT_OK((*session).stop());
  Trace file(trace());

  const auto ranges = file.rows<Range>();
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(file.text(ranges[0].name), "copy");
  EXPECT_EQ(ranges[0].depth, 1);
  EXPECT_EQ(file.text(ranges[1].category), "execution");
  EXPECT_EQ(ranges[1].payload, 7u);
  const auto kernels = file.rows<Kernel>();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(file.text(kernels[0].name), "linear");
  EXPECT_EQ(kernels[0].startNs, ranges[1].startNs);
  EXPECT_EQ(kernels[0].durNs, ranges[1].durNs);
  EXPECT_EQ(kernels[0].correlation, 41u);
  const auto copies = file.rows<Memcpy>();
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].bytes, 4096u);
  EXPECT_EQ(copies[0].queue, kernels[0].queue);
  const auto calls = file.rows<ApiCall>();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].startNs, 5000);
  EXPECT_EQ(calls[0].durNs, 90);
  EXPECT_EQ(calls[0].thread, ranges[0].thread);
  EXPECT_EQ(calls[1].startNs, kernels[0].startNs);
  EXPECT_EQ(calls[1].thread, ranges[0].thread);
  const auto allocations = file.rows<Allocation>();
  ASSERT_EQ(allocations.size(), 1u);
  EXPECT_EQ(file.text(allocations[0].op), "linear");
  EXPECT_EQ(file.text(allocations[0].tensor), "weight");
  EXPECT_EQ(allocations[0].role, MemoryRole::Parameter);
  EXPECT_EQ(allocations[0].sequence, 6u);
  EXPECT_EQ(allocations[0].thread, ranges[0].thread);
  const auto waits = file.rows<Sync>();
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].kind, SyncKind::Event);
  EXPECT_EQ(file.text(waits[0].name), "item");
}

TEST_F(SessionTest, ExecutionThatIsCutOffIsAnUnfinishedKernel) {
  auto session = Session::start(trace());
  const AnnouncedExecution announced{.correlation = 5, .sequence = 1};
  lacunaPushExecution_(lacunaName("lacuna.rt"), lacunaName("matmul"), 0, &announced);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const auto kernels = file.rows<Kernel>();
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].flags & kUnfinished, kUnfinished);
  EXPECT_EQ(kernels[0].correlation, 5u);
}

TEST_F(SessionTest, ThreadsHaveNamesAndTheirProcess) {
  auto session = Session::start(trace());
  std::thread([] {
    lacunaThreadName(lacunaName("worker"));
    lacunaMark(lacunaName("m"));
  }).join();
  ASSERT_OK((*session).stop());
  Trace file(trace());
  ASSERT_EQ(file.rows<Thread>().size(), 1u);
  EXPECT_EQ(file.text(file.rows<Thread>()[0].name), "worker");
  ASSERT_EQ(file.rows<Process>().size(), 1u);
  EXPECT_EQ(file.rows<Process>()[0].osPid, static_cast<std::uint32_t>(getpid()));
  EXPECT_EQ(file.rows<Thread>()[0].process, file.rows<Process>()[0].id);
}

TEST_F(SessionTest, FlushMakesEverythingVisibleToAReader) {
  auto session = Session::start(trace());
  for (int i = 0; i < 100; ++i) lacunaMark(lacunaName("m"));
  ASSERT_OK((*session).flush());
  auto growing = Reader::open(trace());
  ASSERT_OK(growing);
  EXPECT_EQ((*growing).rows<Mark>(), 100u);
  ASSERT_OK((*session).stop());
}

TEST_F(SessionTest, SessionsMayFollowOneAnother) {
  for (int i = 0; i < 5; ++i) {
    auto session = Session::start(trace());
    ASSERT_OK(session);
    LACUNA_MARK("again");
    std::thread([] { LACUNA_RANGE("in a thread"); }).join();
    ASSERT_OK((*session).stop());
    LACUNA_MARK("between");
    Trace file(trace());
    EXPECT_EQ(file.rows<Mark>().size(), 1u);
    EXPECT_EQ(file.rows<Range>().size(), 1u);
  }
}

TEST_F(SessionTest, ScopesOverTheEdgesOfRecordingsKeepTheHalfThatWasOn) {
  std::optional<ScopedRange> before(std::in_place, "before");
  auto first = Session::start(home_ / "first.lcn");
  ASSERT_OK(first);
  before.reset();
  std::optional<ScopedRange> over(std::in_place, "over two");
  std::optional<ScopedRange> cut(std::in_place, "cut");
  ASSERT_OK((*first).stop());
  cut.reset();
  auto second = Session::start(home_ / "second.lcn");
  ASSERT_OK(second);
  over.reset();
  ASSERT_OK((*second).stop());

  Trace early(home_ / "first.lcn");
  const auto begun = early.rows<Range>();
  ASSERT_EQ(begun.size(), 2u);
  EXPECT_EQ(begun[0].flags, kUnfinished);
  EXPECT_EQ(begun[1].flags, kUnfinished);
  EXPECT_EQ((*first).stats().dropped, 0u);
  Trace late(home_ / "second.lcn");
  const auto ended = late.rows<Range>();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].flags, kNoStart);
}

TEST_F(SessionTest, SecondSessionAtATimeIsRefused) {
  auto session = Session::start(trace());
  EXPECT_FALSE(Session::start(home_ / "other.lcn").ok());
  ASSERT_OK((*session).stop());
}

TEST_F(SessionTest, UnwritablePlaceIsAClearError) {
  auto session = Session::start("/proc/no/trace.lcn");
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message.find("/proc/no"), std::string::npos) << session.error().message;
  EXPECT_EQ(lacunaIsRecording(), 0);
}

TEST_F(SessionTest, OneThatCannotRecordLeavesNothing) {
  const int ended = inChild([&] {
    const rlimit most{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &most);
    const auto session = Session::start(trace());
    if (session.ok() ||
        session.error().message.find("cannot record: File too large") == std::string::npos)
      _exit(1);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(std::filesystem::is_empty(home_)) << *std::filesystem::directory_iterator(home_);
}

TEST_F(SessionTest, OneThatCannotRecordLeavesTheTraceThatIsThere) {
  constexpr std::uintmax_t kSize = 1000;
  std::ofstream(trace()) << std::string(kSize, 'x');
  const int ended = inChild([&] {
    const rlimit most{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &most);
    if (Session::start(trace()).ok()) _exit(1);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(std::filesystem::file_size(trace()), kSize);
}

TEST_F(SessionTest, OneThatCannotWriteItsTraceDoesNotRecord) {
  std::filesystem::create_directory(trace());
  const auto session = Session::start(trace());
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.error().message.find("Is a directory"), std::string::npos)
      << session.error().message;
  EXPECT_EQ(lacunaIsRecording(), 0);
  EXPECT_FALSE(std::filesystem::exists(home_ / "trace.lcn.recording"));
  std::filesystem::remove(trace());
  ASSERT_OK(Session::start(trace()));
}

TEST_F(SessionTest, LongNamesAreCutAndNamesOutliveSessions) {
  const LacunaName before = lacunaName("made before");
  auto session = Session::start(trace());
  lacunaMark(before);
  lacunaMark(lacunaName(std::string(10000, 'x').c_str()));
  ASSERT_OK((*session).stop());
  Trace file(trace());
  EXPECT_EQ(file.text(file.rows<Mark>()[0].name), "made before");
  EXPECT_EQ(file.text(file.rows<Mark>()[1].name).size(), 4095u);
  EXPECT_EQ(lacunaName("made before"), before);
}

TEST_F(SessionTest, ManyShortThreadsAreAllThere) {
  auto session = Session::start(trace());
  constexpr int kThreads = 1000;
  for (int i = 0; i < kThreads; i += 10) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 10; ++t) threads.emplace_back([] { LACUNA_RANGE("short"); });
    for (std::thread& thread : threads) thread.join();
  }
  ASSERT_OK((*session).stop());
  EXPECT_EQ((*session).stats().dropped, 0u);
  Trace file(trace());
  EXPECT_EQ(file.rows<Range>().size(), static_cast<std::size_t>(kThreads));
  EXPECT_EQ(file.rows<Thread>().size(), static_cast<std::size_t>(kThreads));
}

/// A thread whose forked child ends as a thread does, with nothing recorded of its own.
void* forkWhereTheChildsThreadEnds(void* session) {
  LACUNA_MARK("before");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    // Called after the recorder's own, whose key is older.
    pthread_key_t last;
    pthread_key_create(&last, [](void*) { _exit(0); });
    pthread_setspecific(last, session);
    return nullptr;
  }
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(static_cast<Session*>(session)->flush().ok());
  for (int i = 0; i < 100; ++i) LACUNA_MARK("after");
  return nullptr;
}

TEST_F(SessionTest, AForkedChildWhoseThreadEndsLeavesTheParentsThreadAlone) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "threads of a forked child do not end under it";
#endif
  auto session = Session::start(trace());
  ASSERT_OK(session);
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, nullptr, forkWhereTheChildsThreadEnds, &*session), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  ASSERT_OK((*session).stop());
  EXPECT_EQ(Trace(trace()).rows<Mark>().size(), 101u);
}

TEST_F(SessionTest, OneWhoseFolderIsDeletedLosesNothingAndReportsItAtTheEnd) {
  Session::Options options;
  options.recording.poolBytes = options.recording.maxPoolBytes = 4 << 16;  // as small as there are
  auto session = Session::start(trace(), options);
  ASSERT_OK(session);
  const std::filesystem::path folder = home_ / "trace.lcn.recording";
  const std::filesystem::path segments = segmentFolder(folder);
  LACUNA_MARK("before");
  ASSERT_OK((*session).flush());
  std::filesystem::remove_all(folder);
  // Several times what there is room for.
  constexpr std::size_t kRounds = 20;
  constexpr std::size_t kMarks = 4000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < kMarks; ++i) LACUNA_MARK("after");
    ASSERT_OK((*session).flush());
  }
  const Status stopped = (*session).stop();
  ASSERT_FALSE(stopped.ok());
  EXPECT_NE(stopped.error().message.find("was deleted or moved"), std::string::npos)
      << stopped.error().message;
  EXPECT_FALSE(std::filesystem::exists(segments)) << segments;
  EXPECT_EQ((*session).stats().dropped, 0u);
  EXPECT_EQ(Trace(trace()).rows<Mark>().size(), 1 + kRounds * kMarks);
}

TEST_F(SessionTest, ARelativeNameHoldsWhereTheProgramChangesItsDirectory) {
  const int ended = inChild([&] {
    if (chdir(home_.c_str()) != 0) _exit(1);
    auto session = Session::start("trace.lcn");
    if (!session.ok()) _exit(2);
    LACUNA_MARK("before");
    if (chdir("/") != 0) _exit(3);
    std::thread([] { LACUNA_MARK("after"); }).join();
    if (!(*session).flush().ok()) _exit(4);
    if (!(*session).stop().ok()) _exit(5);
  });
  EXPECT_EQ(ended, 0);
  EXPECT_EQ(Trace(trace()).rows<Mark>().size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(home_ / "trace.lcn.recording"));
}

TEST_F(SessionTest, RecordingLeavesNothingBehind) {
  auto session = Session::start(trace());
  const auto shared = std::filesystem::read_symlink(home_ / "trace.lcn.recording" / "shm");
  ASSERT_OK((*session).stop());
  EXPECT_FALSE(std::filesystem::exists(shared));
  EXPECT_FALSE(std::filesystem::exists(home_ / "trace.lcn.recording"));
}

}  // namespace
}  // namespace lacuna::prof
