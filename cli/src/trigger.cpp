// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "commands.h"
#include "lacuna/collector/run.h"
#include "output.h"

namespace lacuna::cli {

void addTrigger(CLI::App& app, int& code) {
  struct Wanted {
    int pid = 0;
    bool start = false;
    bool stop = false;
    bool dump = false;
  };
  auto wanted = std::make_shared<Wanted>();
  Command trigger(app, "trigger", "Start, stop or dump a recording that runs");
  trigger.option("PID", wanted->pid, "Process that is recorded, or 'lacuna run' itself").required();
  Command what = trigger.oneOf("action");
  what.flag("--start", wanted->start, "Record from now on");
  what.flag("--stop", wanted->stop, "Record nothing until --start");
  what.flag("--dump", wanted->dump, "Write what has been recorded so far, or what the rings hold, and wait for it");
  trigger.usage("PID --start | --stop | --dump");
  trigger.example("lacuna trigger $(pgrep -n train) --stop");
  trigger.does([wanted, &code] {
    const auto action = wanted->start  ? collector::Trigger::Start
                        : wanted->stop ? collector::Trigger::Stop
                                       : collector::Trigger::Dump;
    const auto said = collector::trigger(wanted->pid, action);
    if (!said) {
      code = printError(said.error().message);
      return;
    }
    fmt::print(stderr, "lacuna: {}\n", *said);
  });
}

}  // namespace lacuna::cli
