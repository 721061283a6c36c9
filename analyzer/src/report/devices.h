// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/analysis.h"

namespace lacuna::analyzer {

/// The devices of the trace that did anything in the window and that the options ask for, with everything but ledgers.
prof::Result<std::vector<DeviceAccount>> listDevices(const Store& store, prof::TimeWindow window,
                                                     const AnalysisOptions& options);

/// "cuda:3", "cpu:0"
std::string deviceLabel(prof::DeviceKind kind, std::uint32_t index);
std::string_view deviceKindName(prof::DeviceKind kind);

}  // namespace lacuna::analyzer
