// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The arguments of an end, which go to what it ends; to nothing where it ends nothing.
struct ArgJoin {
  prof::ArgSetId from, to;
};

/// Moves the arguments of each `from` to its `to`, where those of the same name give way, and
/// removes the sets that are empty then. Needs the sets in the order of their ids, and the
/// arguments of each name in one run.
void joinArgs(StoreBuilder& builder, const std::vector<ArgJoin>& joins);

}  // namespace lacuna::analyzer
