// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/time/bottleneck.h"

#include "analyses/parts.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

/// From which share of a step on something is moderate, and high. Input is spread over more of a
/// step as a rule.
struct Limits {
  double moderate, high;
};
constexpr Limits kInput{0.05, 0.2};
constexpr Limits kOther{0.03, 0.15};

BoundBy boundOf(Cause cause) {
  switch (cause) {
    case Cause::Compute:
      return BoundBy::Device;
    case Cause::LoaderWait:
      return BoundBy::Input;
    case Cause::ExposedCommunication:
      return BoundBy::Communication;
    case Cause::ExposedCopy:
      return BoundBy::Copy;
    case Cause::Unknown:
    case Cause::Dependency:
      return BoundBy::Other;
    default:
      return BoundBy::Host;
  }
}

Tier tierOf(BoundBy bound, double share) {
  const Limits& limits = bound == BoundBy::Input ? kInput : kOther;
  return share >= limits.high ? Tier::High : share >= limits.moderate ? Tier::Moderate : Tier::None;
}

}  // namespace

std::string_view boundName(BoundBy bound) {
  constexpr std::string_view kNames[]{"device", "input", "host",   "communication",
                                      "copy",   "other", "nothing"};
  return kNames[static_cast<std::size_t>(bound)];
}

std::string_view tierName(Tier tier) {
  constexpr std::string_view kNames[]{"none", "moderate", "high"};
  return kNames[static_cast<std::size_t>(tier)];
}

Bottleneck bottleneckOf(const Ledger& step) {
  Bottleneck out;
  for (std::size_t i = 0; i < kCauseCount; ++i)
    prof::addTo(out.shares[static_cast<std::size_t>(boundOf(static_cast<Cause>(i)))].nsPerStep,
                step.ns[i]);
  const auto allNs = static_cast<double>(std::max<std::int64_t>(1, step.totalNs()));
  out.by = BoundBy::Device;
  for (std::size_t i = 0; i < kBoundCount; ++i) {
    BoundShare& part = out.shares[i];
    const auto bound = static_cast<BoundBy>(i);
    part.share = static_cast<double>(part.nsPerStep) / allNs;
    part.tier = tierOf(bound, part.share);
    // Compute is what a step is for: it binds where nothing else takes much of the step.
    const bool isWorse = out.by == BoundBy::Device || part.share > out[out.by].share;
    if (bound != BoundBy::Device && part.tier == Tier::High && isWorse) out.by = bound;
  }
  return out;
}

namespace of_bottleneck {
namespace {

prof::Status compute(Analysis& analysis) {
  if (!analysis.devices.empty())
    analysis.of<Bottleneck>() = bottleneckOf(analysis.meanStepLedger());
  return {};
}

}  // namespace
}  // namespace of_bottleneck

constinit const AnalysisPart parts::bottleneck{
    .name = "bottleneck",
    .compute = of_bottleneck::compute,
};

}  // namespace lacuna::analyzer
