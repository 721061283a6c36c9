// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyses/memory/allocation_rows.h"
#include "analyses/parts.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/operators.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

using prof::Allocation;
using prof::MemoryAction;
using prof::MemoryRole;
using prof::TimeNs;

/// Less than this is not worth an edit.
constexpr std::uint64_t kLeastBytes = 1 << 20;
constexpr std::size_t kNoEdit = SIZE_MAX;

std::string_view originOf(const LiveTensor& tensor) {
  if (!tensor.op.empty()) return tensor.op;
  return tensor.tensor.empty() ? "an unnamed operator" : tensor.tensor;
}

/// Why a block that is alive at the peak is of no use to what runs then; empty where it may be.
std::string_view uselessAtPeak(const LiveTensor& tensor, const Step& step) {
  const bool old = tensor.allocatedNs < step.startNs;
  switch (tensor.role) {
    case MemoryRole::Gradient:
      return old ? "gradients of the step before: drop them before the forward pass" : "";
    case MemoryRole::Input:
      return old ? "a batch of an earlier step: let go of it when the step ends" : "";
    case MemoryRole::Activation:
      return old ? "made in an earlier step: something keeps it, such as a list of losses with "
                   "their graph"
                 : "";
    default:
      return "";
  }
}

void addBlock(const LiveTensor& tensor, const Step& step,
              std::map<std::pair<std::string_view, std::string_view>, PeakEdit>& edits) {
  const std::string_view useless = uselessAtPeak(tensor, step);
  const bool again = useless.empty() && tensor.role == MemoryRole::Activation && !tensor.op.empty();
  if (useless.empty() && !again) return;
  const std::string_view why = again ? "recompute it (checkpoint)" : useless;
  PeakEdit& edit = edits[{originOf(tensor), why}];
  edit.kind = again ? PeakEditKind::Recompute : PeakEditKind::FreeEarlier;
  edit.origin = originOf(tensor);
  edit.why = why;
  edit.role = tensor.role;
  edit.allocated =
      again ? prof::TimeWindow{step.startNs, INT64_MAX} : prof::TimeWindow{INT64_MIN, step.startNs};
  prof::addTo(edit.bytes, tensor.bytes);
  ++edit.count;
}

/// Puts edits that cost nothing first, and those that cost an unknown time last.
void rank(std::vector<PeakEdit>& edits) {
  const auto order = [](const PeakEdit& edit) {
    return edit.costNsPerStep == 0 ? 0 : edit.costNsPerStep > 0 ? 1 : 2;
  };
  std::stable_sort(edits.begin(), edits.end(), [&](const PeakEdit& a, const PeakEdit& b) {
    if (order(a) != order(b)) return order(a) < order(b);
    if (order(a) != 1) return a.bytes > b.bytes;
    return static_cast<double>(a.bytes) * static_cast<double>(b.costNsPerStep) >
           static_cast<double>(b.bytes) * static_cast<double>(a.costNsPerStep);
  });
}

/// Follows memory with every edit made, each by itself.
class Foresight {
 public:
  Foresight(const Store& store, prof::TimeWindow window, const Steps& steps,
            std::span<PeakEdit> edits)
      : store_(store), window_(window), edits_(edits), gone_(edits.size()) {
    for (const Step& step : steps.all) starts_.push_back(step.startNs);
    std::sort(starts_.begin(), starts_.end());
  }

  void apply(const Allocation& row) {
    if (row.timeNs >= window_.startNs) begin();
    passTo(row.timeNs);
    switch (row.action) {
      case MemoryAction::Allocate:
      case MemoryAction::ExternalAllocate:
        release(row);
        allocate(row);
        break;
      case MemoryAction::Free:
      case MemoryAction::ExternalFree:
        release(row);
        break;
      default:
        return;
    }
    if (row.timeNs >= window_.startNs) notePeaks();
  }
  /// The memory alive when the window begins counts for it too.
  void begin() {
    if (std::exchange(hasBegun_, true)) return;
    passTo(window_.startNs);
    notePeaks();
  }

 private:
  struct Block {
    std::uint64_t bytes = 0;
    std::size_t late = kNoEdit;     ///< the edit that would free it at the end of its step
    std::size_t without = kNoEdit;  ///< the edit by which it is not there
  };
  using Key = std::pair<prof::DeviceId, std::uint64_t>;

  /// Edits that a block of this kind may belong to: one of each sort at most, since role and origin
  /// name them.
  Block& kindOf(const Allocation& row) {
    const auto [at, fresh] = kinds_.try_emplace({row.op.value, row.tensor.value, row.role});
    if (!fresh) return at->second;
    const LiveTensor tensor{0, row.role, store_.text(row.tensor), store_.text(row.op), 0};
    for (std::size_t n = 0; n < edits_.size(); ++n) {
      if (edits_[n].role != row.role || edits_[n].origin != originOf(tensor)) continue;
      if (edits_[n].kind == PeakEditKind::FreeEarlier) at->second.late = n;
      if (edits_[n].kind == PeakEditKind::Recompute && !tensor.op.empty()) at->second.without = n;
    }
    return at->second;
  }

  void passTo(TimeNs time) {
    for (; nextStep_ < starts_.size() && starts_[nextStep_] <= time; ++nextStep_) endStep();
  }
  void notePeaks() {
    for (std::size_t n = 0; n < edits_.size(); ++n) {
      edits_[n].peakAfterBytes = std::max(edits_[n].peakAfterBytes, bytes_ - gone_[n]);
    }
  }

  void allocate(const Allocation& row) {
    Block block = kindOf(row);
    block.bytes = row.bytes;
    bytes_ += row.bytes;
    const Key key{row.device, row.address};
    if (block.without != kNoEdit) gone_[block.without] += row.bytes;
    blocks_[key] = block;
    if (block.late != kNoEdit) ofThisStep_.push_back(key);
  }

  void release(const Allocation& row) {
    const Key key{row.device, row.address};
    const auto found = blocks_.find(key);
    if (found == blocks_.end()) return;
    const Block& block = found->second;
    bytes_ -= block.bytes;
    if (block.without != kNoEdit) gone_[block.without] -= block.bytes;
    if (block.late != kNoEdit && late_.erase(key) > 0) gone_[block.late] -= block.bytes;
    blocks_.erase(found);
  }

  void endStep() {
    for (const Key& key : ofThisStep_) {
      const auto found = blocks_.find(key);
      if (found == blocks_.end() || found->second.late == kNoEdit || !late_.insert(key).second)
        continue;
      gone_[found->second.late] += found->second.bytes;
    }
    ofThisStep_.clear();
  }

  const Store& store_;
  prof::TimeWindow window_;
  std::span<PeakEdit> edits_;
  std::vector<std::uint64_t> gone_;  ///< by edit: bytes that would not be there now
  std::vector<TimeNs> starts_;
  std::size_t nextStep_ = 0;
  bool hasBegun_ = false;  ///< the window has
  std::uint64_t bytes_ = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, MemoryRole>, Block> kinds_;
  std::map<Key, Block> blocks_;
  std::set<Key> late_;  ///< blocks that an edit has freed by now
  std::vector<Key> ofThisStep_;
};

/// Computes the edits of each device's own peak.
prof::Status computePeakEdits(Analysis& analysis) {
  const MemoryTables& tables = analysis.of<MemoryTables>();
  PeakEdits& all = analysis.of<PeakEdits>();
  const auto find = [&](const MemoryStats& memory, prof::DeviceId device,
                        const Selection& only) -> prof::Status {
    auto edits = peakEdits(memory, analysis.steps, analysis.of<OperatorTables>().byName);
    for (PeakEdit& edit : edits) edit.device = device;
    const auto status = foreseePeaks(*analysis.store, analysis.window, analysis.steps, edits, only);
    all.insert(all.end(), edits.begin(), edits.end());
    return status;
  };
  if (tables.byDevice.empty()) return find(tables.all, {}, analysis.scope.only);
  for (std::size_t i = 0; i < tables.byDevice.size(); ++i) {
    const prof::DeviceId device = tables.devices[i].device;
    if (auto status = find(tables.byDevice[i], device, Selection::memoryOf(device)); !status)
      return status;
  }
  return {};
}

}  // namespace

bool PeakEdit::concerns(const LiveTensor& tensor) const {
  return tensor.role == role && tensor.allocatedNs >= allocated.startNs &&
         tensor.allocatedNs < allocated.endNs &&
         (kind == PeakEditKind::FreeEarlier || !tensor.op.empty()) && originOf(tensor) == origin;
}

std::vector<PeakEdit> peakEdits(const MemoryStats& memory, const Steps& steps,
                                std::span<const OperatorRow> operators) {
  const auto around = std::find_if(steps.all.begin(), steps.all.end(), [&](const Step& step) {
    return step.startNs <= memory.peakAtNs && memory.peakAtNs <= step.endNs;
  });
  if (around == steps.all.end()) return {};
  std::unordered_map<std::string, const OperatorRow*> byName;
  for (const OperatorRow& row : operators) byName.emplace(row.name, &row);
  std::map<std::pair<std::string_view, std::string_view>, PeakEdit> edits;
  for (const LiveTensor& tensor : memory.live) addBlock(tensor, *around, edits);
  std::vector<PeakEdit> out;
  for (auto& [key, edit] : edits) {
    if (edit.bytes < kLeastBytes) continue;
    if (edit.kind == PeakEditKind::Recompute) {
      const auto row = byName.find(edit.origin);
      const bool timed = row != byName.end() && row->second->count > 0 && row->second->deviceNs > 0;
      edit.costNsPerStep =
          timed ? prof::productOf(row->second->deviceNs, static_cast<std::int64_t>(edit.count)) /
                      static_cast<std::int64_t>(row->second->count)
                : -1;
    }
    out.push_back(std::move(edit));
  }
  rank(out);
  return out;
}

prof::Status foreseePeaks(const Store& store, prof::TimeWindow window, const Steps& steps,
                          std::span<PeakEdit> edits, const Selection& only) {
  if (edits.empty()) return {};
  for (PeakEdit& edit : edits) edit.peakAfterBytes = 0;
  Foresight foresight(store, window, steps, edits);
  const auto status =
      forEachAllocation(store, window.endNs, [&](const Allocation& row, std::uint64_t) {
        if (only.holdsMemory(row.device, row.thread)) foresight.apply(row);
        return true;
      });
  foresight.begin();
  return status;
}

namespace of_peak_edits {
namespace {

constexpr std::array kInputs{&parts::memory, &parts::operators};

}  // namespace
}  // namespace of_peak_edits

constinit const AnalysisPart parts::peakEdits{
    .name = "peak edits",
    .inputs = of_peak_edits::kInputs,
    .compute = computePeakEdits,
};

}  // namespace lacuna::analyzer
