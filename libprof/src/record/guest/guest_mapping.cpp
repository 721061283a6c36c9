// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "lacuna/prof/process.h"
#include "lacuna/prof/rank.h"
#include "record/guest/guest.h"
#include "record/populate.h"
#include "record/small_file.h"

namespace lacuna::prof::recording {
namespace {

constexpr std::uint64_t kMinPool = 4 * kSegmentBytes;
constexpr std::size_t kFirstThreads = 64;
constexpr std::size_t kFirstStrings = 32u << 10;

/// Field 22 of /proc/self/stat. The program's name, in parentheses, may hold anything, so it is
/// skipped from the end.
std::uint64_t processStartTicks() {
  char text[1024] = {};
  if (readSmallFile("/proc/self/stat", text, sizeof text - 1) == 0) return 0;
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = std::strchr(at + 1, ' ');
  }
  return at != nullptr ? std::strtoull(at + 1, nullptr, 10) : 0;
}

/// The stamp counter serves as clock where it ticks at one rate on all cores and the kernel trusts
/// it, too.
bool tscIsClock() {
#ifdef __x86_64__
  if (const char* wish = std::getenv("LACUNA_CLOCK");
      wish != nullptr && std::strcmp(wish, "monotonic") == 0)
    return false;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & 1u << 8) == 0) return false;
  char source[64] = {};
  if (readSmallFile("/sys/devices/system/clocksource/clocksource0/current_clocksource", source,
                    sizeof source - 1) == 0) {
    return true;
  }
  return std::strncmp(source, "tsc", 3) == 0;
#else
  return false;
#endif
}

void describeProcess(Header& header) {
  header.rank = placeInJob().rank;
  header.osPid = static_cast<std::uint32_t>(getpid());
  header.parentPid = static_cast<std::uint32_t>(getppid());
  header.startTicks = processStartTicks();
  header.pidNamespace = pidNamespaceAt();
  if (const auto* random = reinterpret_cast<const void*>(getauxval(AT_RANDOM))) {
    std::memcpy(header.image, random, sizeof header.image);
  }
  const std::size_t boot =
      readSmallFile("/proc/sys/kernel/random/boot_id", header.bootId, sizeof header.bootId - 1);
  if (boot > 0 && header.bootId[boot - 1] == '\n') header.bootId[boot - 1] = 0;
  const std::size_t name = readSmallFile("/proc/self/comm", header.name, sizeof header.name - 1);
  if (name > 0 && header.name[name - 1] == '\n') header.name[name - 1] = 0;
  const std::size_t line =
      readSmallFile("/proc/self/cmdline", header.commandLine, sizeof header.commandLine - 1);
  for (std::size_t i = 0; i + 1 < line; ++i) {
    if (header.commandLine[i] == 0) header.commandLine[i] = ' ';
  }
}

/// Backs a part of a file with room. Signals wait meanwhile: one that comes makes tmpfs give up and
/// start over, and a profiler's timer comes again before it is done.
bool reserve(int fd, std::size_t offset, std::size_t bytes) {
  sigset_t all, before;
  sigfillset(&all);
  const bool blocked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  int failed = 0;
  do {
    failed = fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  const int error = errno;
  if (blocked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return failed == 0;
}

/// The largest file that the process may write. To go beyond is not an error but a signal that ends
/// it.
std::uint64_t fileSizeLimit() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                 : UINT64_MAX;
}

/// Number of the wanted segments that a file may have.
std::uint32_t segmentsWithinLimit(std::uint32_t wanted) {
  const std::uint64_t limit = fileSizeLimit();
  const std::uint64_t head =
      Offsets(wanted).segments;  // with links for all of them, some bytes more than it takes
  const std::uint64_t room = limit > head ? (limit - head) / kSegmentBytes : 0;
  return room < wanted ? static_cast<std::uint32_t>(room) : wanted;
}

/// Creates the file under a temporary name with its first `pool` bytes of segments backed.
/// fallocate makes a full file system an error here; otherwise it would be a SIGBUS in the program
/// later.
int createFile(const char* temporary, const Offsets& offsets, std::uint64_t pool) {
  const int fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -errno;
  int error = 0;
  if (ftruncate(fd, static_cast<off_t>(offsets.end)) != 0) {
    error = -errno;
  } else if (!reserve(fd, 0, offsets.strings + kStringsStep) ||
             !reserve(fd, offsets.segments, pool)) {
    error = -errno;
  }
  if (error == 0) return fd;
  close(fd);
  unlink(temporary);
  return error;
}

/// As createFile, with as much of `pool` as there is room for.
int createFileThatFits(const char* temporary, const Offsets& offsets, std::uint64_t& pool) {
  for (;;) {
    const int fd = createFile(temporary, offsets, pool);
    if ((fd != -ENOSPC && fd != -EDQUOT) || pool <= kMinPool) return fd;
    pool = roundUp(pool / 2, kSegmentBytes);
  }
}

/// Maps the file at an address that is a multiple of the segment size: the fast path finds a
/// segment's end by the address.
unsigned char* mapAligned(int fd, std::size_t bytes) {
  void* room = mmap(nullptr, bytes + kSegmentBytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  auto* start = static_cast<unsigned char*>(room);
  auto* aligned = reinterpret_cast<unsigned char*>(
      roundUp(reinterpret_cast<std::uintptr_t>(start), kSegmentBytes));
  void* at = mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
  if (at == MAP_FAILED) {
    munmap(start, bytes + kSegmentBytes);
    return nullptr;
  }
  return aligned;
}

/// 0, or a negative errno: -EPROTONOSUPPORT for a recording of another version, whose settings may
/// have another size.
int readSettings(const char* directory, Settings& settings) {
  char path[1024];
  if (std::snprintf(path, sizeof path, "%s/%s", directory, kSettingsFile) >=
      static_cast<int>(sizeof path))
    return -ENOENT;
  const std::size_t got = readSmallFile(path, &settings, sizeof settings);
  if (got < offsetof(Settings, flightRecorder) || settings.magic != kMagic) return -ENOENT;
  if (settings.version != kVersion) return -EPROTONOSUPPORT;
  return got == sizeof settings ? 0 : -ENOENT;
}

/// Shared memory that another program wants too is not filled to the brim.
bool hasRoom(const char* directory, std::uint64_t bytes) {
  struct statvfs fs;
  return statvfs(directory, &fs) == 0 &&
         static_cast<std::uint64_t>(fs.f_bavail) * fs.f_frsize >= bytes;
}

void fillHeader(Mapping& out, std::uint64_t pool) {
  Header& header = out.view.header();
  header.version = kVersion;
  header.clock = out.tsc ? ClockKind::Tsc : ClockKind::Monotonic;
  header.maxSegments = out.maxSegments;
  header.flightRecorder = out.flight ? 1 : 0;
  describeProcess(header);
  const auto count = static_cast<std::uint32_t>(pool / kSegmentBytes);
  header.segmentCount.store(count);
  for (std::uint32_t i = count; i > 0; --i) {
    out.noteInPageTable(i);
    out.view.pushFree(i);
  }
  if (out.flight) out.view.thread(kKeptEntry).state.store(EntryState::Kept);
  addTuple(out);
  header.magic = kMagic;
}

/// Tries to make the file in one directory.
int buildIn(const char* directory, const Settings& settings, Mapping& out) {
  static std::atomic<std::uint32_t> serial;
  const Offsets offsets(out.maxSegments);
  char temporary[sizeof out.path + 8];
  const unsigned pid = static_cast<unsigned>(getpid());
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const unsigned nonce = static_cast<unsigned>(now.tv_nsec) ^ serial.fetch_add(1) << 30;
  const int length =
      std::snprintf(out.path, sizeof out.path, "%s/%u-%08x%s", directory, pid, nonce, kFileSuffix);
  if (length >= static_cast<int>(sizeof out.path)) return -ENAMETOOLONG;
  std::snprintf(temporary, sizeof temporary, "%s.tmp", out.path);
  std::uint64_t pool = settings.poolBytes;
  const int fd = createFileThatFits(temporary, offsets, pool);
  if (fd < 0) return fd;
  out.view = View{mapAligned(fd, offsets.end), offsets};
  close(fd);
  int error = out.view.base == nullptr ? -ENOMEM : 0;
  if (error == 0) {
    // Not every kernel knows it, and not every file system; then the first use of each page is a
    // little slower. The part after the first threads and names is rarely used.
    populate(out.view.base, offsets.threads + kFirstThreads * kThreadBytes);
    populate(out.view.base + offsets.strings, kFirstStrings);
    populate(out.view.base + offsets.segments, pool);
    out.stringsBacked = kStringsStep;
    fillHeader(out, pool);
    if (rename(temporary, out.path) != 0) error = -errno;
  }
  if (error != 0) {
    if (out.view.base != nullptr) munmap(out.view.base, offsets.end);
    unlink(temporary);
  }
  return error;
}

const char* remedyFor(int error) {
  if (error == -EFBIG) return "; raise ulimit -f";
  if (error == -EMFILE) return "; raise ulimit -n";
  if (error == -ENOMEM) return "; raise ulimit -v, or give each process less with --memory-limit";
  if (error == -ENOSPC || error == -EDQUOT)
    return "; make room in /dev/shm, or where the trace is written";
  if (error == -EPROTONOSUPPORT)
    return "; its recorder is of another version of Lacuna, so build it with this one";
  return "";
}

void reportFailure(const char* directory, int error) {
  char path[1024];
  char text[192];
  if (fileSizeLimit() < sizeof text) return;
  const unsigned pid = static_cast<unsigned>(getpid());
  if (std::snprintf(path, sizeof path, "%s/%u.failed", directory, pid) >=
      static_cast<int>(sizeof path))
    return;
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return;
  const int length = std::snprintf(text, sizeof text, "process %u could not record: %s%s\n", pid,
                                   strerrordesc_np(-error), remedyFor(error));
  if (write(fd, text, static_cast<std::size_t>(length)) < 0) unlink(path);
  close(fd);
}

std::int64_t nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

std::uint64_t stamp(const Mapping& mapping) {
#ifdef __x86_64__
  if (mapping.tsc) return __builtin_ia32_rdtsc();
#endif
  return static_cast<std::uint64_t>(nanoseconds(CLOCK_MONOTONIC));
}

void addTuple(Mapping& mapping) {
  Header& header = mapping.view.header();
  const std::uint32_t at = header.tupleCount.fetch_add(1, std::memory_order_relaxed);
  // The first stays, the others go round.
  ClockTuple& tuple = header.tuples[at == 0 ? 0 : 1 + (at - 1) % (kTuples - 1)];
  tuple.valid.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  // A thread that is held up between two readings would put all that lies around this moment
  // elsewhere.
  std::uint64_t least = ~std::uint64_t{0};
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::uint64_t before = stamp(mapping);
    const std::int64_t monotonicNs = nanoseconds(CLOCK_MONOTONIC);
    const std::uint64_t width = stamp(mapping) - before;
    if (width >= least) continue;
    least = width;
    tuple.monotonicNs = monotonicNs;
    tuple.stamp = before + width / 2;
  }
  tuple.realtimeNs = nanoseconds(CLOCK_REALTIME);
  if (!mapping.tsc) tuple.stamp = static_cast<std::uint64_t>(tuple.monotonicNs);
  tuple.valid.store(at + 1, std::memory_order_release);
  mapping.lastTuple.store(tuple.stamp, std::memory_order_relaxed);
}

bool backFile(const Mapping& mapping, std::size_t offset, std::size_t bytes) {
  const int fd = open(mapping.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const bool done = reserve(fd, offset, bytes);
  close(fd);
  return done;
}

int buildMapping(const char* directory, Mapping& out) {
  Settings settings;
  if (const int error = readSettings(directory, settings); error != 0) {
    // Without a recording there is nobody to report to.
    if (error == -EPROTONOSUPPORT) reportFailure(directory, error);
    return error;
  }
  settings.maxPoolBytes =
      roundUp(settings.maxPoolBytes < kMinPool ? kMinPool : settings.maxPoolBytes, kSegmentBytes);
  if (settings.maxPoolBytes > kMaxSegments * kSegmentBytes)
    settings.maxPoolBytes = kMaxSegments * kSegmentBytes;
  settings.poolBytes =
      roundUp(settings.poolBytes < kMinPool ? kMinPool : settings.poolBytes, kSegmentBytes);
  out.maxSegments =
      segmentsWithinLimit(static_cast<std::uint32_t>(settings.maxPoolBytes / kSegmentBytes));
  settings.maxPoolBytes = out.maxSegments * kSegmentBytes;
  if (settings.maxPoolBytes < kMinPool) {
    reportFailure(directory, -EFBIG);
    return -EFBIG;
  }
  if (settings.poolBytes > settings.maxPoolBytes) settings.poolBytes = settings.maxPoolBytes;
  out.flight = settings.flightRecorder != 0;
  out.tsc = tscIsClock();
  char shared[1024];
  int error = -ENAMETOOLONG;
  if (std::snprintf(shared, sizeof shared, "%s/%s", directory, kSharedLink) <
      static_cast<int>(sizeof shared)) {
    error = hasRoom(shared, settings.sharedRoomBytes) ? buildIn(shared, settings, out) : -ENOSPC;
  }
  if (error != 0) error = buildIn(directory, settings, out);
  if (error != 0) reportFailure(directory, error);
  return error;
}

}  // namespace lacuna::prof::recording
