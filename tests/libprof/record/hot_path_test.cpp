// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <map>

#include "libprof/record/recorded.h"

/// The cost of recording to the program that is recorded: neither a system call nor heap memory.

namespace {
std::atomic<std::uint64_t> gAllocations{0};
}

// A sanitizer has an allocator of its own in place of the C library's.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define LACUNA_COUNTS_ALLOCATIONS 1
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* from, std::size_t bytes);

/// In place of the C library's, which operator new calls too: the same memory, counted.
void* malloc(std::size_t bytes) noexcept {
  gAllocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  gAllocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* from, std::size_t bytes) noexcept {
  gAllocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(from, bytes);
}
}
#endif

namespace lacuna::prof {
namespace {

constexpr int kNotAllowed = 9;
/// A round fills 26 of the 4,092 slots of a thread's first segment.
constexpr int kHotRounds = 140;

/// From here on this process may write and end; whatever else it asks of the system kills it.
void forbidSystemCalls() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(rules)), rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(kNotAllowed);
  }
}

/// Where the system's clock is not the stamp counter, reading it may be a system call.
bool stampsAreFree() {
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
  return source.empty() || source == "tsc";
}

/// Every kind of event that is promised to cost neither, and the names that they need.
struct Events {
  LacunaName name = lacunaName("range");
  LacunaName domain = lacunaName("domain");
  LacunaName site = lacunaSite(name, domain, lacunaName("category"), 0xff00ff00);
  std::uint32_t track = lacunaCounterTrack(lacunaName("counter"), lacunaName("bytes"));
  LacunaEvent event{.name = name,
                    .domain = domain,
                    .category = lacunaName("category"),
                    .text = lacunaName("text"),
                    .colour = 7,
                    .payloadType = LacunaPayloadU64,
                    .payload = 3,
                    .correlation = 4};

  void record() const {
    lacunaRangePush(name);
    lacunaDomainRangePush(domain, site);
    { LACUNA_RANGE("scope", "domain"); }
    lacunaDomainRangePop(domain);
    lacunaRangePop();
    lacunaMark(name);
    lacunaRangePushEvent(&event);
    lacunaMarkEvent(&event);
    lacunaDomainRangePop(domain);
    lacunaRangeEnd(lacunaRangeStart(&event));
    lacunaCounter(track, 1.5);
    lacunaAllocate(0x1000, 64, name, 0);
    lacunaFree(0x1000);
    lacunaFlow(5, LacunaFlowBegin, name, domain);
  }
};
constexpr std::size_t kRangesARound = 5;

class HotPathTest : public RecordingTest {
 protected:
  void SetUp() override {
    RecordingTest::SetUp();
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the thread sanitizer's runtime maps memory for its own notes at any moment";
#endif
    if (!stampsAreFree()) GTEST_SKIP() << "the system's clock is not the stamp counter";
    ASSERT_OK(createRecording(recordingDir()));
    ASSERT_EQ(pipe(pipe_), 0);
  }
  void TearDown() override {
    for (const int end : pipe_) {
      if (end >= 0) close(end);
    }
    RecordingTest::TearDown();
  }
  /// Runs `work` in a child that may do nothing else, once it has its first segment and its names.
  /// Returns how it ended.
  template <class Work>
  int confined(Work&& work) {
    return inChild([&] {
      lacunaAttach(recordingDir().c_str());
      const Events events;
      events.record();
      forbidSystemCalls();
      const std::uint64_t before = gAllocations.load();
      work(events);
      const std::uint64_t allocations = gAllocations.load() - before;
      (void)!write(pipe_[1], &allocations, sizeof allocations);
      // Not _exit(), which asks for all threads to end.
      syscall(SYS_exit, 0);
    });
  }
  std::uint64_t allocationsOfChild() {
    std::uint64_t allocations = ~0ull;
    EXPECT_EQ(read(pipe_[0], &allocations, sizeof allocations),
              static_cast<ssize_t>(sizeof allocations));
    return allocations;
  }

  int pipe_[2] = {-1, -1};
};

TEST_F(HotPathTest, RecordingMakesNoSystemCallAndTakesNoHeapMemory) {
  const int end = confined([](const Events& events) {
    for (int i = 1; i < kHotRounds; ++i) events.record();
  });
  if (end == kNotAllowed) GTEST_SKIP() << "seccomp is not allowed here";
  ASSERT_EQ(end, 0) << "128 + " << SIGSYS << " says that it asked something of the system";
  EXPECT_EQ(allocationsOfChild(), 0u);
  ASSERT_OK(recover(recordingDir(), trace()));
  Trace file(trace());
  const auto times = [](std::size_t n) { return n * kHotRounds; };
  EXPECT_EQ(file.rows<Range>().size(), times(kRangesARound));
  EXPECT_EQ(file.rows<Mark>().size(), times(2));
  EXPECT_EQ(file.rows<CounterSample>().size(), times(1));
  EXPECT_EQ(file.rows<Allocation>().size(), times(2));
  EXPECT_EQ(file.rows<Flow>().size(), times(1));
  EXPECT_EQ(file.rows<Drop>().size(), 0u);
}

/// The test above would see a system call or an allocation.
TEST_F(HotPathTest, ASystemCallOrAnAllocationWouldBeNoticed) {
  const int end = confined([](const Events&) { syscall(SYS_getppid); });
  if (end == kNotAllowed) GTEST_SKIP() << "seccomp is not allowed here";
  EXPECT_EQ(end, 128 + SIGSYS);
#ifdef LACUNA_COUNTS_ALLOCATIONS
  EXPECT_EQ(confined([](const Events&) { std::free(std::malloc(1)); }), 0);
  EXPECT_EQ(allocationsOfChild(), 1u);
#endif
}

}  // namespace
}  // namespace lacuna::prof
