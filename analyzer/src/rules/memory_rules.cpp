// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analyses/allocation_rows.h"
#include "lacuna/analyzer/text_match.h"
#include "lacuna/prof/bounds.h"
#include "rules/rule.h"

namespace lacuna::analyzer {
namespace {

/// Less than this in bytes is no spike that anybody would mind.
constexpr double kNoticeable = 8 << 20;

std::string origin(const LiveTensor& tensor) {
  if (!tensor.tensor.empty() && !tensor.op.empty()) return fmt::format("{} from {}", tensor.tensor, tensor.op);
  if (!tensor.op.empty()) return tensor.op;
  return tensor.tensor.empty() ? std::string("an unnamed operator") : tensor.tensor;
}

/// The memory of one device, or all there is where the trace has but one.
struct OneMemory {
  const MemoryStats& memory;
  std::string where;  ///< " of cuda:1"; empty where there is one
  prof::DeviceId device{};
};

Evidence moment(prof::TimeNs atNs, std::string what, prof::DeviceId device) {
  return {.startNs = atNs, .endNs = atNs, .what = std::move(what), .device = device};
}

void addBytes(RuleContext& context, Finding finding, std::uint64_t bytes) {
  finding.gainBasis = GainBasis::Bytes;
  finding.predictedGainBytes = bytes;
  context.addAsItIs(std::move(finding));
}

std::vector<OneMemory> memories(const Analysis& analysis) {
  std::vector<OneMemory> out;
  if (analysis.memoryStatsByDevice.empty()) {
    const bool one = analysis.memoryByDevice.size() == 1;
    out.push_back({analysis.memory, {}, one ? analysis.memoryByDevice[0].device : prof::DeviceId()});
  }
  for (std::size_t i = 0; i < analysis.memoryStatsByDevice.size(); ++i) {
    const auto device =
        std::find_if(analysis.devices.begin(), analysis.devices.end(),
                     [&](const DeviceAccount& account) { return account.id == analysis.memoryByDevice[i].device; });
    out.push_back({analysis.memoryStatsByDevice[i],
                   device == analysis.devices.end() ? std::string() : fmt::format(" of {}", device->label),
                   analysis.memoryByDevice[i].device});
  }
  return out;
}

bool leaks(const MemoryStats& memory) {
  return memory.leakBytesPerStep > 0 &&
         static_cast<double>(memory.leakBytesPerStep) >= 0.0005 * static_cast<double>(memory.peakBytes);
}

/// What steady steps had left behind when memory was at its peak.
std::uint64_t leakedBytes(const Analysis& analysis, const MemoryStats& memory) {
  std::uint64_t steps = 0;
  for (const Step& step : analysis.steps.steadyWithin(analysis.window)) steps += step.endNs <= memory.peakAtNs ? 1 : 0;
  return std::min(memory.peakBytes, prof::productOf(steps, static_cast<std::uint64_t>(memory.leakBytesPerStep)));
}

/// What is alive without tensors like one, as every step may make its own.
class WithoutLikes {
 public:
  WithoutLikes(const Store& store, const LiveTensor& tensor)
      : tensor_(tensor), op_(store.find(tensor.op)), name_(store.find(tensor.tensor)) {}

  void apply(const prof::Allocation& row) {
    using prof::MemoryAction;
    const bool takes = row.action == MemoryAction::Allocate || row.action == MemoryAction::ExternalAllocate;
    if (!takes && row.action != MemoryAction::Free && row.action != MemoryAction::ExternalFree) return;
    const auto [block, isNew] = bytes_.try_emplace({row.device, row.address}, 0);
    alive_ -= block->second;
    if (!takes) return void(bytes_.erase(block));
    block->second = isLike(row) ? 0 : row.bytes;
    alive_ += block->second;
  }
  [[nodiscard]] std::uint64_t aliveBytes() const { return alive_; }

 private:
  [[nodiscard]] bool isLike(const prof::Allocation& row) const {
    return row.op == op_ && row.tensor == name_ && row.role == tensor_.role && 2 * row.bytes > tensor_.bytes;
  }

  const LiveTensor& tensor_;
  prof::StringId op_, name_;
  std::map<std::pair<prof::DeviceId, std::uint64_t>, std::uint64_t> bytes_;
  std::uint64_t alive_ = 0;
};

/// By how much the peak is above all that is alive when tensors like this one are not: what is gained by their going,
/// at most.
std::uint64_t aboveOthers(const Analysis& analysis, const OneMemory& one, const LiveTensor& tensor) {
  const Store& store = *analysis.store;
  const bool isOneOfSeveral = !analysis.memoryStatsByDevice.empty();
  WithoutLikes without(store, tensor);
  std::uint64_t mostBytes = 0;
  bool hasBegun = false;
  const auto status = forEachAllocation(store, analysis.window.endNs, [&](const prof::Allocation& row, std::uint64_t) {
    const bool counts =
        isOneOfSeveral ? row.device == one.device : analysis.scope.only.holdsMemory(row.device, row.thread);
    if (!counts) return true;
    const bool within = row.timeNs >= analysis.window.startNs;
    // What is alive when the window begins counts for it too.
    if (within && !std::exchange(hasBegun, true)) mostBytes = without.aliveBytes();
    without.apply(row);
    if (within) mostBytes = std::max(mostBytes, without.aliveBytes());
    return true;
  });
  return status ? one.memory.peakBytes - std::min(one.memory.peakBytes, mostBytes) : 0;
}

/// The edit that takes most off the peak of a device; null where none does.
const PeakEdit* bestEdit(const Analysis& analysis, prof::DeviceId device) {
  const PeakEdit* best = nullptr;
  for (const PeakEdit& edit : analysis.peakEdits) {
    const bool counts = edit.device == device || !edit.device || !device;
    if (counts && (best == nullptr || edit.peakAfterBytes < best->peakAfterBytes)) best = &edit;
  }
  return best;
}

/// The gain of an advice to need less memory: what the best of the edits of the peak saves.
void predictEdit(const Analysis& analysis, Finding& finding, prof::DeviceId device, std::uint64_t peakBytes) {
  const PeakEdit* edit = bestEdit(analysis, device);
  if (edit == nullptr || edit->peakAfterBytes >= peakBytes) {
    finding.notPredicted = "nothing that is alive at the peak could be freed earlier or computed again";
    return;
  }
  finding.gainBasis = GainBasis::Bytes;
  finding.predictedGainBytes = peakBytes - edit->peakAfterBytes;
  const bool again = edit->kind == PeakEditKind::Recompute;
  finding.advice += fmt::format(
      "; most helps to {} {}{}", again ? "recompute" : "free earlier what is of", edit->origin,
      again && edit->costNsPerStep > 0 ? fmt::format(", which takes {} a step", humanTime(edit->costNsPerStep))
                                       : std::string());
}

void leak(RuleContext& context) {
  const auto all = memories(context.analysis);
  const auto most = std::max_element(all.begin(), all.end(), [](const OneMemory& a, const OneMemory& b) {
    const auto weight = [](const OneMemory& one) { return leaks(one.memory) ? one.memory.leakBytesPerStep : 0; };
    return weight(a) < weight(b);
  });
  const MemoryStats& memory = most->memory;
  if (!leaks(memory)) return;
  Finding finding;
  finding.id = "memory-leak";
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::High;
  finding.title = fmt::format("memory{} grows by {} every step", most->where,
                              humanBytes(static_cast<std::uint64_t>(memory.leakBytesPerStep)));
  finding.confidence = 0.85;
  finding.advice =
      memory.leaked.empty()
          ? "something keeps tensors of past steps alive; look for lists of losses that hold their graph"
          : fmt::format("tensors of {} stay alive: keep numbers (item) instead of tensors, detach what is kept",
                        origin(memory.leaked.front()));
  for (const LiveTensor& tensor : memory.leaked) {
    if (finding.evidence.size() < 5)
      finding.evidence.push_back(moment(tensor.allocatedNs, origin(tensor), most->device));
  }
  addBytes(context, std::move(finding), leakedBytes(context.analysis, memory));
}

/// Whether there was one to tell of.
bool spike(RuleContext& context, const OneMemory& one) {
  const Analysis& analysis = context.analysis;
  const MemoryStats& memory = one.memory;
  // Above what the step before left alive: what grows from step to step is a leak, not a spike.
  std::vector<std::int64_t> peaks, rises;
  for (std::size_t i = 0; i < memory.stepEndBytes.size(); ++i) {
    if (analysis.steps.all[i].warmUp || analysis.steps.all[i].startNs < analysis.window.startNs) continue;
    peaks.push_back(static_cast<std::int64_t>(memory.stepPeakBytes[i]));
    if (i > 0) rises.push_back(peaks.back() - static_cast<std::int64_t>(memory.stepEndBytes[i - 1]));
  }
  const std::int64_t highest = rises.empty() ? 0 : *std::max_element(rises.begin(), rises.end());
  const auto usual = static_cast<std::uint64_t>(medianOf(peaks));
  const LiveTensor* largest = nullptr;
  for (const LiveTensor& tensor : memory.live) {
    const bool ephemeral = tensor.role != prof::MemoryRole::Parameter && tensor.role != prof::MemoryRole::Optimizer;
    if (ephemeral && (largest == nullptr || tensor.bytes > largest->bytes)) largest = &tensor;
  }
  const bool oneStep = peaks.size() >= 4 && static_cast<double>(memory.peakBytes) > 1.25 * static_cast<double>(usual) &&
                       static_cast<double>(highest) > 1.25 * static_cast<double>(medianOf(rises)) + kNoticeable;
  const bool oneTensor = largest != nullptr &&
                         static_cast<double>(largest->bytes) > 0.4 * static_cast<double>(memory.peakBytes) &&
                         memory.live.size() >= 8 && static_cast<double>(largest->bytes) > kNoticeable;
  if (largest == nullptr || (!oneStep && !oneTensor)) return false;
  Finding finding;
  finding.id = "memory-spike";
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::Medium;
  finding.title =
      oneStep ? fmt::format("memory{} peaks at {}, {} above an ordinary step", one.where, humanBytes(memory.peakBytes),
                            humanBytes(memory.peakBytes - usual))
              : fmt::format("one tensor is {} of the {} peak{}",
                            humanShare(static_cast<double>(largest->bytes) / static_cast<double>(memory.peakBytes)),
                            humanBytes(memory.peakBytes), one.where);
  finding.confidence = 0.75;
  finding.advice = fmt::format("{} of {} is alive at the peak: split it, compute it in pieces, or free it earlier",
                               humanBytes(largest->bytes), origin(*largest));
  finding.evidence.push_back(moment(memory.peakAtNs, "peak", one.device));
  // Without what the one step has above the others, or as if such tensors were made and gone in small pieces.
  addBytes(context, std::move(finding), oneStep ? memory.peakBytes - usual : aboveOthers(analysis, one, *largest));
  return true;
}

/// A call that takes a device's memory from the system or gives it back: cudaMalloc, cudaFree, cuMemMap, hipFree, …, or
/// an allocator's own range. Not what pins memory of the host, nor what the driver's own pools do in queue order.
bool goesToSystem(std::string_view call) {
  const auto has = [&](std::string_view part) { return containsAnyCase(call, part); };
  if (has("host") || has("async")) return false;
  return has("alloc") || has("dafree") || has("hipfree") || has("memfree") || has("memmap") || has("memunmap") ||
         has("memcreate") || has("memrelease") || has("memaddress") || has("memsetaccess") || has("empty_cache");
}

void churn(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  const std::size_t steady = analysis.steps.steadyWithin(analysis.window).size();
  if (steady < 3) return;
  // A pool that only grows has a leak to serve; churn takes and gives back.
  std::uint64_t both = 0, calls = 0;
  for (const OneMemory& one : memories(analysis)) {
    both = std::max(both, std::min(one.memory.stepSegmentCalls, one.memory.stepSegmentReleases));
    calls = std::max(calls, one.memory.stepSegmentCalls);
  }
  const double perStep = static_cast<double>(both) / static_cast<double>(steady);
  if (perStep < 1) return;
  Finding finding;
  finding.id = "allocation-churn";
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::Medium;
  std::vector<Change> without;
  finding.title =
      fmt::format("the allocator goes to the system {:.1f} times a step behind the warm-up{{: cost}}", perStep);
  for (const CauseDetail& call : analysis.stepCalls) {
    if (call.cause != Cause::DriverCall || !goesToSystem(call.name)) continue;
    prof::addTo(finding.costNsPerStep, call.ns);
    context.claim(call.name);
    without.push_back(withoutCall(call.name));
  }
  finding.confidence = 0.7;
  finding.count = calls;
  finding.advice =
      "sizes differ from step to step or the cache is emptied: keep shapes the same, pad batches, do not empty the "
      "cache in the loop";
  if (!without.empty()) return context.add(std::move(finding), without);
  finding.notPredicted = "no call that takes memory from the system or gives it back was recorded";
  context.addAsItIs(std::move(finding));
}

void nearlyFull(RuleContext& context) {
  const FullestDevice fullest = fullestDevice(context.analysis);
  if (fullest.share < 0.9) return;
  Finding finding;
  finding.id = "memory-nearly-full";
  finding.severity = Severity::Medium;
  finding.title = fmt::format("the peak of {} is more than 90 % of {}'s memory", humanBytes(fullest.peakBytes),
                              fullest.device->label);
  finding.confidence = 0.9;
  finding.knob = "checkpoint=on";
  finding.advice = "recompute activations (checkpoint) or train in mixed precision before the run hits the limit";
  finding.evidence.push_back(moment(fullest.peakAtNs, "peak", fullest.memory));
  predictEdit(context.analysis, finding, fullest.memory, fullest.peakBytes);
  context.addAsItIs(std::move(finding));
}

OneMemory highest(const Analysis& analysis) {
  const auto all = memories(analysis);
  return *std::max_element(all.begin(), all.end(), [](const OneMemory& a, const OneMemory& b) {
    return a.memory.peakBytes < b.memory.peakBytes;
  });
}

/// The program asked for memory that its device did not have: the trace says so itself.
void outOfMemory(RuleContext& context) {
  const Store& store = *context.analysis.store;
  Finding finding;
  std::string first;
  for (std::uint64_t i = 0; i < store.rows<prof::LogLine>(); ++i) {
    const auto line = store.row<prof::LogLine>(i);
    if (line.level != prof::LogLevel::Error || !containsAnyCase(store.text(line.text), "out of memory")) continue;
    if (first.empty()) first = store.text(line.text);
    ++finding.count;
    if (finding.evidence.size() < 5)
      finding.evidence.push_back(moment(line.timeNs, std::string(store.text(line.text)), {}));
  }
  if (finding.count == 0) return;
  finding.id = "out-of-memory";
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::High;
  finding.title = finding.count == 1 ? first : fmt::format("{} (the first of {})", first, finding.count);
  finding.confidence = 1;
  finding.advice =
      "compare what was wanted with what is alive at the peak (--section memory): a smaller batch, mixed precision, or "
      "recomputed activations (checkpoint) need less";
  if (context.analysis.memory.present) {
    const OneMemory fullest = highest(context.analysis);
    predictEdit(context.analysis, finding, fullest.device, fullest.memory.peakBytes);
  } else {
    finding.notPredicted = "the trace holds no allocations";
  }
  context.addAsItIs(std::move(finding));
}

/// The allocator had what was asked for, but in pieces too small, and took more from the device.
void fragmentation(RuleContext& context) {
  for (const DeviceMemory& memory : context.analysis.memoryByDevice) {
    const AllocatorState& state = memory.allocator;
    // An allocator that fills up has small pieces left over here and there.
    if (!state.fragmented() || state.freeBytes() * 10 < state.reservedBytes) continue;
    Finding finding;
    finding.id = "fragmentation";
    finding.severity = Severity::Medium;
    finding.count = state.freePieces;
    finding.title = fmt::format("the allocator took {} more though {} were free: the largest piece was {}",
                                humanBytes(state.requestedBytes), humanBytes(state.freeBytes()),
                                humanBytes(state.largestFreeBytes));
    finding.confidence = 0.8;
    finding.advice =
        "keep sizes the same from step to step (pad batches), or let segments grow "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)";
    finding.evidence.push_back(moment(state.atNs, "more taken from the device", memory.device));
    // In one piece, what was free would have done.
    addBytes(context, std::move(finding), state.requestedBytes);
    return;
  }
}

}  // namespace

FullestDevice fullestDevice(const Analysis& analysis) {
  FullestDevice fullest;
  for (const DeviceAccount& device : analysis.devices) {
    for (const DeviceMemory& memory : analysis.memoryByDevice) {
      // A trace of one device need not say whose its only memory is.
      const bool only = analysis.devices.size() == 1 && analysis.memoryByDevice.size() == 1;
      if ((memory.device != device.id && !only) || device.memoryBytes == 0) continue;
      const double share = static_cast<double>(memory.peakBytes) / static_cast<double>(device.memoryBytes);
      if (share > fullest.share) fullest = {&device, share, memory.peakBytes, memory.peakAtNs, memory.device};
    }
  }
  return fullest;
}

void memoryRules(RuleContext& context) {
  outOfMemory(context);
  if (!context.analysis.memory.present) return;
  leak(context);
  for (const OneMemory& one : memories(context.analysis)) {
    if (spike(context, one)) break;
  }
  churn(context);
  nearlyFull(context);
  fragmentation(context);
}

}  // namespace lacuna::analyzer
