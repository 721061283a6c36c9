// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "export/byte_sink.h"
#include "export/chrome_event.h"
#include "export/chrome_places.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Writes what Chrome JSON has beside the events of rows: members of the object around them, and
/// events that describe processes, threads and devices.
class ChromeMetadata {
 public:
  ChromeMetadata(const Store& store, const ChromePlaces& places, ChromeEvent& event, ByteSink& sink)
      : store_(store), places_(places), event_(event), sink_(sink) {}

  /// Up to the first event of a row.
  void writeHead();
  /// From the end of the last one.
  void writeTail();

 private:
  /// A member that the file had beside its events; the first of a name counts, and the events are
  /// ours.
  void addHead(std::string_view key, std::string_view value, std::string& head);
  /// A member of ours, unless the file had one of that name.
  void addTail(std::string_view key, std::string_view json);
  /// Ranks that a reader does not know from the head.
  void describeRanks();
  /// The time of day at moment 0 of the trace.
  void describeClock();
  /// A metadata event as its file wrote it, but for the pid of a process that has another one here.
  std::string metadataOf(const prof::Environment& row) const;
  std::string withOwnPid(const prof::Environment& row) const;
  /// Writes processes, devices and the trace itself of a file of ours, in Kineto's words.
  void describeOwnTrace();
  /// Writes the machine and the program of the recording. Members that an imported file had are
  /// written elsewhere.
  std::string ownEnvironment() const;
  void describeLives();
  template <class Row>
  void life(std::string_view what, const std::string& pid, const std::string& tid, const Row& row,
            std::string_view more);
  void name(std::string_view what, const std::string& pid, const std::string& tid,
            std::string_view text);

  const Store& store_;
  const ChromePlaces& places_;
  ChromeEvent& event_;
  ByteSink& sink_;
  std::set<std::string> members_;  ///< beside the events
  std::string tail_;
};

}  // namespace lacuna::analyzer
