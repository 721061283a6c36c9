// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lacuna::samples {

/// Pictures of 8 × 8 pixels (0 to 16) with a label from 0 to 9.
struct Digits {
  std::vector<float> pixels;  ///< 64 per picture
  std::vector<std::int64_t> labels;
  [[nodiscard]] std::size_t size() const { return labels.size(); }
};
inline constexpr std::int64_t kDigitPixels = 64;

/// Strokes of seven segments, shifted, scaled and blurred by noise: a stand-in that needs no file.
Digits syntheticDigits(std::size_t count, std::uint64_t seed);
/// Lines of 64 pixels and the label, separated by commas, plain or gzipped: scikit-learn's
/// digits.csv.gz. Throws std::runtime_error naming file and line.
Digits readDigits(const std::string& file);
/// The last fifth of a fixed shuffle of `all`, for testing; the rest stays.
Digits takeTestSet(Digits& all, std::uint64_t seed);

}  // namespace lacuna::samples
