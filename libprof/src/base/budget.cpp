// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace lacuna::prof {
namespace {

struct ItemName {
  std::string_view key, words;
};
constexpr std::array<ItemName, Budget::kItems> kNames{{{"rows", "rows"},
                                                       {"strings", "strings"},
                                                       {"text", "bytes of unpacked text"},
                                                       {"values", "values"},
                                                       {"tracks", "tracks of a timeline"}}};

std::optional<std::uint64_t> numberOf(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number == 0) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size());
  const std::uint64_t factor = unit.empty()  ? 1
                               : unit == "k" ? 1'000
                               : unit == "M" ? 1'000'000
                                             : 1'000'000'000;
  if (!unit.empty() && unit != "k" && unit != "M" && unit != "G") return std::nullopt;
  if (__builtin_mul_overflow(number, factor, &number)) return std::nullopt;
  return number;
}

Budget& processBudget() {
  static Budget budget = [] {
    Budget made;
    const char* given = std::getenv("LACUNA_BUDGET");
    if (given != nullptr && *given != '\0') (void)made.raise(given);
    return made;
  }();
  return budget;
}

}  // namespace

const Budget& Budget::ofProcess() {
  return processBudget();
}
void Budget::setOfProcess(const Budget& budget) {
  processBudget() = budget;
}

Status Budget::raise(std::string_view text) {
  Budget raised = *this;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const std::size_t equals = std::min(part.find('='), part.size());
    const auto name = std::ranges::find(kNames, part.substr(0, equals), &ItemName::key);
    const auto number = equals < part.size() ? numberOf(part.substr(equals + 1)) : std::nullopt;
    if (name == kNames.end() || !number) {
      return Error{
          fmt::format("budget \"{}\": give one or more of rows, strings, text, values and tracks, "
                      "as in rows=20M,text=4G",
                      text)};
    }
    raised.limits_[static_cast<std::size_t>(name - kNames.begin())].least = *number;
    at = end + 1;
  }
  *this = raised;
  return {};
}

std::uint64_t Budget::most(Item item, std::uint64_t fileBytes) const {
  std::uint64_t scaled = 0;
  if (__builtin_mul_overflow(of(item).perByte, fileBytes / of(item).inBytes, &scaled))
    scaled = UINT64_MAX;
  return std::max(of(item).least, scaled);
}

Status Budget::allow(Item item, std::uint64_t wanted, const std::filesystem::path& path,
                     std::uint64_t fileBytes) const {
  const std::uint64_t limit = most(item, fileBytes);
  if (wanted <= limit) return {};
  const ItemName& name = kNames[static_cast<std::size_t>(item)];
  return Error{
      fmt::format("{}: claims {} {} in {} bytes, beyond the budget of {}; if you trust the file, "
                  "raise it: --budget {}={} (or LACUNA_BUDGET)",
                  path.string(), wanted, name.words, fileBytes, limit, name.key, wanted)};
}

}  // namespace lacuna::prof
