// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lacuna/prof/bounds.h"
#include "rules/rule.h"

namespace lacuna::analyzer {
namespace {

void exposed(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  // What ranks wait for one that is late is not the communication's fault.
  std::int64_t waited = 0;
  for (const RankRow& row : analysis.ranks.rows) prof::addTo(waited, row.stepWaitNs);
  const std::int64_t cost = context.costOf(Cause::ExposedCommunication) - context.perStepOfDevice(waited);
  if (context.shareOfStep(cost) < 0.1) return;
  Finding finding;
  finding.id = "exposed-communication";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.title = "communication that no compute hides takes {cost} a step ({share} of it)";
  finding.confidence = 0.7;
  finding.advice =
      "start collectives as soon as gradients are ready, in buckets; accumulate over several batches; send half "
      "precision";
  finding.evidence = context.evidenceOf(Cause::ExposedCommunication);
  for (const CollectiveRow& row : analysis.communication.collectives) finding.count += row.count;
  context.add(std::move(finding), "overlap=on");
}

/// What launching threads lose by it is replayed, what others lose is not. So a replay that gains next to nothing does
/// not say that nothing would be gained.
void addSeenInPart(RuleContext& context, Finding finding, std::string_view change) {
  const auto gain = context.play(change);
  if (!gain || !gain->touched || context.isWorthActing(gain->gainNs(), finding.kind))
    return context.addBounded(std::move(finding), change);
  finding.notPredicted = "it hardly holds up the threads that launch, and what others lose by it is not replayed";
  context.addAsItIs(std::move(finding));
}

bool mentions(const Analysis& analysis, std::string_view text) {
  return std::any_of(analysis.operators.begin(), analysis.operators.end(),
                     [&](const OperatorRow& row) { return row.name.find(text) != std::string::npos; });
}

void dataParallel(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  std::set<std::uint32_t> processes;
  for (const DeviceAccount& device : analysis.devices) processes.insert(device.osPid);
  const bool replicates = mentions(analysis, "broadcast_coalesced") || mentions(analysis, "BroadcastBackward") ||
                          mentions(analysis, "DataParallel.forward");
  if (analysis.devices.size() < 2 || processes.size() != 1 || !replicates ||
      mentions(analysis, "DistributedDataParallel"))
    return;
  Finding finding;
  finding.id = "data-parallel";
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::Medium;
  finding.title = fmt::format("one process drives {} devices with DataParallel", analysis.devices.size());
  finding.confidence = 0.8;
  finding.advice =
      "use DistributedDataParallel: one process a device, no copy of the model each step, gradients overlap the "
      "backward pass";
  addSeenInPart(context, std::move(finding), "replication*0");
}

/// Collectives that go through the host although the data is on a GPU.
void slowBackend(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  const bool gpu = std::any_of(analysis.devices.begin(), analysis.devices.end(), [](const DeviceAccount& device) {
    return device.kind == prof::DeviceKind::Cuda || device.kind == prof::DeviceKind::Rocm;
  });
  const auto mentionsIn = [](const auto& rows, std::string_view text) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return row.name.find(text) != std::string::npos; });
  };
  const bool direct = mentionsIn(analysis.kernels, "nccl") || mentionsIn(analysis.kernels, "rccl") ||
                      mentionsIn(analysis.operators, "nccl");
  if (!gpu || direct || !(mentionsIn(analysis.operators, "gloo") || mentionsIn(analysis.operators, "mpi:"))) return;
  Finding finding;
  finding.id = "slow-backend";
  finding.kind = FindingKind::Fault;
  finding.severity = Severity::Medium;
  finding.title = "collectives of GPU tensors go through the host (gloo or MPI)";
  finding.confidence = 0.9;
  finding.advice = "use NCCL (RCCL) as the backend for tensors on the device";
  addSeenInPart(context, std::move(finding), "through-host*0");
}

/// Ranks of one job enter each collective; the one that enters last holds the others up.
void lateRank(RuleContext& context) {
  const RankStats& ranks = context.analysis.ranks;
  for (const RankRow& row : ranks.rows) {
    // Of one rank alone: by how much it held the others up.
    const std::int64_t cost = row.stepHeldUpNs / context.analysis.stepCount();
    if (row.last * 10 < ranks.matched * 7 || context.shareOfStep(cost) < 0.03) continue;
    Finding finding;
    finding.id = "late-rank";
    finding.kind = FindingKind::Fault;
    finding.costNsPerStep = cost;
    finding.count = row.last;
    finding.title = fmt::format("rank {} enters {} of {} collectives last, {{cost}} a step behind", row.rank, row.last,
                                ranks.matched);
    // The replay knows no bonds between ranks. On the entries themselves it is known what each collective would gain:
    // the others wait for the next-latest rank all the same. What moves behind the collective is not known.
    finding.confidence = 0.5;
    finding.gainBasis = GainBasis::Trace;
    finding.predictedGainNsPerStep = row.stepAloneNs / context.analysis.stepCount();
    finding.gainHighNsPerStep = std::max(cost, finding.predictedGainNsPerStep);
    finding.advice = fmt::format(
        "compare rank {} with the others: its batches, its loader, its clock speed (the gain is read off when ranks "
        "enter, "
        "as far as the next-latest one; ranks are not replayed together)",
        row.rank);
    for (const LateEntry& late : ranks.latest) {
      if (late.rank != row.rank || finding.evidence.size() == 5) continue;
      finding.evidence.push_back({.startNs = late.fromNs,
                                  .endNs = late.toNs,
                                  .what = fmt::format("rank {} enters last", row.rank),
                                  .device = late.device,
                                  .queue = late.queue});
    }
    context.addAsItIs(std::move(finding));
  }
}

}  // namespace

void communicationRules(RuleContext& context) {
  lateRank(context);
  exposed(context);
  dataParallel(context);
  slowBackend(context);
}

}  // namespace lacuna::analyzer
