// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "format/layout.h"

namespace lacuna::prof::format {

/// The storage of a column, in words for people.
std::string encodingName(const BlockHeader& block, const Section& section);

}  // namespace lacuna::prof::format
