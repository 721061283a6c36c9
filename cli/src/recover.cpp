// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/recover.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/collector/recover.h"
#include "lacuna/prof/amounts.h"
#include "output_file.h"
#include "timeline_blocks.h"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;

struct RecoverOptions {
  std::string from, formerOut;
  Target out;
  bool keep = false;
  bool json = false;
};

std::string defaultOut(fs::path from) {
  if (!from.has_filename())
    from = from.parent_path();  // a folder's name completed by the shell ends in a slash
  std::error_code ignored;
  if (from.filename() == "." || from.filename() == "..") from = fs::canonical(from, ignored);
  if (from.extension() == ".recording") from.replace_extension();
  return from.replace_extension(".recovered.lcn").string();
}

void printText(const prof::RecoverSummary& summary, const std::string& out) {
  for (const prof::Damage& damage : summary.damage) {
    printWarning(
        fmt::format("lost: {} bytes at byte {}: {}", damage.bytes, damage.offset, damage.what));
  }
  if (!summary.wasComplete)
    printWarning("the file had no end; what its writer still held in memory is not in it");
  fmt::print("{}: {} rows in {} blocks{}\n", analyzer::oneLine(out), prof::countText(summary.rows),
             prof::countText(summary.blocks),
             summary.damage.empty() && summary.wasComplete ? "; nothing was missing" : "");
}

void printText(const prof::DrainStats& stats, const std::string& out) {
  if (stats.dropped != 0) {
    printWarning(
        fmt::format("{} events had been dropped while recording", prof::countText(stats.dropped)));
  }
  if (stats.damaged != 0) {
    printWarning(
        fmt::format("{} records made no sense and were left out", prof::countText(stats.damaged)));
  }
  if (!stats.left.empty()) printWarning(stats.left);
  fmt::print("{}: {} rows from {} process{}\n", analyzer::oneLine(out), prof::countText(stats.rows),
             stats.processes, stats.processes == 1 ? "" : "es");
}

/// Prints what is the same of a file and of a recording, and then `rest`.
void printJson(const RecoverOptions& options, const std::string& out, std::uint64_t rows,
               const std::string& rest) {
  fmt::print("{{\n  \"file\": {},\n  \"from\": {},\n  \"rows\": {},\n{}\n}}\n", jsonString(out),
             jsonString(options.from), rows, rest);
}

std::string json(const prof::RecoverSummary& summary) {
  return fmt::format("  \"blocks\": {},\n  \"was_complete\": {},\n  \"lost\": {}", summary.blocks,
                     summary.wasComplete, damageJson(summary.damage));
}

/// A recording that is there to be recovered never had its end.
std::string json(const prof::DrainStats& stats) {
  return fmt::format(
      "  \"processes\": {},\n  \"was_complete\": false,\n  \"dropped_events\": {},\n  "
      "\"damaged_records\": {}",
      stats.processes, stats.dropped, stats.damaged);
}

template <class Recovered>
int printResult(const prof::Result<Recovered>& recovered, const RecoverOptions& options,
                const std::string& out) {
  if (!recovered.ok()) return printError(recovered.error().message);
  if (options.json) {
    printJson(options, out, recovered->rows, json(*recovered));
  } else {
    printText(*recovered, out);
  }
  return kOk;
}

int recover(const RecoverOptions& options, const OutputFile& out) {
  std::error_code ignored;
  const bool isFolder = fs::is_directory(options.from, ignored);
  const fs::path name = out.name();
  int code = kOk;
  const auto work = [&]() -> prof::Status {
    code = isFolder
               ? printResult(collector::recover(options.from, name, options.keep, out.existing()),
                             options, out.name())
               : printResult(prof::recoverFile(options.from, name, out.existing()), options,
                             out.name());
    return {};
  };
  const auto begun = out.whileWriting(work);
  return begun ? code : printError(begun.error().message);
}

int run(RecoverOptions options) {
  if (!options.formerOut.empty()) {
    return printMisuse(withoutTarget(fmt::format("recover {}", options.from), options.formerOut));
  }
  if (options.out.path.empty()) options.out.path = defaultOut(options.from);
  const auto out = OutputFile::check(options.out, {&options.from, 1});
  if (!out) return printError(out.error().message);
  const int code = recover(options, *out);
  // This is for the timeline, and no part of what was to be recovered.
  if (code == kOk) (void)addTimeline(out->name());
  return code;
}

}  // namespace

void addRecover(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<RecoverOptions>();
  Command command(app, "recover",
                  "Make a whole trace of what is readable of a damaged or unfinished one");
  command.usage("FILE [OPTIONS]");
  command
      .option("FILE", options->from,
              "a trace file, or the folder OUT.lcn.recording that a killed recording left")
      .required();
  command.option("former", options->formerOut, "").hidden();
  addTarget(command, options->out,
            "the file to write (default: FILE with the ending .recovered.lcn)");
  command.flag("--keep", options->keep,
               "leave the folder of the recording in place; a file is always left alone");
  command.flag("--json", options->json,
               "what was recovered and what was lost, as JSON (docs/trace-files.md)");
  command.example("lacuna recover train.lcn.recording");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
