// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/changes/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/markdown.h"
#include "lacuna/prof/amounts.h"
#include "whatif/changes/parts.h"

namespace lacuna::analyzer {
namespace {

#define LACUNA_LIST_TYPE(name) &changes::name,
#define LACUNA_LIST_INFO(name) &changes::name.info,
constexpr std::array kTypes{LACUNA_CHANGES(LACUNA_LIST_TYPE)};
constexpr std::array kInfos{LACUNA_CHANGES(LACUNA_LIST_INFO)};
#undef LACUNA_LIST_TYPE
#undef LACUNA_LIST_INFO

constexpr ChangeType kNoType{.info = {.error = kNotMeasured}};

bool acts(const ChangeType& type, const Change& change) {
  return type.acts == Acts::Always ||
         (type.acts == Acts::WhenOff) == isOneOf(change.value, kOffWords);
}

}  // namespace

std::span<const ChangeType* const> changeTypes() {
  return kTypes;
}

const ChangeType* findChangeType(std::string_view name) {
  const auto found =
      std::ranges::find_if(kTypes, [&](const ChangeType* type) { return type->info.name == name; });
  return found == kTypes.end() ? nullptr : *found;
}

const ChangeType& typeOf(const Change& change) {
  const ChangeType* type = findChangeType(change.target);
  return type == nullptr || !acts(*type, change) ? kNoType : *type;
}

std::span<const ChangeInfo* const> listChanges() {
  return kInfos;
}

const ChangeInfo* findChange(std::string_view name) {
  const ChangeType* type = findChangeType(name);
  return type == nullptr ? nullptr : &type->info;
}

std::string changesMarkdown() {
  std::string list;
  for (const ChangeInfo* info : kInfos) {
    if (info->argument == ChangeArgument::None) continue;
    list += markdownItem(fmt::format("`{}`: {}", info->form, info->effect));
    list += markdownItem(fmt::format("known error {:.0f} %: {}", prof::kPercent * info->error.share,
                                     info->error.from),
                         1);
  }
  for (const ChangeInfo* info : kInfos) {
    if (info->notReplayed.empty()) continue;
    list += markdownItem(fmt::format("`{}=…` cannot be replayed: {}; {}", info->name,
                                     info->notReplayed, info->instead));
  }
  return list;
}

std::string noteOfFactors(const Change& change, const Simulator::Model& model) {
  return fmt::format("{} by factors of durations, {} (see the interval)", change.text(),
                     model.factors().sourceOf(change.target));
}

}  // namespace lacuna::analyzer
