// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Removes flow points that only repeat a correlation. They lie at the start of a call, kernel,
/// copy, memset or sync, on its thread or queue, with its correlation as their id. The event's
/// shape gets a line for each (see kShapeFlow), from which an exporter writes them again. Argument
/// sets need not be dense afterwards.
void foldFlows(StoreBuilder& builder);

}  // namespace lacuna::analyzer
