// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "command.h"
#include "commands.h"
#include "lacuna/analyzer/export.h"
#ifdef LACUNA_CLI_COLLECTOR
#include "lacuna/collector/capture.h"
#endif
#include "output.h"
#include "unfinished_file.h"

namespace lacuna::cli {
namespace {

struct Options {
  std::string in, out, to, table;
  bool quiet = false;
};

/// A line of progress on a terminal; nothing elsewhere.
analyzer::Progress progressLine(std::string what, bool quiet) {
  if (quiet || isatty(STDERR_FILENO) == 0) return nullptr;
  auto last = std::make_shared<int>(-1);
  return [what = std::move(what), last](double share) {
    const int percent = static_cast<int>(share * 100);
    if (percent != *last) fmt::print(stderr, "\r{} {:3} %", what, *last = percent);
    return true;
  };
}

#ifdef LACUNA_CLI_COLLECTOR
int decodeCapture(const Options& options, analyzer::Format format) {
  if (format != analyzer::Format::Lcn) {
    return printError(fmt::format("{}: a raw capture becomes a .lcn first; convert that further", options.out));
  }
  const auto report = collector::convertCapture(options.in, options.out);
  if (!report) return printError(report.error().message);
  for (const std::string& note : report->notes) printWarning(note);
  fmt::print("{}: {} records of {} process{} became {} rows\n", options.out, report->records, report->files,
             report->files == 1 ? "" : "es", report->rows);
  return kOk;
}
#endif

int run(const Options& options) {
  using namespace analyzer;
  const auto format = options.to.empty() ? formatOf(options.out) : formatNamed(options.to);
  if (!format) {
    return printError(fmt::format("{}: say what to write with --to: {}", options.to.empty() ? options.out : options.to,
                                  formatNames()));
  }
#ifdef LACUNA_CLI_COLLECTOR
  if (collector::isRawCapture(options.in)) return decodeCapture(options, *format);
#endif
  OpenOptions open;
  open.progress = progressLine("reading", options.quiet);
  const auto store = Store::open(options.in, open);
  if (open.progress) fmt::print(stderr, "\r\033[K");
  if (!store) return printError(store.error().message);
  printWarnings(**store);
  ExportOptions how;
  if (!options.table.empty()) how.table = options.table;
  how.progress = progressLine("writing", options.quiet);
  how.warn = [](const std::string& text) { printWarning(text); };
  const UnfinishedFile unfinished(options.out);
  const auto status = exportTrace(**store, options.out, *format, how);
  if (how.progress) fmt::print(stderr, "\r\033[K");
  if (!status) return printError(status.error().message);
  std::error_code ignored;
  fmt::print("{}: {}\n", options.out, humanBytes(std::filesystem::file_size(options.out, ignored)));
  return kOk;
}

}  // namespace

void addConvert(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<Options>();
  Command command(app, "convert", "Turn a trace of any kind into another kind");
  command
      .option("in", options->in,
              "a trace of any kind, told by its content (also gz, zstd), or what lacuna run --raw-capture kept")
      .required();
  command.option("out", options->out, "the file to write; .gz and .zst compress text formats").required();
  command.option("--to", options->to,
                 fmt::format("what to write ({}); else by the ending of OUT: .lcn, .json, .pftrace, .sqlite, "
                             ".folded, .speedscope.json, .csv",
                             analyzer::formatNames()));
  command.option("--table", options->table, "the table that csv and table-json write (kernel)");
  command.flag("-q,--quiet", options->quiet, "no progress");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
