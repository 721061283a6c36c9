// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace lacuna::analyzer {

/// A map from correlation ids to rows for building once and asking often; the last row of an id
/// wins. Ids mostly count up, so they index pages: 4 bytes an id. Where they turn out to be
/// scattered, a hash table takes over.
class CorrelationMap {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  void set(std::uint64_t id, std::uint32_t row) {
    if (scattered_) {
      rows_[id] = row;
      return;
    }
    std::uint32_t& slot = pageFor(id)[id % kPage];
    count_ += slot == kNone;
    slot = row;
    if (pages_.size() > kTrial && count_ < pages_.size() * (kPage / 16)) scatter();
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t id) const {
    if (scattered_) {
      const auto found = rows_.find(id);
      return found == rows_.end() ? kNone : found->second;
    }
    if (id / kPage == lastNumber_ && last_ != nullptr) return (*last_)[id % kPage];
    const auto found = pages_.find(id / kPage);
    if (found == pages_.end()) return kNone;
    lastNumber_ = id / kPage;
    last_ = found->second.get();
    return (*last_)[id % kPage];
  }

 private:
  static constexpr std::uint64_t kPage = 512;
  static constexpr std::size_t kTrial = 1024;  // pages before their filling is judged
  using Page = std::array<std::uint32_t, kPage>;

  Page& pageFor(std::uint64_t id) {
    if (id / kPage != lastNumber_ || last_ == nullptr) {
      auto& page = pages_[id / kPage];
      if (!page) {
        page = std::make_unique<Page>();
        page->fill(kNone);
      }
      lastNumber_ = id / kPage;
      last_ = page.get();
    }
    return *last_;
  }
  void scatter() {
    scattered_ = true;
    for (const auto& [number, page] : pages_) {
      for (std::uint64_t i = 0; i < kPage; ++i) {
        if ((*page)[i] != kNone) rows_[number * kPage + i] = (*page)[i];
      }
    }
    pages_.clear();
    last_ = nullptr;
  }

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::unordered_map<std::uint64_t, std::uint32_t> rows_;
  mutable std::uint64_t lastNumber_ = 0;  // neighbours follow one another
  mutable Page* last_ = nullptr;
  std::size_t count_ = 0;
  bool scattered_ = false;
};

}  // namespace lacuna::analyzer
