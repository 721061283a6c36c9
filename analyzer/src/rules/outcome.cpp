// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/outcome.h"

#include <algorithm>
#include <cassert>

#include "analyses/time/phases.h"
#include "analyses/work/graph_replays.h"
#include "lacuna/prof/bounds.h"
#include "rules/title.h"

namespace lacuna::analyzer {
namespace {

/// The severity of a finding by the share of a step that it costs or gains.
constexpr double kHigh = 0.2, kMedium = 0.05;

constexpr std::int64_t kNsPerUs = 1'000;

constexpr GainLimit kIdleTime{.name = "idle-time",
                              .reason =
                                  "the host hands over sooner what the devices then do all the "
                                  "same, so no more than their idle time goes",
                              .of = GainLimit::Of::Gain};
constexpr GainLimit kTaken{
    .name = "taken",
    .reason = "no step is shorter by more than the change takes off its pieces",
    .of = GainLimit::Of::Gain};
constexpr GainLimit kWaited{
    .name = "cost",
    .reason =
        "the device waited for it no longer in all, or computed more slowly for it; without it "
        "other waits may go too, which other findings price",
    .of = GainLimit::Of::Gain};
constexpr GainLimit kLost{
    .name = "cost", .reason = "no fix wins back more than the cost", .of = GainLimit::Of::Gain};
constexpr GainLimit kOtherWaits{
    .name = "other-waits",
    .reason = "another wait may take the place of all of it, so the gain may be nothing",
    .of = GainLimit::Of::Gain};
/// No more than that is gained, for all that is known.
void limitInterval(GainChain& chain, const GainLimit& limit, std::int64_t mostNs) {
  chain.low.atMost(limit, mostNs);
  chain.high.atMost(limit, mostNs).atLeast(kItsGain, chain.gain.value());
}

/// By how much a step is shorter than the replay without the change, in proportion to a step of
/// `wholeNs`.
GainSum shorterStep(const Prediction& prediction, std::string_view with, std::int64_t stepNs,
                    std::int64_t fullNs) {
  GainSum gain = GainSum("replayed", prediction.baseNsPerStep).minus(with, stepNs);
  if (fullNs != prediction.baseNsPerStep) {
    gain.times("µs of an iteration", fullNs / kNsPerUs)
        .over("µs of the replayed step", prediction.baseNsPerStep / kNsPerUs);
  }
  return gain.atLeast(kNoLoss, 0);
}

std::int64_t inProportion(std::int64_t ns, std::int64_t to, std::int64_t from) {
  if (to == from) return ns;
  return prof::wholeOf<std::int64_t>(static_cast<double>(ns) * static_cast<double>(to) /
                                     static_cast<double>(std::max<std::int64_t>(1, from)));
}

std::string textOf(std::span<const Change> changes) {
  std::string out;
  for (const Change& change : changes) out += (out.empty() ? "" : ", ") + change.text();
  return out;
}

/// Writes the ends of the chain into the finding.
void takeGain(Finding& finding) {
  const GainChain& chain = finding.gainChain;
  if (finding.gainBasis == GainBasis::None) return;
  if (finding.gainBasis == GainBasis::Bytes) {
    finding.predictedGainBytes = static_cast<std::uint64_t>(chain.gain.value());
    return;
  }
  finding.predictedGainNsPerStep = chain.gain.value();
  finding.gainLowNsPerStep = chain.low.value();
  finding.gainHighNsPerStep = chain.high.value();
}

/// A finding never costs less than its fix is predicted to gain: the ledger of the marked step may
/// hold less than a change takes away, or nothing of it. An opportunity need not cost anything.
std::int64_t atLeastItsGain(const Finding& finding) {
  const bool isPriced = finding.kind == FindingKind::Fault || finding.costNsPerStep > 0;
  return isPriced ? std::max(finding.costNsPerStep, finding.predictedGainNsPerStep) : 0;
}

/// Factors and switches that only the replay knows are no knobs that a user could turn.
bool isUsersKnob(std::string_view change) {
  return change.find('*') == std::string_view::npos && !change.starts_with("sync=") &&
         !change.starts_with("allocator=") && !change.starts_with("repeats=");
}

std::string_view whyNotReplayed(const Facts& facts) {
  if (facts.isReplayed()) return "no change of what was recorded stands for the fix";
  return facts.analysis.of<GraphReplays>().underRecorded() > 0
             ? "the trace lacks work of graph replays in every step, so nothing shows how long a "
               "step's work takes"
             : "the trace holds no device work with its launches to replay";
}

}  // namespace

void Outcome::claim(Claim claim) {
  assert(!facts_.rule().claims.empty());
  reported_.claims.push_back(std::move(claim));
}

/// Recording's part of its cost, at most: the bands of the causes that it prices.
std::int64_t Outcome::recordingIn(const Finding& finding) const {
  const Ledger bands = facts_.analysis.meanStepBands();
  const auto causes = facts_.rule().prices;
  std::int64_t ns = causes.empty() ? bands.totalNs() : 0;
  for (const Cause cause : causes) prof::addTo(ns, bands[cause]);
  return std::min(ns, std::max<std::int64_t>(0, finding.costNsPerStep));
}

/// The step that a finding's gain is taken from. The replay predicts the share by which a run
/// becomes shorter; where the cost has a part between steps, that is a share of the iteration.
std::int64_t Outcome::baseOf(const Finding& finding, const Prediction& prediction) const {
  const std::int64_t replayedNs = prediction.baseNsPerStep;
  if (finding.pausesNsPerStep == 0 || replayedNs < kNsPerUs) return replayedNs;
  return std::max<std::int64_t>(1, facts_.analysis.of<RunPhases>().iterationNs());
}

void Outcome::predict(Finding& finding, std::span<const Change> changes) const {
  if (facts_.analysis.steps.all.empty()) {
    finding.notPredicted =
        "no steps were found, so nothing shows what happens once and what repeats";
    return;
  }
  auto prediction = facts_.play(changes);
  if (!prediction) {
    finding.notPredicted = whyNotReplayed(facts_);
    return;
  }
  if (!prediction->touched) {
    finding.notPredicted = "nothing that was recorded would change";
    return;
  }
  finding.gainBasis = GainBasis::Replay;
  const std::int64_t baseNs = finding.baseNsPerStep = baseOf(finding, *prediction);
  GainChain& chain = finding.gainChain;
  chain.change = textOf(changes);
  chain.gain = shorterStep(*prediction, "result", prediction->predictedNsPerStep, baseNs);
  chain.low = shorterStep(*prediction, "high end", prediction->highNsPerStep, baseNs);
  chain.high = shorterStep(*prediction, "low end", prediction->lowNsPerStep, baseNs);
  if (prediction->takenNsPerStep)
    limitInterval(chain, kTaken,
                  inProportion(*prediction->takenNsPerStep, baseNs, prediction->baseNsPerStep));
  if (facts_.rule().leavesWork) {
    const std::int64_t idleNs = knownMeanStep(facts_.analysis).idleNs();
    chain.gain.atMost(kIdleTime, idleNs);
    limitInterval(chain, kIdleTime, idleNs);
  }
  // The rule may be wrong, and so may the replay.
  if (chain.gain.value() > 0) finding.confidence *= prediction->confidence;
  chain.prediction = *std::move(prediction);
}

void Outcome::add(Finding finding, std::string_view change) {
  if (finding.knob.empty() && isUsersKnob(change)) finding.knob = change;
  const auto parsed = parseChange(change);
  add(std::move(finding),
      parsed ? std::span<const Change>(&*parsed, 1) : std::span<const Change>());
}

void Outcome::add(Finding finding, std::span<const Change> changes) {
  predict(finding, changes);
  finish(std::move(finding));
}

void Outcome::addBounded(Finding finding, std::string_view change) {
  const auto parsed = parseChange(change);
  assert(parsed);
  predict(finding, parsed ? std::span<const Change>(&*parsed, 1) : std::span<const Change>());
  if (finding.gainBasis == GainBasis::Replay) {
    finding.gainBasis = GainBasis::UpperBound;
    GainChain& chain = finding.gainChain;
    chain.low.atMost(kOtherWaits, 0);
    if (finding.costNsPerStep > 0) {
      const Prediction& prediction = *chain.prediction;
      const std::int64_t mostNs =
          finding.costNsPerStep +
          inProportion(prediction.freedNsPerStep, finding.baseNsPerStep, prediction.baseNsPerStep);
      chain.gain.atMost(kWaited, mostNs);
      chain.high.atMost(kWaited, mostNs);
    }
    // Anything from nothing to all of it is as likely, so half of it comes true half of the time.
    finding.confidence /= 2;
  }
  finish(std::move(finding));
}

void Outcome::addAsItIs(Finding finding) {
  finish(std::move(finding));
}

void Outcome::addBytes(Finding finding, GainSum bytes) {
  finding.gainBasis = GainBasis::Bytes;
  finding.gainChain.gain = std::move(bytes);
  finish(std::move(finding));
}

void Outcome::addSeenInPart(Finding finding, std::string_view change) {
  const auto gain = facts_.play(change);
  if (!gain || !gain->touched || facts_.isWorthActing(gain->gainNs()))
    return addBounded(std::move(finding), change);
  finding.notPredicted =
      "it hardly holds up the threads that launch, and what others lose by it is not replayed";
  finish(std::move(finding));
}

/// A finding that costs and gains next to nothing is none. Where neither is known, it may be
/// anything.
bool Outcome::isWorthListing(const Finding& finding) const {
  const bool isPriced = finding.costNsPerStep > 0 || finding.gainBasis != GainBasis::None;
  if (!isPriced || finding.gainBasis == GainBasis::Bytes) return true;
  return facts_.isWorthActing(std::max(finding.costNsPerStep, finding.predictedGainNsPerStep));
}

/// Plain steps show what all bands of a step should add up to. Those of a cost are then as much too
/// large or too small.
void Outcome::addRecording(Finding& finding) const {
  const Analysis& analysis = facts_.analysis;
  const SelfOverhead& measured = analysis.of<SelfOverhead>();
  const std::int64_t bandsNs = analysis.meanStepBands().totalNs();
  finding.stepRecordingNs = measured.plainSteps > 0 ? measured.detailNsPerStep : bandsNs;
  const double fit =
      bandsNs > 0 ? static_cast<double>(finding.stepRecordingNs) / static_cast<double>(bandsNs) : 1;
  // Where no entry of the ledger shows how much that is of this cost, it is as much as of the step.
  const bool isKnown = !facts_.rule().prices.empty() && finding.costNsPerStep > 0 && bandsNs > 0;
  finding.recordedShare =
      isKnown ? std::min(1.0, fit * shareOf(finding.recordingNsPerStep, finding.costNsPerStep))
              : shareOf(finding.stepRecordingNs, finding.fullStepNs);
}

void Outcome::finish(Finding finding) {
  const Analysis& analysis = facts_.analysis;
  finding.id = facts_.rule().id;
  finding.kind = facts_.rule().kind;
  finding.severity = facts_.rule().severity;
  takeGain(finding);
  // Some rules read a gain off the trace, without a replay.
  if (finding.predictedGainNsPerStep > 0 && finding.baseNsPerStep == 0)
    finding.baseNsPerStep = facts_.unchangedStepNs();
  const std::int64_t iterationNs =
      finding.pausesNsPerStep > 0 ? analysis.of<RunPhases>().iterationNs() : 0;
  finding.fullStepNs = std::max({analysis.meanStepNs(), finding.baseNsPerStep, iterationNs});
  finding.accountedNsPerStep = std::min(finding.costNsPerStep, finding.fullStepNs);
  finding.costNsPerStep = std::min(atLeastItsGain(finding), finding.fullStepNs);
  // The interval is that of the replayed step.
  if (finding.costNsPerStep > 0 && finding.gainBasis != GainBasis::None)
    finding.gainChain.high.atMost(kLost, finding.costNsPerStep);
  takeGain(finding);
  finding.recordingNsPerStep = recordingIn(finding);
  addRecording(finding);
  const double weight =
      facts_.shareOfStep(std::max(finding.costNsPerStep, finding.predictedGainNsPerStep));
  if (finding.costNsPerStep > 0 || finding.predictedGainNsPerStep > 0)
    finding.severity = weight >= kHigh     ? Severity::High
                       : weight >= kMedium ? Severity::Medium
                                           : Severity::Low;
  if (!isWorthListing(finding)) return;
  // A change may gain the time between the marked steps too: a share is never of less than it is
  // taken from.
  finding.coversGaps =
      !analysis.steps.all.empty() && static_cast<double>(finding.baseNsPerStep) >
                                         kGaps * static_cast<double>(analysis.meanStepNs());
  finding.title = titleOf(finding, !analysis.steps.all.empty());
  reported_.findings.push_back(std::move(finding));
}

}  // namespace lacuna::analyzer
