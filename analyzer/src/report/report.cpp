// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <climits>

#include "report/section.h"

namespace lacuna::analyzer {
namespace {

const Section* findSection(std::string_view name) {
  const auto found = std::ranges::find(allSections(), name, &Section::name);
  return found == allSections().end() ? nullptr : *found;
}

void writeOverview(TextPage& page, const Analysis& analysis) {
  for (const Section* section : allSections()) {
    if (section->overviewRows > 0) writeText(*section, page, analysis, section->overviewRows);
  }
  page.line();
  page.wrapped(fmt::format("more, with --section: {}", fmt::join(reportSections(), ", ")), 0, 6,
               "2");
}

}  // namespace

std::span<const std::string_view> reportSections() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Section* section : allSections()) names.push_back(section->name);
    return names;
  }();
  return kNames;
}

std::string renderText(const Analysis& analysis, const ReportOptions& options) {
  TextPage page(analysis, options);
  if (options.sections.empty()) writeOverview(page, analysis);
  for (const std::string& name : options.sections) {
    if (const Section* section = findSection(name)) writeText(*section, page, analysis, INT_MAX);
  }
  return page.take();
}

std::string renderJson(const Analysis& analysis) {
  JsonWriter json;
  json.beginObject().field("schema", "lacuna.report/1");
  for (const Section* section : allSections()) writeJson(*section, json, analysis);
  return json.endObject().take();
}

std::string renderHtml(const Analysis& analysis) {
  HtmlPage page;
  for (const bool drawn : {true, false}) {
    for (const Section* section : allSections()) {
      if (section->isDrawn == drawn) writeHtml(*section, page, analysis);
    }
  }
  return page.take(analysis.store->path().filename().string(), describeRun(analysis));
}

}  // namespace lacuna::analyzer
