// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/collector/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace lacuna::collector {
namespace {

/// Limits of one file. A line of the hook has some hundred bytes, and counts double from one line
/// to the next.
constexpr std::size_t kMostLines = 20'000;
constexpr std::size_t kMostLineBytes = 4096;
/// Number of places that a line for people names.
constexpr std::size_t kPlacesListed = 3;

using Kind = SettingOutcome::Kind;
using Fields = std::array<std::string_view, 8>;

std::optional<Fields> fieldsOf(std::string_view line) {
  Fields fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t tab = line.find('\t');
    if ((tab == std::string_view::npos) != (i + 1 == fields.size())) return std::nullopt;
    fields[i] = line.substr(0, tab);
    line.remove_prefix(std::min(line.size(), fields[i].size() + 1));
  }
  return fields;
}

std::optional<Kind> kindOf(std::string_view word) {
  if (word == "applied") return Kind::Applied;
  if (word == "same") return Kind::Same;
  if (word == "refused") return Kind::Refused;
  return std::nullopt;
}

/// Why nothing was there to be set.
std::string_view nothingFor(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
      {"loader.", "no batch was asked of a DataLoader with gradients switched on"},
      {"optimizer.", "no optimizer of torch.optim made a step"},
      {"zero_grad", "zero_grad() was not called"},
      {"debug", "no debugging mode was switched on"},
      {"allocator", "nothing switched caching off or emptied the cache"},
      {"threads", "PyTorch was not imported"},
      {"matmul", "PyTorch was not imported"},
      {"autotune", "no optimizer made a step"},
      {"gc", "no optimizer made a step"}};
  for (const auto& [beginning, reason] : kReasons) {
    if (name.starts_with(beginning)) return reason;
  }
  return "no model was called in training mode with gradients switched on";
}

/// "2 DataLoaders", "3 calls of torch.set_num_threads".
std::string counted(std::uint64_t count, std::string_view thing) {
  if (count == 1) return fmt::format("1 {}", thing);
  const std::size_t end = std::min(thing.find(' '), thing.size());
  const std::string_view plural = thing.substr(0, end).ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}{}", count, thing.substr(0, end), plural, thing.substr(end));
}

std::string placesOf(const std::set<std::string>& sites) {
  if (sites.empty()) return {};
  const std::size_t listed = std::min(sites.size(), kPlacesListed);
  const std::string more =
      sites.size() > listed ? fmt::format(" and {} more", sites.size() - listed) : "";
  return fmt::format(
      " ({}{})", fmt::join(sites.begin(), std::next(sites.begin(), std::ptrdiff_t(listed)), ", "),
      more);
}

/// All outcomes of one kind that differ in their place alone.
struct Group {
  std::uint64_t count = 0;
  std::set<std::string> sites;
};
/// By thing, by what was before, or by why not.
using Groups = std::map<std::pair<std::string, std::string>, Group>;

Groups groupsOf(Kind kind, std::string_view setting, std::span<const SettingOutcome> outcomes) {
  Groups groups;
  for (const SettingOutcome& outcome : outcomes) {
    if (outcome.kind != kind || outcome.setting != setting) continue;
    Group& group = groups[{outcome.thing, kind == Kind::Refused ? outcome.why : outcome.was}];
    group.count += outcome.count;
    if (!outcome.site.empty()) group.sites.insert(outcome.site);
  }
  return groups;
}

std::string textOf(Kind kind, const Groups& groups) {
  std::vector<std::string> parts;
  for (const auto& [about, group] : groups) {
    const auto& [thing, words] = about;
    const std::string what = counted(group.count, thing) + placesOf(group.sites);
    if (kind == Kind::Applied) {
      parts.push_back(fmt::format("(was {}) on {}", words, what));
    } else if (kind == Kind::Same) {
      parts.push_back(fmt::format("was so already on {}", what));
    } else {
      parts.push_back(fmt::format("left out for {}: {}", what, words));
    }
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string settingsText(std::span<const Setting> settings) {
  std::string text;
  for (const Setting& setting : settings) text += (text.empty() ? "" : ",") + setting.text();
  return text;
}

std::vector<SettingOutcome> readOutcomes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  // By process and all fields but the count: the last line of each counts.
  std::map<std::tuple<std::string, Kind, std::string, std::string, std::string, std::string,
                      std::string>,
           std::uint64_t>
      counts;
  std::string line;
  for (std::size_t lines = 0; lines < kMostLines && std::getline(in, line); ++lines) {
    if (line.size() > kMostLineBytes) continue;
    const auto fields = fieldsOf(line);
    if (!fields) continue;
    const auto& [process, setting, word, number, thing, was, site, why] = *fields;
    const auto kind = kindOf(word);
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (!kind || error != std::errc() || end != number.data() + number.size() || count > UINT32_MAX)
      continue;
    counts[{std::string(process), *kind, std::string(setting), std::string(thing), std::string(was),
            std::string(site), std::string(why)}] = count;
  }
  std::vector<SettingOutcome> outcomes;
  for (const auto& [key, count] : counts) {
    const auto& [process, kind, setting, thing, was, site, why] = key;
    outcomes.push_back({kind, setting, count, thing, was, site, why});
  }
  return outcomes;
}

SettingLine describe(const Setting& setting, std::span<const SettingOutcome> outcomes) {
  SettingLine line{setting.name, setting.text(), false};
  std::vector<std::string> parts;
  for (const Kind kind : {Kind::Applied, Kind::Same, Kind::Refused}) {
    const Groups groups = groupsOf(kind, setting.text(), outcomes);
    if (!groups.empty()) parts.push_back(textOf(kind, groups));
  }
  const auto isRefused = [&](const SettingOutcome& outcome) {
    return outcome.setting != setting.text() || outcome.kind == Kind::Refused;
  };
  line.failed = std::ranges::all_of(outcomes, isRefused);
  if (parts.empty()) parts.push_back(fmt::format("had no effect: {}", nothingFor(setting.name)));
  const bool isNone = line.failed && !parts.front().starts_with("had no effect");
  line.text += fmt::format(" {}{}", isNone ? "was not applied: " : "", fmt::join(parts, "; "));
  return line;
}

}  // namespace lacuna::collector
