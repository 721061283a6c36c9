// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/nearest.h"
#include "base/output.h"
#include "base/report_text.h"
#include "base/settings.h"
#include "commands.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/collector/doctor.h"
#include "lacuna/collector/record_caller.h"
#include "lacuna/collector/standby.h"
#include "lacuna/prof/amounts.h"
#include "lacuna/prof/rank.h"
#include "output_file.h"
#include "timeline_blocks.h"

namespace lacuna::cli {
namespace {

using collector::RunOptions;

/// The options as typed; turned into RunOptions once they have been read.
struct Typed {
  RunOptions run;
  Target output;
  std::string trace;
  std::string cuda;
  std::string duration;
  std::string delay;
  std::string memoryLimit;
  std::string ring;
  std::string dumpOn;
  std::string sampler;
  std::string detail;
  std::vector<std::string> settings;
  std::optional<double> sampleRate;
  std::optional<double> pythonHz;
  std::optional<double> stepMad;
  bool torch = false;
  bool noTorch = false;
  bool noWait = false;
  bool quiet = false;
  bool noReport = false;
  bool caller = false;
};

template <class T, class Parse>
prof::Status read(const std::string& text, T& into, Parse&& parse) {
  if (text.empty()) return {};
  auto value = parse(text);
  if (!value) return value.error();
  into = *value;
  return {};
}

/// 0 for what is no rate.
std::int64_t periodOf(double perSecond) {
  return perSecond > 0 ? static_cast<std::int64_t>(1e9 / perSecond) : 0;
}

/// FILE with the rank of this process in the place of {rank}, for launchers that start `lacuna run`
/// once a rank.
prof::Result<std::string> withRank(std::string file) {
  constexpr std::string_view kPlace = "{rank}";
  const std::size_t at = file.find(kPlace);
  if (at == std::string::npos) return file;
  const std::int32_t rank = prof::placeInJob().rank;
  if (rank < 0) {
    return prof::Error{
        fmt::format("-o {}: this process has no rank. Start lacuna run from torchrun, mpirun or "
                    "srun, or set RANK",
                    file)};
  }
  return file.replace(at, kPlace.size(), std::to_string(rank));
}

/// Before the program starts, and also where no summary is wanted. A closed pipe must not end us
/// here.
void printNote(const std::string& note) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  std::fputs(("lacuna: " + note + "\n").c_str(), stderr);
  std::signal(SIGPIPE, before);
}

/// A job on standby is recorded only when lacuna trigger asks for it.
prof::Status checkStandby(const Typed& typed) {
  const std::pair<const char*, bool> others[] = {
      {"--output", !typed.output.path.empty() || typed.output.force},
      {"--delay", !typed.delay.empty()},
      {"--duration", !typed.duration.empty()},
      {"--capture-range", !typed.run.captureRange.empty()},
      {"--ring", !typed.ring.empty()},
      {"--set", !typed.settings.empty()},
      {"--raw-capture", !typed.run.rawCapture.empty()},
      {"--python-hz", typed.pythonHz.has_value()},
      {"samples in --trace", typed.run.sources.samples}};
  for (const auto& [option, given] : others) {
    if (given) {
      return prof::Error{fmt::format(
          "--standby records steps only when lacuna trigger asks for them. Leave out {}", option)};
    }
  }
  if (!typed.run.sources.nvtx)
    return prof::Error{"--standby finds steps by NVTX. Add it: --trace nvtx,…"};
  return {};
}

prof::Status chooseCuda(const Typed& typed, collector::Sources& sources) {
  if (typed.cuda.empty()) return {};
  if (!sources.cuda)
    return prof::Error{"--cuda needs CUDA, which --trace leaves out. Add it: --trace cuda,…"};
  auto mode = collector::parseCudaMode(typed.cuda);
  if (!mode) return mode.error();
  if (*mode == collector::CudaMode::Off && sources.gpuCounters) {
    return prof::Error{"--trace gpu-counters needs CUDA's timeline. Leave it out, or --cuda off"};
  }
  sources.cudaMode = *mode;
  sources.cuda = *mode != collector::CudaMode::Off;
  return {};
}

/// Steps are counted from the program's start. A recording of a part of the program might hold
/// plain ones alone.
prof::Status chooseDetail(const Typed& typed, RunOptions& run) {
  const std::pair<std::string_view, bool> parts[] = {{"--delay", run.delayNs != 0},
                                                     {"--capture-range", !run.captureRange.empty()},
                                                     {"--ring", run.ringBytes != 0},
                                                     {"--standby", !run.standby.empty()}};
  const auto part = std::ranges::find_if(parts, [](const auto& option) { return option.second; });
  const bool isWhole = part == std::end(parts);
  if (typed.detail.empty()) {
    run.detail = isWhole ? collector::Detail::Some : collector::Detail::All;
    return {};
  }
  if (auto status = read(typed.detail, run.detail, collector::parseDetail); !status) return status;
  if (run.detail == collector::Detail::Some && !isWhole) {
    return prof::Error{
        fmt::format("--detail some counts steps from the program's start, and {} records a part of "
                    "the program. Leave out one of the two",
                    part->first)};
  }
  return {};
}

prof::Status complete(Typed& typed) {
  RunOptions& run = typed.run;
  if (auto status = read(typed.output.path, typed.output.path, withRank); !status) return status;
  run.output = typed.output.path;
  run.replace = typed.output.force;
  if (auto status = read(typed.trace, run.sources, collector::parseSources); !status) return status;
  if (auto status = chooseCuda(typed, run.sources); !status) return status;
  if (auto status = read(typed.duration, run.durationNs, collector::parseDuration); !status)
    return status;
  if (auto status = read(typed.delay, run.delayNs, collector::parseDuration); !status)
    return status;
  if (auto status = read(typed.memoryLimit, run.memoryLimit, collector::parseBytes); !status)
    return status;
  if (auto status = read(typed.ring, run.ringBytes, collector::parseBytes); !status) return status;
  if (auto status = read(typed.dumpOn, run.dumpOn, collector::parseDumpOn); !status) return status;
  if (auto status = read(typed.sampler, run.sampler, collector::parseSampler); !status)
    return status;
  if (auto status = chooseDetail(typed, run); !status) return status;
  auto settings = parseSettings(typed.settings);
  if (!settings) return settings.error();
  run.settings = *std::move(settings);
  if (run.ringBytes != 0 && !typed.memoryLimit.empty()) {
    return prof::Error{
        "--ring is the memory of each process, and so is --memory-limit. Leave --memory-limit out"};
  }
  const bool asked = typed.torch || !run.settings.empty() || typed.pythonHz;
  if (typed.noTorch && asked) {
    return prof::Error{
        "--no-torch leaves out what --torch, --set and --python-hz need. Choose one of the two"};
  }
  if (asked && !run.sources.nvtx) {
    return prof::Error{
        "--torch, --set and --python-hz speak over NVTX, which --trace leaves out. Add it: --trace "
        "nvtx,…"};
  }
  if (!typed.noTorch && run.sources.nvtx) {
    run.pythonHook = asked ? collector::PythonHook::On : collector::PythonHook::IfInstalled;
  }
  if (!run.rawCapture.empty() && !run.sources.cuda) {
    return prof::Error{
        "--raw-capture keeps CUDA's records, which this run leaves out. Add them: --trace cuda,…"};
  }
  if (!typed.ring.empty() && run.ringBytes == 0)
    return prof::Error{"--ring is 0. Give it a size, for example --ring 256M"};
  if (!typed.duration.empty() && run.durationNs == 0) {
    return prof::Error{
        "--duration is 0, which would record nothing. Give it a time, for example --duration 1m"};
  }
  if (typed.sampleRate && !run.sources.samples) {
    return prof::Error{
        "--sample-rate is that of CPU samples. Add samples to --trace, or leave it out"};
  }
  if (typed.pythonHz && *typed.pythonHz > 0 && run.ringBytes != 0) {
    return prof::Error{
        "a flight recorder does not look where Python programs are. Leave --python-hz out, or "
        "--ring"};
  }
  if (typed.stepMad && !run.dumpOn.slowStep) {
    return prof::Error{"--step-mad defines a slow step. Add --dump-on slow-step, or leave it out"};
  }
  if (typed.sampleRate) run.samplePeriodNs = periodOf(*typed.sampleRate);
  // A rate of 0 switches sampling off, so it has no period.
  if (typed.pythonHz)
    run.pythonPeriodNs =
        *typed.pythonHz == 0 ? 0 : std::max<std::int64_t>(periodOf(*typed.pythonHz), 1);
  if (typed.stepMad) run.slowDeviations = *typed.stepMad;
  if (run.ringBytes != 0 && typed.dumpOn.empty()) run.dumpOn.crash = true;
  if (auto status = collector::checkOptions(run); !status) return status;
  if (!run.standby.empty()) {
    if (auto status = checkStandby(typed); !status) return status;
  }
  run.waitForAll = !typed.noWait;
  run.live = run.summary = !typed.quiet;
  run.onNote = printNote;
  return {};
}

void printSummary(const collector::RunReport& report) {
  for (const auto& note : report.notes) fmt::print(stderr, "lacuna: {}\n", analyzer::oneLine(note));
  for (const auto& dump : report.dumps) {
    fmt::print(stderr, "lacuna: dump {} · {}\n", analyzer::oneLine(dump.file.string()),
               analyzer::oneLine(dump.reason));
  }
  if (!report.failure.empty()) return;
  if (report.output.empty()) {
    fmt::print(
        stderr,
        "lacuna: nothing happened that the flight recorder was to write; no trace was kept.\n");
    return;
  }
  const auto& stats = report.stats;
  // The trace also holds what is known of processes that did not record.
  const bool outside = stats.processes == 0 && report.seen > 0;
  const std::uint32_t processes = outside ? report.seen : stats.processes;
  fmt::print(stderr, "lacuna: {} · {} events from {} process{}{} in {} · {} · {} dropped\n",
             analyzer::oneLine(report.output.string()), prof::countText(stats.rows), processes,
             processes == 1 ? "" : "es", outside ? ", seen from outside only," : "",
             prof::timeText(report.wallNs), prof::bytesText(stats.fileBytes),
             prof::countText(stats.dropped));
  if (const std::string hint = collector::leftoversHint(); !hint.empty())
    fmt::print(stderr, "lacuna: {}\n", hint);
  if (!report.sampler.empty())
    fmt::print(stderr, "lacuna: {} CPU samples from {}\n", report.samples, report.sampler);
  if (report.exitSignal != 0) {
    fmt::print(
        stderr,
        "lacuna: the program was killed by signal {}; what it had recorded is in the trace.\n",
        report.exitSignal);
  }
  if (stats.processes == 0 && report.samples == 0 && !report.explained) {
    fmt::print(stderr,
               "lacuna: no process recorded anything. Only programs with NVTX annotations or CUDA "
               "do; see lacuna doctor.\n");
  }
}

/// Lines that a setting had no effect come also where no summary is wanted.
void printSettings(const collector::RunReport& report, bool summary) {
  for (const collector::SettingLine& line : report.settings) {
    if (!summary && !line.failed) continue;
    fmt::print(stderr, "lacuna: {}set {}\n", line.failed ? "warning: " : "",
               analyzer::oneLine(line.text));
  }
}

/// On standard error, as the summary: standard output belongs to the program. A report that fails
/// is no failure of the run, whose trace is there.
void printReport(const collector::RunReport& report) {
  if (report.output.empty() || report.stats.rows == 0) return;
  fmt::print(stderr, "\n");
  if (auto status = printVerdict(report.output, stderr); !status) {
    fmt::print(stderr, "lacuna: no report: {}\n", analyzer::oneLine(status.error().message));
    return;
  }
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  const std::string name =
      error ? report.output.string() : report.output.lexically_proximate(here).string();
  fmt::print(stderr,
             "\nlacuna: the whole report: lacuna report {0} · the timeline: lacuna gui {0}\n",
             analyzer::oneLine(name));
}

/// The program and its arguments: what is left of the options, with its own `--` if it has one, or
/// what is after the
/// `--`.
prof::Result<std::vector<std::string>> commandOf(std::vector<std::string> left,
                                                 const std::vector<std::string>& options) {
  if (!left.empty() && left[0].rfind('-', 0) == 0) {
    const std::string option = left[0].substr(0, left[0].find('='));
    const std::string meant = didYouMean(options, option);
    return prof::Error{
        fmt::format("there is no option '{}'{} `lacuna run --help` lists the options{}", option,
                    meant.empty() ? "." : meant,
                    behindDashes ? ""
                                 : ". If it is the program's, put -- before the program: lacuna "
                                   "run -- ./train --epochs 3")};
  }
  if (behindDashes) {
    if (!left.empty()) left.emplace_back("--");
    left.insert(left.end(), behindDashes->begin(), behindDashes->end());
  }
  if (left.empty()) {
    return prof::Error{"no program was given. Put it at the end: lacuna run -- ./train --epochs 3"};
  }
  return left;
}

/// No program has its signals from us any more: output that we cannot write must not end us.
void outliveOwnOutput() {
  for (const int lost : {SIGPIPE, SIGXFSZ}) std::signal(lost, SIG_IGN);
}

/// The program has run: what cannot be printed or computed now must not change how this ends.
void conclude(const Typed& typed, const collector::RunReport& report) {
  const auto alone = [](auto&& work) {
    try {
      work();
    } catch (const std::exception&) {
    }
  };
  if (!report.failure.empty()) printError(report.failure);
  if (typed.run.summary) alone([&] { printSummary(report); });
  alone([&] { printSettings(report, typed.run.summary); });
  if (report.output.empty() || !report.failure.empty()) return;
  const bool goesOn = addTimeline(report.output);
  if (typed.run.summary && !typed.noReport && goesOn) alone([&] { printReport(report); });
}

/// For a program that records a part of itself: the program that started this command.
int recordCaller(Typed& typed) {
  if (auto status = complete(typed); !status) return printMisuse(status.error().message);
  if (typed.run.output.empty())
    return printMisuse("--caller needs the name of the trace. Add -o FILE");
  const auto output = OutputFile::check(typed.output);
  if (!output) return printError(output.error().message);
  const auto stats = collector::recordCaller(typed.run, STDIN_FILENO, STDOUT_FILENO);
  if (!stats) return printError(stats.error().message);
  (void)addTimeline(typed.run.output);
  return kOk;
}

/// The program was never recorded, or some of its steps were.
int runOnStandby(const Typed& typed) {
  const auto report = collector::runOnStandby(typed.run);
  outliveOwnOutput();
  if (!report) {
    printError(report.error().message);
    return 127;
  }
  if (typed.run.summary) {
    fmt::print(stderr, "lacuna: {} recorded in {}\n",
               report->captures == 0 ? "nothing was"
                                     : fmt::format("{} file{} of steps", report->captures,
                                                   report->captures == 1 ? "" : "s"),
               analyzer::oneLine(typed.run.standby.string()));
  }
  collector::exitAs(report->run);
}

int runCommand(Typed& typed, std::vector<std::string> left,
               const std::vector<std::string>& options) {
  auto command = commandOf(std::move(left), options);
  if (!command) return printMisuse(command.error().message);
  typed.run.command = std::move(*command);
  if (auto status = complete(typed); !status) return printMisuse(status.error().message);
  if (!typed.run.standby.empty()) return runOnStandby(typed);
  const auto report = collector::run(typed.run);
  outliveOwnOutput();
  if (!report) {
    printError(report.error().message);
    return 127;
  }
  conclude(typed, *report);
  // A recording that failed must not look like success; any other end of the program means more
  // than that.
  const bool endedWell = report->exitCode == 0 && report->exitSignal == 0;
  if (endedWell && !report->failure.empty()) return kError;
  collector::exitAs(*report);
}

/// The watch over Python programs, and the changes that are applied to them.
void addPython(Command& run, const std::shared_ptr<Typed>& typed) {
  run.flag("--torch", typed->torch,
           "Watch Python programs from inside, and PyTorch in them: operators, autograd, modules, "
           "steps, data loader, memory. The default; where you give it, a missing part of lacuna "
           "is an error");
  run.flag("--no-torch", typed->noTorch,
           "Leave Python programs alone: neither PyTorch nor lines of Python are recorded");
  run.option("--detail", typed->detail,
             "Steps of a PyTorch program to record with operators, modules and allocations: all, "
             "or some, the first 40 and then 20 of every 400, which keeps a long training quick "
             "(default: some; all where only a part of the program is recorded)")
      .typeName("WHICH")
      .notEmpty()
      .suggests([] {
        return std::vector<std::string>{"all", "some"};
      });
  run.option("--python-hz", typed->pythonHz,
             "Looks in a second where the threads of Python programs are, by line and function, "
             "whether they run or wait; 0 for none (default: 100)")
      .typeName("NUMBER")
      .notEmpty();
  run.option("--set", typed->settings,
             "Apply settings to a PyTorch program from inside, separated by commas, as in "
             "loader.workers=4,amp=on (listed below)")
      .typeName("LIST")
      .commaSeparated()
      .notEmpty()
      .suggestsList(&settingBeginnings);
}

/// The trace, and the events that it is to hold.
void addSources(Command& run, const std::shared_ptr<Typed>& typed) {
  addTarget(run, typed->output,
            "Trace to write, with {rank} for the rank of a distributed job (default: PROGRAM.lcn, "
            "numbered when that exists)");
  run.option("--trace", typed->trace,
             fmt::format("Kinds of events to record, separated by commas: {} (default: "
                         "nvtx,cuda,nccl,counters)",
                         fmt::join(collector::sourceNames(), ", ")))
      .typeName("LIST")
      .notEmpty()
      .suggestsList([] {
        const std::vector<std::string_view> names = collector::sourceNames();
        return std::vector<std::string>(names.begin(), names.end());
      });
  run.option("--cuda", typed->cuda,
             "How much of CUDA to record: full; kernels (device work alone, without calls, waits "
             "and memory); graphs (one record for each launch of a CUDA graph instead of one for "
             "each node); off (default: full)")
      .typeName("MODE")
      .notEmpty()
      .suggests([] {
        return std::vector<std::string>{"full", "kernels", "graphs", "off"};
      });
  run.option("--sample-rate", typed->sampleRate,
             "CPU samples of each thread in a second of its CPU time, with --trace samples "
             "(default: 1000)")
      .typeName("NUMBER")
      .notEmpty();
  run.option("--sampler", typed->sampler,
             "Where CPU samples come from: perf (the kernel), timer (a timer in each thread of the "
             "programs), proc (looking at /proc, no stacks), auto (default: perf where it is "
             "permitted, else timer)")
      .typeName("WHICH")
      .notEmpty()
      .suggests([] {
        return std::vector<std::string>{"perf", "timer", "proc", "auto"};
      });
  addPython(run, typed);
  run.option("--raw-capture", typed->run.rawCapture,
             "Keep what CUPTI hands over in this folder too, for lacuna convert to decode again")
      .typeName("DIR")
      .notEmpty();
}

/// The part of the run that is recorded.
void addWindow(Command& run, const std::shared_ptr<Typed>& typed) {
  run.option("--delay", typed->delay, "Begin to record only after this time")
      .typeName("TIME")
      .notEmpty();
  run.option(
         "--duration", typed->duration,
         "Record no longer than this, from the program's start or --delay on; the program runs on")
      .typeName("TIME")
      .notEmpty();
  run.option(
         "--capture-range", typed->run.captureRange,
         "Record only while an NVTX range of this name is open; not with --delay and --duration")
      .typeName("NAME")
      .notEmpty();
  run.option("--standby", typed->run.standby,
             "Record nothing until lacuna trigger --job DIR asks for some steps, each rank into a "
             "file of its own in DIR")
      .typeName("DIR")
      .notEmpty();
}

/// The memory for events in flight, and the flight recorder.
void addRing(Command& run, const std::shared_ptr<Typed>& typed) {
  run.option("--memory-limit", typed->memoryLimit,
             "Memory of each process for events in flight (default: 512M)")
      .typeName("SIZE")
      .notEmpty();
  run.option("--ring", typed->ring,
             "Flight recorder: keep only the last SIZE of each process and write on demand; not "
             "with --memory-limit")
      .typeName("SIZE")
      .notEmpty();
  run.option("--dump-on", typed->dumpOn,
             "With --ring: when to write what it holds, separated by commas: slow-step, signal "
             "(SIGUSR2 to lacuna run), crash (default: crash)")
      .typeName("LIST")
      .notEmpty()
      .suggestsList([] {
        return std::vector<std::string>{"slow-step", "signal", "crash"};
      });
  run.option("--step-range", typed->run.stepRange,
             "With --dump-on slow-step or --standby: the NVTX range that is a step (default: those "
             "of PyTorch and of lacuna's runtime)")
      .typeName("NAME")
      .notEmpty();
  run.option("--step-mad", typed->stepMad,
             "With --dump-on slow-step: so many median absolute deviations above the median is "
             "slow (default: 5)")
      .typeName("NUMBER")
      .notEmpty();
}

}  // namespace

void addRun(CLI::App& app, int& code) {
  auto typed = std::make_shared<Typed>();
  Command run(app, "run", "Record a program and everything it starts into a trace");
  run.usage("[OPTIONS] [--] PROGRAM [ARGUMENTS…]");
  run.footer(
      "The program runs as ever: its input, output, signals and exit code pass through.\n"
      "Exit code: the program's; 1 when that was 0 and the trace could not be written; 127 when "
      "the program could not be started, 2 for wrong usage.\n"
      "All words behind PROGRAM are the program's own, options too.\n"
      "TIME is 90s, 500ms, 1.5m or 2h (a number alone: seconds); SIZE is 256M or 4G, in powers of "
      "1024 (a number alone: bytes).");
  run.footnote(settingListText());
  run.example("lacuna run -o train.lcn -- python train.py --epochs 3");
  // The words from the program on are its own.
  run.takeTheRest();
  addSources(run, typed);
  addWindow(run, typed);
  addRing(run, typed);
  run.flag("--no-wait", typed->noWait,
           "Finish when the program ends, without waiting for its background processes");
  run.flag("-q,--quiet", typed->quiet, "No status line, no summary and no report");
  run.flag("--no-report", typed->noReport,
           "Do not end with the verdict, the time by cause and the findings");
  run.flag("--caller", typed->caller, "").hidden();
  run.does([run, typed, &code] {
    code = typed->caller ? recordCaller(*typed)
                         : runCommand(*typed, run.remaining(), run.optionNames());
  });
}

}  // namespace lacuna::cli
