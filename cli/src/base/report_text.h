// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/text_table.h"
#include "lacuna/prof/result.h"

namespace lacuna::cli {

/// As wide as the terminal behind standard output, or as its content.
void printTextTable(const analyzer::TextTable& table);
/// Columns of the terminal behind `stream`; without one COLUMNS, else 100.
int terminalWidth(std::FILE* stream);

/// Analyses a trace and prints how the report begins (verdict, ledger, findings), in colour where
/// `stream` is a terminal that wants it.
prof::Status printVerdict(const std::filesystem::path& trace, std::FILE* stream);

/// Analyses one of several traces; warnings name it.
prof::Result<analyzer::Analysis> analysed(const std::string& trace);

/// Why figures of this trace are of the whole run, and what to do; for a trace without steps.
std::string withoutSteps(std::string_view trace);

}  // namespace lacuna::cli
