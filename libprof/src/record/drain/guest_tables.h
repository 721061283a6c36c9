// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/drain/trace_state.h"
#include "record/layout.h"

namespace lacuna::prof::recording {

/// A name of the guest, as the trace knows it.
struct ResolvedName {
  StringId name, domain, category;
  std::uint32_t colour = 0;
};

/// The names and numbers of one recorder, turned into those of the trace when they are first met.
/// Whatever the mapping holds, the answers are valid; a name that makes no sense is the empty one.
class GuestTables {
 public:
  GuestTables(View view, TraceState& trace) : view_(view), trace_(trace) {
    resolved_.push_back({});
  }

  const ResolvedName& name(std::uint32_t id) {
    if (id < indexOf_.size() && indexOf_[id] != 0) return resolved_[indexOf_[id]];
    return resolve(id, 0);
  }
  StringId text(std::uint32_t id) { return id == 0 ? StringId{} : name(id).name; }
  [[nodiscard]] std::string_view rawText(std::uint32_t id) const {
    bool site = false;
    const std::string_view bytes = body(id, site);
    return site ? std::string_view() : bytes;
  }
  /// The counter that a site stands for; its row is written when it is first met.
  TrackId track(std::uint32_t site, ProcessId process);
  std::uint32_t number(Numbered kind, std::uint32_t local) {
    const auto [lastLocal, lastGlobal] = last_[at(kind)];
    return local == lastLocal ? lastGlobal : resolveNumber(kind, local);
  }
  void setNumber(Numbered kind, std::uint32_t local, std::uint32_t global) {
    numbers_[at(kind)][local] = global;
    last_[at(kind)] = {};
  }

  void save(Saver& saver) const;
  void load(Loader& loader);

 private:
  static std::size_t at(Numbered kind) { return static_cast<std::size_t>(kind); }
  /// The body of an entry, or an empty view.
  [[nodiscard]] std::string_view body(std::uint32_t id, bool& site) const;
  const ResolvedName& resolve(std::uint32_t id, int depth);
  std::uint32_t resolveNumber(Numbered kind, std::uint32_t local);

  View view_;
  TraceState& trace_;
  std::vector<std::uint32_t> indexOf_;
  std::vector<ResolvedName> resolved_;
  std::array<std::unordered_map<std::uint32_t, std::uint32_t>,
             static_cast<std::size_t>(Numbered::Count)>
      numbers_;
  /// The last lookup of each kind: most rows are of the same queue as the one before.
  std::array<std::pair<std::uint32_t, std::uint32_t>, static_cast<std::size_t>(Numbered::Count)>
      last_{};
  std::unordered_map<std::uint32_t, TrackId> tracks_;
};

}  // namespace lacuna::prof::recording
