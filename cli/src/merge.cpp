// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/merge.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "command.h"
#include "commands.h"
#include "lacuna/analyzer/export.h"
#include "lacuna/analyzer/utf8.h"
#include "lacuna/prof/file_error.h"
#include "output.h"
#include "unfinished_file.h"

namespace lacuna::cli {
namespace {

struct MergeOptions {
  std::vector<std::string> files;
  std::string to;
};

void describe(const std::string& file, const analyzer::Alignment& alignment) {
  const std::string path = analyzer::oneLine(file);
  using analyzer::AlignedBy;
  const auto signedDuration = [](std::int64_t ns) {
    return fmt::format("{}{}", ns < 0 ? '-' : '+', humanDuration(ns < 0 ? -ns : ns));
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
          fmt::format("{}: no common collectives, clocks or step markers: the traces' starts are laid on each "
                      "other, so times across them mean little",
                      path));
      return;
    default:
      fmt::print("{}: moved by {}, by {} {} (median distance {})\n", path, signedDuration(alignment.offsetNs),
                 withCommas(alignment.matches),
                 alignment.how == AlignedBy::Collectives ? "collectives" : "step markers",
                 humanDuration(alignment.spreadNs));
  }
}

/// A file that is named twice would be two ranks that did the same.
prof::Status checkNamedOnce(const std::vector<std::string>& files, std::size_t at) {
  for (std::size_t i = 0; i < at; ++i) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(files[i], files[at], ignored)) continue;
    return prof::Error{fmt::format("{}: is the same file as {}; name every trace once", files[at], files[i])};
  }
  return {};
}

int run(MergeOptions options) {
  using namespace analyzer;
  if (options.files.size() < 3) return printMisuse("name two traces or more, then the file to write");
  const std::string out = options.files.back();
  options.files.pop_back();
  const auto format = options.to.empty() ? formatOf(out) : formatNamed(options.to);
  if (!format) return printMisuse(unknownFormat(out, options.to));
  if (const auto target = prof::checkTarget(out); !target) return printError(target.error().message);
  std::vector<std::shared_ptr<const Store>> stores;
  for (std::size_t i = 0; i < options.files.size(); ++i) {
    const std::string& path = options.files[i];
    std::error_code ignored;
    if (std::filesystem::equivalent(path, out, ignored)) {
      return printError(fmt::format("{}: is one of the traces that are read; name another file to write", out));
    }
    if (const auto once = checkNamedOnce(options.files, i); !once) return printError(once.error().message);
    auto store = Store::open(path);
    if (!store) return printError(store.error().message);
    stores.push_back(std::move(*store));
  }
  auto merged = mergeTraces(stores);
  if (!merged) return printError(merged.error().message);
  printWarnings(*merged->store);
  for (std::size_t i = 0; i < stores.size(); ++i) describe(options.files[i], merged->alignments[i]);
  stores.clear();
  ExportOptions how;
  how.warn = [](const std::string& text) { printWarning(text); };
  const UnfinishedFile unfinished(out);
  const auto status = exportTrace(std::move(merged->store), out, *format, how);
  if (!status) return printError(status.error().message);
  printWritten(out);
  return kOk;
}

}  // namespace

void addMerge(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<MergeOptions>();
  Command command(app, "merge", "Put the traces of a job's ranks on one clock, into one trace");
  command.option("files", options->files, "the traces, then the file to write").required().words(1, -1);
  command.option("--to", options->to,
                 fmt::format("what to write ({}); else by the ending of the last file", analyzer::formatNames()));
  command.example("lacuna merge rank0.lcn rank1.lcn job.lcn");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
