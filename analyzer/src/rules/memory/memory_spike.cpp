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

constexpr Threshold kAbove{"above", 0.25, Unit::Share,
                           "Steps whose shapes differ vary by less in most runs."};
constexpr Threshold kNoticeable{"noticeable", 8 << 20, Unit::Bytes,
                                "A smaller spike is nothing that anybody minds."};
constexpr Threshold kOfDevice{"of the device", 0.001, Unit::Share,
                              "Nor is one of less than a thousandth of the device's memory."};
constexpr Threshold kSteps{"steps", 4, Unit::Count, "Fewer steps have no usual peak."};
constexpr Threshold kOneTensor{"one tensor", 0.4, Unit::Share,
                               "A tensor that is most of the peak is worth splitting."};
constexpr Threshold kTensors{"tensors", 8, Unit::Count,
                             "Among a few tensors one is always most of the peak."};
constexpr Threshold kBrief{"brief", 0.1, Unit::Share,
                           "Memory that rises and falls with the layers is within a fifth of its "
                           "height for a fifth of a step's allocations."};
constexpr std::array kThresholds{kAbove,     kNoticeable, kOfDevice, kSteps,
                                 kOneTensor, kTensors,    kBrief};
/// The top fifth begins at this part of the height. The height is the peak without what the steps
/// leave alive.
constexpr double kTop = 0.8;

constexpr Confidence kSure{"", 0.75,
                           "The peak is recorded; the tensor may be the network's purpose."};
constexpr std::array kConfidences{kSure};

/// The bytes that are alive, of those allocations that count.
class AliveBytes {
 public:
  /// False for a row that takes no memory and gives none back.
  bool apply(const prof::Allocation& row, bool counts = true) {
    using prof::MemoryAction;
    const bool takes =
        row.action == MemoryAction::Allocate || row.action == MemoryAction::ExternalAllocate;
    if (!takes && row.action != MemoryAction::Free && row.action != MemoryAction::ExternalFree)
      return false;
    const auto [block, isNew] = blocks_.try_emplace({row.device, row.address}, 0);
    alive_ -= block->second;
    if (takes) {
      block->second = counts ? row.bytes : 0;
      alive_ += block->second;
    } else {
      blocks_.erase(block);
    }
    return true;
  }
  [[nodiscard]] std::uint64_t bytes() const { return alive_; }

 private:
  std::map<std::pair<prof::DeviceId, std::uint64_t>, std::uint64_t> blocks_;
  std::uint64_t alive_ = 0;
};

/// Calls visit(row) for each allocation and free of this memory up to the end of the window.
template <class Visit>
prof::Status forEachRow(const Analysis& analysis, const OneMemory& one, Visit&& visit) {
  const bool isOneOfSeveral = !analysis.of<MemoryTables>().byDevice.empty();
  return forEachAllocation(
      *analysis.store, analysis.window.endNs, [&](const prof::Allocation& row, std::uint64_t) {
        const bool counts = isOneOfSeveral
                                ? row.device == one.device
                                : analysis.scope.only.holdsMemory(row.device, row.thread);
        if (counts) visit(row);
        return true;
      });
}

/// By how much the peak is above all that is alive when tensors like this one are not, as every
/// step may make its own: the most that their going gains.
GainSum aboveOthers(const Analysis& analysis, const OneMemory& one, const LiveTensor& tensor) {
  const prof::StringId op = analysis.store->find(tensor.op),
                       name = analysis.store->find(tensor.tensor);
  const auto isLike = [&](const prof::Allocation& row) {
    return row.op == op && row.tensor == name && row.role == tensor.role &&
           2 * row.bytes > tensor.bytes;
  };
  AliveBytes others;
  std::uint64_t mostBytes = 0;
  bool hasBegun = false;
  const auto status = forEachRow(analysis, one, [&](const prof::Allocation& row) {
    const bool within = row.timeNs >= analysis.window.startNs;
    // The bytes that are alive when the window begins count for it too.
    if (within && !std::exchange(hasBegun, true)) mostBytes = others.bytes();
    others.apply(row, !isLike(row));
    if (within) mostBytes = std::max(mostBytes, others.bytes());
  });
  if (!status) return {};
  return GainSum("peak", signedBytes(one.memory.peakBytes))
      .minus("peak without them", signedBytes(mostBytes))
      .atLeast({.name = "no-loss",
                .reason = "memory that goes adds nothing to the peak",
                .of = GainLimit::Of::Gain},
               0);
}

/// The peaks of the steady steps, and how far each is above the memory that the step before left
/// alive. Memory that grows from step to step is a leak, not a spike.
struct StepPeaks {
  std::vector<std::int64_t> peaks;
  std::vector<std::int64_t> rises;
};

StepPeaks stepPeaks(const Analysis& analysis, const MemoryStats& memory) {
  StepPeaks out;
  for (std::size_t i = 0; i < memory.stepEndBytes.size(); ++i) {
    const Step& step = analysis.steps.all[i];
    if (step.warmUp || step.isPlain || step.startNs < analysis.window.startNs) continue;
    out.peaks.push_back(static_cast<std::int64_t>(memory.stepPeakBytes[i]));
    if (i > 0 && !analysis.steps.all[i - 1].isPlain)
      out.rises.push_back(out.peaks.back() - static_cast<std::int64_t>(memory.stepEndBytes[i - 1]));
  }
  return out;
}

/// The largest tensor that is no parameter and no optimizer state; null where there is none.
const LiveTensor* largestPassing(const MemoryStats& memory) {
  const LiveTensor* largest = nullptr;
  for (const LiveTensor& tensor : memory.live) {
    const bool passes =
        tensor.role != prof::MemoryRole::Parameter && tensor.role != prof::MemoryRole::Optimizer;
    if (passes && (largest == nullptr || tensor.bytes > largest->bytes)) largest = &tensor;
  }
  return largest;
}

/// Bytes that are worth anybody's attention on this device.
double noticeableOn(const Analysis& analysis, const OneMemory& one) {
  double least = kNoticeable;
  for (const DeviceAccount& device : analysis.devices) {
    const bool isIts = device.id == one.device || analysis.devices.size() == 1;
    if (isIts) least = std::max(least, kOfDevice * static_cast<double>(device.memoryBytes));
  }
  return least;
}

bool oneStepRises(const MemoryStats& memory, const StepPeaks& steps, std::uint64_t usual,
                  double noticeable) {
  const std::int64_t highest = steps.rises.empty() ? 0 : *std::ranges::max_element(steps.rises);
  return static_cast<double>(steps.peaks.size()) >= kSteps &&
         static_cast<double>(memory.peakBytes) > (1 + kAbove) * static_cast<double>(usual) &&
         static_cast<double>(highest) >
             (1 + kAbove) * static_cast<double>(medianOf(steps.rises)) + noticeable;
}

/// The part of the allocations and frees in the window after which the memory is in the top fifth
/// of its height. Counted and not timed, so that a step in which the program mostly waits is like
/// any other.
double shareAtTop(const Analysis& analysis, const OneMemory& one) {
  const MemoryStats& memory = one.memory;
  std::vector<std::int64_t> left;
  for (const std::uint64_t bytes : memory.stepEndBytes) left.push_back(signedBytes(bytes));
  const auto base =
      static_cast<double>(std::min(medianOf(std::move(left)), signedBytes(memory.peakBytes)));
  const double top = base + kTop * (static_cast<double>(memory.peakBytes) - base);
  AliveBytes alive;
  std::uint64_t rows = 0, above = 0;
  const auto status = forEachRow(analysis, one, [&](const prof::Allocation& row) {
    if (!alive.apply(row) || row.timeNs < analysis.window.startNs) return;
    ++rows;
    if (static_cast<double>(alive.bytes()) >= top) ++above;
  });
  return !status || rows == 0 ? 1 : static_cast<double>(above) / static_cast<double>(rows);
}

bool oneTensorIsMost(const MemoryStats& memory, const LiveTensor& largest, double noticeable) {
  return static_cast<double>(largest.bytes) > kOneTensor * static_cast<double>(memory.peakBytes) &&
         static_cast<double>(memory.live.size()) >= kTensors &&
         static_cast<double>(largest.bytes) > noticeable;
}

/// True when the memory has a spike.
bool findSpike(const Facts& facts, Outcome& out, const OneMemory& one) {
  const MemoryStats& memory = one.memory;
  const StepPeaks steps = stepPeaks(facts.analysis, memory);
  const auto usual = static_cast<std::uint64_t>(medianOf(steps.peaks));
  const LiveTensor* largest = largestPassing(memory);
  if (largest == nullptr) return false;
  const double noticeable = noticeableOn(facts.analysis, one);
  const bool oneStep = oneStepRises(memory, steps, usual, noticeable);
  if (!oneStep &&
      (!oneTensorIsMost(memory, *largest, noticeable) || shareAtTop(facts.analysis, one) > kBrief))
    return false;
  const std::uint64_t above = oneStep ? memory.peakBytes - usual : 0;
  Finding finding;
  finding.words = oneStep ? "memory{where} peaks at {peak}, {above} above an ordinary step"
                          : "one tensor is {part} of the {peak} peak{where}";
  finding.quantities = {Quantity::called("where", one.where),
                        Quantity::bytes("peak", memory.peakBytes), Quantity::bytes("above", above),
                        Quantity::share("part", static_cast<double>(largest->bytes) /
                                                    static_cast<double>(memory.peakBytes))};
  finding.confidence = kSure;
  finding.advice = fmt::format(
      "{} of {} is alive at the peak: split it, compute it in pieces, or free it earlier",
      prof::bytesText(largest->bytes), originOf(*largest));
  finding.evidence.push_back(momentOf(memory.peakAtNs, "peak", one.device));
  // Without the memory that the one step has above the others, or as if such tensors were made and
  // gone in small pieces.
  out.addBytes(std::move(finding), oneStep ? GainSum("peak", signedBytes(memory.peakBytes))
                                                 .minus("median step's", signedBytes(usual))
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
        "the peak is {above} above the median step's, of {steps} steps or more, and the step rises "
        "{above} and {noticeable} ({of the device} or more) more than others do above the memory "
        "that was alive before; or one tensor above that (no parameter, no optimizer state; of "
        "{tensors} that are alive or more) is {one tensor} of the peak, and the memory is in the "
        "top fifth of its height for {brief} of the allocations and frees at most",
    .fix =
        "code; bytes: the memory that the one step has above the median one; of one tensor, by how "
        "much the peak is above all that is alive without such tensors (of its origin and role, "
        "more than half as large)",
    .refutedBy = "a batch of usual shapes with the same peak",
    .detect = rules::memory_spike::detect,
};

}  // namespace lacuna::analyzer
