// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "lacuna/prof/bounds.h"
#include "rules/outcome.h"
#include "rules/words.h"
#include "whatif/sample_rate.h"

namespace lacuna::analyzer {
namespace rules::small_batch {
namespace {

constexpr Threshold kBusy{"busy", 0.5, Unit::Share,
                          "A device that works more than it waits gains less in samples."};
constexpr Threshold kUsed{"used", 0.5, Unit::Share,
                          "Twice the batch needs about twice the memory."};
constexpr Threshold kFull{"full", 0.9, Unit::Share,
                          "The allocator needs room for pieces of other sizes."};
constexpr Threshold kMostTimes{"most", 8, Unit::Times,
                               "A batch that is larger still changes what the network learns."};
constexpr std::array kThresholds{kBusy, kUsed, kFull, kMostTimes};

constexpr Confidence kSure{
    "", 0.4, "Small kernels take less than K times as long, but learning may need another rate."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPrices{Cause::HostWork, Cause::Launch};

/// Below it a rate is printed with a decimal.
constexpr double kFew = 10;
constexpr std::string_view kCaution =
    "compare samples per second, not steps; mind that the learning rate may have to follow";

std::string rateText(double value) {
  return fmt::format("{:.{}f}", value, value < kFew ? 1 : 0);
}

/// A batch so many times as large as memory has room for. The device and the loader take that much
/// longer at most, and the host's part of a step stays. The gain is the time that the samples of a
/// step now would take less.
void predictLargerBatch(const Facts& facts, Finding& finding, double used) {
  const double times =
      std::clamp(std::floor(kFull / std::max(used, kFull / kMostTimes)), 2.0, kMostTimes.value);
  auto larger = facts.play(fmt::format("batch*{}", times));
  if (!larger) {
    finding.notPredicted = "the trace holds no device work with its launches to replay";
    finding.advice = fmt::format("try a larger batch: {}", kCaution);
    return;
  }
  const auto ofOne = [&](std::string_view with, std::int64_t ns) {
    return GainSum(with, ns)
        .over("times the batch", static_cast<std::int64_t>(times))
        .from("replayed", larger->baseNsPerStep)
        .atLeast(kNoLoss, 0);
  };
  finding.gainBasis = GainBasis::Replay;
  finding.baseNsPerStep = larger->baseNsPerStep;
  finding.gainChain.gain = ofOne("result", larger->predictedNsPerStep);
  finding.gainChain.low = ofOne("high end", larger->highNsPerStep);
  finding.gainChain.high = ofOne("low end", larger->lowNsPerStep);
  const double faster = static_cast<double>(larger->baseNsPerStep) * times /
                        static_cast<double>(std::max<std::int64_t>(1, larger->predictedNsPerStep));
  const double now = samplesPerSecond(facts.analysis);
  finding.samplesPerSecond = now;
  finding.predictedSamplesPerSecond = now * faster;
  finding.knob = fmt::format("batch*{}", times);
  finding.gainChain.change = finding.knob;
  finding.gainChain.prediction = *std::move(larger);
  finding.advice = fmt::format(
      "try {} times the batch: {}, as the host's part of a step stays; {}", times,
      now > 0
          ? fmt::format("{} samples a second instead of {}", rateText(now * faster), rateText(now))
          : fmt::format("{:.2f} times as many samples a second", faster),
      kCaution);
}

void detect(const Facts& facts, Outcome& out) {
  const Analysis& analysis = facts.analysis;
  if (analysis.devices.empty() || analysis.ledgers.run.totalNs() == 0) return;
  const double busy = shareOf(analysis.ledgers.run.busyNs(), analysis.ledgers.run.totalNs());
  const double used = fullestDevice(analysis).share;
  // On a CPU the memory is the machine's, and what feeds the queue runs on the same cores.
  if (busy >= kBusy || used < 0 || used >= kUsed || facts.onlyHost()) return;
  Finding finding;
  finding.words = "the device is busy {busy} of the time and its memory is used to {used}";
  finding.quantities = {Quantity::share("busy", busy), Quantity::share("used", used)};
  finding.confidence = kSure;
  finding.knob = "batch";
  predictLargerBatch(facts, finding, used);
  out.addAsItIs(std::move(finding));
}

}  // namespace
}  // namespace rules::small_batch

constinit const FindingRule kSmallBatchRule{
    .id = FindingId::SmallBatch,
    .key = "small-batch",
    .area = FindingArea::Device,
    .kind = FindingKind::Opportunity,
    .prices = rules::small_batch::kPrices,
    .takesLeftover = true,
    .thresholds = rules::small_batch::kThresholds,
    .confidences = rules::small_batch::kConfidences,
    .meaning = "The device waits for the host, and its memory has room for a larger batch.",
    .when =
        "devices busy < {busy} and less than {used} of the fullest one's memory used; not on a CPU "
        "device",
    .fix =
        "`batch*K` with the whole number K of 2 to {most} that fills at most {full} of the memory; "
        "the gain is the time that the samples of a step take less, with samples per second where "
        "the program announces its `batch`",
    .refutedBy = "a run with that batch and no more samples per second",
    .detect = rules::small_batch::detect,
};

}  // namespace lacuna::analyzer
