// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace lacuna::analyzer {

/// A map from numbers (correlation ids) to rows, made for building once and asking often. The first
/// row of a number wins.
class RowMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  explicit RowMap(std::size_t expected = 0) {
    std::size_t slots = 16;
    while (slots < expected * 2) slots *= 2;
    slots_.resize(slots);
  }

  void add(std::uint64_t key, std::uint32_t row) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    for (std::size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].row == kNone) {
        slots_[at] = {key, row};
        ++count_;
        return;
      }
      if (slots_[at].key == key) return;
    }
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const {
    for (std::size_t at = place(key);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].row == kNone || slots_[at].key == key) return slots_[at].row;
    }
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t row = kNone;
  };

  // Neighbouring ids stay neighbours, which keeps the walk over a trace in cache; the shift spreads
  // ids with a high part.
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    return (key ^ (key >> 32) * 0x9E3779B97F4A7C15) & (slots_.size() - 1);
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    count_ = 0;
    for (const Slot& slot : old) {
      if (slot.row != kNone) add(slot.key, slot.row);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace lacuna::analyzer
