// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lacuna/analyzer/files.h"

namespace lacuna::analyzer {

/// The offset to add to the times of `other` to bring them to the clock of `reference`.
Alignment alignTo(const Store& reference, const Store& other);

}  // namespace lacuna::analyzer
