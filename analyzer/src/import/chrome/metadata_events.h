// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "import/chrome/imported_places.h"

namespace lacuna::analyzer {

/// Takes the names and ranks of places from the metadata events, which all but those of ranks
/// become rows of the environment, too.
void readMetadata(const std::vector<std::string>& metadata, const ImportedPlaces& places,
                  StoreBuilder& builder);
/// Takes from the names and threads of calls which kind the devices are of and, where one process
/// alone calls the driver, whose the queues are.
void describeByCalls(const ImportedPlaces& places, StoreBuilder& builder);

}  // namespace lacuna::analyzer
