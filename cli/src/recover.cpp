// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/recover.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "command.h"
#include "commands.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/collector/recover.h"
#include "lacuna/prof/file_error.h"
#include "output.h"
#include "timeline_blocks.h"
#include "unfinished_file.h"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

struct RecoverOptions {
  std::string from;
  std::string out;
  bool keep = false;
  bool json = false;
};

std::string defaultOut(fs::path from) {
  if (!from.has_filename()) from = from.parent_path();  // a folder's name completed by the shell ends in a slash
  std::error_code ignored;
  if (from.filename() == "." || from.filename() == "..") from = fs::canonical(from, ignored);
  if (from.extension() == ".recording") from.replace_extension();
  return from.replace_extension(".recovered.lcn").string();
}

void printText(const prof::RecoverSummary& summary, const std::string& out) {
  for (const prof::Damage& damage : summary.damage) {
    printWarning(fmt::format("lost: {} bytes at byte {}: {}", damage.bytes, damage.offset, damage.what));
  }
  if (!summary.wasComplete) printWarning("the file had no end; what its writer still held in memory is not in it");
  fmt::print("{}: {} rows in {} blocks{}\n", analyzer::oneLine(out), withCommas(summary.rows),
             withCommas(summary.blocks), summary.damage.empty() && summary.wasComplete ? "; nothing was missing" : "");
}

void printText(const prof::DrainStats& stats, const std::string& out) {
  if (stats.dropped != 0) {
    printWarning(fmt::format("{} events had been dropped while recording", withCommas(stats.dropped)));
  }
  if (stats.damaged != 0) {
    printWarning(fmt::format("{} records made no sense and were left out", withCommas(stats.damaged)));
  }
  if (!stats.left.empty()) printWarning(stats.left);
  fmt::print("{}: {} rows from {} process{}\n", analyzer::oneLine(out), withCommas(stats.rows), stats.processes,
             stats.processes == 1 ? "" : "es");
}

/// What is the same of a file and of a recording, and then `rest`.
void printJson(const RecoverOptions& options, const std::string& out, std::uint64_t rows, const std::string& rest) {
  fmt::print("{{\n  \"file\": {},\n  \"from\": {},\n  \"rows\": {},\n{}\n}}\n", jsonString(out),
             jsonString(options.from), rows, rest);
}

std::string json(const prof::RecoverSummary& summary) {
  return fmt::format("  \"blocks\": {},\n  \"was_complete\": {},\n  \"lost\": {}", summary.blocks, summary.wasComplete,
                     damageJson(summary.damage));
}

/// A recording that is there to be recovered never had its end.
std::string json(const prof::DrainStats& stats) {
  return fmt::format(
      "  \"processes\": {},\n  \"was_complete\": false,\n  \"dropped_events\": {},\n  \"damaged_records\": {}",
      stats.processes, stats.dropped, stats.damaged);
}

template <class Recovered>
int say(const prof::Result<Recovered>& recovered, const RecoverOptions& options, const std::string& out) {
  if (!recovered.ok()) return printError(recovered.error().message);
  if (options.json) {
    printJson(options, out, recovered->rows, json(*recovered));
  } else {
    printText(*recovered, out);
  }
  return kOk;
}

/// What it is recovered into, beside what a link leads to, until it is whole; `out` where that is what is read, which
/// is refused.
fs::path unfinishedName(const RecoverOptions& options, const std::string& out) {
  std::error_code error;
  const fs::path real = fs::is_symlink(out, error) ? fs::canonical(out, error) : fs::path(out);
  const fs::path name = real.string() + ".recovering";
  return fs::equivalent(options.from, name, error) ? fs::path(out) : name;
}

int recover(const RecoverOptions& options, const std::string& out) {
  const UnfinishedFile unfinished(out, unfinishedName(options, out));
  std::error_code ignored;
  return fs::is_directory(options.from, ignored)
             ? say(collector::recover(options.from, out, options.keep), options, out)
             : say(prof::recoverFile(options.from, out), options, out);
}

int run(const RecoverOptions& options) {
  const std::string out = options.out.empty() ? defaultOut(options.from) : options.out;
  if (const auto target = prof::checkTarget(out); !target) return printError(target.error().message);
  const int code = recover(options, out);
  // Of use to the timeline, and no part of what was to be recovered.
  if (code == kOk) (void)addTimeline(out);
  return code;
}

}  // namespace

void addRecover(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<RecoverOptions>();
  Command command(app, "recover", "Make a whole trace of what is readable of a damaged or unfinished one");
  command.option("FROM", options->from, "a trace file, or the folder OUT.lcn.recording that a killed recording left")
      .required();
  command.option("-o,--output", options->out, "the file to write (default: FROM with the ending .recovered.lcn)")
      .notEmpty();
  command.flag("--keep", options->keep, "leave the folder of the recording in place; a file is always left alone");
  command.flag("--json", options->json, "what was recovered and what was lost, as JSON (docs/trace-files.md)");
  command.example("lacuna recover train.lcn.recording");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
