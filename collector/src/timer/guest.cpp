// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The library that `lacuna run` preloads where the kernel does not sample. Each thread gets a timer
// of its own CPU time, whose signal makes it write down its own call chain. The library lives in
// programs that know nothing of it. So the handler takes no lock, allocates nothing and calls
// nothing but the clock. The library needs libc alone and throws nothing. A program that wants our
// signal for itself gets it.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/clock.h"
#include "core/guest.h"
#include "lacuna/prof/process.h"
#include "timer/ring.h"
#include "timer/walk.h"

extern "C" void* __libc_stack_end;

namespace {

using namespace lacuna::collector;
using namespace lacuna::collector::timer;

constexpr int kThreads = 4096;

struct Timed {
  std::atomic<int> tid{0};  ///< 0: free
  std::atomic<int> timer{-1};
};

Ring* gRing = nullptr;
const std::atomic<std::uint32_t>* gEnabled = nullptr;
std::int64_t gPeriodNs = 0;
std::atomic<int> gSignal{0};
pid_t gOwner = 0;  ///< whose timers they are
char gFolder[512];
pthread_key_t gKey;
Timed gTimed[kThreads];
pthread_mutex_t gSignalLock = PTHREAD_MUTEX_INITIALIZER;
int gOurs = 0;  ///< its address distinguishes our timers from others

/// This thread's own.
__thread StackBounds tStack __attribute__((tls_model("initial-exec")));
__thread int tTid __attribute__((tls_model("initial-exec"))) = 0;

using CreateThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
using SetAction = int (*)(int, const struct sigaction*, struct sigaction*);
using SetHandler = sighandler_t (*)(int, sighandler_t);

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
/// For ourselves libc's own, past everybody who stands in front of it: a sanitizer would deliver
/// our signal later.
int setAction(int number, const struct sigaction* action, struct sigaction* old) {
  static void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  static const auto own =
      libc != nullptr ? reinterpret_cast<SetAction>(dlsym(libc, "sigaction")) : nullptr;
  static const auto real = own != nullptr ? own : next<SetAction>("sigaction");
  return real(number, action, old);
}

int threadId() {
  return static_cast<int>(syscall(SYS_gettid));
}

// A sample.

struct Registers {
  std::uintptr_t instruction, stack, frame;
};

Registers registersOf(const ucontext_t& context) {
  const auto& machine = context.uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<std::uintptr_t>(machine.gregs[REG_RIP]),
          static_cast<std::uintptr_t>(machine.gregs[REG_RSP]),
          static_cast<std::uintptr_t>(machine.gregs[REG_RBP])};
#elif defined(__aarch64__)
  return {machine.pc, machine.sp, machine.regs[29]};
#else
#error "the registers of this machine are not known"
#endif
}

void sampleHere(Ring& ring, const ucontext_t& context) {
  std::uint64_t number = ring.head.load(std::memory_order_relaxed);
  do {
    if (number - ring.tail.load(std::memory_order_acquire) >= kSamples) {
      ring.dropped.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  } while (!ring.head.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  Sample& sample = ring.samples[number % kSamples];
  sample.timeNs = nowNs();
  sample.cpuNs = static_cast<std::uint64_t>(clockNs(CLOCK_THREAD_CPUTIME_ID));
  sample.tid = static_cast<std::uint32_t>(tTid);
  const Registers registers = registersOf(context);
  sample.depth = static_cast<std::uint32_t>(walkFramePointers(
      registers.instruction, registers.stack, registers.frame, tStack, sample.frames, kFrames));
  sample.turn.store(number + 1, std::memory_order_release);
}

/// Somebody sent our signal by its number: what it would do without us is nothing, or to end the
/// program.
void actAsDefault(int number) {
  if (number == SIGURG) return;
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  setAction(number, &action, nullptr);
  syscall(SYS_tgkill, getpid(), threadId(), number);
}

void onSignal(int number, siginfo_t* info, void* context) {
  const int error = errno;
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &gOurs) {
    actAsDefault(number);
  } else if (Ring* ring = gRing;
             ring != nullptr && gEnabled->load(std::memory_order_relaxed) != 0) {
    sampleHere(*ring, *static_cast<ucontext_t*>(context));
  }
  errno = error;
}

// Timers.

/// The clock of a thread's CPU time, as pthread_getcpuclockid() would make it.
clockid_t clockOf(int tid) {
  return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6);
}

/// glibc's own would do more than the system call.
bool startTimer(Timed& timed, int tid) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = gSignal.load();
  event.sigev_value.sival_ptr = &gOurs;
  event._sigev_un._tid = tid;
  int timer = -1;
  if (event.sigev_signo == 0 || syscall(SYS_timer_create, clockOf(tid), &event, &timer) != 0)
    return false;
  const timespec period{gPeriodNs / 1'000'000'000, gPeriodNs % 1'000'000'000};
  const itimerspec when{period, period};
  timed.timer.store(timer);
  return syscall(SYS_timer_settime, timer, 0, &when, nullptr) == 0;
}

void stopTimer(Timed& timed) {
  const int timer = timed.timer.exchange(-1);
  if (timer >= 0) syscall(SYS_timer_delete, timer);
}

void armThisThread() {
  if (gRing == nullptr) return;
  tTid = threadId();
  const std::size_t first = static_cast<std::size_t>(tTid) % kThreads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    Timed& timed = gTimed[(first + i) % kThreads];
    int free = 0;
    if (!timed.tid.compare_exchange_strong(free, tTid)) continue;
    if (startTimer(timed, tTid)) {
      pthread_setspecific(gKey, &timed);
      return;
    }
    stopTimer(timed);
    timed.tid.store(0);
    break;
  }
  gRing->untimed.fetch_add(1, std::memory_order_relaxed);
}

void disarm(void* timed) {
  stopTimer(*static_cast<Timed*>(timed));
  static_cast<Timed*>(timed)->tid.store(0);
}

// The signal.

/// A signal that nobody uses. SIGURG first: a program whose signals are reset behind our back
/// ignores it. Then the real-time ones, from the far end; SIGPROF belongs to other profilers.
int freeSignal(int taken) {
  const auto isFree = [&](int number) {
    struct sigaction now {};
    return number != taken && setAction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
  };
  if (isFree(SIGURG)) return SIGURG;
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; --number) {
    if (isFree(number)) return number;
  }
  return 0;
}

void takeSignal(int taken) {
  const int number = freeSignal(taken);
  struct sigaction action {};
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  // No other handler of the program's shall find itself on top of ours.
  sigfillset(&action.sa_mask);
  gSignal.store(number != 0 && setAction(number, &action, nullptr) == 0 ? number : 0);
}

/// The program wants our signal for itself: its timers go, and come back with another one. A child
/// of vfork() has its own handlers and no timers, but our memory is its parent's.
void giveWay(int number) {
  if (gRing == nullptr || number != gSignal.load() || getpid() != gOwner) return;
  pthread_mutex_lock(&gSignalLock);
  if (number == gSignal.load()) {
    struct sigaction action {};
    action.sa_handler = SIG_IGN;
    setAction(number, &action, nullptr);
    for (Timed& timed : gTimed) stopTimer(timed);
    // To ignore it once more takes away what was on its way.
    setAction(number, &action, nullptr);
    action.sa_handler = SIG_DFL;
    setAction(number, &action, nullptr);
    takeSignal(number);
    for (Timed& timed : gTimed) {
      if (const int tid = timed.tid.load(); tid != 0) startTimer(timed, tid);
    }
  }
  pthread_mutex_unlock(&gSignalLock);
}

// The ring.

/// The lines of /proc/self/maps that hold code, as many as there is room for.
void writeMaps(Ring& ring) {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const std::uint32_t turn = ring.mapsTurn.fetch_add(1, std::memory_order_acq_rel);
  char part[4096];
  std::size_t begin = 0;  // of the line that is being copied
  std::size_t end = 0;
  bool full = false;
  for (ssize_t got = 0; (got = read(fd, part, sizeof part)) > 0 && !full;) {
    for (ssize_t i = 0; i < got && !full; ++i) {
      full = end == kMapsBytes;
      if (full) break;
      ring.maps[end++] = part[i];
      if (part[i] != '\n') continue;
      // "address-address rwxp …"
      const char* space = static_cast<const char*>(memchr(ring.maps + begin, ' ', end - begin));
      const bool code = space != nullptr && space + 3 < ring.maps + end && space[3] == 'x';
      if (!code) end = begin;
      begin = end;
    }
  }
  close(fd);
  ring.mapsBytes.store(static_cast<std::uint32_t>(begin), std::memory_order_release);
  ring.mapsTurn.store(turn + 2, std::memory_order_release);
}

Ring* makeRing() {
  // A file beyond the process's limit is not an error but a signal that ends it.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < sizeof(Ring)) return nullptr;
  const std::int64_t startNs = nowNs();
  char path[sizeof gFolder + 64];
  std::snprintf(path, sizeof path, "%s/%s%d-%lld", gFolder, kFilePrefix, static_cast<int>(getpid()),
                static_cast<long long>(startNs));
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return nullptr;
  // Reserved, for a full file system must not be a signal in the program.
  int failed = 0;
  do {
    failed = fallocate(fd, 0, 0, sizeof(Ring));
  } while (failed != 0 && errno == EINTR);
  void* at = failed == 0 ? mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                         : MAP_FAILED;
  close(fd);
  if (at == MAP_FAILED) {
    unlink(path);
    return nullptr;
  }
  auto* ring = static_cast<Ring*>(at);
  ring->pid = getpid();
  ring->parent = getppid();
  ring->pidNamespace = lacuna::prof::pidNamespaceAt();
  ring->startNs = startNs;
  prctl(PR_GET_NAME, ring->name);
  return ring;
}

// The life of a process.

StackBounds mainStack() {
  const auto high = reinterpret_cast<std::uintptr_t>(__libc_stack_end);
  constexpr std::uintptr_t kMost = std::uintptr_t{64} << 20;
  rlimit limit{};
  const bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < kMost;
  // The arguments lie above; nothing of a chain does.
  return {high - (known ? static_cast<std::uintptr_t>(limit.rlim_cur) : kMost), high};
}

StackBounds threadStack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  const bool known = pthread_attr_getstack(&attributes, &low, &bytes) == 0;
  pthread_attr_destroy(&attributes);
  const auto at = reinterpret_cast<std::uintptr_t>(low);
  return known ? StackBounds{at, at + bytes} : StackBounds{};
}

/// Timers do not pass to a forked child, and the ring is its parent's.
void afterFork() {
  if (gRing != nullptr) munmap(gRing, sizeof(Ring));
  gRing = nullptr;
  for (Timed& timed : gTimed) {
    timed.timer.store(-1);
    timed.tid.store(0);
  }
  if (gSignal.load() == 0) return;
  Ring* ring = makeRing();
  if (ring == nullptr) return;
  gOwner = getpid();
  // Where its code lies the supervisor knows from the parent.
  ring->magic.store(Ring::kMagic, std::memory_order_release);
  gRing = ring;
  armThisThread();
}

const std::atomic<std::uint32_t>* findSwitch() {
  static const std::atomic<std::uint32_t> alwaysOn{1};
  const char* path = std::getenv(kControlVariable);
  const int fd = path != nullptr ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return &alwaysOn;
  void* page = mmap(nullptr, sizeof(Control), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (page == MAP_FAILED || static_cast<Control*>(page)->magic != Control::kMagic) return &alwaysOn;
  return &static_cast<Control*>(page)->enabled;
}

__attribute__((constructor)) void enter() {
  // A program with more rights than its caller must not open files that the caller names.
  if (getauxval(AT_SECURE) != 0) return;
  const char* folder = std::getenv(kFolderVariable);
  const char* period = std::getenv(kPeriodVariable);
  gPeriodNs = period != nullptr ? std::atoll(period) : 0;
  if (folder == nullptr || gPeriodNs <= 0 || std::strlen(folder) >= sizeof gFolder) return;
  std::strcpy(gFolder, folder);
  gEnabled = findSwitch();
  Ring* ring = makeRing();
  if (ring == nullptr || pthread_key_create(&gKey, disarm) != 0) return;
  gOwner = getpid();
  pthread_atfork(nullptr, nullptr, afterFork);
  takeSignal(0);
  writeMaps(*ring);
  ring->magic.store(Ring::kMagic, std::memory_order_release);
  gRing = ring;
  tStack = mainStack();
  armThisThread();
}

/// Libraries that were loaded since may be gone with the process before anybody has looked.
__attribute__((destructor)) void leave() {
  if (gRing != nullptr) writeMaps(*gRing);
}

struct ThreadStart {
  void* (*routine)(void*);
  void* argument;
};

void* startThread(void* at) {
  const ThreadStart start = *static_cast<ThreadStart*>(at);
  std::free(at);
  tStack = threadStack();
  armThisThread();
  return start.routine(start.argument);
}

}  // namespace

#define LACUNA_INTERPOSED extern "C" __attribute__((visibility("default")))

LACUNA_INTERPOSED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                     void* (*routine)(void*), void* argument) {
  static const auto real = next<CreateThread>("pthread_create");
  auto* start =
      gRing != nullptr ? static_cast<ThreadStart*>(std::malloc(sizeof(ThreadStart))) : nullptr;
  if (start == nullptr) return real(thread, attributes, routine, argument);
  *start = {routine, argument};
  const int code = real(thread, attributes, startThread, start);
  if (code != 0) std::free(start);
  return code;
}

LACUNA_INTERPOSED int sigaction(int number, const struct sigaction* action, struct sigaction* old) {
  static const auto real = next<SetAction>("sigaction");
  if (action != nullptr) giveWay(number);
  return real(number, action, old);
}

LACUNA_INTERPOSED sighandler_t signal(int number, sighandler_t handler) {
  static const auto real = next<SetHandler>("signal");
  giveWay(number);
  return real(number, handler);
}
