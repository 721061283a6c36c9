// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// The CUDA timeline of the process that this library was loaded into. No CUDA header needed to
/// call it; where the build has no CUDA toolkit, starting only reports that.
namespace lacuna::collector::cupti {

/// Settings, as a comma-separated list in this environment variable: graph-launches (one record per
/// launch of a CUDA graph instead of one per node), no-memory, environment (clocks, temperature,
/// power), capture=DIR (raw capture).
inline constexpr const char* kSettingsVariable = "LACUNA_CUPTI";

/// Starts once per process; rows go to the recording that the process has joined. A log line in the
/// trace names what prevents it, with the remedy.
void startCudaTimeline();
/// Hands over what is outstanding and records what was lost. Does nothing in a forked child or when
/// nothing runs.
void stopCudaTimeline();

}  // namespace lacuna::collector::cupti
