// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "analyses/work/kernels.h"
#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/operators.h"
#include "rules/outcome.h"

namespace lacuna::analyzer {
namespace rules::slow_backend {
namespace {

constexpr Confidence kSure{"", 0.9, "The library that carries the collectives out is recorded."};
constexpr std::array kConfidences{kSure};

bool anyName(const auto& rows, bool (*isMeant)(std::string_view name)) {
  return std::ranges::any_of(rows, [&](const auto& row) { return isMeant(row.name); });
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  const bool gpu = std::ranges::any_of(analysis.devices, [](const DeviceAccount& device) {
    return device.kind == prof::DeviceKind::Cuda || device.kind == prof::DeviceKind::Rocm;
  });
  const bool direct = anyName(analysis.of<KernelTable>(), isOfDeviceLibrary) ||
                      anyName(analysis.of<OperatorTables>().byName, isOfDeviceLibrary);
  const bool throughHost = anyName(analysis.of<OperatorTables>().byName, communicatesThroughHost);
  if (!gpu || direct || !throughHost) return;
  Finding finding;
  finding.words = "collectives of GPU tensors go through the host (gloo or MPI)";
  finding.confidence = kSure;
  finding.advice = "use NCCL (RCCL) as the backend for tensors on the device";
  out.addSeenInPart(std::move(finding), "through-host*0");
}

}  // namespace
}  // namespace rules::slow_backend

constinit const FindingRule kSlowBackendRule{
    .id = FindingId::SlowBackend,
    .key = "slow-backend",
    .area = FindingArea::Ranks,
    .kind = FindingKind::Fault,
    .severity = Severity::Medium,
    .confidences = rules::slow_backend::kConfidences,
    .meaning = "Collectives of GPU tensors go through the host's memory.",
    .when = "collectives of gloo or MPI while the device is a GPU and nothing of NCCL or RCCL runs",
    .fix = "code: `through-host*0`, an upper bound",
    .refutedBy = "collectives of tensors that live in the host's memory anyway",
    .detect = rules::slow_backend::detect,
};

}  // namespace lacuna::analyzer
