// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/command.h"
#include "base/output.h"
#include "commands.h"
#include "job_trigger.h"
#include "lacuna/collector/standby.h"

namespace lacuna::cli {

void addAttach(CLI::App& app, int& code) {
  struct Wanted {
    int pid = 0;
    collector::JobTrigger steps;
  };
  auto wanted = std::make_shared<Wanted>();
  Command attach(
      app, "attach",
      "Record some steps of a process that runs on standby, or explain why that is not possible");
  attach
      .option("PID", wanted->pid,
              "Process that was started by lacuna run --standby, or by a program that was")
      .required();
  addSteps(attach, wanted->steps);
  attach.usage("PID [--step N] [--steps K]");
  attach.example("lacuna attach $(pgrep -n train) --steps 20");
  attach.does([wanted, &code] {
    const auto plan = collector::planAttach(wanted->pid);
    if (!plan) {
      code = printError(plan.error().message);
      return;
    }
    wanted->steps.job = plan->job;
    wanted->steps.process = static_cast<std::uint32_t>(wanted->pid);
    code = triggerSteps(wanted->steps);
  });
}

}  // namespace lacuna::cli
