// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"

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
/// One self-contained page.
std::string renderHtml(const Analysis& analysis);

}  // namespace lacuna::analyzer
