// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "backend/common/queue.h"
#include "lacuna/runtime/queue.h"

namespace lacuna::rt {

static_assert(kMostQueues == CpuQueue::kMost);

namespace {

const Name kSynchronize{"synchronize"};

CpuQueue& coreOf(const char* what, Queue queue) {
  if (queue.device != kCpu) fail(what, "this build has no queues of " + toString(queue.device));
  if (queue.index < 0 || queue.index >= kMostQueues) {
    fail(what, "there is no queue " + std::to_string(queue.index) + "; a device has queues 0 to " +
                   std::to_string(kMostQueues - 1));
  }
  return CpuQueue::of(queue.index);
}

}  // namespace

Queue currentQueue(Device device) {
  (void)coreOf("currentQueue", {device, 0});
  return {device, CpuQueue::current().index()};
}

QueueScope::QueueScope(Queue queue) : before_{kCpu, CpuQueue::chosenIndex()} {
  CpuQueue::choose(coreOf("QueueScope", queue).index());
}
QueueScope::~QueueScope() {
  CpuQueue::choose(before_.index);
}

Event::Event(Queue queue) : queue_(queue), sequence_(coreOf("Event", queue).enqueued()) {}

bool Event::passed() const {
  return sequence_ == 0 || coreOf("Event", queue_).completed() >= sequence_;
}
void Event::wait() const {
  if (passed()) return;
  if (CpuQueue::onQueueThread()) fail("Event", "wait() called from within a queue");
  CpuQueue& queue = coreOf("Event", queue_);
  const instrument::SyncRange range(kSynchronize, LACUNA_RT_SYNC_EVENT, sequence_, queue.number());
  queue.waitFor(sequence_);
}
void Event::block(Queue queue) const {
  CpuQueue& later = coreOf("Event", queue);
  if (!passed()) later.runAfter(coreOf("Event", queue_), sequence_);
}

void synchronize(Queue queue) {
  coreOf("synchronize", queue).synchronize(kSynchronize, LACUNA_RT_SYNC_QUEUE);
}

void synchronize() {
  CpuQueue::synchronizeAll(kSynchronize);
}

}  // namespace lacuna::rt
