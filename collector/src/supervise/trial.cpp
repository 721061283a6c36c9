// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "core/clock.h"
#include "supervise/child.h"
#include "supervise/environment.h"
#include "supervise/program.h"

extern char** environ;

namespace lacuna::collector {
namespace {

namespace fs = std::filesystem;

constexpr int kTrialPollMs = 50;
constexpr std::int64_t kReportEveryNs = 1'000'000'000;
/// For what the program has started, once it has ended itself.
constexpr std::int64_t kOrphansNs = 2'000'000'000;
/// Lines of a file of times, and bytes of a program's output that are kept for a message.
constexpr std::size_t kMostTimes = 1'000'000;
constexpr std::streamoff kOutputKept = 2000;
constexpr std::uint64_t kKibi = 1024;
constexpr std::int64_t kNsOfASecond = 1'000'000'000;
constexpr std::int64_t kNsOfAMicrosecond = 1000;

template <class Number>
std::optional<Number> numberIn(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  return words;
}

/// The times that one process wrote.
struct ProcessTimes {
  std::vector<std::int64_t> ends;
  std::map<std::uint32_t, double> losses;
  std::uint64_t deviceBytes = 0;
  bool enough = false;
};

void readLine(const std::vector<std::string_view>& words, ProcessTimes& process) {
  const std::string_view kind = words[1];
  if (kind == "step" && words.size() == 5) {
    const auto end = numberIn<std::int64_t>(words[4]);
    if (end && (process.ends.empty() || *end >= process.ends.back())) process.ends.push_back(*end);
  } else if (kind == "loss" && words.size() == 4) {
    const auto step = numberIn<std::uint32_t>(words[2]);
    const auto loss = numberIn<double>(words[3]);  // "nan" and "inf", too
    if (step && loss) process.losses[*step] = *loss;
  } else if (kind == "memory" && words.size() == 3) {
    process.deviceBytes = numberIn<std::uint64_t>(words[2]).value_or(0);
  } else if (kind == "end" && words.size() == 3) {
    process.enough = words[2] == "steps";
  }
}

/// Times of the process with the most steps; nothing where there is none.
std::optional<ProcessTimes> readProcess(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::map<std::string, ProcessTimes> processes;
  std::string line;
  for (std::size_t lines = 0; lines < kMostTimes && std::getline(in, line); ++lines) {
    const auto words = wordsOf(line);
    if (words.size() > 1) readLine(words, processes[std::string(words[0])]);
  }
  const auto most = std::ranges::max_element(
      processes, {}, [](const auto& process) { return process.second.ends.size(); });
  if (most == processes.end()) return std::nullopt;
  return most->second;
}

/// CPU time that all of the machine's programs have used so far; 0 where the kernel does not show
/// it.
std::int64_t machineBusyNs() {
  std::ifstream in("/proc/stat");
  std::string name;
  // user, nice, system, idle, iowait, irq, softirq, steal
  std::array<std::int64_t, 8> ticks{};
  in >> name;
  for (std::int64_t& each : ticks) in >> each;
  if (!in || name != "cpu") return 0;
  constexpr std::size_t kIdle = 3, kWaiting = 4;
  std::int64_t busy = 0;
  for (std::size_t i = 0; i < ticks.size(); ++i) busy += i == kIdle || i == kWaiting ? 0 : ticks[i];
  return busy * (kNsOfASecond / std::max(1L, sysconf(_SC_CLK_TCK)));
}

std::int64_t nsOf(const timeval& time) {
  return time.tv_sec * kNsOfASecond + time.tv_usec * kNsOfAMicrosecond;
}

std::string tailOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = in.tellg();
  if (size <= 0) return {};
  in.seekg(std::max<std::streamoff>(0, size - kOutputKept));
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void setVariable(std::vector<std::string>& variables, std::string_view name,
                 const std::string& value) {
  const std::string prefix = fmt::format("{}=", name);
  std::erase_if(variables, [&](const std::string& old) { return old.starts_with(prefix); });
  if (!value.empty()) variables.push_back(prefix + value);
}

/// The program as it would run without us, but for the hook.
prof::Result<std::vector<std::string>> environmentOf(const TrialOptions& options) {
  const auto injection = findInjection();
  if (!injection) return injection.error();
  ChildEnvironment environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.variables.emplace_back(*variable);
  if (auto status = addPythonHook(environment, *injection); !status) return status.error();
  setVariable(environment.variables, kSettingsVariable, settingsText(options.settings));
  setVariable(environment.variables, kOutcomesVariable, (options.folder / "set").string());
  setVariable(environment.variables, "LACUNA_STEP_TIMES", (options.folder / "times").string());
  setVariable(environment.variables, "LACUNA_STEPS",
              options.steps == 0 ? "" : std::to_string(options.steps));
  setVariable(environment.variables, "LACUNA_WARM_UP_STEPS", std::to_string(options.warmUp));
  return std::move(environment.variables);
}

class Runner {
 public:
  explicit Runner(const TrialOptions& options) : options_(options) {}

  prof::Result<Trial> run() {
    if (auto status = start(); !status) return status.error();
    while (running_) {
      poll(nullptr, 0, kTrialPollMs);
      reapAll();
      if (running_) checkProgram();
    }
    endGroup();
    trial_.wallNs = nowNs() - startNs_;
    noteOthers();
    readTimes(options_.folder / "times", trial_);
    trial_.outcomes = readOutcomes(options_.folder / "set");
    trial_.lastOutput = tailOf(options_.folder / "output");
    conclude();
    return std::move(trial_);
  }

 private:
  prof::Status start() {
    const auto program =
        findProgram(options_.command.empty() ? std::string() : options_.command[0]);
    if (!program) return program.error();
    auto environment = environmentOf(options_);
    if (!environment) return environment.error();
    const fs::path output = options_.folder / "output";
    const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (out < 0)
      return prof::Error{
          fmt::format("{}: cannot be written: {}", output.string(), std::strerror(errno))};
    const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    SpawnRequest request;
    request.program = program->path;
    request.arguments = options_.command;
    request.environment = *std::move(environment);
    sigprocmask(SIG_SETMASK, nullptr, &request.signalMask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
      sigdelset(&request.signalMask, number);
    request.ownGroup = true;
    request.input = in;
    request.output = out;
    adoptOrphans();
    busyNs_ = machineBusyNs();
    startNs_ = nowNs();
    const auto pid = spawn(request);
    close(out);
    if (in >= 0) close(in);
    if (!pid) return pid.error();
    child_ = *pid;
    return {};
  }

  /// Every child that has ended, with the most memory that one of them had.
  void reapAll() {
    for (;;) {
      int status = 0;
      rusage usage{};
      const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
      if (pid < 0 && errno == EINTR) continue;
      childless_ = pid < 0;
      if (pid <= 0) return;
      trial_.hostBytes = std::max<std::uint64_t>(
          trial_.hostBytes, static_cast<std::uint64_t>(usage.ru_maxrss) * kKibi);
      ownNs_ += nsOf(usage.ru_utime) + nsOf(usage.ru_stime);
      if (pid != child_) continue;
      running_ = false;
      if (WIFSIGNALED(status)) trial_.exitSignal = WTERMSIG(status);
      if (WIFEXITED(status)) trial_.exitCode = WEXITSTATUS(status);
    }
  }

  void checkProgram() {
    const std::int64_t now = nowNs();
    if (askedNs_ != 0) {
      if (now - askedNs_ > options_.graceNs) kill(-child_, SIGKILL);
      return;
    }
    if (options_.goesOn && !options_.goesOn()) return ask(Trial::End::Stopped, now);
    if (options_.limitNs > 0 && now - startNs_ > options_.limitNs)
      return ask(Trial::End::Limit, now);
    if (now - reportedNs_ < kReportEveryNs) return;
    reportedNs_ = now;
    const auto process = readProcess(options_.folder / "times");
    if (!process) return;
    if (options_.onSteps) options_.onSteps(static_cast<std::uint32_t>(process->ends.size()));
    // It has what was wanted, and a moment to end by itself.
    if (process->enough && doneNs_ == 0) doneNs_ = now;
    if (doneNs_ != 0 && now - doneNs_ > options_.graceNs) ask(Trial::End::Steps, now);
  }

  void ask(Trial::End why, std::int64_t now) {
    asked_ = why;
    askedNs_ = now;
    kill(-child_, SIGTERM);
  }

  void endGroup() {
    kill(-child_, SIGKILL);
    const std::int64_t until = nowNs() + kOrphansNs;
    while (!childless_ && nowNs() < until) {
      reapAll();
      if (!childless_) poll(nullptr, 0, 1);
    }
  }

  void noteOthers() {
    const std::int64_t busy = machineBusyNs();
    if (busyNs_ == 0 || busy == 0 || trial_.wallNs <= 0) return;
    const auto others = static_cast<double>(busy - busyNs_ - ownNs_);
    trial_.othersCores = std::max(0.0, others / static_cast<double>(trial_.wallNs));
  }

  void conclude() {
    const bool enough = options_.steps > 0 && trial_.stepEndsNs.size() >= options_.steps;
    if (asked_ == Trial::End::Stopped || asked_ == Trial::End::Limit) {
      trial_.end = *asked_;
    } else if (enough) {
      trial_.end = Trial::End::Steps;  // however it took that it was ended
    } else {
      trial_.end =
          trial_.exitCode != 0 || trial_.exitSignal != 0 ? Trial::End::Failed : Trial::End::Program;
    }
  }

  const TrialOptions& options_;
  Trial trial_;
  std::optional<Trial::End> asked_;  ///< why it was ended
  pid_t child_ = 0;
  bool running_ = true, childless_ = false;
  std::int64_t busyNs_ = 0;  ///< of the machine, at the start
  std::int64_t ownNs_ =
      0;  ///< CPU time of all that the program started and waited for, itself included
  std::int64_t startNs_ = 0, reportedNs_ = 0, askedNs_ = 0, doneNs_ = 0;
};

}  // namespace

void readTimes(const fs::path& file, Trial& trial) {
  auto process = readProcess(file);
  if (!process) return;
  trial.stepEndsNs = std::move(process->ends);
  trial.losses = std::move(process->losses);
  trial.deviceBytes = process->deviceBytes;
}

prof::Result<Trial> runTrial(const TrialOptions& options) {
  return Runner(options).run();
}

}  // namespace lacuna::collector
