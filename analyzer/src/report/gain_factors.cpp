// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/gain_factors.h"

#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::analyzer {

std::string gainFactors(const Analysis& analysis, const Finding& finding) {
  const std::string knob = finding.knob.substr(0, finding.knob.find('='));
  if (finding.gainBasis != GainBasis::Replay || !Calibration::isFor(knob)) return {};
  const auto& calibration = analysis.options.calibration;
  return (calibration ? *calibration : Calibration::builtIn()).sourceOf(knob);
}

}  // namespace lacuna::analyzer
