// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/whatif.h"
#include "lacuna/prof/result.h"

/// Explains how a prediction or a finding's gain came about: the times replayed, each limit it
/// passed, and the parts of its interval. Texts are for people, at 80 columns.
namespace lacuna::cli {

std::string explainedText(const analyzer::Prediction& prediction);
/// One object (docs/analyses/whatif.md).
std::string explainedJson(const analyzer::Prediction& prediction);

/// The finding of that number in a report, from 1 on; an error, with the numbers that there are,
/// where it has none.
prof::Result<const analyzer::Finding*> numberedFinding(const analyzer::Analysis& analysis,
                                                       std::size_t number);
std::string explainedText(const analyzer::Analysis& analysis, std::size_t number,
                          const analyzer::Finding& finding);
/// One object (docs/report-json.md), on a line.
std::string explainedJson(const analyzer::Analysis& analysis, std::size_t number,
                          const analyzer::Finding& finding);

}  // namespace lacuna::cli
