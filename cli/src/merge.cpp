// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "completion.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  Target out;
  std::string to;
};

void describe(const std::string& file, const analyzer::Alignment& alignment) {
  const std::string path = analyzer::oneLine(file);
  using analyzer::AlignedBy;
  const auto signedDuration = [](std::int64_t ns) {
    return fmt::format("{}{}", ns < 0 ? '-' : '+', prof::timeText(ns < 0 ? -ns : ns));
  };
  switch (alignment.how) {
    case AlignedBy::Reference:
      fmt::print("{}: its clock is everybody's\n", path);
      return;
    case AlignedBy::Clocks:
      fmt::print("{}: moved by {}, by the time of day (no common collectives)\n", path,
                 signedDuration(alignment.offsetNs));
      return;
    case AlignedBy::Start:
      fmt::print("{}: moved by {}\n", path, signedDuration(alignment.offsetNs));
      printWarning(
          fmt::format("{}: no common collectives, clocks or step markers: the traces' starts are "
                      "laid on each other, so times across them mean little",
                      path));
      return;
    default:
      fmt::print("{}: moved by {}, by {} {} (median distance {})\n", path,
                 signedDuration(alignment.offsetNs), prof::countText(alignment.matches),
                 alignment.how == AlignedBy::Collectives ? "collectives" : "step markers",
                 prof::timeText(alignment.spreadNs));
  }
}

/// A file that is named twice would be two ranks that did the same.
prof::Status checkNamedOnce(const std::vector<std::string>& files, std::size_t at) {
  for (std::size_t i = 0; i < at; ++i) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(files[i], files[at], ignored)) continue;
    return prof::Error{
        fmt::format("{}: is the same file as {}; name every trace once", files[at], files[i])};
  }
  return {};
}

/// Why this call is none, or nothing.
std::string misuseOf(const MergeOptions& options) {
  if (options.out.path.empty()) {
    const bool asBefore = options.files.size() > 2;
    const std::size_t traces = asBefore ? options.files.size() - 1 : options.files.size();
    return withoutTarget(
        fmt::format("merge {}", fmt::join(options.files.begin(),
                                          options.files.begin() + std::ptrdiff_t(traces), " ")),
        asBefore ? options.files.back() : "OUT.lcn");
  }
  return options.files.size() < 2 ? "name two traces or more" : "";
}

prof::Result<std::vector<std::shared_ptr<const analyzer::Store>>> openAll(
    const std::vector<std::string>& files) {
  std::vector<std::shared_ptr<const analyzer::Store>> stores;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (const auto once = checkNamedOnce(files, i); !once) return once.error();
    auto store = analyzer::Store::open(files[i]);
    if (!store) return store.error();
    stores.push_back(std::move(*store));
  }
  return stores;
}

int run(const MergeOptions& options) {
  using namespace analyzer;
  if (const std::string misuse = misuseOf(options); !misuse.empty()) return printMisuse(misuse);
  const std::string& name = options.out.path;
  const auto format = options.to.empty() ? formatOf(name) : formatNamed(options.to);
  if (!format) return printMisuse(unknownFormat(name, options.to));
  const auto out = OutputFile::check(options.out, options.files);
  if (!out) return printError(out.error().message);
  auto stores = openAll(options.files);
  if (!stores) return printError(stores.error().message);
  auto merged = mergeTraces(*stores);
  if (!merged) return printError(merged.error().message);
  printWarnings(*merged->store);
  for (std::size_t i = 0; i < stores->size(); ++i)
    describe(options.files[i], merged->alignments[i]);
  stores->clear();
  ExportOptions how;
  how.warn = [](const std::string& text) { printWarning(text); };
  how.existing = out->existing();
  const auto status =
      out->whileWriting([&] { return exportTrace(std::move(merged->store), name, *format, how); });
  if (!status) return printError(status.error().message);
  printWritten(name);
  return kOk;
}

}  // namespace

void addMerge(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<MergeOptions>();
  Command command(app, "merge", "Put the traces of a job's ranks on one clock, into one trace");
  command.usage("FILES... -o OUT [OPTIONS]");
  command.option("FILES", options->files, "the traces, two or more").required().words(1, -1);
  addTarget(command, options->out, "the file to write");
  command
      .option("--to", options->to,
              fmt::format("what to write ({}); else by the ending of OUT", analyzer::formatNames()))
      .suggests([] { return wordsOf(analyzer::formatNames()); });
  command.opensTraces();
  command.example("lacuna merge rank0.lcn rank1.lcn -o job.lcn");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
