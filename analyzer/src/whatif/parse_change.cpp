// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "lacuna/analyzer/whatif.h"
#include "whatif/changes/registry.h"

namespace lacuna::analyzer {
namespace {

/// More than this makes no sense for any part, and keeps sums of durations far from the range of 64
/// bits.
constexpr double kMostFactor = 1000;

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

/// A switch has several words for on and for off. All else knows the first ones.
std::string_view firstWordFor(std::string_view value) {
  if (isOneOf(value, kOnWords)) return kOnWords.front();
  return isOneOf(value, kOffWords) ? kOffWords.front() : value;
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The names of the changes for which `isListed(info)`, with this text between two.
template <class IsListed>
std::string namesOf(std::string_view between, IsListed&& isListed) {
  std::vector<std::string_view> names;
  for (const ChangeType* type : changeTypes()) {
    if (isListed(type->info)) names.push_back(type->info.name);
  }
  return fmt::format("{}", fmt::join(names, between));
}

bool isPart(const ChangeInfo& info) {
  return info.argument == ChangeArgument::Factor;
}
bool isKnob(const ChangeInfo& info) {
  return info.argument == ChangeArgument::Word || info.argument == ChangeArgument::Number;
}
bool hasNames(const ChangeInfo& info) {
  return info.names != ChangeNames::None;
}

prof::Result<Change> parseFactor(std::string_view text, std::size_t star) {
  const auto wrong = [&](std::string_view why) {
    return prof::Error{fmt::format("'{}': {}", text, why)};
  };
  Change change;
  const std::string_view head = text.substr(0, star);
  const std::size_t colon = head.find(':');
  change.target = head.substr(0, colon);
  if (colon != std::string_view::npos) change.pattern = head.substr(colon + 1);
  const auto factor = number(text.substr(star + 1));
  if (!factor || *factor < 0 || *factor > kMostFactor)
    return wrong(fmt::format("the factor behind '*' must be a number from 0 to {}", kMostFactor));
  change.factor = *factor;
  const ChangeType* type = findChangeType(change.target);
  if (type == nullptr || !isPart(type->info)) {
    return wrong(fmt::format(
        "there is no part '{}' to scale; parts are: {} (kernel:NAME*FACTOR for some kernels)",
        change.target, namesOf(", ", isPart)));
  }
  if (colon != std::string_view::npos && !hasNames(type->info)) {
    return wrong(fmt::format("{} has no names to choose from; {} have", change.target,
                             namesOf(" and ", hasNames)));
  }
  if (type->info.names == ChangeNames::Needed && change.pattern.empty())
    return wrong(fmt::format("name which {}s ({})", change.target, type->info.namesExample));
  if (type->refuse != nullptr) {
    if (const auto why = type->refuse(change)) return wrong(*why);
  }
  // Longer than the quotes alone.
  if (change.pattern.size() > 2 && change.pattern.front() == '"' && change.pattern.back() == '"') {
    change.pattern = change.pattern.substr(1, change.pattern.size() - 2);
    change.exact = true;
  }
  return change;
}

prof::Result<Change> parseKnob(std::string_view text, std::size_t equals) {
  const auto wrong = [&](std::string_view why) {
    return prof::Error{fmt::format("'{}': {}", text, why)};
  };
  Change change;
  change.target = text.substr(0, equals);
  change.value = text.substr(equals + 1);
  const ChangeInfo* info = findChange(change.target);
  if (info == nullptr || !isKnob(*info)) {
    return wrong(fmt::format("there is no knob '{}' that can be simulated; knobs are: {}",
                             change.target, namesOf(", ", isKnob)));
  }
  if (info->argument == ChangeArgument::Number) {
    const auto value = number(change.value);
    if (!value || *value < info->least || *value > info->most || std::floor(*value) != *value)
      return wrong(fmt::format("{} needs a whole number from {} to {}", info->name, info->least,
                               info->most));
    change.factor = *value;
  } else if (change.value.empty()) {
    return wrong("a value is missing behind '='");
  } else if (!isOneOf(change.value, info->values)) {
    return wrong(fmt::format("{} cannot be '{}'; it can be: {}", info->name, change.value,
                             joined(info->values)));
  } else {
    change.value = firstWordFor(change.value);
  }
  return change;
}

}  // namespace

bool isOneOf(std::string_view value, std::span<const std::string_view> words) {
  return std::ranges::find(words, value) != words.end();
}

std::string Change::text() const {
  if (!value.empty()) return target + "=" + value;
  const std::string_view quote = exact ? "\"" : "";
  return fmt::format("{}{}{}{}{}*{}", target, pattern.empty() ? "" : ":", quote, pattern, quote,
                     factor);
}

prof::Result<Change> parseChange(std::string_view text) {
  const std::size_t equals = text.find('=');
  const ChangeInfo* info = findChange(text.substr(0, equals));
  if (info != nullptr && !info->notReplayed.empty())
    return prof::Error{
        fmt::format("'{}' cannot be replayed: {}; {}", text, info->notReplayed, info->instead)};
  if (equals != std::string_view::npos) return parseKnob(text, equals);
  const std::size_t star = text.rfind('*');
  if (star != std::string_view::npos) return parseFactor(text, star);
  return prof::Error{fmt::format(
      "'{}': expected KNOB=VALUE (loader.workers=4) or PART*FACTOR (kernel:gelu*0.5)", text)};
}

}  // namespace lacuna::analyzer
