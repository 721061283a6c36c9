// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "base/nearest.h"
#include "base/output.h"
#include "base/settings.h"
#include "commands.h"
#include "held_interrupts.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/whatif.h"
#include "lacuna/collector/options.h"
#include "lacuna/collector/trial.h"
#include "lacuna/prof/amounts.h"
#include "output_file.h"
#include "tune/learned.h"
#include "tune/page.h"
#include "tune/price.h"
#include "tune/tuner.h"

namespace lacuna::cli {
namespace {

namespace fs = std::filesystem;
using collector::Trial;
using std::chrono::steady_clock;

/// Steps before those that count: a compiler, a search of algorithms and a loader's first batches
/// are in them.
constexpr std::uint32_t kWarmUp = 8;
constexpr std::uint32_t kUsualSteps = 40;
constexpr std::uint32_t kLeastSteps = 10;
constexpr std::string_view kUsualBudget = "10m";
/// A run that takes so much longer than the recorded one hangs, or compiles for longer than it can
/// ever gain.
constexpr double kLongest = 5;
constexpr double kLongestExtraSeconds = 180;
/// A process may grow by one part in so many of the machine's memory. More is rejected.
constexpr std::uint64_t kRoomShare = 20;
/// A recorder that was asked to end writes its trace first, and leaves nothing behind.
constexpr std::int64_t kRecorderGraceNs = 30'000'000'000;
/// The exit code that shells give a program that SIGINT ended.
constexpr int kInterrupted = 130;
constexpr double kNsOfASecond = 1e9;

struct TuneOptions {
  std::string budget{kUsualBudget};
  std::optional<double> steps;
  std::vector<std::string> knobs;
  std::string calibration;
  Targets outputs;
};

struct Plan {
  std::vector<std::string> command;
  std::vector<std::string> knobs;
  std::uint32_t steps = kUsualSteps;
  bool stepsGiven = false;
  double budgetSeconds = 0;
  std::string calibration;  ///< that predictions rest on, and that learns; empty: none
  std::vector<OutputFile> outputs;
};

/// A folder of its own below the temporary one, gone with this.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "lacuna-tune-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] fs::path fresh(std::string_view name) {
    const fs::path folder = path_ / fmt::format("{}-{}", name, ++count_);
    std::error_code error;
    fs::create_directory(folder, error);
    return folder;
  }

 private:
  fs::path path_;
  int count_ = 0;
};

/// The end of what the program wrote, for a message.
std::string lastLine(const std::string& output) {
  std::size_t end = output.find_last_not_of(" \n\r");
  if (end == std::string::npos) return "it wrote nothing";
  const std::size_t begin = output.rfind('\n', end);
  return analyzer::oneLine(output.substr(begin + 1, end - begin));
}

std::string endOf(const Trial& trial) {
  if (trial.exitSignal != 0) return fmt::format("was killed by signal {}", trial.exitSignal);
  return fmt::format("ended with code {}", trial.exitCode);
}

/// The program, the clock and the recording.
class RealMachine : public tune::Machine {
 public:
  RealMachine(Plan& plan, const HeldInterrupts& held, Scratch& scratch)
      : plan_(plan), held_(held), scratch_(scratch), start_(steady_clock::now()) {}

  /// Records the program once. Answers how long that took.
  prof::Result<double> record() {
    trace_ = scratch_.path() / "run.lcn";
    std::error_code error;
    const std::string self = fs::read_symlink("/proc/self/exe", error).string();
    std::vector<std::string> command{
        self, "run", "-q", "--no-report", "--force", "--torch", "-o", trace_.string(), "--"};
    command.insert(command.end(), plan_.command.begin(), plan_.command.end());
    report(fmt::format("recording {} steps", kWarmUp + plan_.steps));
    auto options = optionsFor(std::move(command), {}, "record");
    options.graceNs = kRecorderGraceNs;
    const auto trial = runTrial(options);
    if (!trial) return trial.error();
    if (trial->end == Trial::End::Stopped) return prof::Error{};
    if (auto status = checkRecorded(*trial); !status) return status.error();
    seconds_ = static_cast<double>(trial->wallNs) / kNsOfASecond;
    return seconds_;
  }

  std::optional<tune::RunOutcome> run(std::span<const collector::Setting> settings,
                                      std::string_view what) override {
    if (held_.came()) return std::nullopt;
    const auto trial = runTrial(optionsFor(plan_.command, settings, "run"));
    tune::RunOutcome out;
    if (!trial) {
      out.failure = trial.error().message;
      return out;
    }
    if (trial->end == Trial::End::Stopped) return std::nullopt;
    out.outcomes = trial->outcomes;
    const std::size_t last = kWarmUp + plan_.steps;
    if (trial->end != Trial::End::Steps || trial->stepEndsNs.size() < last) {
      out.failure = problemOf(*trial);
    } else {
      out.measured = measuredOf(*trial, last);
    }
    report(fmt::format(
        "  {}: {}", what,
        out.measured
            ? prof::timeText(static_cast<std::int64_t>(out.measured->nsPerStep)) + " a step"
            : analyzer::oneLine(out.failure)));
    return out;
  }

  prof::Result<std::vector<tune::Priced>> price(std::span<const collector::Setting> kept) override {
    return tune::price(trace_, kept, plan_.knobs);
  }

  double secondsLeft() override { return plan_.budgetSeconds - seconds(); }

  void report(std::string_view text) override {
    const auto left = static_cast<std::int64_t>(std::max(0.0, secondsLeft()));
    fmt::print(stderr, "lacuna: [{}:{:02} left] {}\n", left / 60, left % 60, text);
  }

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(steady_clock::now() - start_).count();
  }

 private:
  collector::TrialOptions optionsFor(std::vector<std::string> command,
                                     std::span<const collector::Setting> settings,
                                     std::string_view name) {
    collector::TrialOptions options;
    options.command = std::move(command);
    options.settings.assign(settings.begin(), settings.end());
    options.warmUp = kWarmUp;
    options.steps = kWarmUp + plan_.steps;
    const double most =
        seconds_ == 0 ? plan_.budgetSeconds : kLongest * seconds_ + kLongestExtraSeconds;
    options.limitNs = static_cast<std::int64_t>(most * kNsOfASecond);
    options.folder = scratch_.fresh(name);
    options.goesOn = [this] { return !held_.came(); };
    return options;
  }

  static tune::Measured measuredOf(const Trial& trial, std::size_t last) {
    tune::Measured out;
    const auto& ends = trial.stepEndsNs;
    out.nsPerStep = static_cast<double>(ends[last - 1] - ends[kWarmUp - 1]) /
                    static_cast<double>(last - kWarmUp);
    out.losses = trial.losses;
    out.hostBytes = trial.hostBytes;
    out.othersCores = trial.othersCores;
    out.deviceBytes = trial.deviceBytes;
    out.seconds = static_cast<double>(trial.wallNs) / kNsOfASecond;
    return out;
  }

  static std::string problemOf(const Trial& trial) {
    if (trial.end == Trial::End::Limit)
      return fmt::format("it took longer than {}", prof::timeText(trial.wallNs));
    if (trial.end == Trial::End::Failed)
      return fmt::format("{}: {}", endOf(trial), lastLine(trial.lastOutput));
    return fmt::format("it ended after {} steps", trial.stepEndsNs.size());
  }

  /// With a program that is too short, fewer steps where nobody asked for more.
  prof::Status checkRecorded(const Trial& trial) {
    const std::size_t made = trial.stepEndsNs.size();
    if (trial.end == Trial::End::Failed) {
      const std::string line = lastLine(trial.lastOutput);
      constexpr std::string_view kOurs = "lacuna: error: ";
      if (line.starts_with(kOurs)) return prof::Error{line.substr(kOurs.size())};
      return prof::Error{
          fmt::format("the program {} after {} steps: {}", endOf(trial), made, line)};
    }
    if (trial.end == Trial::End::Limit)
      return prof::Error{
          fmt::format("the recording alone took longer than the budget, and made {} of {} steps. "
                      "Give it more with --budget, or fewer --steps",
                      made, kWarmUp + plan_.steps)};
    if (made == 0) {
      return prof::Error{
          "no step was seen: tune needs a Python program that trains with PyTorch, and whose "
          "optimizer makes steps, or a program of the tensor runtime with a StepScope around each "
          "step"};
    }
    if (trial.end == Trial::End::Steps) return {};
    const std::size_t most = made > kWarmUp + 1 ? made - kWarmUp - 1 : 0;
    if (plan_.stepsGiven || most < kLeastSteps) {
      return prof::Error{fmt::format(
          "the program ended after {} steps, and {} are needed (the first {} do not count). {}",
          made, kWarmUp + (plan_.stepsGiven ? plan_.steps : kLeastSteps), kWarmUp,
          most < kLeastSteps ? "Let it train longer, with more epochs or more data"
                             : "Give it fewer --steps")};
    }
    plan_.steps = static_cast<std::uint32_t>(most);
    report(fmt::format("the program makes {} steps, so {} are measured", made, most));
    return {};
  }

  Plan& plan_;
  const HeldInterrupts& held_;
  Scratch& scratch_;
  steady_clock::time_point start_;
  fs::path trace_;
  double seconds_ = 0;  ///< of the recorded run
};

std::uint64_t memoryOfMachine() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size)
             : 0;
}

prof::Status checkKnobs(const std::vector<std::string>& knobs) {
  std::vector<std::string> names;
  for (const SettingType& type : settingTypes()) {
    if (type.refusal.empty()) names.emplace_back(type.name);
  }
  for (const std::string& knob : knobs) {
    const SettingType* type = findSetting(knob);
    if (type != nullptr && type->refusal.empty()) continue;
    if (type != nullptr)
      return prof::Error{
          fmt::format("--knobs {}: it cannot be set from outside: {}", knob, type->refusal)};
    const std::string meant = didYouMean(names, knob);
    return prof::Error{fmt::format("--knobs {}: there is no such setting{} Settings: {}", knob,
                                   meant.empty() ? "." : meant, fmt::join(names, ", "))};
  }
  return {};
}

prof::Result<Plan> planOf(const TuneOptions& options, std::vector<std::string> left) {
  Plan plan;
  if (!left.empty() && left[0].starts_with('-'))
    return prof::Error{
        fmt::format("there is no option '{}'. `lacuna tune --help` lists the options", left[0])};
  if (behindDashes) {
    if (!left.empty()) left.emplace_back("--");
    left.insert(left.end(), behindDashes->begin(), behindDashes->end());
  }
  if (left.empty())
    return prof::Error{"no program was given. Put it at the end: lacuna tune -- python train.py"};
  plan.command = std::move(left);
  plan.knobs = options.knobs;
  if (auto status = checkKnobs(plan.knobs); !status) return status.error();
  const auto budget = collector::parseDuration(options.budget);
  if (!budget) return prof::Error{fmt::format("--budget: {}", budget.error().message)};
  if (*budget <= 0)
    return prof::Error{
        "--budget is 0, which leaves no time for a run. Give it a time, for example 10m"};
  plan.budgetSeconds = static_cast<double>(*budget) / kNsOfASecond;
  constexpr double kMostSteps = 1e6;
  if (options.steps) {
    if (*options.steps < kLeastSteps || *options.steps > kMostSteps ||
        *options.steps != std::uint32_t(*options.steps))
      return prof::Error{fmt::format("--steps is a whole number from {} to 1000000", kLeastSteps)};
    plan.steps = static_cast<std::uint32_t>(*options.steps);
    plan.stepsGiven = true;
  }
  for (const std::string& path : options.outputs.paths) {
    auto checked = OutputFile::check({path, options.outputs.force});
    if (!checked) return checked.error();
    plan.outputs.push_back(*std::move(checked));
  }
  return plan;
}

prof::Status writeFiles(const Plan& plan, const tune::Session& session,
                        const tune::Result& result) {
  for (const OutputFile& output : plan.outputs) {
    const bool isPage = output.name().ends_with(".html");
    if (auto status = output.writeText(isPage ? tune::htmlOf(session, result)
                                              : tune::jsonOf(session, result));
        !status)
      return status;
    printWritten(output.name());
  }
  return {};
}

/// The calibration that LACUNA_CALIBRATION names is the default. One that does not exist yet is
/// made at the end.
prof::Status useCalibration(const std::string& option, Plan& plan) {
  constexpr const char* kVariable = "LACUNA_CALIBRATION";
  const char* given = std::getenv(kVariable);
  plan.calibration = !option.empty() ? option : given != nullptr ? given : "";
  std::error_code none;
  if (plan.calibration.empty()) return {};
  if (!fs::exists(plan.calibration, none)) {
    unsetenv(kVariable);
    return {};
  }
  if (auto read = analyzer::Calibration::read(plan.calibration); !read) return read.error();
  setenv(kVariable, plan.calibration.c_str(), 1);
  return {};
}

/// Adds what was measured to the calibration.
prof::Status learn(const Plan& plan, const tune::Result& result) {
  const auto outcomes = tune::outcomesOf(result);
  if (plan.calibration.empty() || outcomes.empty()) return {};
  auto text = analyzer::Calibration::withOutcomes(plan.calibration, outcomes);
  if (!text) return text.error();
  auto output = OutputFile::check({plan.calibration, true});
  if (!output) return output.error();
  if (auto status = output->writeText(*text); !status) return status;
  fmt::print(stderr, "lacuna: added {} to {}\n",
             prof::countText(outcomes.size(), "outcome", "outcomes"), plan.calibration);
  return {};
}

int tuneCommand(const TuneOptions& options, std::vector<std::string> left) {
  auto plan = planOf(options, std::move(left));
  if (!plan) return printMisuse(plan.error().message);
  if (auto status = useCalibration(options.calibration, *plan); !status)
    return printError(status.error().message);
  Scratch scratch;
  if (scratch.path().empty())
    return printError("no folder can be made for the runs. Let TMPDIR be one with room");
  const HeldInterrupts held;
  RealMachine machine(*plan, held, scratch);
  const auto recorded = machine.record();
  if (!recorded && recorded.error().message.empty()) {
    fmt::print(stderr, "lacuna: interrupted while recording; nothing was tried\n");
    return kInterrupted;
  }
  if (!recorded) return printError(recorded.error().message);
  tune::Limits limits;
  limits.roomBytes = memoryOfMachine() / kRoomShare;
  const auto result = tune::tune(machine, limits, *recorded);
  if (!result) return printError(fmt::format("the program as it is: {}", result.error().message));
  const tune::Session session{plan->command, plan->steps, kWarmUp, machine.seconds()};
  fmt::print("{}", tune::textOf(session, *result));
  if (auto status = writeFiles(*plan, session, *result); !status)
    return printError(status.error().message);
  if (auto status = learn(*plan, *result); !status) return printError(status.error().message);
  if (result->ending == tune::Ending::Failed) return kError;
  return result->ending == tune::Ending::Interrupted ? kInterrupted : kOk;
}

}  // namespace

void addTune(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<TuneOptions>();
  Command command(app, "tune", "Find settings that make a training faster, by trying them");
  command.usage("[OPTIONS] [--] PROGRAM [ARGUMENTS…]");
  command.footer(
      "The program is recorded once; then it is run without recording, again and again, with the "
      "setting that is predicted to bring most and without it. Each run is ended after its steps. "
      "The script is not changed.\n"
      "Exit code: 0 done, 1 an error, 2 wrong usage, 130 interrupted (what is known so far is "
      "printed).");
  command.example("lacuna tune --budget 10m -- python train.py");
  command.takeTheRest();
  command.option("--budget", options->budget, "How long it may take, as 90s, 10m or 2h")
      .typeName("TIME")
      .notEmpty()
      .showDefault();
  command
      .option("--steps", options->steps,
              fmt::format("Steps of each run that count (default: {}; {} before them do not)",
                          kUsualSteps, kWarmUp))
      .typeName("N")
      .notEmpty();
  command
      .option("--knobs", options->knobs,
              "Only these settings, separated by commas, and also without a prediction")
      .typeName("LIST")
      .commaSeparated()
      .notEmpty()
      .suggestsList([] {
        std::vector<std::string> names;
        for (const SettingType& type : settingTypes()) {
          if (type.refusal.empty()) names.emplace_back(type.name);
        }
        return names;
      });
  command
      .option("--calibration", options->calibration,
              "Predict with the factors of this file, and add what was predicted and measured to "
              "it (default: LACUNA_CALIBRATION)")
      .typeName("FILE")
      .notEmpty();
  addTargets(command, options->outputs,
             "Write what was tried too: as a page where OUT ends in .html, else as JSON "
             "(docs/tune.md); may be repeated");
  command.formerly("--html", "-o",
                   [options](const std::string& path) { options->outputs.paths.push_back(path); });
  command.does(
      [options, command, &exitCode] { exitCode = tuneCommand(*options, command.remaining()); });
}

}  // namespace lacuna::cli
