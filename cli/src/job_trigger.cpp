// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "job_trigger.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/output.h"
#include "commands.h"
#include "held_interrupts.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::cli {

void addSteps(Command& command, collector::JobTrigger& trigger,
              const std::optional<Option>& needed) {
  Option first = command.option(
      "--step", trigger.step,
      "First step to record, counted from 0 (default: the first that all ranks can still reach)");
  Option count =
      command.option("--steps", trigger.steps, "Number of steps to record (default: 10)");
  first.typeName("N").notNegative();
  count.typeName("K").between(1, 1'000'000);
  if (!needed) return;
  first.needs(*needed);
  count.needs(*needed);
}

int triggerSteps(collector::JobTrigger trigger) {
  const HeldInterrupts interrupts;
  trigger.onNews = [](const std::string& news) {
    fmt::print(stderr, "lacuna: {}\n", analyzer::oneLine(news));
  };
  trigger.interrupted = [&interrupts] { return interrupts.came(); };
  const auto files = collector::triggerJob(trigger);
  if (!files) return printError(files.error().message);
  for (const auto& file : *files) fmt::print("{}\n", analyzer::oneLine(file.string()));
  return kOk;
}

}  // namespace lacuna::cli
