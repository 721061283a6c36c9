// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <array>
#include <chrono>

#include "lacuna/analyzer/query.h"

namespace lacuna::cli {

/// While it lives, the query has a time limit (0 is none), and the first interrupt (Ctrl-C,
/// SIGTERM, SIGHUP) ends the query; the next one ends the program. Signals that are ignored stay
/// so.
///
/// SQLite looks at the clock between its steps. One step can take long by itself (a search in a
/// huge text), so some seconds after the limit the program ends with an error. One at a time.
class QueryGuard {
 public:
  QueryGuard(analyzer::Query& query, std::chrono::milliseconds limit);
  ~QueryGuard();
  QueryGuard(const QueryGuard&) = delete;
  QueryGuard& operator=(const QueryGuard&) = delete;

  /// Ends the program as the interrupt that came would have, so that the caller's shell knows;
  /// returns where none did.
  static void endAsInterrupted();

 private:
  static constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM, SIGALRM};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace lacuna::cli
