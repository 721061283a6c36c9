// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/command.h"
#include "commands.h"
#include "completion.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/text.h"
#ifdef LACUNA_CLI_COLLECTOR
#include "lacuna/collector/capture.h"
#endif
#include "base/output.h"
#include "base/progress_line.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

struct ConvertOptions {
  std::string in, formerOut, to, table;
  Target out;
  bool quiet = false;
};

#ifdef LACUNA_CLI_COLLECTOR
namespace fs = std::filesystem;

int decodeCapture(const ConvertOptions& options, const OutputFile& out, analyzer::Format format) {
  if (format != analyzer::Format::Lcn) {
    return printMisuse(
        fmt::format("{}: a raw capture becomes a .lcn first; convert that further", out.name()));
  }
  collector::CaptureReport report;
  const auto status = out.write([&](const fs::path& part) -> prof::Status {
    auto decoded = collector::convertCapture(options.in, part);
    if (!decoded) return decoded.error();
    report = std::move(*decoded);
    return {};
  });
  if (!status) return printError(status.error().message);
  for (const std::string& note : report.notes) printWarning(note);
  fmt::print("{}: {} records of {} process{} became {} rows\n", analyzer::oneLine(out.name()),
             report.records, report.files, report.files == 1 ? "" : "es", report.rows);
  return kOk;
}
#endif

prof::Result<std::shared_ptr<const analyzer::Store>> opened(const ConvertOptions& options) {
  ProgressLine line("reading");
  analyzer::OpenOptions how;
  if (!options.quiet) how.progress = line.hook();
  return analyzer::Store::open(options.in, how);
}

prof::Status written(std::shared_ptr<const analyzer::Store>&& store, const OutputFile& out,
                     bool quiet, analyzer::Format format, analyzer::ExportOptions how) {
  ProgressLine line("writing");
  if (!quiet) how.progress = line.hook();
  how.existing = out.existing();
  return out.whileWriting(
      [&] { return analyzer::exportTrace(std::move(store), out.name(), format, how); });
}

int run(const ConvertOptions& options) {
  using namespace analyzer;
  if (options.out.path.empty() || !options.formerOut.empty()) {
    return printMisuse(withoutTarget(fmt::format("convert {}", options.in),
                                     options.formerOut.empty() ? "OUT.lcn" : options.formerOut));
  }
  const std::string& name = options.out.path;
  const auto format = options.to.empty() ? formatOf(name) : formatNamed(options.to);
  if (!format) return printMisuse(unknownFormat(name, options.to));
  if (!options.table.empty() && *format != Format::Csv && *format != Format::TableJson) {
    return printMisuse(fmt::format(
        "--table {} is for csv and table-json, which hold one table; {} gets all of them",
        options.table, name));
  }
  const auto out = OutputFile::check(options.out, {&options.in, 1});
  if (!out) return printError(out.error().message);
#ifdef LACUNA_CLI_COLLECTOR
  if (collector::isRawCapture(options.in)) return decodeCapture(options, *out, *format);
#endif
  auto store = opened(options);
  if (!store) return printError(store.error().message);
  printWarnings(**store);
  ExportOptions how;
  if (!options.table.empty()) how.table = options.table;
  how.warn = [](const std::string& text) { printWarning(text); };
  const auto status = written(*std::move(store), *out, options.quiet, *format, how);
  if (!status) return printError(status.error().message);
  printWritten(name);
  return kOk;
}

}  // namespace

void addConvert(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<ConvertOptions>();
  Command command(app, "convert", "Turn a trace of any kind into another kind");
  command.usage("FILE -o OUT [OPTIONS]");
  command
      .option("FILE", options->in,
              "a trace of any kind, recognised by its content (also gz, zstd), or what lacuna run "
              "--raw-capture kept")
      .required();
  command.option("former", options->formerOut, "").hidden();
  addTarget(command, options->out, "the file to write; .gz and .zst compress text formats");
  command
      .option("--to", options->to,
              fmt::format("what to write ({}); else by the ending of OUT: {}",
                          analyzer::formatNames(), analyzer::formatEndings()))
      .suggests([] { return wordsOf(analyzer::formatNames()); });
  command.option("--table", options->table,
                 "the table that csv and table-json write (default: kernel)");
  command.flag("-q,--quiet", options->quiet, "no progress");
  command.opensTraces();
  command.example("lacuna convert run.lcn -o run.json.gz");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
