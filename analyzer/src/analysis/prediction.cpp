// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lacuna/analyzer/findings.h"

namespace lacuna::analyzer {

double PredictionDoubt::sigma() const {
  return std::sqrt(knownError * knownError + miss * miss + noise * noise + others * others);
}

}  // namespace lacuna::analyzer
