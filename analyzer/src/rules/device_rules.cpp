// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "rules/rule.h"

namespace lacuna::analyzer {
namespace {

struct Shares {
  std::int64_t all = 0;
  std::int64_t matrix = 0;
  std::int64_t matrixWithoutCores = 0;
  std::int64_t pointwise = 0;
  std::uint64_t pointwiseCount = 0;
};

Shares sharesOf(const Analysis& analysis) {
  Shares shares;
  for (const KernelRow& row : analysis.kernels) {
    if (row.work == Work::Communication) continue;
    shares.all += row.totalNs;
    if (row.matrix) shares.matrix += row.totalNs;
    if (row.matrix && !row.tensorCore) shares.matrixWithoutCores += row.totalNs;
    if (row.pointwise) {
      shares.pointwise += row.totalNs;
      shares.pointwiseCount += row.count;
    }
  }
  return shares;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// An opportunity that is worth naming only if the replay says it gains this share of the step.
void offer(RuleContext& context, std::string_view id, std::string_view change, double atLeast, double confidence,
           std::string title, std::string advice) {
  const auto prediction = context.play(change);
  if (!prediction || context.shareOfStep(prediction->gainNs()) < atLeast) return;
  Finding finding;
  finding.id = std::string(id);
  finding.title = std::move(title);
  finding.advice = std::move(advice);
  finding.confidence = confidence;
  context.add(std::move(finding), change);
}

void pageableCopies(RuleContext& context) {
  const CopyStats& copies = context.analysis.copies;
  // Small copies are staged by the driver without blocking.
  const bool large = copies.pageableCount > 0 && copies.pageableBytes / copies.pageableCount > 64 * 1024;
  const auto gain = context.play("loader.pin=on");
  const std::int64_t cost = std::max(context.perStep(copies.pageableNs), gain ? gain->gainNs() : 0);
  if (!large || context.shareOfStep(cost) < 0.03) return;
  Finding finding;
  finding.id = "pageable-copy";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = copies.pageableCount;
  finding.title =
      fmt::format("{} copies of {} use pageable host memory", copies.pageableCount, humanBytes(copies.pageableBytes));
  finding.confidence = 0.7;
  finding.advice = "pin the loader's batches and copy them asynchronously, so that the copy overlaps the step before";
  finding.evidence = context.evidenceOf(Cause::ExposedCopy);
  context.add(std::move(finding), "loader.pin=on");
}

void exposedCopies(RuleContext& context) {
  const std::int64_t cost = context.costOf(Cause::ExposedCopy);
  const bool named = std::any_of(context.findings.begin(), context.findings.end(),
                                 [](const Finding& f) { return f.id == "pageable-copy"; });
  if (named || context.shareOfStep(cost) < 0.1) return;
  Finding finding;
  finding.id = "exposed-copy";
  finding.costNsPerStep = cost;
  finding.title = fmt::format("copies that nothing hides take {} a step", humanTime(cost));
  finding.confidence = 0.7;
  finding.advice =
      "copy on a queue of its own while the step before computes, keep data on the device, join small copies";
  context.add(std::move(finding), "copy*0");
}

void zeroGrad(RuleContext& context) {
  const auto gain = context.play("zero_grad=none");
  const bool announced = context.knob("zero_grad").value_or("none") != "none";
  if (!gain || (context.shareOfStep(gain->gainNs()) < 0.02 && !announced)) return;
  if (gain->gainNs() <= 0) return;
  Finding finding;
  finding.id = "zero-grad";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = gain->gainNs();
  finding.title = fmt::format("clearing gradients by writing zeros costs {} a step", humanTime(gain->gainNs()));
  finding.confidence = 0.85;
  finding.advice = "drop the gradients instead (zero_grad to none): the first accumulation then writes without reading";
  context.add(std::move(finding), "zero_grad=none");
}

void halfPrecision(RuleContext& context, const Shares& shares) {
  if (context.knob("amp").value_or("off") == "on" || ratio(shares.matrixWithoutCores, shares.all) < 0.2) return;
  offer(context, "amp", "amp=on", 0.05, 0.5,
        fmt::format("{} of the device's compute time is matrix work in full precision",
                    humanShare(ratio(shares.matrixWithoutCores, shares.all))),
        "train in mixed precision (bf16): matrix units run several times faster on it");
}

void fusion(RuleContext& context, const Shares& shares) {
  if (context.knob("fuse").value_or("off") == "on" || ratio(shares.pointwise, shares.all) < 0.1) return;
  offer(context, "fuse", "fuse=on", 0.03, 0.6,
        fmt::format("{} pointwise kernels take {} of the compute time and could be fused", shares.pointwiseCount,
                    humanShare(ratio(shares.pointwise, shares.all))),
        "fuse chains of elementwise operators, so that memory is read and written once");
}

void autotune(RuleContext& context, const Shares& shares) {
  if (context.knob("autotune").value_or("") != "off" || ratio(shares.matrix, shares.all) < 0.2) return;
  offer(context, "autotune", "autotune=on", 0.02, 0.4, "convolution and matrix kernels are not tuned for these shapes",
        "switch autotuning on when shapes repeat");
}

void fusedOptimizer(RuleContext& context) {
  if (context.knob("optimizer.fused").value_or("off") == "on") return;
  offer(context, "optimizer-fused", "optimizer.fused=on", 0.03, 0.6,
        "the optimizer launches its updates parameter by parameter", "use the fused (multi-tensor) optimizer");
}

/// The device is idle more than half of the time, and the batch could be larger.
void smallBatch(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  if (analysis.devices.empty() || analysis.ledger.totalNs() == 0) return;
  const double busy = ratio(analysis.ledger.busyNs(), analysis.ledger.totalNs());
  const std::uint64_t memory = analysis.devices.front().memoryBytes;
  const bool room = analysis.memory.present && memory > 0 && analysis.memory.peakBytes < memory / 2;
  if (busy >= 0.5 || !room) return;
  Finding finding;
  finding.id = "small-batch";
  finding.title = fmt::format("the device is busy {} of the time and its memory is used to {}", humanShare(busy),
                              humanShare(static_cast<double>(analysis.memory.peakBytes) / static_cast<double>(memory)));
  finding.costNsPerStep = (context.costOf(Cause::HostWork) + context.costOf(Cause::Launch));
  finding.confidence = 0.4;
  finding.knob = "batch";
  finding.advice =
      "try a larger batch and compare samples per second, not steps; mind that the learning rate may have to follow";
  context.add(std::move(finding));
}

/// A convolution's bias in front of a batch norm is subtracted again.
void biasBeforeNorm(RuleContext& context) {
  const bool announced = context.knob("conv_bias").value_or("off") == "on";
  const bool norm =
      std::any_of(context.analysis.kernels.begin(), context.analysis.kernels.end(), [](const KernelRow& row) {
        return row.name.find("batch_norm") != std::string::npos || row.name.find("bn_") != std::string::npos;
      });
  if (!announced || !norm) return;
  Finding finding;
  finding.id = "bias-before-norm";
  finding.kind = FindingKind::Fault;
  finding.title = "convolutions in front of a batch norm have a bias that it takes out again";
  finding.confidence = 0.8;
  finding.advice = "build these convolutions without bias";
  context.add(std::move(finding), "conv_bias=off");
}

}  // namespace

void deviceRules(RuleContext& context) {
  const Shares shares = sharesOf(context.analysis);
  pageableCopies(context);
  exposedCopies(context);
  zeroGrad(context);
  biasBeforeNorm(context);
  halfPrecision(context, shares);
  fusion(context, shares);
  autotune(context, shares);
  fusedOptimizer(context);
  smallBatch(context);
}

}  // namespace lacuna::analyzer
