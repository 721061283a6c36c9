// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// How `lacuna tune` judges measurements. Plain functions of numbers.
namespace lacuna::cli::tune {

/// The quantile 0.975 of Student's distribution: half of an interval that 19 of 20 lie in, in standard errors.
double studentQuantile(std::size_t degrees);

/// A share with its interval: by how much shorter a step is, negative where it is longer.
struct Estimate {
  double share = 0;
  double half = 0;  ///< of the interval's width; 0 where nothing is known of the noise
  std::size_t pairs = 0;

  [[nodiscard]] double low() const { return share - half; }
  [[nodiscard]] double high() const { return share + half; }
  [[nodiscard]] bool known() const { return pairs > 0 && half > 0; }
};

/// Collects the pairs of all comparisons: how much two runs that should be alike differ is learnt from all of them.
class Noise {
 public:
  /// By how much each pair of one comparison differs from their mean.
  void add(std::span<const double> pairs);

  [[nodiscard]] std::size_t degrees() const { return degrees_; }
  /// Standard deviation of one pair; 0 where nothing is known.
  [[nodiscard]] double deviation() const;

 private:
  double squares_ = 0;
  std::size_t degrees_ = 0;
};

/// The mean of the pairs. Its interval uses the deviation of these pairs or of all, whichever is larger, so that a few
/// pairs that agree by chance do not look certain.
Estimate estimate(std::span<const double> pairs, const Noise& all);

/// By how much shorter b is than a: a pair.
double shorterBy(double a, double b);

}  // namespace lacuna::cli::tune
