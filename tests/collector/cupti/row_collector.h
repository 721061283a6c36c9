// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "cupti/row_sink.h"

namespace lacuna::collector::cupti {

/// Keeps the rows of a decoder for a test to look at.
class RowCollector : public RowSink {
 public:
  prof::StringId name(std::string_view text) override {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      if (texts_[i] == text) return prof::StringId(static_cast<std::uint32_t>(i));
    }
    texts_.emplace_back(text);
    return prof::StringId(static_cast<std::uint32_t>(texts_.size() - 1));
  }
  [[nodiscard]] const std::string& text(prof::StringId id) const { return texts_.at(id.value); }

  void put(const prof::Device& row) override { keep(row); }
  void put(const prof::Queue& row) override { keep(row); }
  void put(const prof::Kernel& row) override { keep(row); }
  void put(const prof::Memcpy& row) override { keep(row); }
  void put(const prof::Memset& row) override { keep(row); }
  void put(const prof::ApiCall& row) override { keep(row); }
  void put(const prof::Sync& row) override { keep(row); }
  void put(const prof::Allocation& row) override { keep(row); }
  void put(const prof::Overhead& row) override { keep(row); }
  void put(const prof::CounterTrack& row) override { keep(row); }
  void put(const prof::CounterSample& row) override { keep(row); }
  void put(const prof::GraphNode& row) override { keep(row); }

  bool operator==(const RowCollector& other) const {
    return texts_ == other.texts_ && rows_ == other.rows_;
  }

  template <class Row>
  [[nodiscard]] const std::vector<Row>& all() const {
    return std::get<std::vector<Row>>(rows_);
  }

 private:
  template <class Row>
  void keep(const Row& row) {
    std::get<std::vector<Row>>(rows_).push_back(row);
  }
  template <class... Row>
  using Lists = std::tuple<std::vector<Row>...>;

  std::vector<std::string> texts_{""};
  Lists<prof::Device, prof::Queue, prof::Kernel, prof::Memcpy, prof::Memset, prof::ApiCall,
        prof::Sync, prof::Allocation, prof::Overhead, prof::CounterTrack, prof::CounterSample,
        prof::GraphNode>
      rows_;
};

}  // namespace lacuna::collector::cupti
