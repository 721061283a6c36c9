// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lacuna/collector/options.h"
#include "lacuna/collector/run.h"
#include "lacuna/prof/result.h"

namespace lacuna::collector {

/// Runs the program as run() does, but records nothing until triggerJob() asks for it. The two meet
/// in the folder RunOptions::standby, which also gets the files of the recordings; it is made where
/// it is missing. Sources, the hook, the step's name and the memory limit count, and no other
/// options. RunReport::output is empty.
struct StandbyReport {
  RunReport run;
  std::uint32_t captures = 0;  ///< files recorded
};
prof::Result<StandbyReport> runOnStandby(const RunOptions& options);

/// The steps that a job is to record.
struct JobTrigger {
  std::filesystem::path job;
  std::int64_t step = -1;  ///< the first; -1: the first that all ranks can still reach
  std::int64_t steps = 10;
  std::uint32_t process = 0;  ///< only the rank of this process here; 0: all ranks
  std::function<void(const std::string&)> onNews;  ///< one line for each thing that happens
  std::function<bool()> interrupted;  ///< asked often; once true, the ranks are stopped
};
/// Has all ranks of the job record the same steps, and waits for them. Returns the files, in the
/// order of ranks. Fails where there is no job, the step has passed, ranks contradict each other,
/// or one ends or falls silent. The others are then stopped, and the message names the files that
/// are there.
prof::Result<std::vector<std::filesystem::path>> triggerJob(const JobTrigger& trigger);

/// How `lacuna attach` reaches a process: through the job in which it is on standby.
struct AttachPlan {
  std::filesystem::path job;
};
/// Looks at a process that is to be recorded. Fails with the reason and a remedy where it cannot
/// be.
prof::Result<AttachPlan> planAttach(int pid);

}  // namespace lacuna::collector
