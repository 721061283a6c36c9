// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/progress_line.h"

#include <fmt/format.h>
#include "base/calibration_option.h"
#include "base/safe_output.h"

#include "lacuna/analyzer/analysis.h"

namespace lacuna::cli {

using std::chrono::steady_clock;

ProgressLine::ProgressLine(std::string what, std::chrono::milliseconds after, std::FILE* stream)
    : what_(std::move(what)), from_(steady_clock::now() + after), stream_(stream) {}

ProgressLine::~ProgressLine() {
  if (percent_ >= 0) std::fputs(own("\r\033[K").c_str(), stream_);
}

analyzer::Progress ProgressLine::hook() {
  if (!isTerminal(stream_)) return nullptr;
  return [this](double share) {
    show(share);
    return true;
  };
}

void ProgressLine::show(double share) {
  const int percent = static_cast<int>(share * 100);
  if (percent == percent_ || steady_clock::now() < from_) return;
  percent_ = percent;
  // Not fmt::print, which throws where the terminal is gone: on whatever thread works, or out of
  // the destructor.
  std::fputs(fmt::format("{}{} {:3} %", own("\r"), what_, percent).c_str(), stream_);
  std::fflush(stream_);
}

prof::Result<analyzer::Analysis> analyseShown(std::shared_ptr<const analyzer::Store> store,
                                              analyzer::AnalysisOptions options) {
  ProgressLine line("analysing", std::chrono::seconds(1));
  options.progress = line.hook();
  if (!options.calibration) {
    auto calibration = calibrationFrom({});
    if (!calibration) return calibration.error();
    options.calibration = *std::move(calibration);
  }
  return analyzer::analyse(std::move(store), options);
}

}  // namespace lacuna::cli
