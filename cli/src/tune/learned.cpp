// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/learned.h"

namespace lacuna::cli::tune {
namespace {

/// A try that was judged by its time.
bool wasMeasured(Verdict verdict) {
  return verdict == Verdict::Kept || verdict == Verdict::NoGain || verdict == Verdict::Slower;
}

/// Settings that a finding prices, as `threads`, are no changes that a replay can play.
bool isPlayed(const collector::Setting& setting) {
  return analyzer::parseChange(setting.text()).ok();
}

}  // namespace

std::vector<analyzer::Calibration::Outcome> outcomesOf(const Result& result) {
  std::vector<analyzer::Calibration::Outcome> outcomes;
  for (const Try& one : result.tries) {
    if (!one.priced.predicted || !wasMeasured(one.judgement.verdict)) continue;
    if (!isPlayed(one.priced.setting)) continue;
    outcomes.push_back({.knob = one.priced.setting.name,
                        .predicted = one.priced.gainShare,
                        .measured = one.judgement.measured.share});
  }
  return outcomes;
}

}  // namespace lacuna::cli::tune
