// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "record/drain/process_reader.h"
#include "record/drain/saver.h"
#include "record/populate.h"

namespace lacuna::prof::recording {
namespace {

/// How many segments a recorder with many has in reserve, and how many come at a time. A recorder
/// with few has half of its own in reserve, and as many as it has come at a time. Most processes
/// live for a moment, or record little.
constexpr std::uint32_t kReserve = 64;
constexpr std::uint32_t kGrowthStep = 64;
constexpr std::uint32_t kLeastStep = 16;

}  // namespace

void ProcessReader::emptySegment(std::uint32_t segment) {
  std::memset(static_cast<void*>(view().segmentBase(segment) + kSegmentHead), 0,
              kSegmentBytes - kSegmentHead);
}

bool ProcessReader::wantsRecycling() const {
  const std::uint32_t count =
      std::min(header().segmentCount.load(std::memory_order_relaxed), maxSegments_);
  // A thread that is gone holds its entry and a segment until then.
  const std::size_t done = toRecycle_.size() + closedThreads_;
  if (closedThreads_ >= kMaxThreads / 4 || (done > 0 && done * 2 >= count)) return true;
  return !toRecycle_.empty() && header().freeCount.load(std::memory_order_relaxed) * 4 < count;
}

void ProcessReader::recycle() {
  for (const std::uint32_t segment : toRecycle_) {
    emptySegment(segment);
    view().segment(segment).owner.store(0, std::memory_order_relaxed);
    drained_[segment] = false;
    view().pushFree(segment);
  }
  toRecycle_.clear();
  closedThreads_ = 0;
  for (std::unique_ptr<Thread>& thread : threads_) {
    if (thread == nullptr) continue;
    if (thread->closed) {
      release(*thread);
      forget(thread);
    } else {
      emptyInPlace(*thread);
    }
  }
}

void ProcessReader::release(Thread& thread) {
  ThreadEntry& entry = view().thread(thread.index);
  if (thread.segment != 0 && !thread.stuck) {
    emptySegment(thread.segment);
    view().segment(thread.segment).owner.store(0, std::memory_order_relaxed);
    view().pushFree(thread.segment);
  }
  entry.first.store(0, std::memory_order_relaxed);
  entry.current.store(0, std::memory_order_relaxed);
  entry.dropped.store(0, std::memory_order_relaxed);
  entry.droppedStarts.store(0, std::memory_order_relaxed);
  __atomic_store_n(&entry.ended, 0, __ATOMIC_RELAXED);
  entry.name.store(0, std::memory_order_relaxed);
  entry.generation.fetch_add(1, std::memory_order_relaxed);
  entry.state.store(EntryState::Free, std::memory_order_release);
}

/// A thread that found no other segment waits for its own: once all of it is read, it may start
/// over in it.
void ProcessReader::emptyInPlace(Thread& thread) {
  if (thread.segment == 0 || thread.stuck || !thread.savedAtEnd) return;
  Segment& segment = view().segment(thread.segment);
  if (segment.reset.load(std::memory_order_acquire) != kSegmentSealed || !atEnd(thread)) return;
  emptySegment(thread.segment);
  thread.offset = kSegmentHead;
  segment.lap.fetch_add(1, std::memory_order_release);
  thread.lap = segment.lap.load(std::memory_order_relaxed);
  segment.reset.store(kSegmentEmptied, std::memory_order_release);
}

void ProcessReader::growAhead() {
  if (!growing_) return;
  Header& header = view().header();
  std::uint32_t count = header.segmentCount.load(std::memory_order_relaxed);
  const std::uint32_t reserve = std::min(kReserve, count / 2);
  if (header.freeCount.load(std::memory_order_relaxed) >= reserve || count >= maxSegments_) return;
  const std::uint32_t step =
      std::min({kGrowthStep, std::max(count, kLeastStep), maxSegments_ - count});
  const int fd = ::open(path_.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  const auto offset = static_cast<off_t>(view().offsets.segments + count * kSegmentBytes);
  const bool backed = fallocate(fd, 0, offset, static_cast<off_t>(step * kSegmentBytes)) == 0;
  ::close(fd);
  // Here, so that the program need not wait until the pages are found and cleared: to it they are
  // there already.
  if (backed) populate(view().segmentBase(count + 1), step * kSegmentBytes);
  // The recorder adds segments too; the first to count them owns them.
  const std::uint32_t first = count + 1;
  if (!backed ||
      !header.segmentCount.compare_exchange_strong(count, count + step, std::memory_order_acq_rel))
    return;
  for (std::uint32_t i = step; i > 0; --i) view().pushFree(first + i - 1);
}

void ProcessReader::save(Saver& saver) {
  saver.put(process_);
  saver.put(headerDropped_);
  saver.put(droppedStarts_);
  saver.put(startsNotKept_);
  saver.put(unseenStarts_);
  saver.put(pass_);
  saver.put(lastNs_);
  saver.put(closed_);
  tables_.save(saver);
  saver.putAll(ended_, [&](const auto& entry) {
    saver.put(entry.first);
    saver.put(entry.second);
  });
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread != nullptr) saveThread(saver, *thread);
  }
  saver.put(std::uint32_t{0});
}

void ProcessReader::saveThread(Saver& saver, Thread& thread) {
  thread.savedAtEnd = atEnd(thread);
  saver.put(thread.index);
  saver.put(thread.generation);
  saver.put(thread.id);
  saver.put(thread.segment);
  saver.put(thread.offset);
  saver.put(thread.lap);
  saver.put(thread.stuck);
  saver.put(thread.closed);
  saver.put(thread.lastNs);
  saver.put(thread.dropped);
  saver.put(thread.unseen);
  saver.put(thread.lastGapRead);
  saver.put(thread.mayEndUnseen);
}

void ProcessReader::saveOpen(const std::string& name, bool anew, OpenLog& log) {
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread != nullptr)
      OpenStates::save(name, {thread->index, thread->generation}, thread->stacks, anew, log);
  }
  OpenStates::save(name, started_, anew, log);
}

void ProcessReader::savedOpen() {
  for (const std::unique_ptr<Thread>& thread : threads_) {
    if (thread != nullptr) OpenStates::saved(thread->stacks);
  }
  OpenStates::saved(started_);
}

void ProcessReader::load(Loader& loader, OpenStates::Recorder open) {
  loader.get<ProcessId>();
  headerDropped_ = loader.get<std::uint64_t>();
  droppedStarts_ = loader.get<std::uint64_t>();
  startsNotKept_ = loader.get<std::uint64_t>();
  unseenStarts_ = loader.get<std::uint64_t>();
  pass_ = loader.get<std::uint64_t>();
  lastNs_ = loader.getTime();
  closed_ = loader.get<bool>();
  tables_.load(loader);
  started_ = std::move(open.started);
  loader.getAll([&] {
    const auto number = loader.get<std::uint64_t>();
    auto ended = loader.get<Ended>();
    ended.timeNs = Loader::bounded(ended.timeNs);
    if (loader.ok()) ended_[number] = ended;
  });
  while (const auto index = loader.get<std::uint32_t>()) {
    if (index > kMaxThreads) return loader.fail();
    threads_[index] = loadThread(loader, index);
    Thread& thread = *threads_[index];
    if (const auto at = open.threads.find({index, thread.generation}); at != open.threads.end()) {
      thread.stacks = std::move(at->second);
    }
  }
}

std::unique_ptr<ProcessReader::Thread> ProcessReader::loadThread(Loader& loader,
                                                                 std::uint32_t index) {
  auto thread = std::make_unique<Thread>();
  thread->index = index;
  thread->generation = loader.get<std::uint32_t>();
  thread->id = loader.get<ThreadId>();
  thread->segment = loader.get<std::uint32_t>();
  thread->offset = loader.get<std::uint32_t>();
  thread->lap = loader.get<std::uint32_t>();
  thread->stuck = loader.get<bool>();
  thread->closed = loader.get<bool>();
  thread->lastNs = loader.getTime();
  thread->dropped = loader.get<std::uint64_t>();
  thread->unseen = loader.get<std::uint64_t>();
  thread->lastGapRead = loader.get<std::uint32_t>();
  thread->mayEndUnseen = loader.get<bool>();
  if (thread->segment == 0) return thread;
  const bool isPlace = thread->segment <= maxSegments_ && thread->offset >= kSegmentHead &&
                       thread->offset <= kSegmentBytes &&
                       (thread->offset - kSegmentHead) % kSlotBytes == 0;
  if (isPlace && !thread->stuck) {
    const Segment& segment = view().segment(thread->segment);
    if (segment.lap.load(std::memory_order_relaxed) != thread->lap) thread->offset = kSegmentHead;
    if (segment.owner.load(std::memory_order_relaxed) == index &&
        segment.generation.load(std::memory_order_relaxed) == thread->generation) {
      return thread;
    }
  }
  // No segment of ours, or given back and perhaps taken by another since the checkpoint: then this
  // thread has no more.
  thread->stuck = true;
  thread->segment = 0;
  return thread;
}

}  // namespace lacuna::prof::recording
