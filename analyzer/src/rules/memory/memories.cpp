// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/memory/memories.h"

#include <fmt/format.h>

#include <algorithm>

#include "lacuna/analyzer/memory.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::analyzer {
namespace {

/// The edit that takes most off the peak of a device; null where none does.
const PeakEdit* bestPeakEdit(const Analysis& analysis, prof::DeviceId device) {
  const PeakEdit* best = nullptr;
  for (const PeakEdit& edit : analysis.of<PeakEdits>()) {
    const bool counts = edit.device == device || !edit.device || !device;
    if (counts && (best == nullptr || edit.peakAfterBytes < best->peakAfterBytes)) best = &edit;
  }
  return best;
}

}  // namespace

std::vector<OneMemory> memories(const Analysis& analysis) {
  std::vector<OneMemory> out;
  if (!analysis.of<MemoryTables>().all.present) return out;
  if (analysis.of<MemoryTables>().byDevice.empty()) {
    const bool one = analysis.of<MemoryTables>().devices.size() == 1;
    out.push_back({analysis.of<MemoryTables>().all,
                   {},
                   one ? analysis.of<MemoryTables>().devices[0].device : prof::DeviceId()});
  }
  for (std::size_t i = 0; i < analysis.of<MemoryTables>().byDevice.size(); ++i) {
    const auto device = std::find_if(
        analysis.devices.begin(), analysis.devices.end(), [&](const DeviceAccount& account) {
          return account.id == analysis.of<MemoryTables>().devices[i].device;
        });
    out.push_back(
        {analysis.of<MemoryTables>().byDevice[i],
         device == analysis.devices.end() ? std::string() : fmt::format(" of {}", device->label),
         analysis.of<MemoryTables>().devices[i].device});
  }
  return out;
}

std::string originOf(const LiveTensor& tensor) {
  if (!tensor.tensor.empty() && !tensor.op.empty())
    return fmt::format("{} from {}", tensor.tensor, tensor.op);
  if (!tensor.op.empty()) return std::string(tensor.op);
  return tensor.tensor.empty() ? "an unnamed operator" : std::string(tensor.tensor);
}

std::int64_t signedBytes(std::uint64_t bytes) {
  return static_cast<std::int64_t>(std::min(bytes, static_cast<std::uint64_t>(INT64_MAX)));
}

Evidence momentOf(prof::TimeNs atNs, std::string what, prof::DeviceId device) {
  return {.startNs = atNs, .endNs = atNs, .what = std::move(what), .device = device};
}

void predictEdit(const Analysis& analysis, Finding& finding, prof::DeviceId device,
                 std::uint64_t peakBytes) {
  const PeakEdit* edit = bestPeakEdit(analysis, device);
  if (edit == nullptr || edit->peakAfterBytes >= peakBytes) {
    finding.notPredicted =
        "nothing that is alive at the peak could be freed earlier or computed again";
    return;
  }
  finding.gainBasis = GainBasis::Bytes;
  finding.gainChain.gain = GainSum("peak", signedBytes(peakBytes))
                               .minus("peak with the edit", signedBytes(edit->peakAfterBytes));
  const bool again = edit->kind == PeakEditKind::Recompute;
  finding.advice += fmt::format(
      "; most helps to {} {}{}", again ? "recompute" : "free earlier what is of", edit->origin,
      again && edit->costNsPerStep > 0
          ? fmt::format(", which takes {} a step", prof::timeText(edit->costNsPerStep))
          : std::string());
}

}  // namespace lacuna::analyzer
