// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyses/disturbance/core_contention.h"
#include "analyses/disturbance/thread_share.h"
#include "whatif/model.h"

namespace lacuna::analyzer {

/// The lost share of the time that threads wanted to run. On any machine, a thread that is woken
/// waits a moment for a core. Where it mostly waits for others, this is a large part of the little
/// time that it wants.
double lostToOthers(const CoreContention& contention);

/// The team's other threads want cores for the rest of the training's time on cores. The thread
/// that launches wants them for its own work and its operators. 1 where threads were not watched.
double teamOfWork(const Simulator::Model& model, const StepThread& threads);

}  // namespace lacuna::analyzer
