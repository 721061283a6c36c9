// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>

#include "core/clock.h"
#include "cupti/row_sink.h"
#include "cupti/window.h"
#include "lacuna/prof/trace.h"

namespace lacuna::collector::cupti {

/// Puts rows into the recording of this process: of events those that began while it was on, and
/// everything that they may refer to.
class RecordSink : public RowSink {
 public:
  /// `control` is the page that switches the recording; null: it is always on.
  explicit RecordSink(const Control* control) : window_(control) {}

  void beforeRows() override {
    window_.follow();
    recordWaiting(nowNs() - kDescribedWithinNs);
  }
  /// To be called at the end, from whichever thread that is.
  void finish() { recordWaiting(nowNs()); }
  prof::StringId name(std::string_view text) override {
    return prof::StringId(text.empty() ? 0 : lacunaNameN(text.data(), text.size()));
  }
  /// Work may come before the record that describes its device, and a trace holds a device once.
  void put(const prof::Device& row) override {
    if (row.name) {
      waiting_.erase(row.id);
      described_.insert(row.id);
      prof::record(row);
    } else if (!described_.contains(row.id)) {
      waiting_.try_emplace(row.id, Waiting{row, nowNs()});
    }
  }
  void put(const prof::Queue& row) override { prof::record(row); }
  void put(const prof::Kernel& row) override { recordIfOn(row, row.startNs); }
  void put(const prof::Memcpy& row) override { recordIfOn(row, row.startNs); }
  void put(const prof::Memset& row) override { recordIfOn(row, row.startNs); }
  void put(const prof::ApiCall& row) override { recordIfOn(row, row.startNs); }
  void put(const prof::Sync& row) override { recordIfOn(row, row.startNs); }
  void put(const prof::Allocation& row) override { recordIfOn(row, row.timeNs); }
  void put(const prof::Overhead& row) override { recordIfOn(row, row.startNs); }
  void put(const prof::CounterTrack& row) override { prof::record(row); }
  void put(const prof::CounterSample& row) override { recordIfOn(row, row.timeNs); }
  /// Work that is recorded later refers to it.
  void put(const prof::GraphNode& row) override { prof::record(row); }

 private:
  template <class Row>
  void recordIfOn(const Row& row, prof::TimeNs at) {
    if (window_.on(at)) prof::record(row);
  }

  void recordWaiting(prof::TimeNs since) {
    std::erase_if(waiting_, [&](const auto& entry) {
      const Waiting& waiting = entry.second;
      if (waiting.sinceNs <= since) prof::record(waiting.row);
      return waiting.sinceNs <= since;
    });
  }

  struct Waiting {
    prof::Device row;
    prof::TimeNs sinceNs;
  };
  static constexpr prof::TimeNs kDescribedWithinNs = 500'000'000;

  Window window_;
  std::set<prof::DeviceId> described_;
  std::map<prof::DeviceId, Waiting> waiting_;
};

}  // namespace lacuna::collector::cupti
