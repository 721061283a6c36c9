// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace lacuna::analyzer {

/// A pause is no call of an operator where it takes so many times as long as the usual one.
inline constexpr std::int64_t kLongPauses = 10;
/// An interpreter that has a core takes less than the one from one operator to the next, and no
/// interpreter takes the other.
inline constexpr std::int64_t kLeastLongPauseNs = 100'000, kMostLongPauseNs = 500'000;

/// The pauses of devices between two pieces of work, while the host worked, by their length. It
/// needs the same memory for any number of them.
class PauseLengths {
 public:
  /// `countedNs` of the pause are in the steps that count.
  void add(std::int64_t lengthNs, std::int64_t countedNs);
  /// The length from which a pause is no call of an operator.
  [[nodiscard]] std::int64_t longNs() const;
  /// The time that counts, of all pauses that are at least so long.
  [[nodiscard]] std::int64_t countedLongNs() const;

 private:
  /// Lengths differ by less than a tenth within one of these.
  static constexpr double kBucketsPerOctave = 8;
  static constexpr std::size_t kOctaves = 64;
  struct Bucket {
    std::uint64_t pauses = 0;
    std::int64_t countedNs = 0;
  };

  static std::size_t bucketOf(std::int64_t lengthNs);
  [[nodiscard]] std::int64_t usualNs() const;

  std::array<Bucket, static_cast<std::size_t>(kBucketsPerOctave) * kOctaves> buckets_{};
  std::uint64_t pauses_ = 0;
};

}  // namespace lacuna::analyzer
