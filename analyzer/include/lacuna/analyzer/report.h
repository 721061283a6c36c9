// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/query.h"

namespace lacuna::analyzer {

struct ReportOptions {
  /// Empty: the overview. Otherwise only these, in full.
  std::vector<std::string> sections;
  int width = 100;
  bool colour = false;
};

/// The names that ReportOptions::sections knows.
std::span<const std::string_view> reportSections();
/// For a terminal. UTF-8, ends in a newline.
std::string renderText(const Analysis& analysis, const ReportOptions& options = {});
/// docs/report-json.md describes it.
std::string renderJson(const Analysis& analysis);
/// The report's tables for a query over the same store, which is analysed when the first of them is
/// read.
ReportTables reportTablesOf(std::shared_ptr<const Store> store);
/// One self-contained page.
std::string renderHtml(const Analysis& analysis);

/// The one or two sentences that a report opens with.
std::string verdict(const Analysis& analysis);
/// The words for an empty list of findings: "none: nothing stands out", or why that does not mean
/// much. Begins with a small letter, without a full stop.
std::string noFindings(const Analysis& analysis);
/// File, length, steps and devices in one line.
std::string describeRun(const Analysis& analysis);
/// Number of steps and the time of one: the median with its spread, or the mean where steps differ
/// too much.
std::string describeSteps(const Analysis& analysis);

}  // namespace lacuna::analyzer
