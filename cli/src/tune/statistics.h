// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Judges the measurements of `lacuna tune`. Plain functions of numbers.
namespace lacuna::cli::tune {

/// The quantile 0.975 of Student's distribution: half of an interval that 19 of 20 lie in, in
/// standard errors.
double studentQuantile(std::size_t degrees);

/// A share with its interval: by how much shorter a step is, negative where it is longer.
struct Estimate {
  double share = 0;
  double low = 0, high = 0;  ///< both as `share` where nothing is known of the noise
  std::size_t pairs = 0;
  bool known = false;  ///< the interval is one
};

/// Collects the pairs of all comparisons: how much two runs that should be alike differ is learnt
/// from all of them.
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

/// Pairs from which on they show their own noise.
inline constexpr std::size_t kOwnNoise = 4;

/// The mean of the pairs, back as a share. Its interval uses the deviation of these pairs. Where
/// they are fewer than kOwnNoise, it uses the deviation of all pairs if that is larger. So a few
/// pairs that agree by chance do not look certain.
Estimate estimate(std::span<const double> pairs, const Noise& all);

/// The natural logarithm of before / after: a pair. Its noise is alike, be the one or the other
/// disturbed.
double pairOf(double before, double after);
/// By how much shorter `after` is than `before`, of `before`.
double shorterBy(double before, double after);
/// The share that such a logarithm stands for.
double shareOf(double logarithm);

}  // namespace lacuna::cli::tune
