// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "analyses/memory/allocation_rows.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/amounts.h"
#include "rules/memory/memories.h"

namespace lacuna::analyzer {
namespace rules::memory_spike {
namespace {

constexpr Threshold kAbove{"above", 0.25, Unit::Share, "Steps whose shapes differ vary by less in most runs."};
constexpr Threshold kNoticeable{"noticeable", 8 << 20, Unit::Bytes, "A smaller spike is nothing that anybody minds."};
constexpr Threshold kSteps{"steps", 4, Unit::Count, "Fewer steps have no usual peak."};
constexpr Threshold kOneTensor{"one tensor", 0.4, Unit::Share, "A tensor that is most of the peak is worth splitting."};
constexpr Threshold kTensors{"tensors", 8, Unit::Count, "Of a few tensors one is always most of the peak."};
constexpr std::array kThresholds{kAbove, kNoticeable, kSteps, kOneTensor, kTensors};

constexpr Confidence kSure{"", 0.75, "The peak is recorded; the tensor may be the network's purpose."};
constexpr std::array kConfidences{kSure};

/// The bytes that are alive without tensors like one, as every step may make its own.
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

/// By how much the peak is above all that is alive when tensors like this one are not: the most that their going gains.
GainSum aboveOthers(const Analysis& analysis, const OneMemory& one, const LiveTensor& tensor) {
  const Store& store = *analysis.store;
  const bool isOneOfSeveral = !analysis.of<MemoryTables>().byDevice.empty();
  WithoutLikes without(store, tensor);
  std::uint64_t mostBytes = 0;
  bool hasBegun = false;
  const auto status = forEachAllocation(store, analysis.window.endNs, [&](const prof::Allocation& row, std::uint64_t) {
    const bool counts =
        isOneOfSeveral ? row.device == one.device : analysis.scope.only.holdsMemory(row.device, row.thread);
    if (!counts) return true;
    const bool within = row.timeNs >= analysis.window.startNs;
    // The bytes that are alive when the window begins count for it too.
    if (within && !std::exchange(hasBegun, true)) mostBytes = without.aliveBytes();
    without.apply(row);
    if (within) mostBytes = std::max(mostBytes, without.aliveBytes());
    return true;
  });
  if (!status) return {};
  return GainSum("peak", signedBytes(one.memory.peakBytes))
      .minus("peak without them", signedBytes(mostBytes))
      .atLeast({.name = "no-loss", .reason = "memory that goes adds nothing to the peak", .of = GainLimit::Of::Gain},
               0);
}

/// The peaks of the steady steps, and how far each is above the memory that the step before left alive: memory that
/// grows from step to step is a leak, not a spike.
struct StepPeaks {
  std::vector<std::int64_t> peaks;
  std::vector<std::int64_t> rises;
};

StepPeaks stepPeaks(const Analysis& analysis, const MemoryStats& memory) {
  StepPeaks out;
  for (std::size_t i = 0; i < memory.stepEndBytes.size(); ++i) {
    if (analysis.steps.all[i].warmUp || analysis.steps.all[i].startNs < analysis.window.startNs) continue;
    out.peaks.push_back(static_cast<std::int64_t>(memory.stepPeakBytes[i]));
    if (i > 0) out.rises.push_back(out.peaks.back() - static_cast<std::int64_t>(memory.stepEndBytes[i - 1]));
  }
  return out;
}

/// The largest tensor that is no parameter and no optimizer state; null where there is none.
const LiveTensor* largestPassing(const MemoryStats& memory) {
  const LiveTensor* largest = nullptr;
  for (const LiveTensor& tensor : memory.live) {
    const bool passes = tensor.role != prof::MemoryRole::Parameter && tensor.role != prof::MemoryRole::Optimizer;
    if (passes && (largest == nullptr || tensor.bytes > largest->bytes)) largest = &tensor;
  }
  return largest;
}

bool oneStepRises(const MemoryStats& memory, const StepPeaks& steps, std::uint64_t usual) {
  const std::int64_t highest = steps.rises.empty() ? 0 : *std::ranges::max_element(steps.rises);
  return static_cast<double>(steps.peaks.size()) >= kSteps &&
         static_cast<double>(memory.peakBytes) > (1 + kAbove) * static_cast<double>(usual) &&
         static_cast<double>(highest) > (1 + kAbove) * static_cast<double>(medianOf(steps.rises)) + kNoticeable;
}

bool oneTensorIsMost(const MemoryStats& memory, const LiveTensor& largest) {
  return static_cast<double>(largest.bytes) > kOneTensor * static_cast<double>(memory.peakBytes) &&
         static_cast<double>(memory.live.size()) >= kTensors && static_cast<double>(largest.bytes) > kNoticeable;
}

/// Whether the memory has a spike.
bool findSpike(const Facts& facts, Outcome& out, const OneMemory& one) {
  const MemoryStats& memory = one.memory;
  const StepPeaks steps = stepPeaks(facts.analysis, memory);
  const auto usual = static_cast<std::uint64_t>(medianOf(steps.peaks));
  const LiveTensor* largest = largestPassing(memory);
  if (largest == nullptr) return false;
  const bool oneStep = oneStepRises(memory, steps, usual);
  if (!oneStep && !oneTensorIsMost(memory, *largest)) return false;
  const std::uint64_t above = oneStep ? memory.peakBytes - usual : 0;
  Finding finding;
  finding.words = oneStep ? "memory{where} peaks at {peak}, {above} above an ordinary step"
                          : "one tensor is {part} of the {peak} peak{where}";
  finding.quantities = {
      Quantity::called("where", one.where), Quantity::bytes("peak", memory.peakBytes), Quantity::bytes("above", above),
      Quantity::share("part", static_cast<double>(largest->bytes) / static_cast<double>(memory.peakBytes))};
  finding.confidence = kSure;
  finding.advice = fmt::format("{} of {} is alive at the peak: split it, compute it in pieces, or free it earlier",
                               prof::bytesText(largest->bytes), originOf(*largest));
  finding.evidence.push_back(momentOf(memory.peakAtNs, "peak", one.device));
  // Without the memory that the one step has above the others, or as if such tensors were made and gone in small
  // pieces.
  out.addBytes(std::move(finding),
               oneStep ? GainSum("peak", signedBytes(memory.peakBytes)).minus("median step's", signedBytes(usual))
                       : aboveOthers(facts.analysis, one, *largest));
  return true;
}

void detect(const Facts& facts, Outcome& out) {
  for (const OneMemory& one : memories(facts.analysis)) {
    if (findSpike(facts, out, one)) return;
  }
}

}  // namespace
}  // namespace rules::memory_spike

constinit const FindingRule kMemorySpikeRule{
    .id = FindingId::MemorySpike,
    .key = "memory-spike",
    .area = FindingArea::Memory,
    .kind = FindingKind::Fault,
    .severity = Severity::Medium,
    .thresholds = rules::memory_spike::kThresholds,
    .confidences = rules::memory_spike::kConfidences,
    .meaning = "One step, or one tensor, needs far more memory than the rest.",
    .when =
        "the peak is {above} above the median step's, of {steps} steps or more, and the step rises {above} and "
        "{noticeable} more than others do above the memory that was alive before; or one tensor above {noticeable} "
        "(no parameter, no optimizer state; of {tensors} that are alive or more) is {one tensor} of the peak",
    .fix =
        "code; bytes: the memory that the one step has above the median one; of one tensor, by how much the peak is "
        "above all that is alive without such tensors (of its origin and role, more than half as large)",
    .refutedBy = "a batch of usual shapes with the same peak",
    .detect = rules::memory_spike::detect,
};

}  // namespace lacuna::analyzer
