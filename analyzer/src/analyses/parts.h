// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "analyses/part.h"
#include "analyses/registry.h"

namespace lacuna::analyzer {

namespace parts {
#define LACUNA_ANALYSIS_DECLARED(name) extern constinit const AnalysisPart name;
LACUNA_REGISTRY(LACUNA_ANALYSIS_DECLARED, LACUNA_NOTHING, LACUNA_ANALYSIS_DECLARED)
#undef LACUNA_ANALYSIS_DECLARED
}  // namespace parts

/// As the registry lists them.
PartList listedParts();
/// These parts, each after its inputs, and else as they are listed. Parts that wait for each other
/// are left out, and so is what needs them.
std::vector<const AnalysisPart*> inputsFirst(PartList listed);
/// All parts in the order in which they compute.
PartList allParts();

}  // namespace lacuna::analyzer
