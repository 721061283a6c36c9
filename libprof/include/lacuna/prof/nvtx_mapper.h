// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "lacuna/prof/announced.h"
#include "lacuna/prof/events.h"

/// Turns NVTX events of a program into rows with a meaning. The tensor runtime's schema
/// (docs/nvtx-schema.md) carries queue executions, allocations and settings as NVTX payloads. The
/// recorder inside the program and the importers of other tools' traces get the same rows from the
/// same functions. They keep no state and allocate nothing.
///
/// Ids in the rows belong to the process that sent the events: threads are the operating system's
/// ids, queue n is QueueId(n + 1) on DeviceId(n + 1). A caller that joins the rows of several
/// processes renumbers them.
namespace lacuna::prof {

/// The plan for reading one registered payload schema: made once per registration, used for every
/// event.
class NvtxPlan {
 public:
  enum class Kind : std::uint8_t {
    None,
    Operator,
    Execution,
    Memory,
    Step,
    Loader,
    Sync,
    Hello,
    Queue,
    Knob
  };
  static constexpr std::uint32_t kVersion = 1;  ///< of the runtime's schema
  static constexpr std::string_view kDomain = "lacuna.rt";
  static constexpr std::size_t kMaxFields = 16;

  /// The fields that matter of the kinds that come in masses, as position() counts them.
  enum OperatorField : std::uint8_t { kOpCorrelation, kOpSequence, kOpShapes };
  enum ExecutionField : std::uint8_t {
    kCorrelation,
    kSequence,
    kEnqueueStart,
    kEnqueueEnd,
    kEnqueueThread,
    kQueue,
    kKind,
    kBytes
  };
  enum MemoryField : std::uint8_t {
    kAddress,
    kMemoryBytes,
    kMemorySequence,
    kOp,
    kTensor,
    kMemoryQueue,
    kAction,
    kRole
  };

  enum WaitField : std::uint8_t { kWaitSequence, kWaitQueue, kWaitKind };

  NvtxPlan() = default;
  /// For a schema registered in `domain` under `schema`, whose fields have these names. Kind::None
  /// when it is not one of the runtime's; further fields are ignored and missing ones read as 0.
  NvtxPlan(std::string_view domain, std::string_view schema,
           std::span<const std::string_view> fields);

  [[nodiscard]] Kind kind() const { return kind_; }
  /// The position of the wanted field number `which` among the event's values, or -1.
  [[nodiscard]] int position(std::size_t which) const { return positions_[which]; }
  /// Names of the fields that `kind` wants, in the order of position().
  static std::span<const std::string_view> wanted(Kind kind);

 private:
  Kind kind_ = Kind::None;
  std::array<std::int8_t, kMaxFields> positions_{};
};

/// An event whose payload a plan reads. `values` are the payload's fields in registered order,
/// widened to 64 bits (signed ones with their sign); a string field holds the number of its
/// StringId.
struct NvtxEvent {
  ThreadId thread;
  TimeNs startNs = 0;
  TimeNs durNs = 0;
  StringId name;
  std::uint8_t flags = 0;  ///< as Range::flags
  std::span<const std::uint64_t> values;
};

/// Takes the rows. Texts that the mapper needs come from here too.
class NvtxRowSink {
 public:
  /// The id of `prefix` followed by the text of `id`.
  virtual StringId join(std::string_view prefix, StringId id) = 0;
  virtual void take(const Device& row) = 0;
  virtual void take(const Queue& row) = 0;
  virtual void take(const ApiCall& row) = 0;
  virtual void take(const Kernel& row) = 0;
  virtual void take(const Memcpy& row) = 0;
  virtual void take(const Memset& row) = 0;
  virtual void take(const Sync& row) = 0;
  virtual void take(const Allocation& row) = 0;
  virtual void take(const Environment& row) = 0;

 protected:
  ~NvtxRowSink() = default;
};

/// Gives the rows that follow from a range (once it has ended) or a mark to `sink`. True when there
/// were any.
bool mapNvtxEvent(const NvtxPlan& plan, const NvtxEvent& event, NvtxRowSink& sink);

/// From anything that reads field number n with `values[n]`.
template <class Fields>
AnnouncedExecution executionFrom(const Fields& values) {
  AnnouncedExecution announced;
  announced.correlation = values[NvtxPlan::kCorrelation];
  announced.sequence = values[NvtxPlan::kSequence];
  announced.bytes = values[NvtxPlan::kBytes];
  announced.enqueueStartNs = static_cast<TimeNs>(values[NvtxPlan::kEnqueueStart]);
  const std::uint64_t enqueueNs = values[NvtxPlan::kEnqueueEnd] - values[NvtxPlan::kEnqueueStart];
  if (announced.enqueueStartNs != 0)
    announced.enqueueNs = static_cast<std::uint32_t>(enqueueNs < ~0u ? enqueueNs : ~0u);
  announced.enqueueThread = static_cast<std::uint32_t>(values[NvtxPlan::kEnqueueThread]);
  announced.queue = static_cast<std::uint32_t>(values[NvtxPlan::kQueue]);
  announced.kind = static_cast<std::uint8_t>(values[NvtxPlan::kKind]);
  return announced;
}
template <class Fields>
AnnouncedMemory memoryFrom(const Fields& values) {
  AnnouncedMemory announced;
  announced.address = values[NvtxPlan::kAddress];
  announced.bytes = values[NvtxPlan::kMemoryBytes];
  announced.sequence = values[NvtxPlan::kMemorySequence];
  announced.op = static_cast<std::uint32_t>(values[NvtxPlan::kOp]);
  announced.tensor = static_cast<std::uint32_t>(values[NvtxPlan::kTensor]);
  announced.queue = static_cast<std::uint16_t>(values[NvtxPlan::kMemoryQueue]);
  announced.action = static_cast<std::uint8_t>(values[NvtxPlan::kAction]);
  announced.role = static_cast<std::uint8_t>(values[NvtxPlan::kRole]);
  return announced;
}
template <class Fields>
AnnouncedWait waitFrom(const Fields& values) {
  return {values[NvtxPlan::kWaitSequence], static_cast<std::uint32_t>(values[NvtxPlan::kWaitQueue]),
          static_cast<std::uint8_t>(values[NvtxPlan::kWaitKind])};
}

/// Names of the launch calls of executions. One is for the program's, the other for what the
/// runtime does for itself, such as giving memory back in the queue's order.
inline constexpr std::string_view kEnqueueCall = "enqueue";
inline constexpr std::string_view kUpkeepCall = "enqueue.upkeep";

/// The rows of what was sent there and then; `event.values` are not read.
void mapExecution(const AnnouncedExecution& announced, const NvtxEvent& event, NvtxRowSink& sink);
Allocation mapMemory(const AnnouncedMemory& announced, const NvtxEvent& event);
Sync mapWait(const AnnouncedWait& announced, const NvtxEvent& event);

/// True when mapNvtxEvent's rows hold everything of the event, so that its mark need not be kept.
bool nvtxMarkIsRedundant(const NvtxPlan& plan);

/// The facts that a payload of the schema holds about its own range, known when it begins.
struct NvtxNote {
  std::uint64_t payload = 0;  ///< step index, batch number, sequence number
  std::uint64_t correlation = 0;
  StringId text;             ///< shapes of an operator
  bool ofLoader = false;     ///< a stage of a data loader:
  std::uint32_t loader = 0;  ///< its number in the process
  std::int32_t worker = 0;   ///< the loader's worker, below 0 for the consumer
};
/// The note of a range; empty for Kind::None.
NvtxNote noteOf(const NvtxPlan& plan, std::span<const std::uint64_t> values);

}  // namespace lacuna::prof
