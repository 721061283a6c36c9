// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/generate.h"

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

struct GenerateOptions {
  std::string out;
  prof::GenerateOptions generate;
  prof::WriterOptions writer;
};

struct Made {
  prof::GenerateSummary summary;
  std::uint64_t bytes = 0;
};

prof::Status make(const GenerateOptions& options, const std::filesystem::path& file, Made& made) {
  auto writer = prof::Writer::create(file, options.writer);
  if (!writer.ok()) return writer.error();
  const auto summary = prof::generateTrace(*writer, options.generate);
  if (!summary.ok()) return summary.error();
  if (const prof::Status status = writer->finish(); !status.ok()) return status;
  made = {*summary, writer->bytesWritten()};
  return {};
}

int run(const GenerateOptions& options) {
  if (options.generate.events == 0 && options.generate.steps == 0) {
    return printMisuse("--events 0 would be a trace without events: name at least 1, or --steps");
  }
  if (const auto target = prof::checkTarget(options.out); !target) return printError(target.error().message);
  Made made;
  const UnfinishedFile unfinished(options.out);
  const prof::Status status =
      analyzer::writeWhole(options.out, [&](const auto& part) { return make(options, part, made); });
  if (!status.ok()) return printError(status.error().message);
  fmt::print("{}: {} events in {} steps, {}, {:.2f} bytes an event\n", analyzer::oneLine(options.out),
             withCommas(made.summary.events), withCommas(made.summary.steps), humanBytes(made.bytes),
             static_cast<double>(made.bytes) / static_cast<double>(made.summary.events));
  return kOk;
}

}  // namespace

void addGenerate(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<GenerateOptions>();
  Command command(app, "generate", "Write a made-up training trace of any size, for trying things and for benchmarks");
  command.option("out", options->out, "the .lcn file to write").required();
  command.option("--events", options->generate.events, "stop after the step that reaches this many")
      .showDefault()
      .notNegative();
  command.option("--steps", options->generate.steps, "number of training steps, instead of --events").notNegative();
  command.option("--seed", options->generate.seed, "the same seed makes the same trace").showDefault().notNegative();
  command.option("--processes", options->generate.processes, "ranks, each with its device")
      .showDefault()
      .between(1, 1024);
  command.option("--threads", options->generate.threads, "host threads a rank, at least 3")
      .showDefault()
      .between(3, 4096);
  command.option("--layers", options->generate.layers, "layers of the network").showDefault().between(1, 1000);
  command.option("--block-rows", options->writer.blockRows, "rows a block").showDefault().between(1, 1 << 20);
  command.option("--zstd-level", options->writer.zstdLevel, "compression level").showDefault().between(-7, 19);
  command.example("lacuna generate big.lcn --events 10000000 --seed 7");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
