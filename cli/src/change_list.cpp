// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "change_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/command.h"
#include "base/output.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::cli {
namespace {

using analyzer::ChangeArgument;
using analyzer::ChangeInfo;

constexpr std::string_view kIndent = "  ";

/// The form, and the text beside it, in as many lines as that takes.
std::string entry(std::string_view form, std::string_view text, std::size_t formColumns) {
  const std::size_t left = kIndent.size() + formColumns + kIndent.size();
  return fmt::format("{}{:<{}}{}{}\n", kIndent, form, formColumns, kIndent,
                     wrapped(text, listColumns() - left, left));
}

template <class IsListed>
std::string section(std::string_view title, IsListed&& isListed) {
  std::size_t columns = 0;
  for (const ChangeInfo* info : analyzer::listChanges())
    columns = std::max(columns, info->form.size());
  std::string out = fmt::format("{}:\n", title);
  for (const ChangeInfo* info : analyzer::listChanges()) {
    if (isListed(*info)) out += entry(info->form, info->brief, columns);
  }
  return out;
}

std::string_view wordOf(ChangeArgument argument) {
  switch (argument) {
    case ChangeArgument::Word:
      return "word";
    case ChangeArgument::Number:
      return "number";
    case ChangeArgument::Factor:
      return "factor";
    case ChangeArgument::None:
      return "none";
  }
  return "";
}

std::string_view wordOf(analyzer::ChangeNames names) {
  switch (names) {
    case analyzer::ChangeNames::None:
      return "none";
    case analyzer::ChangeNames::Optional:
      return "optional";
    case analyzer::ChangeNames::Needed:
      return "needed";
  }
  return "";
}

std::string json(const ChangeInfo& info) {
  std::string values;
  for (const std::string_view value : info.values)
    values += (values.empty() ? "" : ", ") + jsonString(value);
  return fmt::format(
      "{{\"name\": {}, \"form\": {}, \"argument\": \"{}\", \"values\": [{}], \"least\": {}, "
      "\"most\": {}, \"names\": \"{}\", \"brief\": {}, \"effect\": {}, \"known_error\": {}, "
      "\"known_error_from\": {}, \"not_replayed\": {}, \"instead\": {}}}",
      jsonString(info.name), jsonString(info.form), wordOf(info.argument), values, info.least,
      info.most, wordOf(info.names), jsonString(info.brief), jsonString(info.effect),
      info.error.share, jsonString(info.error.from), jsonString(info.notReplayed),
      jsonString(info.instead));
}

}  // namespace

std::string changeListText() {
  std::string out = section("Knobs", [](const ChangeInfo& info) {
    return info.argument == ChangeArgument::Word || info.argument == ChangeArgument::Number;
  });
  out += section("Parts, which take F times as long",
                 [](const ChangeInfo& info) { return info.argument == ChangeArgument::Factor; });
  out += "Cannot be replayed:\n";
  for (const ChangeInfo* info : analyzer::listChanges()) {
    if (info->notReplayed.empty()) continue;
    out += entry(fmt::format("{}=…", info->name),
                 fmt::format("{}; {}", info->notReplayed, info->instead), 12);
  }
  return out;
}

std::vector<std::string> changeBeginnings() {
  std::vector<std::string> out;
  for (const ChangeInfo* info : analyzer::listChanges()) {
    if (info->form.empty()) continue;
    const std::string name(info->name);
    if (info->argument == ChangeArgument::Word) {
      for (const std::string_view value : info->values)
        out.push_back(fmt::format("{}={}", name, value));
    } else if (info->argument == ChangeArgument::Number) {
      out.push_back(name + '=');
    } else if (info->argument == ChangeArgument::Factor) {
      if (info->names != analyzer::ChangeNames::Needed) out.push_back(name + '*');
      if (info->names != analyzer::ChangeNames::None) out.push_back(name + ':');
    } else {
      out.push_back(name);
    }
  }
  return out;
}

std::string changeListJson() {
  std::string list;
  for (const ChangeInfo* info : analyzer::listChanges())
    list += (list.empty() ? "" : ",\n  ") + json(*info);
  return fmt::format("{{\"schema\": \"lacuna.changes/1\", \"changes\": [\n  {}\n]}}\n", list);
}

}  // namespace lacuna::cli
