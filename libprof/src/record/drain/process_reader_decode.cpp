// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "record/drain/process_reader.h"

namespace lacuna::prof::recording {
namespace {

OpenRange openRange(std::uint64_t word, TimeNs timeNs) {
  OpenRange open;
  open.startNs = timeNs;
  open.domain = domainOf(word);
  open.name = nameOf(word);
  return open;
}

/// The attributes in the slots after the first.
void readDetails(OpenRange& open, const std::uint64_t* slot) {
  open.category = static_cast<std::uint32_t>(slot[2] >> 40);
  open.payloadType = static_cast<PayloadType>(std::min<std::uint64_t>(slot[2] >> 32 & 0xff, 6));
  open.colour = static_cast<std::uint32_t>(slot[2]);
  open.payload = slot[3];
  open.text = static_cast<std::uint32_t>(slot[4]);
  open.correlation = slot[5];
}

/// Ends that wait for their beginnings. A program that sends more at once has made them up.
constexpr std::size_t kMostEnded = std::size_t{1} << 18;

template <class E>
E boundedEnum(std::uint64_t value, E last) {
  return value <= static_cast<std::uint64_t>(last) ? static_cast<E>(value) : E{};
}

}  // namespace

void ProcessReader::emit(const OpenRange& open, ThreadId thread, TimeNs endNs, std::size_t depth,
                         RangeKind kind, ThreadId endThread) {
  // By value: finding the other names may move the table that holds this one.
  const ResolvedName name = tables_.name(open.name);
  batches_.add(Range{.startNs = open.startNs,
                     .durNs = std::max<TimeNs>(endNs - open.startNs, 0),
                     .thread = thread,
                     .endThread = endThread,
                     .domain = open.domain != 0 ? tables_.text(open.domain) : name.domain,
                     .category = open.category != 0 ? tables_.text(open.category) : name.category,
                     .name = name.name,
                     .text = tables_.text(open.text),
                     .depth = static_cast<std::uint16_t>(std::min<std::size_t>(depth, 0xffff)),
                     .kind = kind,
                     .payloadType = open.payloadType,
                     .flags = open.flags,
                     .colour = open.colour != 0 ? open.colour : name.colour,
                     .payload = open.payload,
                     .correlation = open.correlation});
}

std::uint64_t ProcessReader::closeTop(Thread& thread, OpenStack& open, TimeNs endNs,
                                      std::uint8_t flags, std::uint64_t most) {
  OpenRange range;
  if (!open.pop(range, trace_.openBudget(), most)) return 1;
  range.flags |= flags;
  notKept(thread, range.times - 1);
  emit(range, thread.id, endNs, open.size(), RangeKind::PushPop, {});
  if (range.hasQueueData && thread.stacks.hasQueueData()) {
    announcedRows_.end(thread.stacks.popQueueData(), process_, thread.id, range, endNs);
  }
  return range.times;
}

bool ProcessReader::open(Thread& thread, const OpenRange& range) {
  if (thread.stacks.of(range.domain, trace_.openBudget()).push(range, trace_.openBudget()))
    return true;
  notKept(thread, range.times);
  return false;
}

void ProcessReader::notKept(Thread& thread, std::uint64_t ranges) {
  thread.notKept += ranges;
  trace_.stats().events -= ranges;
}

void ProcessReader::closeAll(Thread& thread, TimeNs endNs) {
  thread.stacks.closeAll([&](OpenStack& open) {
    open.endSkipped(open.size());
    while (!open.empty()) closeTop(thread, open, endNs, kUnfinished, OpenStack::kAll);
  });
}

void ProcessReader::openQueueRange(Thread& thread, const std::uint64_t* slot, std::uint64_t word,
                                   TimeNs timeNs) {
  QueueData queueData;
  queueData.wait = kindOf(word) == Kind::Wait;
  queueData.execution.kind = static_cast<std::uint8_t>(slot[2] >> 32);
  queueData.execution.queue = static_cast<std::uint32_t>(slot[2]);
  OpenRange open = openRange(word, timeNs);
  open.hasQueueData = true;
  open.category = static_cast<std::uint32_t>(slot[2] >> 40);
  open.payloadType = PayloadType::U64;
  if (queueData.wait) {
    open.payload = queueData.execution.sequence = slot[3];
    if (this->open(thread, open)) thread.stacks.pushQueueData(queueData);
    return;
  }
  open.correlation = queueData.execution.correlation = slot[3];
  open.payload = queueData.execution.sequence = slot[4];
  queueData.execution.bytes = slot[5];
  queueData.execution.enqueueStartNs = static_cast<TimeNs>(slot[6]);
  queueData.execution.enqueueNs = static_cast<std::uint32_t>(slot[7] >> 32);
  queueData.execution.enqueueThread = static_cast<std::uint32_t>(slot[7]);
  if (this->open(thread, open)) thread.stacks.pushQueueData(queueData);
}

void ProcessReader::pop(Thread& thread, std::uint32_t domain, TimeNs timeNs) {
  OpenStack* open = thread.stacks.find(domain);
  if (open == nullptr) {
    if (thread.mayEndUnseen) return;
    if (flightRecorder()) ++thread.unseen;
    ++trace_.stats().events;
    OpenRange unseen;
    unseen.startNs = trace_.threadInfo(thread.id).startNs;
    unseen.domain = domain;
    unseen.flags = kNoStart;
    return emit(unseen, thread.id, timeNs, 0, RangeKind::PushPop, {});
  }
  closeTop(thread, *open, timeNs);
}

void ProcessReader::endAnywhere(Thread& thread, std::uint64_t range, TimeNs timeNs) {
  const std::optional<StartedRange> started = started_.take(range, trace_.openBudget());
  if (!started) {
    // The two threads are read one after the other, so the beginning may be yet to come.
    if (ended_.size() >= kMostEnded) closeUnseen(true);
    ended_[range] = {timeNs, thread.id, pass_};
    return;
  }
  const ThreadId other = started->thread == thread.id ? ThreadId{} : thread.id;
  emit(started->range, started->thread, timeNs, 0, RangeKind::StartEnd, other);
}

void ProcessReader::start(Thread& thread, std::uint64_t number, const OpenRange& range) {
  if (const auto end = ended_.find(number); end != ended_.end()) {
    const ThreadId other = end->second.thread == thread.id ? ThreadId{} : end->second.thread;
    emit(range, thread.id, end->second.timeNs, 0, RangeKind::StartEnd, other);
    ended_.erase(end);
    return;
  }
  if (started_.add(number, {range, thread.id}, trace_.openBudget())) return;
  // Its end, should it come, will have a row all the same.
  ++startsNotKept_;
  --trace_.stats().events;
}

void ProcessReader::closeTops(Thread& thread, std::uint32_t domain, std::uint64_t count,
                              TimeNs endNs) {
  while (OpenStack* open = count > 0 ? thread.stacks.find(domain) : nullptr) {
    count -= open->endSkipped(count);
    if (count > 0 && !open->empty()) count -= closeTop(thread, *open, endNs, kUnfinished, count);
  }
}

void ProcessReader::decodeGap(Thread& thread, const std::uint64_t* slot, std::uint64_t word,
                              TimeNs timeNs) {
  thread.lastGapRead = static_cast<std::uint32_t>(slot[3] >> 1);
  if ((slot[3] & 1) != 0) {
    thread.mayEndUnseen = true;
    closeAll(thread, timeNs);
  }
  for (std::size_t i = 2; i < slotsOf(word); ++i) {
    OpenRange unseen;
    unseen.startNs = timeNs;
    unseen.domain = static_cast<std::uint32_t>(slot[2 * i]) & 0xffffff;
    closeTops(thread, unseen.domain, slot[2 * i + 1] >> 32, timeNs);
    unseen.flags = kNoStart;
    unseen.times = static_cast<std::uint32_t>(slot[2 * i + 1]);
    if (unseen.times == 0) continue;
    trace_.stats().events += unseen.times;
    this->open(thread, unseen);
  }
}

/// As the records that it stands for.
void ProcessReader::decodeOperator(Thread& thread, const std::uint64_t* slot, std::uint64_t stamp,
                                   std::uint64_t word, const ClockLine& clock) {
  OperatorRecord recorded;
  std::memcpy(&recorded, slot + 2, sizeof recorded);
  const auto put = [&](std::uint64_t after, const auto& part) {
    thread.lastNs = std::max(thread.lastNs, timeOf(stamp + after, clock));
    decode(thread, part.data(), part[1], thread.lastNs);
  };
  using Words = std::uint64_t;
  const std::uint32_t domain = domainOf(word);
  const std::array<Words, 2> end{0, recording::word(Kind::Pop, domain, 0)};
  put(0, std::array<Words, 6>{0, recording::word(Kind::PushEvent, domain, nameOf(word)),
                              Words{LacunaPayloadU64} << 32, recorded.operatorSequence,
                              recorded.shapes, recorded.correlation});
  put(recorded.start,
      std::array<Words, 6>{0, recording::word(Kind::Memory, 0, recorded.tensor), recorded.address,
                           recorded.bytes(), recorded.sequence - recorded.behind(),
                           recorded.memoryWhat});
  const auto queue = static_cast<std::uint16_t>(recorded.memoryWhat);
  put(recorded.start,
      std::array<Words, 8>{0, recording::word(Kind::Execution, domain, recorded.executionName),
                           packWhat(0, recorded.kind(), queue), recorded.correlation,
                           recorded.sequence, recorded.executionBytes(), 0, 0});
  put(recorded.stop, end);
  put(recorded.end, end);
}

void ProcessReader::decodeRow(const std::uint64_t* slot, std::uint64_t word) {
  const std::size_t bytes = domainOf(word) & 0xffff;
  const std::size_t room = std::min((slotsOf(word) - 1) * kSlotBytes, (kMaxSlots - 1) * kSlotBytes);
  std::byte copy[kMaxSlots * kSlotBytes];
  std::memcpy(copy, slot + 2, room);
  if (bytes > room || !appendGuestRow(nameOf(word), {copy, bytes}, tables_, trace_, process_))
    ++trace_.stats().damaged;
}

void ProcessReader::decode(Thread& thread, const std::uint64_t* slot, std::uint64_t word,
                           TimeNs timeNs) {
  const Kind kind = kindOf(word);
  if (!thread.id && kind != Kind::Row) {
    ++trace_.stats().damaged;
    return;
  }
  trace_.stats().events += eventsOf(word);
  switch (kind) {
    case Kind::Push:
      open(thread, openRange(word, timeNs));
      break;
    case Kind::Pop:
      pop(thread, domainOf(word), timeNs);
      break;
    case Kind::PushEvent: {
      OpenRange range = openRange(word, timeNs);
      readDetails(range, slot);
      open(thread, range);
      break;
    }
    case Kind::Execution:
    case Kind::Wait:
      openQueueRange(thread, slot, word, timeNs);
      break;
    case Kind::Memory: {
      AnnouncedMemory announced{.address = slot[2], .bytes = slot[3], .sequence = slot[4]};
      announced.op = static_cast<std::uint32_t>(slot[5] >> 40);
      announced.tensor = nameOf(word);
      announced.action = static_cast<std::uint8_t>(slot[5] >> 32);
      announced.role = static_cast<std::uint8_t>(slot[5] >> 16);
      announced.queue = static_cast<std::uint16_t>(slot[5]);
      announcedRows_.memory(announced, thread.id, timeNs);
      break;
    }
    case Kind::Start: {
      OpenRange range = openRange(word, timeNs);
      readDetails(range, slot);
      start(thread, slot[6], range);
      break;
    }
    case Kind::End:
      endAnywhere(thread, slot[2], timeNs);
      break;
    case Kind::Mark:
    case Kind::MarkEvent: {
      OpenRange mark = openRange(word, timeNs);
      if (kind == Kind::MarkEvent) readDetails(mark, slot);
      const ResolvedName name = tables_.name(mark.name);
      batches_.add(
          Mark{.timeNs = timeNs,
               .thread = thread.id,
               .domain = mark.domain != 0 ? tables_.text(mark.domain) : name.domain,
               .category = mark.category != 0 ? tables_.text(mark.category) : name.category,
               .name = name.name,
               .text = tables_.text(mark.text),
               .payloadType = mark.payloadType,
               .colour = mark.colour != 0 ? mark.colour : name.colour,
               .payload = mark.payload});
      break;
    }
    case Kind::Counter:
      batches_.add(CounterSample{.timeNs = timeNs,
                                 .track = tables_.track(nameOf(word), process_),
                                 .value = std::bit_cast<double>(slot[2])});
      break;
    case Kind::Allocate:
      batches_.add(Allocation{.timeNs = timeNs,
                              .thread = thread.id,
                              .action = MemoryAction::Allocate,
                              .role = boundedEnum(domainOf(word), MemoryRole::Cached),
                              .address = slot[2],
                              .bytes = slot[3],
                              .tensor = tables_.text(nameOf(word))});
      break;
    case Kind::Free:
      batches_.add(Allocation{
          .timeNs = timeNs, .thread = thread.id, .action = MemoryAction::Free, .address = slot[2]});
      break;
    case Kind::Flow:
      trace_.append(Flow{.timeNs = timeNs,
                         .thread = thread.id,
                         .id = slot[2],
                         .phase = boundedEnum(domainOf(word), FlowPhase::End),
                         .name = tables_.text(nameOf(word)),
                         .category = tables_.text(static_cast<std::uint32_t>(slot[3]))});
      break;
    case Kind::Log:
      trace_.append(LogLine{.timeNs = timeNs,
                            .thread = thread.id,
                            .level = boundedEnum(slot[2], LogLevel::Error),
                            .source = tables_.text(domainOf(word)),
                            .text = tables_.text(nameOf(word))});
      break;
    case Kind::Row:
      decodeRow(slot, word);
      break;
    case Kind::Gap:
      decodeGap(thread, slot, word, timeNs);
      break;
    case Kind::Operator:  // comes here as its parts
      break;
  }
}

}  // namespace lacuna::prof::recording
