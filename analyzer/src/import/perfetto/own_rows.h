// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The rows of a trace that our own export keeps in the packets of a Perfetto file, beside the
/// track events.
class PerfettoOwnRows {
 public:
  explicit PerfettoOwnRows(StoreBuilder& builder) : builder_(builder) {}

  /// Appends the rows of a packet's field; false where it is not well-formed.
  bool read(std::string_view bytes);
  /// True when there was one, so that the track events are the same rows once more.
  [[nodiscard]] bool any() const { return any_; }

 private:
  StoreBuilder& builder_;
  std::vector<prof::StringId> texts_{prof::StringId()};
  bool any_ = false;
};

}  // namespace lacuna::analyzer
