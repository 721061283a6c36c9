// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

struct CalibrateOptions {
  std::string python = "python3";
  std::string device;
  Target output{"calibration.json"};
  double seconds = 0.2;
};

/// PyTorch is Python's, so a program of Python's measures with it; it lies in share/lacuna beside
/// this one's bin.
int measure(const CalibrateOptions& options) {
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const auto script = self.parent_path().parent_path() / "share" / "lacuna" / "calibrate.py";
  if (!std::filesystem::exists(script, ignored))
    return printError(
        fmt::format("{}: is missing; install Lacuna again, all of it", script.string()));
  if (const auto out = OutputFile::check(options.output); !out)
    return printError(out.error().message);
  std::vector<std::string> words{options.python, script.string(),
                                 "--output",     options.output.path,
                                 "--seconds",    fmt::format("{}", options.seconds)};
  if (options.output.force) words.emplace_back("--force");
  if (!options.device.empty()) words.insert(words.end(), {"--device", options.device});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return printError(fmt::format("{}: {}; --python takes the Python that has your PyTorch",
                                options.python, std::strerror(errno)));
}

}  // namespace

void addCalibrate(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<CalibrateOptions>();
  Command command(app, "calibrate",
                  "Measure with PyTorch what kernels gain from the knobs that change them");
  command.option("--python", options->python, "the Python whose PyTorch measures")
      .typeName("PYTHON")
      .notEmpty()
      .showDefault();
  command.option("--device", options->device, "cpu or cuda (default: cuda where there is one)")
      .typeName("NAME")
      .notEmpty()
      .suggests([] {
        return std::vector<std::string>{"cpu", "cuda"};
      });
  addTarget(command, options->output, "the calibration to write").showDefault();
  command.option("--seconds", options->seconds, "for each side of each case")
      .typeName("TIME")
      .notNegative()
      .showDefault();
  command.example(
      "lacuna calibrate --python venv/bin/python -o a100.json && lacuna whatif run.lcn amp=on "
      "--calibration a100.json");
  command.does([options, &exitCode] { exitCode = measure(*options); });
}

}  // namespace lacuna::cli
