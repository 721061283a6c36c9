// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "record/drain/process_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "lacuna/prof/bounds.h"
#include "lacuna/prof/file_error.h"
#include "record/drain/saver.h"

namespace lacuna::prof::recording {
namespace {

constexpr const char* kTooManyOpen = "too many ranges are open";

bool hasDrops(const ThreadEntry& entry) {
  return entry.dropped.load(std::memory_order_relaxed) != 0 ||
         entry.droppedStarts.load(std::memory_order_relaxed) != 0 || rangesInGap(entry).all() != 0;
}

/// Ranges lost in the gaps that are over: the one that a living thread is in changes while it is
/// read.
std::uint64_t endedIn(const ThreadEntry& entry) {
  return __atomic_load_n(&entry.ended, __ATOMIC_RELAXED);
}

std::uint64_t loadWord(const std::uint64_t* at) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

template <std::size_t N>
std::string boundedText(const char (&text)[N]) {
  return {text, strnlen(text, N)};
}

ProcessInfo describe(const Header& header) {
  ProcessInfo info;
  info.key.osPid = pidOf(header);
  info.key.startTicks = header.startTicks;
  std::copy(std::begin(header.image), std::end(header.image), info.key.image.begin());
  info.parentPid = parentPidOf(header);
  info.rank = header.rank;
  if (header.tuples[0].valid.load(std::memory_order_acquire) != 0) {
    info.joinedNs = Loader::bounded(header.tuples[0].monotonicNs);
  }
  info.name = boundedText(header.name);
  info.commandLine = boundedText(header.commandLine);
  while (!info.commandLine.empty() && info.commandLine.back() == ' ') info.commandLine.pop_back();
  return info;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path, bool shared, int* system) {
  int ignored = 0;
  int& failed = system != nullptr ? *system : ignored;
  const int fd =
      ::open(path.c_str(), (shared ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    const int code = errno;
    if (code == EMFILE || code == ENFILE || code == ENOMEM || code == EIO) failed = code;
    return Error{fmt::format("{}: cannot be opened: {}", path.string(), fileProblem(code))};
  }
  struct stat status {};
  alignas(Header) unsigned char head[kHeaderBytes];
  const bool complete = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                        pread(fd, head, sizeof head, 0) == static_cast<ssize_t>(sizeof head);
  const auto& header = *reinterpret_cast<const Header*>(head);
  Error error{fmt::format("{}: not a recording of this version of lacuna", path.string())};
  if (!complete || header.magic != kMagic || header.version != kVersion ||
      header.maxSegments == 0 || header.maxSegments > kMaxSegments) {
    ::close(fd);
    return error;
  }
  const Offsets offsets(header.maxSegments);
  if (static_cast<std::size_t>(status.st_size) < offsets.end) {
    ::close(fd);
    return Error{fmt::format("{}: shorter than its header claims", path.string())};
  }
  void* at = mmap(nullptr, offsets.end, PROT_READ | PROT_WRITE,
                  (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) {
    failed = errno;
    return Error{fmt::format("{}: cannot be mapped: {}", path.string(), std::strerror(failed))};
  }
  return MappedFile(View{static_cast<unsigned char*>(at), offsets}, shared);
}

MappedFile::~MappedFile() {
  // Another mapping may get the place.
  guard_ = MappingGuard();
  if (view_.base != nullptr) munmap(view_.base, view_.offsets.end);
}

ProcessReader::ProcessReader(MappedFile file, std::filesystem::path path, TraceState& trace,
                             RowBatches& batches)
    : file_(std::move(file)),
      path_(std::move(path)),
      trace_(trace),
      batches_(batches),
      tables_(file_.view(), trace),
      announcedRows_(tables_, trace, batches),
      process_(trace.process(describe(header()))),
      // Sizes follow from where the file was found to end, not from a header that may change
      // meanwhile.
      maxSegments_(static_cast<std::uint32_t>((view().offsets.end - view().offsets.segments) /
                                              kSegmentBytes)),
      threads_(kMaxThreads + 1),
      drained_(maxSegments_ + 1) {}

Life ProcessReader::life() const {
  if (broken()) return Life::Ended;
  return header().detached.load(std::memory_order_acquire) == 0 ? lifeOf(view().header())
                                                                : Life::Ended;
}

bool ProcessReader::drain(const ClockLine& clock, const Tick& tick, bool all) {
  const std::uint64_t now =
      header().clock == ClockKind::Tsc ? tick.tsc : static_cast<std::uint64_t>(tick.monotonicNs);
  const std::uint64_t limit = all ? ~0ull : now;
  bool any = false;
  ++pass_;
  growing_ = file_.shared() && !all && !flightRecorder();
  // All of them would be half a megabyte in each pass, most of it never used.
  const std::uint32_t used = all ? 0 : header().entriesUsed.load(std::memory_order_acquire);
  const std::uint32_t last = used == 0 ? kMaxThreads : std::min(used, kMaxThreads);
  for (std::uint32_t index = 1; index <= last; ++index) {
    ThreadEntry& entry = view().thread(index);
    const EntryState state = entry.state.load(std::memory_order_acquire);
    if (state == EntryState::Free) continue;
    const std::uint32_t generation = entry.generation.load(std::memory_order_relaxed);
    if (entry.first.load(std::memory_order_acquire) == 0 && !hasDrops(entry)) continue;
    std::unique_ptr<Thread>& thread = threads_[index];
    if (thread == nullptr || thread->generation != generation) {
      // Only a process that writes into its own entries makes another thread of one that has not
      // ended.
      if (thread != nullptr && !thread->closed) closeThread(*thread, thread->lastNs);
      forget(thread);
      thread = std::make_unique<Thread>();
      thread->index = index;
      thread->generation = generation;
      if (state != EntryState::Kept) enter(*thread, entry, clock);
    }
    if (thread->closed) continue;
    any |= drainThread(*thread, entry, clock, limit);
    noteDrops(*thread, entry, tick.monotonicNs);
    noteNotKept(*thread, tick.monotonicNs);
    // It was seen to have exited before its last records were read, so there are no more.
    if (state == EntryState::Exited && atEnd(*thread)) {
      closeThread(*thread, thread->lastNs);
      if (thread->id) trace_.endThread(thread->id, timeOf(entry.endStamp, clock));
    }
  }
  closeUnseen(false);
  noteDrops(tick.monotonicNs);
  growAhead();
  return any;
}

TimeNs ProcessReader::timeOf(std::uint64_t stamp, const ClockLine& clock) const {
  // A process may stamp whatever it likes; moments that come from here can be added to others.
  return header().clock == ClockKind::Tsc ? clock.toMonotonic(stamp)
                                          : Loader::bounded(static_cast<TimeNs>(stamp));
}

void ProcessReader::enter(Thread& thread, ThreadEntry& entry, const ClockLine& clock) {
  const TimeNs startNs = timeOf(entry.startStamp, clock);
  const std::uint32_t osTid = tidOf(header(), entry.osTid);
  thread.id = trace_.enterThread(process_, osTid, startNs);
  // The number that rows of the process call it by.
  if (osTid != entry.osTid) trace_.alsoCall(thread.id, entry.osTid);
  ThreadInfo& info = trace_.threadInfo(thread.id);
  if (info.startNs == 0 || startNs < info.startNs) info.startNs = startNs;
  ProcessInfo& process = trace_.processInfo(process_);
  if (process.startNs == 0 || startNs < process.startNs) process.startNs = startNs;
}

bool ProcessReader::drainThread(Thread& thread, ThreadEntry& entry, const ClockLine& clock,
                                std::uint64_t limit) {
  if (thread.segment == 0) {
    const std::uint32_t first = entry.first.load(std::memory_order_acquire);
    if (first == 0 || thread.stuck) return false;
    if (!owns(first, thread)) {
      thread.stuck = true;
      return false;
    }
    goTo(thread, first);
  }
  bool any = false;
  for (;;) {
    const auto* slot =
        reinterpret_cast<const std::uint64_t*>(view().segmentBase(thread.segment) + thread.offset);
    const std::uint64_t stamp = thread.offset < kSegmentBytes ? loadWord(slot) : 0;
    if (stamp == 0) {
      if (!moveOn(thread)) break;
      continue;
    }
    if (stamp > limit) break;
    const std::uint64_t word = __atomic_load_n(slot + 1, __ATOMIC_RELAXED);
    const std::size_t slots = slotsOf(word);
    if (slots == 0 || thread.offset + slots * kSlotBytes > kSegmentBytes) {
      ++trace_.stats().damaged;
      thread.offset = kSegmentBytes;
      continue;
    }
    const TimeNs timeNs = std::max(thread.lastNs, timeOf(stamp, clock));
    thread.lastNs = timeNs;
    if (kindOf(word) == Kind::Operator) {
      decodeOperator(thread, slot, stamp, word, clock);
    } else {
      decode(thread, slot, word, timeNs);
    }
    thread.offset += static_cast<std::uint32_t>(slots * kSlotBytes);
    any = true;
  }
  lastNs_ = std::max(lastNs_, thread.lastNs);
  return any;
}

/// At the end of what a segment holds: goes to the thread's next segment, or to a record that came
/// meanwhile.
bool ProcessReader::moveOn(Thread& thread) {
  Segment& segment = view().segment(thread.segment);
  const std::uint32_t next = segment.next.load(std::memory_order_acquire);
  if (next == 0 || thread.stuck) return false;
  // The link is made after the last record, so one that was not there a moment ago must be there
  // now.
  if (thread.offset < kSegmentBytes &&
      loadWord(reinterpret_cast<const std::uint64_t*>(view().segmentBase(thread.segment) +
                                                      thread.offset)) != 0) {
    return true;
  }
  if (!owns(next, thread)) {
    thread.stuck = true;
    ++trace_.stats().damaged;
    return false;
  }
  drained_[thread.segment] = true;
  ++segmentsRead_;
  toRecycle_.push_back(thread.segment);
  goTo(thread, next);
  growAhead();
  return true;
}

void ProcessReader::goTo(Thread& thread, std::uint32_t segment) {
  thread.segment = segment;
  thread.offset = kSegmentHead;
  // Not that of the segment before: by it a later drainer sees whether the place is still good.
  thread.lap = view().segment(segment).lap.load(std::memory_order_relaxed);
}

bool ProcessReader::owns(std::uint32_t segment, const Thread& thread) const {
  if (segment == 0 || segment > maxSegments_ ||
      segment > header().segmentCount.load(std::memory_order_acquire)) {
    return false;
  }
  const Segment& head = view().segment(segment);
  return !drained_[segment] && segment != thread.segment &&
         head.owner.load(std::memory_order_acquire) == thread.index &&
         head.generation.load(std::memory_order_relaxed) == thread.generation;
}

const char* ProcessReader::whyDropped() const {
  return flightRecorder() ? "overwritten by newer events" : "no free segment";
}

void ProcessReader::noteDrops(Thread& thread, const ThreadEntry& entry, TimeNs nowNs,
                              std::uint64_t further) {
  std::uint64_t dropped = 0;
  addTo(dropped, entry.dropped.load(std::memory_order_relaxed));
  addTo(dropped, endedIn(entry));
  dropped -= std::min(dropped, thread.unseen);
  addTo(dropped, further);
  if (dropped <= thread.dropped) return;
  trace_.drop(nowNs, process_, thread.id, dropped - thread.dropped, whyDropped());
  thread.dropped = dropped;
}

void ProcessReader::noteNotKept(Thread& thread, TimeNs nowNs) {
  if (thread.notKept == 0) return;
  trace_.drop(nowNs, process_, thread.id, std::exchange(thread.notKept, 0), kTooManyOpen);
}

void ProcessReader::noteDrops(TimeNs nowNs) {
  const std::uint64_t open = closed_ ? header().droppedOpen.load(std::memory_order_relaxed) : 0;
  std::uint64_t dropped = 0;
  addTo(dropped, header().dropped.load(std::memory_order_relaxed));
  addTo(dropped, open);
  if (dropped <= headerDropped_) return;
  trace_.drop(nowNs, process_, {}, dropped - headerDropped_, "too many threads at a time");
  headerDropped_ = dropped;
}

/// Not before the end, for the end of such a range may be recorded much later.
void ProcessReader::noteLostStarts(TimeNs nowNs) {
  std::uint64_t all = 0;
  addTo(all, droppedStarts_);
  addTo(all, header().droppedStarts.load(std::memory_order_relaxed));
  addTo(all, startsNotKept_);
  const std::uint64_t lost = all - std::min(all, unseenStarts_);
  const std::uint64_t notKept = std::min(lost, startsNotKept_);
  if (notKept > 0) trace_.drop(nowNs, process_, {}, notKept, kTooManyOpen);
  if (lost > notKept) trace_.drop(nowNs, process_, {}, lost - notKept, whyDropped());
}

void ProcessReader::closeThread(Thread& thread, TimeNs endNs) {
  thread.closed = true;
  ++closedThreads_;
  const ThreadEntry& entry = view().thread(thread.index);
  if (entry.generation.load(std::memory_order_relaxed) == thread.generation) {
    const std::uint64_t lost = rangesLost(entry, thread.lastGapRead);
    noteDrops(thread, entry, endNs, lost - std::min(lost, endedIn(entry)));
    addTo(droppedStarts_, entry.droppedStarts.load(std::memory_order_relaxed));
  }
  if (!thread.id) return;
  closeAll(thread, endNs);
  noteNotKept(thread, endNs);
  ThreadInfo& info = trace_.threadInfo(thread.id);
  info.endNs = std::max({info.endNs, info.startNs, thread.lastNs});
  if (const std::uint32_t name = entry.name.load(std::memory_order_acquire); name != 0) {
    const std::string_view text = tables_.rawText(name);
    if (!text.empty()) info.name = text;
    info.named = true;
  } else if (!info.named && info.name.empty()) {
    // Read when the thread joined: what was seen from outside since is newer.
    info.name = boundedText(entry.comm);
  }
  trace_.leaveThread(thread.id);
}

void ProcessReader::forget(std::unique_ptr<Thread>& thread) {
  if (thread != nullptr) thread->stacks.giveBack(trace_.openBudget());
  thread.reset();
}

bool ProcessReader::atEnd(const Thread& thread) const {
  if (thread.stuck || thread.segment == 0) return true;
  if (view().segment(thread.segment).next.load(std::memory_order_acquire) != 0) return false;
  return thread.offset >= kSegmentBytes ||
         loadWord(reinterpret_cast<const std::uint64_t*>(view().segmentBase(thread.segment) +
                                                         thread.offset)) == 0;
}

void ProcessReader::close(TimeNs endNs) {
  const TimeNs lastNs = lastNs_ != 0 ? lastNs_ : endNs;
  for (std::unique_ptr<Thread>& thread : threads_) {
    if (thread == nullptr) continue;
    if (!thread->closed) closeThread(*thread, lastNs);
    forget(thread);
  }
  started_.takeAll(trace_.openBudget(), [&](StartedRange started) {
    started.range.flags |= kUnfinished;
    emit(started.range, started.thread, lastNs, 0, RangeKind::StartEnd, {});
  });
  closeUnseen(true);
  closed_ = true;
  noteDrops(lastNs);
  noteLostStarts(lastNs);
  ProcessInfo& process = trace_.processInfo(process_);
  if (!process.seen || process.endNs == 0) process.endNs = std::max(process.endNs, lastNs);
}

void ProcessReader::closeUnseen(bool all) {
  for (auto at = ended_.begin(); at != ended_.end();) {
    const Ended& ended = at->second;
    // A begin comes before its end, so what was there to be read in the pass after the end's has no
    // begin.
    if (!all && ended.pass == pass_) {
      ++at;
      continue;
    }
    OpenRange unseen;
    const ThreadInfo* thread = trace_.findThread(ended.thread);
    unseen.startNs = thread != nullptr ? thread->startNs : trace_.processInfo(process_).startNs;
    unseen.flags = kNoStart;
    emit(unseen, ended.thread, ended.timeNs, 0, RangeKind::StartEnd, {});
    ++unseenStarts_;
    ++trace_.stats().events;
    at = ended_.erase(at);
  }
}

void ProcessReader::cutOff() {
  view().header().closing.store(1, std::memory_order_release);
}

}  // namespace lacuna::prof::recording
