// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "lacuna/analyzer/whatif.h"

/// How a prediction came about: the times replayed, each limit it passed, and the parts of its interval.
namespace lacuna::cli {

/// For people, at 80 columns.
std::string explainedText(const analyzer::Prediction& prediction);
/// One object (docs/analyses/whatif.md).
std::string explainedJson(const analyzer::Prediction& prediction);

}  // namespace lacuna::cli
