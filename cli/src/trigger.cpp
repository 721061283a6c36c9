// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "job_trigger.h"
#include "lacuna/collector/run.h"
#include "lacuna/prof/recover.h"
#include "output_file.h"

namespace lacuna::cli {
namespace {

struct TriggerOptions {
  std::optional<int> pid;
  bool start = false;
  bool stop = false;
  bool dump = false;
  Target copy;
  collector::JobTrigger job;
};

collector::Trigger actionOf(const TriggerOptions& wanted) {
  if (wanted.start) return collector::Trigger::Start;
  return wanted.stop ? collector::Trigger::Stop : collector::Trigger::Dump;
}

/// Makes a whole trace of the one that may still grow.
prof::Status copyDump(const collector::TriggerOutcome& outcome, const OutputFile& copy) {
  if (outcome.dump.empty())
    return prof::Error{outcome.words + ". Remedy: copy it from there with lacuna recover"};
  return copy.whileWriting([&]() -> prof::Status {
    const auto written = prof::recoverFile(outcome.dump, copy.name(), copy.existing());
    return written ? prof::Status() : written.error();
  });
}

int dumpInto(const TriggerOptions& wanted) {
  const auto copy = OutputFile::check(wanted.copy);
  if (!copy) return printError(copy.error().message);
  const auto outcome = collector::trigger(*wanted.pid, collector::Trigger::Dump);
  if (!outcome) return printError(outcome.error().message);
  if (auto status = copyDump(*outcome, *copy); !status) return printError(status.error().message);
  fmt::print(stderr, "lacuna: what was recorded so far is in {}\n", copy->name());
  return kOk;
}

int trigger(const TriggerOptions& wanted) {
  if (!wanted.dump && !wanted.copy.path.empty())
    return printMisuse("-o names the file of --dump. Leave -o out");
  if (const auto why = forcesNothing(wanted.copy); !why.empty()) return printMisuse(why);
  const bool ofJob = !wanted.job.job.empty();
  if (ofJob && wanted.pid)
    return printMisuse("--job is for all ranks of a job. Leave out the PID, or use lacuna attach");
  if (ofJob) return triggerSteps(wanted.job);
  if (!wanted.pid)
    return printMisuse("no process was given. Give its number: lacuna trigger PID --stop");
  if (!wanted.copy.path.empty()) return dumpInto(wanted);
  const auto outcome = collector::trigger(*wanted.pid, actionOf(wanted));
  if (!outcome) return printError(outcome.error().message);
  fmt::print(stderr, "lacuna: {}\n", outcome->words);
  return kOk;
}

}  // namespace

void addTrigger(CLI::App& app, int& code) {
  auto wanted = std::make_shared<TriggerOptions>();
  Command command(app, "trigger",
                  "Start, stop or dump a recording that runs, or record steps of a job on standby");
  command.option("PID", wanted->pid, "Process that is recorded, or 'lacuna run' itself");
  Command action = command.oneOf("action");
  action.flag("--start", wanted->start, "Record from now on");
  action.flag("--stop", wanted->stop, "Record nothing until --start");
  action.flag("--dump", wanted->dump,
              "Write what has been recorded so far, or what the rings hold, and wait for it");
  Option job = action
                   .option("--job", wanted->job.job,
                           "Have all ranks of the job that lacuna run --standby DIR keeps record "
                           "the same steps, into one file a rank in DIR")
                   .typeName("DIR")
                   .notEmpty();
  addSteps(command, wanted->job, job);
  addTarget(command, wanted->copy, "with --dump: copy that as a whole trace into this file");
  command.usage("PID --start | --stop | --dump [-o OUT], or --job DIR [--step N] [--steps K]");
  command.example("lacuna trigger $(pgrep -n train) --stop");
  command.does([wanted, &code] { code = trigger(*wanted); });
}

}  // namespace lacuna::cli
