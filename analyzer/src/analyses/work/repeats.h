// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Follows the kernels of one queue and notices when a short sequence of tiny ones repeats many
/// times in a row: a loop over samples or rows that one operator would do.
class Repeats {
 public:
  /// Positions among the kernels that were added: [from, to), in sequences of `period` kernels.
  struct Run {
    std::size_t from = 0;
    std::size_t to = 0;
    std::size_t period = 1;
  };
  using Found = std::function<void(const Run&)>;

  Repeats(const Store& store, Found found) : store_(store), found_(std::move(found)) {}

  void add(prof::StringId name, std::int64_t durNs);
  /// Nothing is added any more.
  void finish();
  /// The names of one round, "softmax, max, add_".
  [[nodiscard]] std::string sequenceOf(const Run& run) const;

 private:
  /// Sequences of at most this many kernels are looked for.
  static constexpr std::size_t kLongest = 6;

  struct Kernel {
    prof::StringId name;
    std::int64_t durNs;
  };
  void close(std::size_t period, std::size_t at);

  const Store& store_;
  Found found_;
  std::vector<Kernel> recent_;
  std::array<std::size_t, kLongest> streaks_{};
  std::size_t countedUntil_ = 0;
};

}  // namespace lacuna::analyzer
