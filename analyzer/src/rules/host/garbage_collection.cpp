// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "lacuna/analyzer/timeline.h"
#include "rules/host/phase_cost.h"

namespace lacuna::analyzer {
namespace rules::garbage_collection {
namespace {

constexpr Threshold kLeast{"least", 0.03, Unit::Share,
                           "An interpreter collects now and then, for less than that."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{"", 0.8,
                           "The interpreter reports each collection, and none of its time trains."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPhases{kGarbageCollection};

void detect(const Facts& facts, Outcome& out) {
  auto finding = phaseFinding(facts, kLeast);
  if (!finding) return;
  finding->words = "the interpreter collects garbage {times} over all objects{: cost a step}";
  finding->quantities = {Quantity::counted("times", finding->count, "time")};
  finding->confidence = kSure;
  finding->advice =
      "call gc.freeze() in front of the loop, so that what set-up made is not searched again; "
      "leave gc.collect() out of the loop, or call gc.disable() and collect every few hundred "
      "steps";
  out.addAsItIs(*std::move(finding));
}

}  // namespace
}  // namespace rules::garbage_collection

constinit const FindingRule kGarbageCollectionRule{
    .id = FindingId::GarbageCollection,
    .key = "garbage-collection",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .cost = CostIs::OfPhases,
    .phases = rules::garbage_collection::kPhases,
    .thresholds = rules::garbage_collection::kThresholds,
    .confidences = rules::garbage_collection::kConfidences,
    .meaning = "The interpreter searches all of its objects for garbage in the training loop.",
    .when =
        "phases named `garbage collection`, in and between steps, take ≥ {least} of the time of "
        "training",
    .fix = "code; read off the trace: no collection takes time of the training thread",
    .refutedBy = "a run with gc.disable() in front of its loop that takes as long",
    .detect = rules::garbage_collection::detect,
};

}  // namespace lacuna::analyzer
