// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/result.h"

/// Gains of kernels by the knobs that change them (Calibration::knobs()): factors on their durations, by kind of
/// kernel and by how long it takes. Built in, or measured on a machine by `lacuna calibrate`. docs/calibration.md.
namespace lacuna::analyzer {

/// What a knob leaves of a duration: most likely, and between what.
struct DurationFactor {
  double likely = 1, low = 1, high = 1;
};

enum class KernelKind : std::uint8_t { Product, Convolution, Pointwise, Copy, Other };
/// Of a kernel, by its name. Of matrix work what is no convolution is a product.
KernelKind kernelKindOf(std::string_view name);

class Calibration {
 public:
  struct Row {
    std::string knob;
    std::vector<KernelKind> kinds;  ///< that it is about
    std::int64_t fromNs = 0;        ///< of durations without the knob
    std::int64_t toNs = INT64_MAX;  ///< not included
    DurationFactor factor;
  };

  /// Takes the place of what is not measured.
  static const Calibration& builtIn();
  /// Errors name the file, the row and what is wrong with it.
  static prof::Result<Calibration> read(const std::filesystem::path& path);

  /// Of a kernel, or of what a knob is about. Of several rows the one about the fewest kinds counts, of these the one
  /// whose durations are nearest.
  [[nodiscard]] DurationFactor factor(std::string_view knob, KernelKind kind, std::int64_t durNs) const;
  /// The knobs whose predictions rest on such factors, by name.
  static std::vector<std::string_view> knobs();
  static bool isFor(std::string_view knob);
  /// Where the factors of a knob come from, in words for people.
  [[nodiscard]] std::string sourceOf(std::string_view knob) const;

 private:
  [[nodiscard]] bool tells(std::string_view knob, KernelKind kind) const;

  std::vector<Row> rows_;
  std::string source_;  ///< empty for the built-in one
};

/// The file that the variable LACUNA_CALIBRATION names; null where it is not set.
prof::Result<std::shared_ptr<const Calibration>> calibrationOfEnvironment();

}  // namespace lacuna::analyzer
