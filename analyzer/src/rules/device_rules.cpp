// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lacuna/prof/bounds.h"
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
    prof::addTo(shares.all, row.totalNs);
    if (row.matrix) prof::addTo(shares.matrix, row.totalNs);
    if (row.matrix && !row.tensorCore) prof::addTo(shares.matrixWithoutCores, row.totalNs);
    if (row.pointwise) {
      prof::addTo(shares.pointwise, row.totalNs);
      shares.pointwiseCount += row.count;
    }
  }
  return shares;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// "1 fill", "12 fills", of a mean.
std::string rounded(double count, std::string_view one) {
  return humanCount(static_cast<std::uint64_t>(std::llround(count)), one);
}

/// An opportunity that is worth naming only if the replay says it gains this share of the step.
void offer(RuleContext& context, std::string_view id, std::string_view change, double atLeast, double confidence,
           std::string title, std::string advice) {
  const auto prediction = context.play(change);
  if (!prediction || prediction->gainShare() < atLeast) return;
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
  const bool large =
      copies.stepPageableCount > 0 && copies.stepPageableBytes / copies.stepPageableCount > std::uint64_t{64} * 1024;
  const auto gain = context.play("loader.pin=on");
  const std::int64_t cost = std::max(context.perStepOfDevice(copies.stepPageableNs), gain ? gain->gainNs() : 0);
  if (!large || context.shareOfStep(cost) < 0.03) return;
  Finding finding;
  finding.id = "pageable-copy";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = copies.stepPageableCount;
  finding.title =
      fmt::format("{} of {} {} pageable host memory{{: cost}}", humanCount(copies.stepPageableCount, "copy", "copies"),
                  humanBytes(copies.stepPageableBytes), copies.stepPageableCount == 1 ? "uses" : "use");
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
  finding.title = "copies that nothing hides take {cost} a step";
  finding.confidence = 0.7;
  finding.advice =
      "copy on a queue of its own while the step before computes, keep data on the device, join small copies";
  finding.evidence = context.evidenceOf(Cause::ExposedCopy);
  context.addBounded(std::move(finding), "copy*0");
}

void zeroGrad(RuleContext& context) {
  const PatternStats& patterns = context.analysis.patterns;
  const auto gain = context.play("zero_grad=none");
  const double fills = context.timesAStep(patterns.zeroFills);
  const std::int64_t cost = std::max(context.perStepOfDevice(patterns.zeroFillNs), gain ? gain->gainNs() : 0);
  // One or two cleared buffers a step belong to many a program; one for each of its gradients does not.
  if (fills < 4 && context.shareOfStep(cost) < 0.02) return;
  // What only the warm-up or a single step did is no habit, whatever it took.
  const Steps& steps = context.analysis.steps;
  const std::size_t steady = steps.steadyWithin(context.analysis.window).size();
  if (!steps.all.empty() && patterns.zeroFillSteps < std::min<std::size_t>(2, steady)) return;
  if (cost <= 0) return;
  Finding finding;
  finding.id = "zero-grad";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = patterns.zeroFills;
  finding.title = fmt::format("clearing gradients by writing zeros: {}, {{cost}} a step", rounded(fills, "fill"));
  finding.confidence = 0.95;
  finding.advice = "drop the gradients instead (zero_grad to none): the first accumulation then writes without reading";
  context.add(std::move(finding), "zero_grad=none");
}

/// A short sequence of kernels, many times in a row: a loop over samples or rows that one operator would do.
void tinyKernels(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  const PatternStats& patterns = analysis.patterns;
  const std::int64_t cost =
      std::max(context.perStep(patterns.repeatedHostNs), context.perStepOfDevice(patterns.repeatedDeviceNs));
  const double launches = context.timesAStep(patterns.repeatedLaunches);
  // A model of many equal small layers is launch-bound as a whole.
  const bool explained = std::any_of(context.findings.begin(), context.findings.end(),
                                     [](const Finding& f) { return f.id == "launch-bound"; }) &&
                         patterns.repeatedSequence.find(',') == std::string::npos;
  if (explained || launches < 32 || context.shareOfStep(cost) < 0.03) return;
  Finding finding;
  finding.id = "tiny-kernels";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = cost;
  finding.count = patterns.repeatedLaunches;
  finding.title = fmt::format("{:.0f} tiny kernels a step: {} repeat up to {} times in a row, {{cost}} of launching",
                              launches, patterns.repeatedSequence, patterns.mostRepeats);
  finding.confidence = 0.95;
  finding.advice = "do the loop in one operator over all samples";
  context.add(std::move(finding), "repeats=joined");
}

void halfPrecision(RuleContext& context, const Shares& shares) {
  // What half precision brings on a CPU depends on units that a trace does not tell of.
  if (context.onlyHost()) return;
  if (context.knob("amp").value_or("off") == "on" || ratio(shares.matrixWithoutCores, shares.all) < 0.2) return;
  offer(context, "amp", "amp=on", 0.05, 0.5,
        fmt::format("{} of the device's compute time is matrix work in full precision",
                    humanShare(ratio(shares.matrixWithoutCores, shares.all))),
        "train in mixed precision (bf16): matrix units run several times faster on it");
}

void fusion(RuleContext& context, const Shares& shares) {
  if (context.knob("fuse").value_or("off") == "on" || ratio(shares.pointwise, shares.all) < 0.1) return;
  // Small launches that the host cannot keep up with may have it as their fix.
  const bool isProposed = std::any_of(context.findings.begin(), context.findings.end(),
                                      [](const Finding& told) { return told.knob == "fuse=on"; });
  if (isProposed) return;
  offer(context, "fuse", "fuse=on", 0.03, 0.6,
        fmt::format("{} {} {} of the compute time and could be fused",
                    humanCount(shares.pointwiseCount, "pointwise kernel"),
                    shares.pointwiseCount == 1 ? "takes" : "take", humanShare(ratio(shares.pointwise, shares.all))),
        "fuse chains of elementwise operators, so that memory is read and written once");
}

void autotune(RuleContext& context, const Shares& shares) {
  if (context.knob("autotune").value_or("") != "off" || ratio(shares.matrix, shares.all) < 0.2) return;
  offer(context, "autotune", "autotune=on", 0.02, 0.4, "convolution and matrix kernels are not tuned for these shapes",
        "switch autotuning on when shapes repeat");
}

void fusedOptimizer(RuleContext& context) {
  if (context.knob("optimizer.fused").value_or("off") == "on") return;
  const PatternStats& patterns = context.analysis.patterns;
  // Each of these launches updates many tensors already, whether the optimizer calls it foreach or fused.
  if (patterns.optimizerKernel.find("multi_tensor") != std::string::npos) return;
  const double perStep = context.timesAStep(patterns.optimizerLaunches);
  if (perStep >= 8) {
    Finding finding;
    finding.id = "optimizer-fused";
    finding.count = patterns.optimizerLaunches;
    finding.title = fmt::format("the optimizer launches {} {} a step", plainName(patterns.optimizerKernel),
                                rounded(perStep, "time"));
    finding.confidence = 0.9;
    finding.advice = "use the optimizer's fused or foreach (multi-tensor) form: a launch updates many parameters";
    context.add(std::move(finding), "optimizer.fused=on");
    return;
  }
  offer(context, "optimizer-fused", "optimizer.fused=on", 0.03, 0.6,
        "the optimizer launches its updates parameter by parameter",
        "use the optimizer's fused or foreach (multi-tensor) form");
}

void halfOnCpu(RuleContext& context) {
  const OperatorPatterns& patterns = context.analysis.operatorPatterns;
  if (!context.onlyHost() || patterns.matrixOperators == 0) return;
  const double share =
      static_cast<double>(patterns.halfMatrixOperators) / static_cast<double>(patterns.matrixOperators);
  if (share < 0.2) return;
  Finding finding;
  finding.id = "half-on-cpu";
  finding.count = patterns.halfMatrixOperators;
  finding.title = fmt::format("{} of the matrix operators on the CPU work in half precision", humanShare(share));
  finding.confidence = 0.5;
  finding.advice = "half precision pays on CPUs with matrix units for it (AMX); without them compute in f32";
  finding.notPredicted = "whether the CPU has such units is not in the trace; a short run in f32 tells (lacuna diff)";
  context.addAsItIs(std::move(finding));
}

void roundTrips(RuleContext& context) {
  const std::uint64_t trips = context.analysis.operatorPatterns.roundTrips;
  const double perStep = context.timesAStep(trips);
  if (perStep < 2) return;
  Finding finding;
  finding.id = "dtype-round-trip";
  finding.count = trips;
  finding.title = fmt::format("{:.0f} conversions a step directly follow another conversion", perStep);
  finding.confidence = 0.7;
  finding.advice = "keep one type through the chain: a cast and a cast back move every byte twice for nothing";
  context.add(std::move(finding), "conversion*0");
}

std::string thousands(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 1 : 0);
}

/// A batch so many times as large as memory has room for: the device and the loader take that much longer at most, and
/// the host's part of a step stays. What the samples of a step now would take less is the gain.
void predictLargerBatch(const RuleContext& context, Finding& finding, double used) {
  constexpr double kFull = 0.9, kMostTimes = 8;
  const double times = std::clamp(std::floor(kFull / std::max(used, kFull / kMostTimes)), 2.0, kMostTimes);
  const auto larger = context.play(fmt::format("batch*{}", times));
  const std::string caution = "compare samples per second, not steps; mind that the learning rate may have to follow";
  if (!larger) {
    finding.notPredicted = "the trace holds no device work with its launches to replay";
    finding.advice = "try a larger batch: " + caution;
    return;
  }
  const auto ofOne = [&](std::int64_t ns) { return prof::wholeOf<std::int64_t>(static_cast<double>(ns) / times); };
  finding.gainBasis = GainBasis::Replay;
  finding.baseNsPerStep = larger->baseNsPerStep;
  finding.predictedGainNsPerStep = std::max<std::int64_t>(0, larger->baseNsPerStep - ofOne(larger->predictedNsPerStep));
  finding.gainLowNsPerStep = std::max<std::int64_t>(0, larger->baseNsPerStep - ofOne(larger->highNsPerStep));
  finding.gainHighNsPerStep = std::max<std::int64_t>(0, larger->baseNsPerStep - ofOne(larger->lowNsPerStep));
  const double faster = static_cast<double>(larger->baseNsPerStep) * times /
                        static_cast<double>(std::max<std::int64_t>(1, larger->predictedNsPerStep));
  const double now = context.analysis.samplesPerSecond();
  finding.samplesPerSecond = now;
  finding.predictedSamplesPerSecond = now * faster;
  finding.knob = fmt::format("batch*{}", times);
  finding.advice =
      fmt::format("try {} times the batch: {}, as the host's part of a step stays; {}", times,
                  now > 0 ? fmt::format("{} samples a second instead of {}", thousands(now * faster), thousands(now))
                          : fmt::format("{:.2f} times as many samples a second", faster),
                  caution);
}

/// The device is idle more than half of the time, and the batch could be larger.
void smallBatch(RuleContext& context) {
  const Analysis& analysis = context.analysis;
  if (analysis.devices.empty() || analysis.ledger.totalNs() == 0) return;
  const double busy = ratio(analysis.ledger.busyNs(), analysis.ledger.totalNs());
  const double used = fullestDevice(analysis).share;
  const bool room = used >= 0 && used < 0.5;
  // On a CPU the memory is the machine's, and what feeds the queue runs on the same cores.
  if (busy >= 0.5 || !room || context.onlyHost()) return;
  Finding finding;
  finding.id = "small-batch";
  finding.title =
      fmt::format("the device is busy {} of the time and its memory is used to {}", humanShare(busy), humanShare(used));
  finding.confidence = 0.4;
  finding.knob = "batch";
  predictLargerBatch(context, finding, used);
  context.addAsItIs(std::move(finding));
}

/// Of host work and launching, what no finding but the one on the batch tells of.
std::int64_t hostsLeftover(const RuleContext& context) {
  static constexpr std::array<std::string_view, 4> kTold{"launch-bound", "slow-launches", "late-starts", "host-work"};
  std::int64_t ns = context.costOf(Cause::HostWork) + context.costOf(Cause::Launch);
  for (const Finding& told : context.findings) {
    if (std::ranges::find(kTold, told.id) != kTold.end()) prof::takeFrom(ns, told.costNsPerStep);
  }
  return std::max<std::int64_t>(0, ns);
}

/// What others have priced of the time that the devices wait.
std::int64_t pricedIdle(const RuleContext& context) {
  static constexpr std::array<std::string_view, 7> kOfWork{"pageable-copy",         "exposed-copy", "zero-grad",
                                                           "exposed-communication", "late-rank",    "tiny-kernels",
                                                           "optimizer-fused"};
  std::int64_t ns = 0;
  for (const Finding& told : context.findings) {
    if (std::find(kOfWork.begin(), kOfWork.end(), told.id) == kOfWork.end()) prof::addTo(ns, told.costNsPerStep);
    if (told.id == "small-batch") prof::addTo(ns, std::min(told.predictedGainNsPerStep, hostsLeftover(context)));
  }
  return ns;
}

/// Of the idle causes that no finding of their name tells of, the one that takes most.
Cause largestIdle(const RuleContext& context, const Ledger& step) {
  static const std::map<Cause, std::vector<std::string_view>> kTold{
      {Cause::LoaderWait, {"loader-wait", "loader-restarts"}},
      {Cause::Synchronisation, {"sync-in-step", "debug-mode"}},
      {Cause::DriverCall, {"driver-calls"}},
      {Cause::OffCpu, {"host-not-running"}},
      {Cause::HostWork, {"host-work", "launch-bound"}},
      {Cause::Launch, {"launch-bound", "slow-launches", "late-starts"}}};
  const auto isTold = [&](Cause cause) {
    const auto ids = kTold.find(cause);
    return ids != kTold.end() && std::any_of(context.findings.begin(), context.findings.end(), [&](const Finding& f) {
             return std::find(ids->second.begin(), ids->second.end(), f.id) != ids->second.end();
           });
  };
  Cause largest = Cause::Unknown;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (!isBusy(cause) && !isTold(cause) && step[cause] > step[largest]) largest = cause;
  }
  return largest;
}

/// A replay without what the device waits for; empty where there is none.
std::string_view withoutCause(Cause cause) {
  switch (cause) {
    case Cause::Synchronisation:
      return "sync=off";
    case Cause::LoaderWait:
      return "loader*0";
    case Cause::DriverCall:
      return "allocator=cached";
    case Cause::OffCpu:
      return "off-cpu*0";
    case Cause::HostWork:
      return "host*0";
    case Cause::Launch:
      return "static_graph=on";
    default:
      return {};
  }
}

/// The devices are idle most of the time, or for reasons that the trace does not hold, and no finding says why.
void underUtilised(RuleContext& context) {
  constexpr double kBusy = 0.5, kUnknown = 0.2;
  const Ledger step = context.analysis.meanStepLedger();
  const std::int64_t idle = step.totalNs() - step.busyNs();
  if (context.analysis.devices.empty() || idle <= 0) return;
  const double busy = ratio(step.busyNs(), step.totalNs());
  const std::int64_t unpriced = idle - std::min(idle, pricedIdle(context));
  const bool isUnknown = ratio(step[Cause::Unknown], step.totalNs()) >= kUnknown;
  if ((busy >= kBusy && !isUnknown) || 2 * unpriced < idle) return;
  const Cause cause = largestIdle(context, step);
  const bool untold = cause == Cause::Unknown;
  Finding finding;
  finding.id = "under-utilised";
  finding.kind = FindingKind::Fault;
  finding.costNsPerStep = unpriced;
  finding.title = fmt::format(
      "the device is busy {} of the time; most of the rest, {} a step, {}", humanShare(busy), humanTime(step[cause]),
      untold ? std::string("has no cause in the trace") : fmt::format("is {}", causeLabel(cause)));
  finding.confidence = untold ? 0.5 : 0.6;
  finding.advice =
      untold ? "record what the host does too: its calls and ranges (lacuna run, or the activities of the CPU in "
               "PyTorch's profiler), and name the program's phases by NVTX ranges"
             : "look at the longest of these stretches on the timeline, and at what the host did before them";
  finding.evidence = context.evidenceOf(cause);
  if (const std::string_view change = withoutCause(cause); !change.empty())
    return context.addBounded(std::move(finding), change);
  finding.notPredicted = untold ? "nothing in the trace says what the device waits for"
                                : fmt::format("no replay does without {}", causeLabel(cause));
  context.addAsItIs(std::move(finding));
}

/// A bias in front of a batch norm is subtracted again.
void biasBeforeNorm(RuleContext& context) {
  const OperatorPatterns& patterns = context.analysis.operatorPatterns;
  const bool norm =
      std::any_of(context.analysis.operators.begin(), context.analysis.operators.end(),
                  [](const OperatorRow& row) { return row.name.find("batch_norm") != std::string::npos; });
  const bool announced = norm && context.knob("conv_bias").value_or("off") == "on";
  if (!announced && patterns.biasedNorms == 0) return;
  Finding finding;
  finding.id = "bias-before-norm";
  finding.kind = FindingKind::Fault;
  finding.count = patterns.biasedNorms;
  finding.title =
      patterns.biasedNorms == 0
          ? std::string("layers in front of a batch norm have a bias that it takes out again{: cost}")
          : fmt::format(
                "{} adds a bias directly in front of a batch norm, which takes it out again ({} a step){{: cost}}",
                patterns.biasedNorm, rounded(context.timesAStep(patterns.biasedNorms), "time"));
  finding.confidence = 0.95;
  // The work that goes is there, also where something else bounds the run.
  if (const auto without = context.play("conv_bias=off")) finding.costNsPerStep = without->workTakenNsPerStep;
  finding.advice = "build these layers without bias";
  context.add(std::move(finding), "conv_bias=off");
}

}  // namespace

void deviceRules(RuleContext& context) {
  const Shares shares = sharesOf(context.analysis);
  pageableCopies(context);
  exposedCopies(context);
  zeroGrad(context);
  tinyKernels(context);
  biasBeforeNorm(context);
  halfOnCpu(context);
  roundTrips(context);
  halfPrecision(context, shares);
  fusion(context, shares);
  autotune(context, shares);
  fusedOptimizer(context);
  smallBatch(context);
}

void utilisationRules(RuleContext& context) {
  underUtilised(context);
}

}  // namespace lacuna::analyzer
