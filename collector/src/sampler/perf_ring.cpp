// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "sampler/perf_ring.h"

#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace lacuna::collector::sampler {
namespace {

int openEvent(perf_event_attr& attributes, pid_t pid, int cpu) {
  return static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

/// The attributes that both events of a core have in common, so that their records read alike.
perf_event_attr common(bool kernel) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  attributes.sample_id_all = 1;
  attributes.inherit = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.exclude_kernel = kernel ? 0 : 1;
  attributes.exclude_hv = 1;
  attributes.watermark = 1;
  attributes.wakeup_watermark = 64 << 10;
  return attributes;
}

perf_event_attr follower(bool kernel, bool sampling) {
  perf_event_attr attributes = common(kernel);
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_period = 1;
  attributes.task = 1;
  attributes.comm = 1;
  attributes.comm_exec = 1;
  // Where the code of samples lies; the first after an exec is the program itself.
  attributes.mmap = attributes.mmap2 = 1;
  attributes.context_switch = sampling ? 1 : 0;
  return attributes;
}

perf_event_attr sampler(bool kernel, std::int64_t periodNs) {
  perf_event_attr attributes = common(kernel);
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = static_cast<std::uint64_t>(periodNs);
  attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
  attributes.exclude_callchain_kernel = 1;
  attributes.sample_max_stack = 64;
  return attributes;
}

}  // namespace

int PerfRings::open(pid_t pid, std::int64_t samplePeriodNs) {
  const auto cores = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  int error = 0;
  for (int cpu = 0; cpu < cores && error == 0; ++cpu) {
    Ring ring;
    error = openCore(ring, pid, cpu, samplePeriodNs);
    if (error == 0) rings_.push_back(ring);
    // A core that is switched off.
    if (error == ENODEV) error = 0;
  }
  if (error == 0 && rings_.empty()) error = ENODEV;
  if (error != 0) close();
  return error;
}

int PerfRings::openCore(Ring& ring, pid_t pid, int cpu, std::int64_t samplePeriodNs) {
  perf_event_attr attributes = follower(seesKernel_, samplePeriodNs > 0);
  if (wakeAtOnce_) attributes.wakeup_watermark = 1;
  ring.fd = openEvent(attributes, pid, cpu);
  if (ring.fd < 0 && (errno == EACCES || errno == EPERM) && seesKernel_ && rings_.empty()) {
    seesKernel_ = false;
    attributes.exclude_kernel = 1;
    ring.fd = openEvent(attributes, pid, cpu);
  }
  if (ring.fd < 0) return errno;
  int error = 0;
  if (!mapBuffer(ring)) error = errno;
  if (error == 0 && samplePeriodNs > 0) {
    attributes = sampler(seesKernel_, samplePeriodNs);
    ring.samplerFd = openEvent(attributes, pid, cpu);
    if (ring.samplerFd < 0 || ioctl(ring.samplerFd, PERF_EVENT_IOC_SET_OUTPUT, ring.fd) != 0)
      error = errno;
  }
  if (error == 0) return 0;
  if (ring.base != nullptr) munmap(ring.base, ring.bytes);
  if (ring.samplerFd >= 0) ::close(ring.samplerFd);
  ::close(ring.fd);
  return error;
}

/// An ordinary user may lock 512 KiB for each core (kernel.perf_event_mlock_kb), often less when
/// others profile.
bool PerfRings::mapBuffer(Ring& ring) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t data = 512 << 10; data >= 32 << 10; data /= 2) {
    void* base = mmap(nullptr, data + page, PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
    if (base == MAP_FAILED) continue;
    ring.base = base;
    ring.bytes = data + page;
    return true;
  }
  return false;
}

void PerfRings::close() {
  for (Ring& ring : rings_) {
    munmap(ring.base, ring.bytes);
    if (ring.samplerFd >= 0) ::close(ring.samplerFd);
    ::close(ring.fd);
  }
  rings_.clear();
}

void PerfRings::wait(int milliseconds, int stopFd) {
  std::vector<pollfd> polled;
  for (const Ring& ring : rings_) polled.push_back({ring.fd, POLLIN, 0});
  polled.push_back({stopFd, POLLIN, 0});
  const int ready = poll(polled.data(), polled.size(), milliseconds);
  // When all processes have ended, the kernel answers at once.
  const bool hung = std::any_of(polled.begin(), polled.end(),
                                [](const pollfd& fd) { return (fd.revents & POLLHUP) != 0; });
  if (ready > 0 && hung) poll(&polled.back(), 1, milliseconds);
}

void PerfRings::read(std::vector<PerfRecord>& into) {
  for (Ring& ring : rings_) readRing(ring, into);
}

void PerfRings::readRing(Ring& ring, std::vector<PerfRecord>& into) {
  auto* page = static_cast<perf_event_mmap_page*>(ring.base);
  const auto* data = static_cast<const std::byte*>(ring.base) + page->data_offset;
  const std::uint64_t size = page->data_size;
  const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = page->data_tail;
  PerfRecord record;
  while (head - tail >= sizeof(perf_event_header)) {
    const auto copy = [&](std::uint64_t bytes) {
      record_.resize(bytes);
      const std::uint64_t first = std::min(bytes, size - tail % size);
      std::memcpy(record_.data(), data + tail % size, first);
      std::memcpy(record_.data() + first, data, bytes - first);
    };
    perf_event_header header;
    copy(sizeof header);
    std::memcpy(&header, record_.data(), sizeof header);
    if (header.size < sizeof header || header.size > head - tail) break;
    copy(header.size);
    tail += header.size;
    if (decodePerfRecord(record_, record)) into.push_back(std::move(record));
  }
  __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

}  // namespace lacuna::collector::sampler
