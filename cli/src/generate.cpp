// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/generate.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/prof/amounts.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

struct GenerateOptions {
  std::string formerOut;
  Target out;
  prof::GenerateOptions generate;
  prof::WriterOptions writer;
};

struct Made {
  prof::GenerateSummary count;
  std::uint64_t bytes = 0;
};

prof::Status make(const GenerateOptions& options, const std::filesystem::path& path, Made& made) {
  auto writer = prof::Writer::create(path, options.writer);
  if (!writer) return writer.error();
  const auto count = prof::generateTrace(*writer, options.generate);
  if (!count) return count.error();
  const prof::Status status = writer->finish();
  made = {*count, writer->bytesWritten()};
  return status;
}

int run(const GenerateOptions& options) {
  if (options.generate.events == 0 && options.generate.steps == 0) {
    return printMisuse("--events 0 would be a trace without events: name at least 1, or --steps");
  }
  if (options.out.path.empty() || !options.formerOut.empty()) {
    return printMisuse(
        withoutTarget("generate", options.formerOut.empty() ? "OUT.lcn" : options.formerOut));
  }
  const auto out = OutputFile::check(options.out);
  if (!out) return printError(out.error().message);
  Made made;
  const auto status =
      out->write([&](const std::filesystem::path& part) { return make(options, part, made); });
  if (!status) return printError(status.error().message);
  fmt::print("{}: {} events in {} steps, {}, {:.2f} bytes an event\n",
             analyzer::oneLine(out->name()), prof::countText(made.count.events),
             prof::countText(made.count.steps), prof::bytesText(made.bytes),
             static_cast<double>(made.bytes) / static_cast<double>(made.count.events));
  return kOk;
}

}  // namespace

void addGenerate(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<GenerateOptions>();
  Command command(
      app, "generate",
      "Write a made-up training trace of any size, for trying things and for benchmarks");
  command.usage("-o OUT [OPTIONS]");
  command.option("former", options->formerOut, "").hidden();
  addTarget(command, options->out, "the .lcn file to write");
  command.option("--events", options->generate.events, "stop after the step that reaches this many")
      .showDefault()
      .notNegative();
  command
      .option("--steps", options->generate.steps, "number of training steps, instead of --events")
      .notNegative();
  command.option("--seed", options->generate.seed, "the same seed makes the same trace")
      .showDefault()
      .notNegative();
  command.option("--processes", options->generate.processes, "ranks, each with its device")
      .showDefault()
      .between(1, 1024);
  command.option("--threads", options->generate.threads, "host threads a rank, at least 3")
      .showDefault()
      .between(3, 4096);
  command.option("--layers", options->generate.layers, "layers of the network")
      .showDefault()
      .between(1, 1000);
  command.option("--block-rows", options->writer.blockRows, "rows a block")
      .showDefault()
      .between(1, 1 << 20);
  command.option("--zstd-level", options->writer.zstdLevel, "compression level")
      .showDefault()
      .between(-7, 19);
  command.example("lacuna generate -o big.lcn --events 10000000 --seed 7");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
