// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "analysis/devices.h"
#include "analysis/shown_steps.h"
#include "lacuna/analyzer/report.h"
#include "report/gain_factors.h"
#include "report/json_writer.h"
#include "report/sequence_text.h"
#include "whatif/sample_rate.h"

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kLiveListed = 200;
constexpr std::size_t kRooflineListed = 100;
constexpr std::size_t kSequencesListed = 100;

void writeLedger(JsonWriter& json, const Ledger& ledger, const Ledger& bands) {
  json.beginObject().field("total_ns", ledger.totalNs()).key("entries").beginArray();
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    json.beginObject().field("cause", causeKey(static_cast<Cause>(i))).field("ns", ledger.ns[i]).endObject();
  }
  json.endArray().field("unknown_ns", ledger[Cause::Unknown]);
  json.field("recording_ns", bands.totalNs()).key("recording").beginArray();
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (bands.ns[i] == 0) continue;
    json.beginObject().field("cause", causeKey(static_cast<Cause>(i))).field("ns", bands.ns[i]).endObject();
  }
  json.endArray().endObject();
}

void writeDevice(JsonWriter& json, const DeviceAccount& device) {
  json.beginObject()
      .field("id", device.label)
      .field("kind", deviceKindName(device.kind))
      .field("index", device.index)
      .field("uuid", device.uuid)
      .field("name", device.name)
      .field("process", device.osPid)
      .field("rank", device.rank)
      .field("span_ns", device.window.endNs - device.window.startNs)
      .field("busy_ns", device.ledger.busyNs())
      .field("idle_ns", device.ledger.idleNs())
      .field("kernel_ns", device.kernelNs)
      .field("memcpy_ns", device.memcpyNs)
      .field("memset_ns", device.memsetNs)
      .field("comm_ns", device.commNs)
      .field("comm_exposed_ns", device.ledger[Cause::ExposedCommunication])
      .field("kernels", device.kernels)
      .key("ledger");
  writeLedger(json, device.ledger, device.bands);
  json.key("queues").beginArray();
  for (const QueueAccount& queue : device.queues) {
    json.beginObject().field("name", queue.name).key("ledger");
    writeLedger(json, queue.ledger, queue.bands);
    json.endObject();
  }
  json.endArray().endObject();
}

void writePath(JsonWriter& json, const StepPath& path) {
  json.key("critical_path")
      .beginObject()
      .field("compute_ns_per_step", path.computeNs)
      .field("communication_ns_per_step", path.communicationNs)
      .field("copy_ns_per_step", path.copyNs)
      .field("host_ns_per_step", path.hostNs)
      .field("launch_ns_per_step", path.launchNs)
      .field("loader_ns_per_step", path.loaderNs)
      .endObject();
}

void writeSteps(JsonWriter& json, const Analysis& analysis) {
  json.key("steps").beginArray();
  const auto [first, last] = shownRange(analysis);
  for (std::size_t i = first; i < last; ++i) {
    const Step& step = analysis.steps.all[i];
    json.beginObject()
        .field("index", step.index)
        .field("name", step.name)
        .field("start_ns", step.startNs)
        .field("dur_ns", step.durNs())
        .field("recording_ns", analysis.stepBandNs(i))
        .field("warm_up", step.warmUp)
        .key("ledger");
    writeLedger(json, analysis.stepLedgers[i], analysis.bands.steps[i]);
    if (i < analysis.stepPaths.size() && analysis.stepPaths[i].totalNs() > 0) writePath(json, analysis.stepPaths[i]);
    json.endObject();
  }
  json.endArray();
}

template <class Row>
Row rowOf(const Store& store, decltype(Row::id) id) {
  for (std::uint64_t i = 0; id && i < store.rows<Row>(); ++i) {
    if (const Row row = store.row<Row>(i); row.id == id) return row;
  }
  return {};
}

/// Device and queue are called as in devices[], processes and threads as by the operating system.
void writeOwner(JsonWriter& json, const Analysis& analysis, const Evidence& evidence) {
  const prof::Thread thread = rowOf<prof::Thread>(*analysis.store, evidence.thread);
  std::string_view device, queue;
  std::uint32_t process = rowOf<prof::Process>(*analysis.store, thread.process).osPid;
  for (const DeviceAccount& account : analysis.devices) {
    if (!evidence.device || account.id != evidence.device) continue;
    device = account.label;
    process = account.osPid;
    for (const QueueAccount& one : account.queues) queue = one.id == evidence.queue ? one.name : queue;
  }
  json.field("device", device).field("queue", queue).field("process", process).field("thread", thread.osTid);
}

void writeFinding(JsonWriter& json, const Analysis& analysis, const Finding& finding) {
  constexpr std::string_view kSeverities[]{"low", "medium", "high"};
  json.beginObject()
      .field("id", findingKey(finding.id))
      .field("kind", finding.kind == FindingKind::Fault ? "fault" : "opportunity")
      .field("severity", kSeverities[static_cast<std::size_t>(finding.severity)])
      .field("title", finding.title)
      .field("cost_ns_per_step", finding.costNsPerStep)
      .field("recording_ns_per_step", finding.recordingNsPerStep)
      .field("predicted_gain_ns_per_step", finding.predictedGainNsPerStep)
      .field("base_ns_per_step", finding.baseNsPerStep)
      .field("accounted_ns_per_step", finding.accountedNsPerStep)
      .field("gain_low_ns_per_step", finding.gainLowNsPerStep)
      .field("gain_high_ns_per_step", finding.gainHighNsPerStep)
      .field("gain_basis", gainBasisName(finding.gainBasis))
      .field("gain_factors", gainFactors(analysis, finding))
      .field("predicted_gain_bytes", finding.predictedGainBytes)
      .field("not_predicted", finding.notPredicted)
      .field("samples_per_second", finding.samplesPerSecond)
      .field("predicted_samples_per_second", finding.predictedSamplesPerSecond)
      .field("confidence", finding.confidence)
      .field("knob", finding.knob)
      .field("advice", finding.advice)
      .field("count", finding.count)
      .key("evidence")
      .beginArray();
  for (const Evidence& evidence : finding.evidence) {
    json.beginObject().field("start_ns", evidence.startNs).field("end_ns", evidence.endNs).field("what", evidence.what);
    writeOwner(json, analysis, evidence);
    json.endObject();
  }
  json.endArray().endObject();
}

/// What is alive at the peak, with how long it has been and will be.
void writeLive(JsonWriter& json, const Store& store, const MemoryStats& memory) {
  std::map<prof::DeviceId, std::string> labels;
  json.key("live").beginArray();
  for (std::size_t i = 0; i < std::min(kLiveListed, memory.live.size()); ++i) {
    const LiveTensor& tensor = memory.live[i];
    const TensorLife& life = memory.lives[i];
    const auto [label, isNew] = labels.try_emplace(life.device);
    if (isNew) label->second = deviceLabel(store, life.device);
    json.beginObject()
        .field("bytes", tensor.bytes)
        .field("role", roleName(tensor.role))
        .field("tensor", tensor.tensor)
        .field("op", tensor.op)
        .field("device", label->second)
        .field("allocated_ns", tensor.allocatedNs)
        .field("steps_old", life.stepsOld)
        .field("freed", life.freed)
        .field("freed_ns", life.freedNs)
        .field("steps_ahead", life.stepsAhead)
        .endObject();
  }
  json.endArray();
}

void writeMemory(JsonWriter& json, const Store& store, const MemoryStats& memory) {
  json.key("memory")
      .beginObject()
      .field("peak_bytes", memory.peakBytes)
      .field("at_ns", memory.peakAtNs)
      .field("reserved_peak_bytes", memory.peakReservedBytes)
      .field("leak_bytes_per_step", memory.leakBytesPerStep);
  writeLive(json, store, memory);
  json.endObject();
}

void writeOperators(JsonWriter& json, const std::vector<OperatorRow>& rows) {
  json.key("operators").beginArray();
  for (const OperatorRow& row : rows) {
    json.beginObject()
        .field("name", row.name)
        .field("shapes", row.shapes)
        .field("calls", row.count)
        .field("host_ns", row.totalNs)
        .field("host_recording_ns", row.recordingNs)
        .field("host_self_ns", row.selfNs)
        .field("host_self_recording_ns", row.selfRecordingNs)
        .field("device_ns", row.deviceNs)
        .field("device_recording_ns", row.deviceRecordingNs)
        .field("mem_bytes", row.memBytes)
        .field("self_mem_bytes", row.selfMemBytes)
        .endObject();
  }
  json.endArray();
}

void writeOverhead(JsonWriter& json, const SelfOverhead& overhead) {
  json.key("self_overhead").beginObject().field("known", overhead.known).field("ns_per_step", overhead.nsPerStep);
  json.key("parts").beginArray();
  for (const OverheadPart& part : overhead.parts) {
    json.beginObject()
        .field("kind", part.kind)
        .field("events", part.events)
        .field("ns_each", part.nsEach)
        .field("ns_per_step", part.nsPerStep)
        .endObject();
  }
  json.endArray().endObject();
}

void writeLoader(JsonWriter& json, const Analysis& analysis) {
  const LoaderStats& loader = analysis.loader;
  json.key("loader")
      .beginObject()
      .field("batches", loader.batches)
      .field("wait_ns", loader.waitNs)
      .field("wait_recording_ns",
             std::min(loader.waitNs, analysis.meanStepBands()[Cause::LoaderWait] * analysis.stepCount()))
      .field("busy_ns", loader.busyNs)
      .field("workers", loader.workersKnown ? std::int64_t{loader.workers} : std::int64_t{-1})
      .field("batch_ns", loader.batchNs())
      .field("mean_depth", loader.meanDepth)
      .field("cpu_share", loader.cpuShare)
      .field("bound_by", loaderBoundName(analysis.loaderVerdict.bound))
      .field("workers_needed", std::uint64_t{analysis.loaderVerdict.workersNeeded})
      .field("prefetch_needed", std::uint64_t{analysis.loaderVerdict.prefetchNeeded})
      .key("stages")
      .beginObject();
  for (std::size_t i = 0; i < kLoaderStages.size(); ++i) json.field(kLoaderStages[i], loader.stageNs[i]);
  json.endObject().endObject();
}

void writeLaunches(JsonWriter& json, const LaunchStats& launches) {
  json.key("launches")
      .beginObject()
      .field("count", launches.launches)
      .field("median_call_ns", launches.medianCallNs)
      .field("call_recording_ns", launches.callRecordingNs)
      .field("median_delay_ns", launches.medianDelayNs)
      .field("delay_recording_ns", launches.delayRecordingNs)
      .field("shorter_than_call", launches.shorterThanCall)
      .field("found_queue_empty", launches.foundQueueEmpty)
      .field("mean_queue_depth", launches.meanQueueDepth)
      .field("unmatched", launches.unmatched)
      .endObject();
}

void writeQueueLengths(JsonWriter& json, const Analysis& analysis) {
  json.key("queue_lengths").beginArray();
  for (const QueueLength& row : analysis.queueLengths) {
    json.beginObject();
    const QueuePlace place = placeOf(analysis, row.queue);
    json.field("device", place.device)
        .field("queue", place.queue)
        .field("launches", row.work)
        .field("mean", row.mean())
        .field("max", row.most)
        .field("max_at_ns", row.mostAtNs)
        .field("span_ns", row.spanNs)
        .field("waiting_ns", row.waitingNs)
        .field("full_ns", row.fullNs)
        .key("curve")
        .beginArray();
    for (const QueueLengthPoint& point : row.curve)
      json.beginObject().field("time_ns", point.timeNs).field("max", point.most).endObject();
    json.endArray().endObject();
  }
  json.endArray();
}

void writeProjectedRanges(JsonWriter& json, const std::vector<ProjectedRange>& rows) {
  json.key("projected_ranges").beginArray();
  for (const ProjectedRange& row : rows) {
    json.beginObject()
        .field("name", row.name)
        .field("count", row.count)
        .field("work", row.work)
        .field("host_ns", row.hostNs)
        .field("projected_ns", row.projectedNs)
        .field("busy_ns", row.busyNs)
        .field("min_ns", row.minNs)
        .field("max_ns", row.maxNs)
        .endObject();
  }
  json.endArray();
}

void writeBottleneck(JsonWriter& json, const Bottleneck& bottleneck) {
  json.key("bottleneck").beginObject().field("bound_by", boundName(bottleneck.by)).key("parts").beginArray();
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    const BoundShare& part = bottleneck.shares[i];
    json.beginObject()
        .field("part", boundName(static_cast<BoundBy>(i)))
        .field("ns_per_step", part.nsPerStep)
        .field("share", part.share)
        .field("tier", tierName(part.tier))
        .endObject();
  }
  json.endArray().endObject();
}

void writeSequenceRows(JsonWriter& json, const Analysis& analysis, const std::vector<SequenceRow>& rows) {
  json.beginArray();
  for (std::size_t i = 0; i < std::min(kSequencesListed, rows.size()); ++i) {
    const SequenceRow& row = rows[i];
    json.beginObject().key("kernels").beginArray();
    for (const prof::StringId kernel : row.kernels) json.value(analysis.store->text(kernel));
    json.endArray()
        .field("count", row.count)
        .field("count_per_step", sequenceCountPerStep(analysis, row.count))
        .field("runs", row.runs)
        .field("device_ns", row.deviceNs)
        .field("gap_ns", row.gapNs)
        .field("share", sequenceShare(analysis, row))
        .endObject();
  }
  json.endArray();
}

void writeSequences(JsonWriter& json, const Analysis& analysis) {
  json.key("sequences").beginObject().key("repeated");
  writeSequenceRows(json, analysis, analysis.sequences.repeated);
  json.key("pointwise");
  writeSequenceRows(json, analysis, analysis.sequences.pointwise);
  json.endObject();
}

void writeCalls(JsonWriter& json, const std::vector<CallRow>& calls) {
  json.key("calls").beginArray();
  for (const CallRow& row : calls) {
    json.beginObject()
        .field("name", row.name)
        .field("count", row.count)
        .field("total_ns", row.totalNs)
        .field("recording_ns", row.recordingNs)
        .field("caller", row.caller)
        .endObject();
  }
  json.endArray();
}

void writeCopies(JsonWriter& json, const CopyStats& copies) {
  json.key("copies").beginArray();
  for (std::size_t i = 0; i < kCopyKindCount; ++i) {
    const CopyRow& row = copies.byKind[i];
    if (row.count == 0) continue;
    json.beginObject()
        .field("kind", copyKindName(i))
        .field("count", row.count)
        .field("bytes", row.bytes)
        .field("total_ns", row.ns)
        .field("recording_ns", row.recordingNs)
        .endObject();
  }
  json.endArray();
}

void writeCommunication(JsonWriter& json, const Analysis& analysis) {
  const CommunicationStats& comm = analysis.communication;
  json.key("communication")
      .beginObject()
      .field("total_ns", comm.totalNs)
      .field("exposed_ns", comm.exposedNs)
      .field("recording_ns", comm.recordingNs)
      .key("collectives")
      .beginArray();
  for (const CollectiveRow& row : comm.collectives) {
    json.beginObject()
        .field("name", row.name)
        .field("communicator", row.communicator)
        .field("kind", row.kind)
        .field("ranks", row.ranks)
        .field("count", row.count)
        .field("calls", row.calls)
        .field("total_ns", row.totalNs)
        .field("exposed_ns", row.exposedNs)
        .field("recording_ns", row.recordingNs)
        .field("bytes", row.bytes)
        .field("bytes_ns", row.bytesNs)
        .field("algorithm_bytes", row.algorithmBytes)
        .field("algorithm_ns", row.algorithmNs)
        .field("bus_bytes", row.busBytes)
        .field("bus_ns", row.busNs)
        .endObject();
  }
  json.endArray().key("ranks").beginArray();
  for (const RankRow& row : analysis.ranks.rows) {
    json.beginObject()
        .field("rank", row.rank)
        .field("device", row.device)
        .field("collectives", row.collectives)
        .field("wait_ns", row.waitNs)
        .field("wait_recording_ns", row.waitRecordingNs)
        .field("transfer_ns", row.transferNs)
        .field("transfer_recording_ns", row.transferRecordingNs)
        .field("last", row.last)
        .field("behind_ns", row.heldUpNs)
        .field("behind_recording_ns", row.heldUpRecordingNs)
        .field("compute_ns", row.computeNs)
        .field("compute_recording_ns", row.computeRecordingNs)
        .endObject();
  }
  json.endArray()
      .field("matched", analysis.ranks.matched)
      .field("unmatched", analysis.ranks.unmatched)
      .field("imbalance", analysis.ranks.imbalance)
      .endObject();
}

void writeEfficiency(JsonWriter& json, const EfficiencyStats& stats) {
  json.key("efficiency")
      .beginObject()
      .field("flops", stats.flops)
      .field("mfu", stats.mfu)
      .field("occupancy", stats.occupancy)
      .field("matrix_ns", stats.matrixNs)
      .field("tensor_core_ns", stats.tensorCoreNs)
      .field("peaks_of", stats.peaks.source)
      .key("operators")
      .beginArray();
  for (std::size_t i = 0; i < std::min(kRooflineListed, stats.rows.size()); ++i) {
    const RooflineRow& row = stats.rows[i];
    json.beginObject()
        .field("name", row.name)
        .field("shapes", row.shapes)
        .field("count", row.count)
        .field("device_ns", row.deviceNs)
        .field("recording_ns", row.recordingNs)
        .field("flops", row.demand.flops)
        .field("bytes", row.demand.bytes)
        .field("number", numberName(row.demand.number))
        .field("of_roof", row.ofRoof)
        .field("bound", row.ofRoof < 0    ? "unknown"
                        : row.memoryBound ? "memory"
                                          : "compute")
        .endObject();
  }
  json.endArray().endObject();
}

void writeDeviceMemory(JsonWriter& json, const Store& store, const DeviceMemory& memory, const MemoryStats& stats) {
  const AllocatorState& state = memory.allocator;
  json.beginObject()
      .field("device", deviceLabel(store, memory.device))
      .field("peak_bytes", memory.peakBytes)
      .field("at_ns", memory.peakAtNs)
      .field("reserved_peak_bytes", memory.reservedPeakBytes)
      .field("leak_bytes_per_step", stats.leakBytesPerStep)
      .key("allocator")
      .beginObject()
      .field("known", state.present)
      .field("at_ns", state.atNs)
      .field("requested_bytes", state.requestedBytes)
      .field("reserved_bytes", state.reservedBytes)
      .field("live_bytes", state.liveBytes)
      .field("largest_free_bytes", state.largestFreeBytes)
      .field("segments", state.segments)
      .field("fragmentation", state.fragmentation())
      .endObject()
      .key("curve")
      .beginArray();
  for (const RolePoint& point : memory.curve) {
    json.beginObject().field("time_ns", point.timeNs);
    for (std::size_t i = 0; i < kRoleCount; ++i) {
      if (point.bytes[i] > 0) json.field(roleName(static_cast<prof::MemoryRole>(i)), point.bytes[i]);
    }
    json.endObject();
  }
  json.endArray();
  writeLive(json, store, stats);
  json.endObject();
}

void writeMemoryUse(JsonWriter& json, const Analysis& analysis) {
  json.key("memory_devices").beginArray();
  const bool isOne = analysis.memoryStatsByDevice.empty();
  for (std::size_t i = 0; i < analysis.memoryByDevice.size(); ++i) {
    writeDeviceMemory(json, *analysis.store, analysis.memoryByDevice[i],
                      isOne ? analysis.memory : analysis.memoryStatsByDevice[i]);
  }
  json.endArray().key("peak_edits").beginArray();
  for (const PeakEdit& edit : analysis.peakEdits) {
    json.beginObject()
        .field("kind", edit.kind == PeakEditKind::Recompute ? "recompute" : "free_earlier")
        .field("device",
               deviceLabel(*analysis.store,
                           isOne && !analysis.memoryByDevice.empty() ? analysis.memoryByDevice[0].device : edit.device))
        .field("origin", edit.origin)
        .field("bytes", edit.bytes)
        .field("count", edit.count)
        .field("cost_ns_per_step", edit.costNsPerStep)
        .field("peak_after_bytes", edit.peakAfterBytes)
        .field("why", edit.why)
        .endObject();
  }
  json.endArray();
}

void writeLedgerWindow(JsonWriter& json, const Analysis& analysis) {
  json.key("ledger_window").beginObject();
  json.field("before_ns", analysis.before.ns)
      .field("before_longest", analysis.before.longest)
      .field("before_longest_ns", analysis.before.longestNs)
      .field("after_ns", analysis.after.ns)
      .field("after_longest", analysis.after.longest)
      .field("after_longest_ns", analysis.after.longestNs)
      .endObject();
}

void writeUnknown(JsonWriter& json, const UnknownPlaces& places) {
  json.key("unknown")
      .beginObject()
      .field("before_steps_ns", places.beforeNs)
      .field("in_steps_ns", places.inStepsNs)
      .field("between_steps_ns", places.betweenNs)
      .field("after_steps_ns", places.behindNs)
      .field("host_ran_before", places.ranShare)
      .field("host_waited_before", places.waitedShare)
      .key("libraries_before")
      .beginArray();
  for (const UnknownPlaces::Library& library : places.libraries)
    json.beginObject().field("path", library.path).field("share", library.share).endObject();
  json.endArray().endObject();
}

void writeTrace(JsonWriter& json, const Analysis& analysis) {
  const auto span = analysis.store->span();
  json.key("trace")
      .beginObject()
      .field("path", analysis.store->path().string())
      .field("start_ns", span.startNs)
      .field("end_ns", span.endNs)
      .field("window_start_ns", analysis.window.startNs)
      .field("window_end_ns", analysis.window.endNs)
      .field("dropped_events", analysis.droppedEvents)
      .key("warnings")
      .beginArray();
  for (const std::string& warning : analysis.store->warnings()) json.value(std::string_view(warning));
  json.endArray().endObject();
}

}  // namespace

std::string renderJson(const Analysis& analysis) {
  JsonWriter json;
  json.beginObject().field("schema", "lacuna.report/1");
  writeTrace(json, analysis);
  json.key("devices").beginArray();
  for (const DeviceAccount& device : analysis.devices) writeDevice(json, device);
  json.endArray();
  writeSteps(json, analysis);
  json.key("ledger");
  writeLedger(json, analysis.ledger, analysis.bands.run);
  writeLedgerWindow(json, analysis);
  writeUnknown(json, analysis.unknown);
  json.key("findings").beginArray();
  for (const Finding& finding : analysis.findings) writeFinding(json, analysis, finding);
  json.endArray().key("kernels").beginArray();
  for (const KernelRow& row : analysis.kernels) {
    json.beginObject()
        .field("name", row.name)
        .field("count", row.count)
        .field("total_ns", row.totalNs)
        .field("recording_ns", row.recordingNs)
        .field("min_ns", row.minNs)
        .field("max_ns", row.maxNs)
        .endObject();
  }
  json.endArray();
  writeSequences(json, analysis);
  writeOperators(json, analysis.operatorShapes);
  writePath(json, analysis.criticalPath);
  writeMemory(json, *analysis.store, analysis.memory);
  writeMemoryUse(json, analysis);
  writeLoader(json, analysis);
  writeLaunches(json, analysis.launches);
  writeQueueLengths(json, analysis);
  writeProjectedRanges(json, analysis.projectedRanges);
  writeBottleneck(json, analysis.bottleneck);
  json.field("samples_per_second", samplesPerSecond(analysis));
  writeCalls(json, analysis.calls);
  writeCopies(json, analysis.copies);
  writeCommunication(json, analysis);
  writeEfficiency(json, analysis.efficiency);
  writeOverhead(json, analysis.overhead);
  return json.endObject().take();
}

}  // namespace lacuna::analyzer
