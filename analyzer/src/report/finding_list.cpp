// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "formats/markdown.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/prof/amounts.h"
#include "report/json_writer.h"
#include "report/text_cells.h"
#include "rules/places.h"
#include "rules/registry.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kUnitNames[]{"share", "ns", "bytes", "count", "times"};

std::string_view kindName(FindingKind kind) {
  return kind == FindingKind::Fault ? "fault" : "opportunity";
}

std::string numberText(const Threshold& threshold) {
  switch (threshold.unit) {
    case Unit::Share:
      return fmt::format("{:g} %", prof::kPercent * threshold.value);
    case Unit::Ns:
      return prof::roundTimeText(threshold.value);
    case Unit::Bytes:
      return prof::roundBytesText(threshold.value);
    case Unit::Count:
    case Unit::Times:
      break;
  }
  return fmt::format("{:g}", threshold.value);
}

std::string withNumbers(const FindingRule& rule, std::string_view words) {
  return filled(words, [&](std::string_view name) {
    const auto found = std::ranges::find(rule.thresholds, name, &Threshold::name);
    return found == rule.thresholds.end() ? fmt::format("{{{}}}", name) : numberText(*found);
  });
}

std::vector<std::string_view> causeKeys(std::span<const Cause> causes) {
  std::vector<std::string_view> keys;
  for (const Cause cause : causes) keys.push_back(causeKey(cause));
  return keys;
}

/// The findings that keep this one out of a report.
std::vector<std::string> explainedBy(const FindingRule& rule) {
  std::vector<std::string> out;
  for (const FindingRule* other : allRules()) {
    for (const Explained& explained : other->explains) {
      if (explained.what == rule.id)
        out.push_back(fmt::format("`{}`{}{}", other->key, explained.condition.empty() ? "" : " ",
                                  explained.condition));
    }
  }
  return out;
}

std::string formula(const FindingRule& rule) {
  const auto others = explainedBy(rule);
  return withNumbers(rule, rule.when) +
         (others.empty() ? "" : fmt::format("; not with {}", fmt::join(others, ", ")));
}

void writeRule(JsonWriter& json, const FindingRule& rule) {
  json.beginObject()
      .field("id", rule.key)
      .field("kind", kindName(rule.kind))
      .field("area", findingAreaName(rule.area))
      .field("meaning", rule.meaning)
      .field("when", formula(rule))
      .field("fix", withNumbers(rule, rule.fix))
      .field("refuted_by", rule.refutedBy)
      .field("claims", rule.claims);
  json.key("causes").beginArray();
  for (const std::string_view key : causeKeys(rule.prices)) json.value(key);
  json.endArray().key("reason_for").beginArray();
  for (const std::string_view key : causeKeys(rule.names)) json.value(key);
  json.endArray().key("explains").beginArray();
  for (const Explained& explained : rule.explains) json.value(findingKey(explained.what));
  json.endArray().key("thresholds").beginArray();
  for (const Threshold& threshold : rule.thresholds) {
    json.beginObject()
        .field("name", threshold.name)
        .field("value", threshold.value)
        .field("unit", kUnitNames[static_cast<std::size_t>(threshold.unit)])
        .field("why", threshold.why)
        .endObject();
  }
  json.endArray().key("confidences").beginArray();
  for (const Confidence& confidence : rule.confidences) {
    json.beginObject()
        .field("when", confidence.when)
        .field("value", confidence.value)
        .field("why", confidence.why)
        .endObject();
  }
  json.endArray().endObject();
}

std::string confidenceText(const Confidence& confidence) {
  const std::string share = fmt::format("{:g} %", prof::kPercent * confidence.value);
  return confidence.when.empty() ? share : fmt::format("{} ({})", share, confidence.when);
}

}  // namespace

std::string findingListText(int width) {
  constexpr int kIndent = 4, kNameWidth = 22;
  std::string out;
  const auto add = [&](std::string_view text) { out += paragraph(text, kIndent, kIndent, width); };
  for (const FindingRule* rule : allRules()) {
    const auto causes = causeKeys(rule->prices);
    out += fmt::format("{:{}} ", rule->key, kNameWidth);
    out += paragraph(fmt::format("{:12} {}", kindName(rule->kind),
                                 causes.empty() ? std::string("any cause")
                                                : fmt::format("{}", fmt::join(causes, ", "))),
                     kNameWidth + 1, kNameWidth + 1, width)
               .substr(kNameWidth + 1);
    add(rule->meaning);
    std::vector<std::string> parts;
    for (const Threshold& threshold : rule->thresholds)
      parts.push_back(fmt::format("{} {}", threshold.name, numberText(threshold)));
    if (!parts.empty()) add(fmt::format("thresholds: {}", fmt::join(parts, ", ")));
    parts.clear();
    for (const Confidence& confidence : rule->confidences)
      parts.push_back(confidenceText(confidence));
    add(fmt::format("confidence: {}", fmt::join(parts, ", ")));
  }
  return out;
}

std::string findingListJson() {
  JsonWriter json;
  json.beginObject().field("schema", "lacuna.findings/1").key("findings").beginArray();
  for (const FindingRule* rule : allRules()) writeRule(json, *rule);
  json.endArray().key("unclaimed").beginArray();
  for (const UnclaimedCause& unclaimed : unclaimedCauses())
    json.beginObject()
        .field("cause", causeKey(unclaimed.cause))
        .field("why", unclaimed.why)
        .endObject();
  json.endArray().endObject();
  return json.take();
}

std::string findingsMarkdown() {
  std::string out;
  for (const FindingRule* rule : allRules()) {
    out += markdownItem(fmt::format("[`{0}`](../findings/{0}.md), {1}: {2}", rule->key,
                                    kindName(rule->kind), rule->meaning));
    out += markdownItem("when: " + formula(*rule), 1);
    out += markdownItem("change: " + withNumbers(*rule, rule->fix), 1);
    out += markdownItem(fmt::format("would refute it: {}", rule->refutedBy), 1);
  }
  out += "\nThe numbers above, and how sure each rule is before the replay adds its own doubt:\n\n";
  out += "| id | number | value | why |\n|---|---|---|---|\n";
  for (const FindingRule* rule : allRules()) {
    for (const Threshold& threshold : rule->thresholds)
      out += fmt::format("| `{}` | {} | {} | {} |\n", rule->key, threshold.name,
                         numberText(threshold), threshold.why);
    for (const Confidence& confidence : rule->confidences) {
      out += fmt::format("| `{}` | confidence{}{} | {:g} % | {} |\n", rule->key,
                         confidence.when.empty() ? "" : ": ", confidence.when,
                         prof::kPercent * confidence.value, confidence.why);
    }
  }
  out += "\nNo finding prices these entries of the ledger:\n\n| entry | why |\n|---|---|\n";
  for (const UnclaimedCause& unclaimed : unclaimedCauses())
    out += fmt::format("| {} | {} |\n", causeLabel(unclaimed.cause), unclaimed.why);
  return out;
}

}  // namespace lacuna::analyzer
