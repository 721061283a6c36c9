// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/statistics.h"

#include <array>
#include <cmath>
#include <numeric>

namespace lacuna::cli::tune {
namespace {

double meanOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squaresAround(std::span<const double> values, double mean) {
  return std::accumulate(values.begin(), values.end(), 0.0, [&](double sum, double value) {
    return sum + (value - mean) * (value - mean);
  });
}

}  // namespace

double studentQuantile(std::size_t degrees) {
  constexpr std::array kQuantiles{12.706, 4.303, 3.182, 2.776, 2.571,
                                  2.447,  2.365, 2.306, 2.262, 2.228};
  constexpr double kOfMany = 1.96;
  if (degrees == 0) return HUGE_VAL;
  if (degrees <= kQuantiles.size()) return kQuantiles[degrees - 1];
  // Its expansion around the normal distribution, 0.1 % off at 11 degrees.
  const double n = static_cast<double>(degrees), z = kOfMany, square = z * z;
  return z * (1 + (square + 1) / (4 * n) + (5 * square * square + 16 * square + 3) / (96 * n * n));
}

void Noise::add(std::span<const double> pairs) {
  if (pairs.size() < 2) return;
  squares_ += squaresAround(pairs, meanOf(pairs));
  degrees_ += pairs.size() - 1;
}

double Noise::deviation() const {
  return degrees_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(degrees_));
}

Estimate estimate(std::span<const double> pairs, const Noise& all) {
  Estimate out;
  out.pairs = pairs.size();
  if (pairs.empty()) return out;
  const double mean = meanOf(pairs);
  out.share = out.low = out.high = shareOf(mean);
  Noise own;
  own.add(pairs);
  const bool isOwn = pairs.size() >= kOwnNoise || own.deviation() >= all.deviation();
  const Noise& noise = isOwn ? own : all;
  if (noise.degrees() == 0) return out;
  const double half = studentQuantile(noise.degrees()) * noise.deviation() /
                      std::sqrt(static_cast<double>(pairs.size()));
  out.low = shareOf(mean - half);
  out.high = shareOf(mean + half);
  out.known = half > 0;
  return out;
}

double pairOf(double before, double after) {
  return before > 0 && after > 0 ? std::log(before / after) : 0;
}

double shorterBy(double before, double after) {
  return before > 0 ? (before - after) / before : 0;
}

double shareOf(double logarithm) {
  return 1 - std::exp(-logarithm);
}

}  // namespace lacuna::cli::tune
