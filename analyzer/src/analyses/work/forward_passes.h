// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lacuna/analyzer/scope.h"

namespace lacuna::analyzer {

/// The first tensor among an operator's shapes, as our recordings ("f32[8,4] f32[2,4]") or Kineto
/// ("[[8, 4], [2, 4]]") give them.
struct FirstTensor {
  std::string_view text;  ///< "f32[8,4]" or "[8, 4]"; empty where there is none
  std::int64_t rows = 0;  ///< its first dimension; 0 where it has none
};
FirstTensor firstTensorOf(std::string_view shapes);

/// The forward passes that backward passes answer, in the counted steps. Passes are alike where the
/// first operators with shapes take the same. Several alike ones before one backward could be one
/// pass over all their inputs. All is 0 where these phases are not marked, or shapes are not
/// recorded.
struct ForwardPasses {
  std::uint64_t backwards = 0;
  std::uint64_t alike = 0;  ///< of the passes before each backward, the largest group of alike ones
  std::string input;        ///< the first tensor of the most frequent group
  std::int64_t inputRows = 0;  ///< its first dimension
  std::int64_t ns =
      0;  ///< of the alike passes on their threads, with as large a part of the backwards
  prof::TimeWindow longest{0, 0};  ///< the stretch of the longest such passes and their backward

  [[nodiscard]] double perBackward() const {
    return backwards == 0 ? 0 : static_cast<double>(alike) / static_cast<double>(backwards);
  }
};

prof::Result<ForwardPasses> forwardPasses(const Store& store, prof::TimeWindow window,
                                          const TableScope& scope = {});

}  // namespace lacuna::analyzer
