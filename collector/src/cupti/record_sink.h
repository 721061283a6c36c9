// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cupti/row_sink.h"
#include "lacuna/prof/trace.h"

namespace lacuna::collector::cupti {

/// Puts rows into the recording of this process.
class RecordSink : public RowSink {
 public:
  prof::StringId name(std::string_view text) override {
    return prof::StringId(text.empty() ? 0 : lacunaNameN(text.data(), text.size()));
  }
  void put(const prof::Device& row) override { prof::record(row); }
  void put(const prof::Queue& row) override { prof::record(row); }
  void put(const prof::Kernel& row) override { prof::record(row); }
  void put(const prof::Memcpy& row) override { prof::record(row); }
  void put(const prof::Memset& row) override { prof::record(row); }
  void put(const prof::ApiCall& row) override { prof::record(row); }
  void put(const prof::Sync& row) override { prof::record(row); }
  void put(const prof::Allocation& row) override { prof::record(row); }
  void put(const prof::Overhead& row) override { prof::record(row); }
  void put(const prof::CounterTrack& row) override { prof::record(row); }
  void put(const prof::CounterSample& row) override { prof::record(row); }
};

}  // namespace lacuna::collector::cupti
