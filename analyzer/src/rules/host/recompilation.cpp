// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "lacuna/analyzer/timeline.h"
#include "rules/host/phase_cost.h"

namespace lacuna::analyzer {
namespace rules::recompilation {
namespace {

constexpr Threshold kLeast{"least", 0.03, Unit::Share,
                           "Compilations of the first steps are over then, or nearly."};
constexpr std::array kThresholds{kLeast};

constexpr Confidence kSure{"", 0.8,
                           "PyTorch reports each compilation, and none of its time trains."};
constexpr std::array kConfidences{kSure};

constexpr std::array kPhases{kCompilePhase};

/// The place and the reason that most recompilations within the window have; empty without any.
std::string commonestReason(const Analysis& analysis) {
  const Store& store = *analysis.store;
  const auto name = store.find(kRecompilationMark);
  if (!name) return {};
  std::map<prof::StringId, std::uint64_t> counts;
  (void)store.scan<&prof::Mark::name, &prof::Mark::text>(
      analysis.window, [&](std::uint64_t, auto names, auto texts) {
        for (std::size_t i = 0; i < names.size(); ++i) {
          if (names[i] == name) ++counts[texts[i]];
        }
      });
  if (counts.empty()) return {};
  const auto most = std::ranges::max_element(counts, std::less(),
                                             [](const auto& reason) { return reason.second; });
  return std::string(store.text(most->first));
}

void detect(const Facts& facts, Outcome& out) {
  auto finding = phaseFinding(facts, kLeast);
  if (!finding) return;
  finding->words = "the program compiles code {times} while it trains{: cost a step}";
  finding->quantities = {Quantity::counted("times", finding->count, "time")};
  finding->confidence = kSure;
  finding->advice =
      "give compiled code inputs of few shapes (pad batches, drop the last short one), or compile "
      "with dynamic=True; keep numbers that change (a learning rate, a step's index) in tensors";
  if (const std::string reason = commonestReason(facts.analysis); !reason.empty())
    finding->advice += "; most often: " + reason;
  out.addAsItIs(*std::move(finding));
}

}  // namespace
}  // namespace rules::recompilation

constinit const FindingRule kRecompilationRule{
    .id = FindingId::Recompilation,
    .key = "recompilations",
    .area = FindingArea::Host,
    .kind = FindingKind::Fault,
    .cost = CostIs::OfPhases,
    .phases = rules::recompilation::kPhases,
    .thresholds = rules::recompilation::kThresholds,
    .confidences = rules::recompilation::kConfidences,
    .meaning = "torch.compile compiles code again and again in the training loop.",
    .when = "phases named `compile`, in and between steps, take ≥ {least} of the time of training",
    .fix = "code; read off the trace: no compilation takes time of the training thread",
    .refutedBy = "a run whose compiled code gets inputs of one shape that takes as long",
    .detect = rules::recompilation::detect,
};

}  // namespace lacuna::analyzer
