// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "export/chrome_event.h"
#include "export/chrome_metadata.h"
#include "export/chrome_places.h"
#include "export/export_meter.h"
#include "export/exporters.h"
#include "formats/arg_rules.h"
#include "formats/json_text.h"
#include "links/range_launches.h"

namespace lacuna::analyzer {
namespace {

/// The row follows from the totals in its neighbours' events.
bool isOfTotals(std::string_view op) {
  return op == kHeldBefore || op == kReservedTotal;
}

/// Writes rows as events.
class ChromeExport {
 public:
  ChromeExport(const Store& store, ByteSink& sink, const ExportOptions& options)
      : store_(store),
        warn_(options.warn),
        meter_(store, options.progress),
        places_(store),
        event_(store, places_, sink),
        metadata_(store, places_, event_, sink) {}

  prof::Status run() {
    warnOfOtherTables();
    metadata_.writeHead();
    meter_.eachRow<prof::Range>([this](const prof::Range& row) { range(row); });
    meter_.eachRow<prof::ApiCall>([this](const prof::ApiCall& row) { call(row); });
    meter_.eachRow<prof::Kernel>([this](const prof::Kernel& row) { kernel(row); });
    meter_.eachRow<prof::Memcpy>([this](const prof::Memcpy& row) { copy(row); });
    meter_.eachRow<prof::Memset>([this](const prof::Memset& row) { memset(row); });
    meter_.eachRow<prof::Sync>([this](const prof::Sync& row) { sync(row); });
    meter_.eachRow<prof::Overhead>([this](const prof::Overhead& row) { overhead(row); });
    meter_.eachRow<prof::Mark>([this](const prof::Mark& row) { mark(row); });
    meter_.eachRow<prof::Allocation>([this](const prof::Allocation& row) { allocation(row); });
    meter_.eachRow<prof::CounterSample>([this](const prof::CounterSample& row) { counter(row); });
    meter_.eachRow<prof::Flow>([this](const prof::Flow& row) { flow(row); });
    metadata_.writeTail();
    warnOfLostSamples();
    return meter_.status();
  }

 private:
  /// Rows of tables that Chrome JSON has no events for.
  void warnOfOtherTables() {
    std::string lost;
    const auto count = [&]<class Row>() {
      if (store_.rows<Row>() == 0) return;
      lost +=
          fmt::format("{}{} rows of {}", lost.empty() ? "" : ", ", store_.rows<Row>(), Row::kName);
    };
    count.operator()<prof::CpuSample>();
    count.operator()<prof::ThreadSpan>();
    count.operator()<prof::LogLine>();
    count.operator()<prof::Drop>();
    count.operator()<prof::StackFrame>();
    count.operator()<prof::PythonSample>();
    count.operator()<prof::GraphNode>();
    if (!lost.empty() && warn_)
      warn_(fmt::format("Chrome JSON has no place for {}; .lcn, .pftrace and .sqlite hold them",
                        lost));
  }
  void warnOfLostSamples() const {
    if (lostSamples_ > 0 && warn_) {
      warn_(fmt::format(
          "Chrome JSON has no place for {} samples of counters that are no numbers (NaN, Infinity)",
          lostSamples_));
    }
  }
  void range(const prof::Range& row) {
    const bool isAsync = places_.hasLoose() && row.kind == prof::RangeKind::StartEnd;
    const bool isOpen = places_.hasLoose() && (row.flags & prof::kUnfinished) != 0;
    const char phase = isAsync ? 'b' : isOpen ? 'B' : 'X';
    event_.begin(phase, ArgTable::Range, row.args, store_.text(row.category), row.name,
                 places_.of(row.queue, row.thread), row.startNs);
    if (!isAsync && !isOpen) event_.length(row.durNs);
    event_.source().correlation = row.correlation;
    event_.source().payload = row.payload;
    event_.source().text = store_.text(row.text);
    if (!places_.isKineto()) ownRangeArgs(row);
    event_.end(ArgTable::Range);
    if (isAsync && !isOpen) asyncEnd(row);
  }
  /// The end of a range that begins and ends anywhere; their id, however it is written, joins the
  /// two.
  void asyncEnd(const prof::Range& row) {
    const ChromePlaces::Place& place = places_.of(row.endThread ? row.endThread : row.thread);
    event_.open();
    event_.put("ph", "\"e\"");
    if (row.category) event_.putText("cat", store_.text(row.category));
    event_.putText("name", store_.text(row.name));
    event_.putPlace(place);
    event_.putTime("ts", row.startNs + row.durNs);
    for (const char* key : {"id", "id2", "scope"}) {
      if (event_.given(key)) event_.value(key, prof::ArgScope::Field);
    }
    event_.close();
  }
  /// Ranges of our own recordings have columns that Kineto knows no words for, and no shape that
  /// could name them.
  void ownRangeArgs(const prof::Range& row) {
    if (row.correlation != 0) event_.shape().add("=External id");
    if (row.payloadType == prof::PayloadType::I64 || row.payloadType == prof::PayloadType::U64) {
      event_.shape().add("=Sequence number");
    }
    if (ChromeEvent::isShapes(event_.source().text)) event_.shape().add("=Input Dims");
    event_.putOwnColumns(row);
  }
  void call(const prof::ApiCall& row) {
    if (places_.hasOperatorQueues() && store_.text(row.name) == kOperatorCall) return;
    event_.begin('X', ArgTable::ApiCall, row.args,
                 row.kind == prof::ApiKind::Driver ? "cuda_driver" : "cuda_runtime", row.name,
                 places_.of(row.thread), row.startNs);
    event_.length(row.durNs);
    event_.source().correlation = row.correlation;
    event_.putOwnColumns(row);
    event_.end(ArgTable::ApiCall);
  }
  void kernel(const prof::Kernel& row) {
    if (places_.isOperatorQueue(row.queue)) return;
    event_.begin('X', ArgTable::Kernel, row.args, "kernel", row.name, places_.of(row.queue),
                 row.startNs);
    event_.length(row.durNs);
    event_.source().correlation = row.correlation;
    event_.source().registers = row.registersPerThread;
    event_.source().graphId = row.graphId;
    event_.source().graphNodeId = row.graphNodeId;
    event_.source().sharedBytes = std::uint64_t{row.staticSharedBytes} + row.dynamicSharedBytes;
    const std::uint32_t grid[] = {row.gridX, row.gridY, row.gridZ};
    const std::uint32_t block[] = {row.blockX, row.blockY, row.blockZ};
    std::copy(grid, grid + 3, event_.source().grid);
    std::copy(block, block + 3, event_.source().block);
    event_.putOwnColumns(row);
    event_.end(ArgTable::Kernel);
  }
  void copy(const prof::Memcpy& row) {
    event_.begin('X', ArgTable::Memcpy, row.args, "gpu_memcpy", row.name, places_.of(row.queue),
                 row.startNs);
    event_.length(row.durNs);
    event_.source().correlation = row.correlation;
    event_.source().bytes = row.bytes;
    event_.source().graphId = row.graphId;
    event_.source().graphNodeId = row.graphNodeId;
    event_.putOwnColumns(row);
    event_.end(ArgTable::Memcpy);
  }
  void memset(const prof::Memset& row) {
    event_.begin('X', ArgTable::Memset, row.args, "gpu_memset", row.name, places_.of(row.queue),
                 row.startNs);
    event_.length(row.durNs);
    event_.source().correlation = row.correlation;
    event_.source().bytes = row.bytes;
    event_.source().graphId = row.graphId;
    event_.source().graphNodeId = row.graphNodeId;
    event_.putOwnColumns(row);
    event_.end(ArgTable::Memset);
  }
  void sync(const prof::Sync& row) {
    event_.begin('X', ArgTable::Sync, row.args, "cuda_sync", row.name,
                 places_.of(row.queue, row.thread), row.startNs);
    event_.length(row.durNs);
    event_.source().correlation = row.correlation;
    event_.source().eventId = row.eventId;
    event_.source().name = store_.text(row.name);
    event_.putOwnColumns(row);
    event_.end(ArgTable::Sync);
  }
  void overhead(const prof::Overhead& row) {
    event_.begin('X', ArgTable::Overhead, row.args, "overhead", row.name, places_.of(row.thread),
                 row.startNs);
    event_.length(row.durNs);
    event_.end(ArgTable::Overhead);
  }
  void mark(const prof::Mark& row) {
    event_.begin('i', ArgTable::Mark, row.args, store_.text(row.category), row.name,
                 places_.of(row.thread), row.timeNs);
    if (!row.args || !places_.isKineto()) event_.putUnlessGiven("s", "\"t\"");
    event_.putOwnColumns(row);
    event_.end(ArgTable::Mark);
  }
  void allocation(const prof::Allocation& row) {
    if (places_.isKineto() && !row.args && isOfTotals(store_.text(row.op))) return;
    static const ChromePlaces::Place kNowhere{"0", "0"};
    const bool isSegment =
        row.action == prof::MemoryAction::Reserve || row.action == prof::MemoryAction::Release;
    event_.beginNamed('i', ArgTable::Allocation, row.args, "cpu_instant_event",
                      isSegment ? kReservedMemory : std::string_view("[memory]"),
                      places_.has(row.thread) ? places_.of(row.thread) : kNowhere, row.timeNs);
    if (!row.args || !places_.isKineto()) event_.putUnlessGiven("s", "\"t\"");
    event_.source().bytes = row.bytes;
    event_.source().freed = row.action == prof::MemoryAction::Free ||
                            row.action == prof::MemoryAction::ExternalFree ||
                            row.action == prof::MemoryAction::Release;
    event_.source().address = row.address;
    event_.source().deviceIndex = places_.of(row.device).index;
    if (!places_.isKineto()) ownAllocationArgs(row);
    event_.end(ArgTable::Allocation);
  }
  /// Which queue's memory it is, in the words that the queue itself has as pid and tid.
  void ownAllocationArgs(const prof::Allocation& row) {
    constants_ = row.device ? "~\"Device Type\": 1" : "~\"Device Type\": 0";
    if (places_.has(row.queue)) {
      const ChromePlaces::Place& queue = places_.of(row.queue);
      constants_ += ", \"Device\": " + queue.pid + ", \"Stream\": " + queue.tid;
    }
    event_.shape().add(constants_);
    event_.putOwnColumns(row);
  }
  void counter(const prof::CounterSample& row) {
    if (!std::isfinite(row.value)) {
      ++lostSamples_;
      return;
    }
    const prof::CounterTrack& track = places_.of(row.track);
    const std::string& tid = places_.of(track.thread).tid;
    event_.open();
    event_.put("ph", "\"C\"");
    event_.putText("name", store_.text(track.name));
    event_.put("pid", places_.pidOf(track));
    event_.put("tid", tid.empty() ? "0" : tid);
    event_.putTime("ts", row.timeNs);
    std::string arguments = "{";
    json::appendQuoted(arguments,
                       store_.text(track.unit).empty() ? "value" : store_.text(track.unit));
    event_.put("args", arguments + fmt::format(": {}}}", row.value));
    event_.close();
  }
  void flow(const prof::Flow& row) {
    const char phase = row.phase == prof::FlowPhase::Begin  ? 's'
                       : row.phase == prof::FlowPhase::Step ? 't'
                                                            : 'f';
    event_.begin(phase, ArgTable::Flow, row.args, store_.text(row.category), row.name,
                 places_.of(row.queue, row.thread), row.timeNs);
    // Points of a flow are joined by category, name and id, so the format wants all three.
    if (!row.category && !places_.isKineto()) event_.putUnlessGiven("cat", "\"\"");
    event_.putUnlessGiven("id", std::to_string(row.id));
    event_.end(ArgTable::Flow);
  }

  const Store& store_;
  const std::function<void(const std::string&)>& warn_;
  ExportMeter meter_;
  ChromePlaces places_;
  ChromeEvent event_;
  ChromeMetadata metadata_;
  std::string constants_;
  std::uint64_t lostSamples_ = 0;
};

}  // namespace

prof::Status exportChrome(const Store& store, ByteSink& sink, const ExportOptions& options) {
  return ChromeExport(store, sink, options).run();
}

}  // namespace lacuna::analyzer
