// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ostream>

#include "lacuna/analyzer/findings.h"

namespace lacuna::analyzer {

/// For messages of tests.
inline std::ostream& operator<<(std::ostream& out, FindingId id) {
  return out << findingKey(id);
}

}  // namespace lacuna::analyzer
