// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::cli {

/// A line of progress where `stream` is a terminal, gone when this is; nothing elsewhere.
class ProgressLine {
 public:
  /// Work that is done within `after` has no line.
  explicit ProgressLine(std::string what, std::chrono::milliseconds after = {},
                        std::FILE* stream = stderr);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// To be given to the work; null where nothing would be shown.
  [[nodiscard]] analyzer::Progress hook();

 private:
  void show(double share);

  std::string what_;
  std::chrono::steady_clock::time_point from_;
  std::FILE* stream_;
  int percent_ = -1;
};

/// As analyzer::analyse, with such a line where it takes more than a moment, and the environment's
/// calibration where there is none.
prof::Result<analyzer::Analysis> analyseShown(std::shared_ptr<const analyzer::Store> store,
                                              analyzer::AnalysisOptions options = {});

}  // namespace lacuna::cli
