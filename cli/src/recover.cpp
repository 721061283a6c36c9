// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/recover.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "command.h"
#include "commands.h"
#include "lacuna/analyzer/track_file.h"
#include "lacuna/collector/recover.h"
#include "output.h"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string from;
  std::string out;
  bool keep = false;
};

std::string defaultOut(fs::path from) {
  if (!from.has_filename()) from = from.parent_path();  // a folder's name completed by the shell ends in a slash
  if (from.extension() == ".recording") from.replace_extension();
  return from.replace_extension(".recovered.lcn").string();
}

int recoverFile(const Options& options, const std::string& out) {
  const auto summary = prof::recoverFile(options.from, out);
  if (!summary.ok()) return printError(summary.error().message);
  for (const prof::Damage& damage : summary->damage) {
    printWarning(fmt::format("lost: {} bytes at byte {}: {}", damage.bytes, damage.offset, damage.what));
  }
  if (!summary->wasComplete) printWarning("the file had no end; what its writer still held in memory is not in it");
  fmt::print("{}: {} rows in {} blocks{}\n", out, withCommas(summary->rows), withCommas(summary->blocks),
             summary->damage.empty() && summary->wasComplete ? "; nothing was missing" : "");
  return kOk;
}

int recoverRecording(const Options& options, const std::string& out) {
  const auto stats = collector::recover(options.from, out, options.keep);
  if (!stats.ok()) return printError(stats.error().message);
  if (stats->dropped != 0) {
    printWarning(fmt::format("{} events had been dropped while recording", withCommas(stats->dropped)));
  }
  if (stats->damaged != 0) {
    printWarning(fmt::format("{} records made no sense and were left out", withCommas(stats->damaged)));
  }
  fmt::print("{}: {} rows from {} process{}\n", out, withCommas(stats->rows), stats->processes,
             stats->processes == 1 ? "" : "es");
  return kOk;
}

int run(const Options& options) {
  const std::string out = options.out.empty() ? defaultOut(options.from) : options.out;
  std::error_code ignored;
  const int code = fs::is_directory(options.from, ignored) ? recoverRecording(options, out) : recoverFile(options, out);
  // Of use to the timeline, and no part of what was to be recovered.
  if (code == kOk) (void)analyzer::addTracks(out);
  return code;
}

}  // namespace

void addRecover(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<Options>();
  Command command(app, "recover", "Make a whole trace of what is readable of a damaged or unfinished one");
  command.option("FROM", options->from, "a trace file, or the folder OUT.lcn.recording that a killed recording left")
      .required();
  command.option("-o,--output", options->out, "the file to write (FROM with .recovered.lcn)");
  command.flag("--keep", options->keep, "leave the folder of the recording in place; a file is always left alone");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
