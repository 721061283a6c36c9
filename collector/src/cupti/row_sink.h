// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "lacuna/prof/events.h"

namespace lacuna::collector::cupti {

/// Where decoded rows go. Ids in the rows: StringId from name(); ThreadId is the operating system's
/// thread id; DeviceId and QueueId are numbers of the decoder's choice, and their Device and Queue
/// rows come before rows that refer to them.
class RowSink {
 public:
  virtual ~RowSink() = default;
  /// Rows come next, or none came for a while.
  virtual void beforeRows() {}
  virtual prof::StringId name(std::string_view text) = 0;
  virtual void put(const prof::Device& row) = 0;
  virtual void put(const prof::Queue& row) = 0;
  virtual void put(const prof::Kernel& row) = 0;
  virtual void put(const prof::Memcpy& row) = 0;
  virtual void put(const prof::Memset& row) = 0;
  virtual void put(const prof::ApiCall& row) = 0;
  virtual void put(const prof::Sync& row) = 0;
  virtual void put(const prof::Allocation& row) = 0;
  virtual void put(const prof::Overhead& row) = 0;
  virtual void put(const prof::CounterTrack& row) = 0;
  virtual void put(const prof::CounterSample& row) = 0;
  virtual void put(const prof::GraphNode& row) = 0;
};

}  // namespace lacuna::collector::cupti
