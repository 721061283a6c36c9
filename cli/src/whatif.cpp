// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/whatif.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "base/calibration_option.h"
#include "base/command.h"
#include "base/output.h"
#include "base/progress_line.h"
#include "base/report_text.h"
#include "change_list.h"
#include "commands.h"
#include "explain.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"

namespace lacuna::cli {
namespace {

struct WhatIfOptions {
  std::string file;
  std::vector<std::string> changes;
  std::string calibration;
  bool json = false;
  bool list = false;
  bool markdown = false;
  bool explain = false;
};

/// The sureness of a gain; empty where there is none, and without steps, which show how much runs
/// differ.
std::string surenessOf(const analyzer::Prediction& prediction, bool steps) {
  if (!steps || prediction.gainNs() <= 0) return {};
  return fmt::format("; {:.0f} % sure of half the gain at least", 100 * prediction.confidence);
}

void printText(const analyzer::Prediction& prediction, bool steps) {
  const Style& s = style();
  const std::string_view per = steps ? " a step" : " in all";
  fmt::print("measured   {:>12}{}\n", prof::timeText(prediction.measuredNsPerStep), per);
  fmt::print("replayed   {:>12}{}, unchanged\n", prof::timeText(prediction.baseNsPerStep), per);
  fmt::print("{}predicted  {:>12}{}{}, {} {}\n", s.bold,
             prof::timeText(prediction.predictedNsPerStep), s.reset, per,
             prediction.gainNs() >= 0 ? "faster by" : "slower by",
             prof::shareText(std::abs(prediction.gainShare())));
  if (prediction.lowNsPerStep != prediction.highNsPerStep) {
    fmt::print("between    {}\n",
               fitted(fmt::format("{:>12} and {}{}{}", prof::timeText(prediction.lowNsPerStep),
                                  prof::timeText(prediction.highNsPerStep),
                                  steps ? " in 19 of 20 runs" : "", surenessOf(prediction, steps)),
                      11));
  }
  for (const std::string& note : prediction.notes)
    fmt::print("{}note       {}{}\n", s.dim, fitted(analyzer::oneLine(note), 11), s.reset);
}

void printJson(const analyzer::Prediction& prediction, bool steps, bool explain) {
  std::string notes;
  for (const std::string& note : prediction.notes)
    notes += (notes.empty() ? "" : ", ") + jsonString(note);
  fmt::print(
      "{{\"schema\": \"lacuna.whatif/1\", \"per\": \"{}\", \"measured_ns_per_step\": {}, "
      "\"base_ns_per_step\": {}, \"predicted_ns_per_step\": {}, \"low_ns_per_step\": {}, "
      "\"high_ns_per_step\": {}, \"confidence\": {:.3f}, \"notes\": [{}]{}}}\n",
      steps ? "step" : "run", prediction.measuredNsPerStep, prediction.baseNsPerStep,
      prediction.predictedNsPerStep, prediction.lowNsPerStep, prediction.highNsPerStep,
      prediction.confidence, notes,
      explain ? ", \"explain\": " + explainedJson(prediction) : std::string());
}

/// Steps are replayed as far as there is time for; without any it is all of the trace or nothing.
std::string nothingToReplay(std::string_view file, bool devices, bool steps, bool lacksWork) {
  if (!devices) {
    return fmt::format(
        "{}: no device did any work in this trace, so there is nothing to replay; record the "
        "device too (lacuna doctor lists what is missing)",
        file);
  }
  if (lacksWork) {
    return fmt::format(
        "{}: the trace lacks work of graph replays in every step, so nothing shows how long a step "
        "takes; record fewer steps with larger buffers (lacuna report --section graphs lists what "
        "is missing)",
        file);
  }
  if (steps) {
    return fmt::format(
        "{}: there is no device work that could be joined to its launches, so nothing can be "
        "replayed; record the device and the calls (lacuna doctor lists what is missing)",
        file);
  }
  return fmt::format(
      "{}: no steps were found, so all of it would be replayed, and either it is too long for that "
      "or no device work could be joined to its launches; mark steps with an NVTX range named "
      "\"step\", and record the device and the calls (lacuna doctor lists what is missing)",
      file);
}

int run(const WhatIfOptions& options) {
  if (options.list) {
    fmt::print("{}", options.json       ? changeListJson()
                     : options.markdown ? analyzer::changesMarkdown()
                                        : changeListText());
    return kOk;
  }
  if (options.file.empty() || options.changes.empty())
    return printMisuse("name a trace and a change: lacuna whatif FILE loader.workers=4, or --list");
  std::vector<analyzer::Change> changes;
  for (const std::string& text : options.changes) {
    auto change = analyzer::parseChange(text);
    if (!change) return printMisuse(change.error().message);
    changes.push_back(std::move(*change));
  }
  analyzer::AnalysisOptions wanted;
  auto calibration = calibrationFrom(options.calibration);
  if (!calibration) return printError(calibration.error().message);
  wanted.calibration = *std::move(calibration);
  const auto store = analyzer::Store::open(options.file);
  if (!store) return printError(store.error().message);
  const auto analysis = analyseShown(*store, wanted);
  if (!analysis) return printError(analysis.error().message);
  const auto simulator = analyzer::Simulator::create(*analysis);
  if (!simulator)
    return printError(nothingToReplay(options.file, !analysis->devices.empty(),
                                      !analysis->steps.all.empty(),
                                      analysis->of<analyzer::UnknownPlaces>().unrecordedNs > 0));
  for (const analyzer::Change& change : changes) {
    if (const auto fits = simulator->check(change); !fits) return printError(fits.error().message);
  }
  analyzer::Prediction prediction = simulator->play(changes);
  const bool steps = !analysis->steps.all.empty();
  if (!steps) prediction.notes.push_back(withoutSteps(options.file));
  printWarnings(**store);
  if (options.json) {
    printJson(prediction, steps, options.explain);
    return kOk;
  }
  printText(prediction, steps);
  if (options.explain) fmt::print("{}", explainedText(prediction));
  return kOk;
}

}  // namespace

void addWhatif(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<WhatIfOptions>();
  Command command(app, "whatif", "Predict the step time with a change, by replaying the run");
  command.option("FILE", options->file, "a trace");
  command
      .option("CHANGE", options->changes,
              "loader.workers=4, static_graph=on, kernel:gelu*0.5 (half the time), host*0.8, …; "
              "several are played together (listed below, and in docs/analyses/whatif.md)")
      .suggests(&changeBeginnings);
  addCalibration(command, options->calibration);
  command.flag("--explain", options->explain,
               "print each limit that the prediction passed, and which one decided it");
  const Option list =
      command.flag("--list", options->list, "print the changes that there are; needs no trace");
  const Option json =
      command.flag("--json", options->json,
                   "print the prediction or the list as JSON (docs/analyses/whatif.md)");
  command.flag("--markdown", options->markdown, "print the list as docs/analyses/whatif.md has it")
      .needs(list)
      .excludes(json);
  command.opensTraces();
  command.footnote(changeListText());
  command.example("lacuna whatif run.lcn loader.workers=8 'kernel:gelu*0.5'");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
