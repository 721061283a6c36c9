// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "lacuna/analyzer/operators.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::data_parallel {
namespace {

constexpr Threshold kDevices{"devices", 2, Unit::Count, "One device holds one copy of the model."};
constexpr std::array kThresholds{kDevices};

constexpr Confidence kSure{
    "", 0.8, "Operators with the names of replication ran; another library may use them."};
constexpr std::array kConfidences{kSure};

bool ran(const Analysis& analysis, std::string_view text) {
  return std::ranges::any_of(analysis.of<OperatorTables>().byName, [&](const OperatorRow& row) {
    return row.name.find(text) != std::string::npos;
  });
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  std::set<std::uint32_t> processes;
  for (const DeviceAccount& device : analysis.devices) processes.insert(device.osPid);
  const bool replicates = ran(analysis, "broadcast_coalesced") ||
                          ran(analysis, "BroadcastBackward") ||
                          ran(analysis, "DataParallel.forward");
  const bool isOne = analysis.devices.size() >= kDevices.count() && processes.size() == 1;
  if (!isOne || !replicates || ran(analysis, "DistributedDataParallel")) return;
  Finding finding;
  finding.words = "one process drives {devices} devices with DataParallel";
  finding.quantities = {Quantity::number("devices", static_cast<double>(analysis.devices.size()))};
  finding.confidence = kSure;
  finding.advice =
      "use DistributedDataParallel: one process a device, no copy of the model each step, "
      "gradients overlap the backward pass";
  out.addSeenInPart(std::move(finding), "replication*0");
}

}  // namespace
}  // namespace rules::data_parallel

constinit const FindingRule kDataParallelRule{
    .id = FindingId::DataParallel,
    .key = "data-parallel",
    .area = FindingArea::Ranks,
    .kind = FindingKind::Fault,
    .severity = Severity::Medium,
    .thresholds = rules::data_parallel::kThresholds,
    .confidences = rules::data_parallel::kConfidences,
    .meaning = "One process copies the model to several devices in every step.",
    .when = "one process replicates the model over {devices} devices or more",
    .fix = "code: `replication*0`, an upper bound",
    .refutedBy = "a run with one process a device that takes as long",
    .detect = rules::data_parallel::detect,
};

}  // namespace lacuna::analyzer
