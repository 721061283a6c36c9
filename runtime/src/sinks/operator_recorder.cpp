// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "instrument/operator_recorder.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "alloc/allocator.h"
#include "core/fork_locks.h"
#include "lacuna/runtime/memory_plan.h"
#include "tensor/node.h"

namespace lacuna::rt {

namespace {

struct Recorder {
  std::mutex mutex;
  bool running = false;
  DeviceType device = DeviceType::Cpu;
  OperatorList list;
  std::unordered_map<const Block*, std::size_t> live;  ///< index of the buffer

  [[nodiscard]] std::uint64_t position() const { return list.operators.size(); }
  void use(const Tensor& tensor) {
    if (!tensor.defined()) return;
    if (const auto at = live.find(tensor.impl()->storage->block); at != live.end())
      list.buffers[at->second].lastUse = position();
  }
};

Recorder& recorder() {
  static auto* one = new Recorder;
  return *one;
}

/// Turns the sink off again, however the recorded body ended.
struct RunningRecorder {
  ~RunningRecorder() {
    instrument::gSinks.fetch_and(~instrument::kRecorderSink);
    const std::lock_guard lock(recorder().mutex);
    recorder().running = false;
    recorder().live.clear();
  }
};

/// Bytes that come (at a position) and go (after one).
class Timeline {
 public:
  explicit Timeline(std::uint64_t positions) : change_(positions + 2) {}
  void hold(std::size_t bytes, std::uint64_t from, std::uint64_t to) {
    change_[from] += static_cast<std::int64_t>(bytes);
    change_[std::max(from, to) + 1] -= static_cast<std::int64_t>(bytes);
  }
  [[nodiscard]] std::size_t peak() const {
    std::int64_t held = 0;
    std::int64_t most = 0;
    for (const std::int64_t step : change_) most = std::max(most, held += step);
    return static_cast<std::size_t>(most);
  }

 private:
  std::vector<std::int64_t> change_;
};

/// `end` gives the position after which a buffer is not needed any more.
template <class End>
std::size_t boundOf(const OperatorList& list, bool withTakenOver, const End& end) {
  const std::uint64_t last = list.operators.size();
  Timeline timeline(last);
  std::size_t always = list.heldBefore;
  for (const RecordedBuffer& buffer : list.buffers) {
    if (buffer.takenOver && !withTakenOver) continue;
    if (buffer.existedBefore) always -= buffer.bytes;
    timeline.hold(buffer.bytes, buffer.born, std::min(last, end(buffer)));
  }
  return always + timeline.peak();
}

std::uint64_t endByLastUse(const RecordedBuffer& buffer) {
  // A holder that still has it in the end may use it later.
  return buffer.freed == 0 && !buffer.takenOver ? ~std::uint64_t{0}
                                                : std::max(buffer.born, buffer.lastUse);
}

const ForkLock kRecorderForkLock{LockOrder::OperatorRecorder, [] { recorder().mutex.lock(); },
                                 [] { recorder().mutex.unlock(); }};

}  // namespace

void instrument::recordOperator(const OpContext& op, std::span<const Tensor* const> inputs) {
  Recorder& own = recorder();
  const std::lock_guard lock(own.mutex);
  own.list.operators.push_back(op.name->text);
  if (tState.direction == Direction::Backward) own.list.backwardEnd = own.position();
  for (const Tensor* input : inputs) own.use(*input);
}

void instrument::recordUse(const Tensor& tensor) {
  const std::lock_guard lock(recorder().mutex);
  recorder().use(tensor);
}

void instrument::recordTakeOver(const Tensor& tensor) {
  Recorder& own = recorder();
  const std::lock_guard lock(own.mutex);
  if (tensor.device().type != own.device || tState.direction != Direction::Forward) return;
  RecordedBuffer result;
  result.bytes = tensor.sizeBytes();
  result.op = tOp != nullptr ? tOp->name->text : "";
  result.born = result.lastUse = own.position();
  result.forward = result.takenOver = true;
  own.list.buffers.push_back(result);
}

void instrument::recordAllocation(const Block& block, DeviceType device) {
  Recorder& own = recorder();
  const std::lock_guard lock(own.mutex);
  if (!own.running || device != own.device) return;
  own.live[&block] = own.list.buffers.size();
  RecordedBuffer buffer;
  buffer.bytes = block.requested;
  buffer.role = block.role;
  buffer.op = block.op;
  buffer.born = buffer.lastUse = own.position();
  buffer.forward = tState.direction == Direction::Forward && block.role != Role::Workspace;
  own.list.buffers.push_back(buffer);
}

void instrument::recordFree(const Block& block, DeviceType device) {
  Recorder& own = recorder();
  const std::lock_guard lock(own.mutex);
  if (!own.running || device != own.device) return;
  const std::uint64_t now = std::max<std::uint64_t>(own.position(), 1);
  const auto at = own.live.find(&block);
  if (at == own.live.end()) {
    RecordedBuffer older;
    older.bytes = block.requested;
    older.role = block.role;
    older.op = block.op;
    older.lastUse = older.freed = now;
    older.existedBefore = true;
    own.list.buffers.push_back(older);
    return;
  }
  own.list.buffers[at->second].freed = now;
  own.live.erase(at);
}

OperatorList recordOperators(const std::function<void()>& body, Device device) {
  Recorder& own = recorder();
  synchronize();
  {
    const std::lock_guard lock(own.mutex);
    if (own.running) fail("recordOperators", "another recording is running");
    own.running = true;
    own.device = device.type;
    own.list = {};
  }
  {
    const RunningRecorder running;
    resetPeakMemory(device);
    // The allocator calls the recorder with its own lock held, so it is never asked with the
    // recorder's.
    const std::size_t held = memoryStats(device).active;
    {
      const std::lock_guard lock(own.mutex);
      own.list.heldBefore = held;
    }
    instrument::gSinks.fetch_or(instrument::kRecorderSink);
    body();
    synchronize();
  }
  const std::size_t peak = memoryStats(device).peakActive;
  const std::lock_guard lock(own.mutex);
  own.list.peak = peak;
  return std::move(own.list);
}

std::size_t lastUseBound(const OperatorList& list) {
  return boundOf(list, false, endByLastUse);
}

std::size_t keepAllBound(const OperatorList& list) {
  return boundOf(list, true, [&](const RecordedBuffer& buffer) {
    const std::uint64_t end = endByLastUse(buffer);
    return buffer.forward ? std::max(end, list.backwardEnd) : end;
  });
}

}  // namespace lacuna::rt
