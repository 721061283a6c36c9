// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/gain_limits.h"

namespace lacuna::analyzer {

/// Parts of a prediction's standard deviation, each relative to the predicted step; added in squares.
struct PredictionDoubt {
  double knownError = 0;       ///< the greatest of the changes'
  std::string_view knownFrom;  ///< where that was measured
  double miss = 0;             ///< of the unchanged replay
  double noise = 0;            ///< of the recorded steps
  double others = 0;           ///< other programs may take more or less of the cores in the next run
  NamedNumber sigmas{};        ///< half of the interval's width
  [[nodiscard]] double sigma() const;
};

struct Prediction {
  std::int64_t measuredNsPerStep = 0;
  std::int64_t baseNsPerStep = 0;  ///< the simulation without a change; how far it is from measured says how good it is
  std::int64_t predictedNsPerStep = 0;
  /// The interval that 19 of 20 measured steps should lie in: from the spread of the recorded steps, how far the
  /// unchanged replay is off, what is known of the model's error and, where a change rests on one, its calibration.
  std::int64_t lowNsPerStep = 0;
  std::int64_t highNsPerStep = 0;
  /// The time that the change takes off the program's pieces: no step becomes shorter by more than that. Nothing where
  /// the change also removes waits, since those may have been for anything.
  std::optional<std::int64_t> takenNsPerStep;
  std::int64_t workTakenNsPerStep = 0;  ///< by how much the devices' work becomes less
  bool touched = false;              ///< something that was recorded would change; else the replay knows nothing of it
  double confidence = 0;             ///< that at least half of the gain comes true
  std::vector<std::string> notes;    ///< assumptions, in words for people
  std::int64_t playedNsPerStep = 0;  ///< as replayed with the changes, before any limit on the step
  GainLimits limits;                 ///< in the order in which the prediction passed them
  PredictionDoubt doubt;

  [[nodiscard]] std::int64_t gainNs() const { return baseNsPerStep - predictedNsPerStep; }
  /// The share of the unchanged step, which lasts from the end of one step to the end of the next.
  [[nodiscard]] double gainShare() const {
    return baseNsPerStep <= 0 ? 0 : static_cast<double>(gainNs()) / static_cast<double>(baseNsPerStep);
  }
};

}  // namespace lacuna::analyzer
