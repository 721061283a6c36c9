// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "formats/json_text.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

Args::Args(const Store& store)
    : store_(store),
      sets_(store.column<&prof::Arg::set>()),
      ids_(store.column<&prof::ArgSet::id>()),
      types_(store.column<&prof::Arg::type>()),
      values_(store.column<&prof::Arg::value>()),
      shapes_(store.column<&prof::ArgSet::shape>()) {
  const auto keys = store.column<&prof::Arg::key>();
  const auto scopes = store.column<&prof::Arg::scope>();
  for (std::size_t from = 0; from < sets_.size();) {
    std::size_t to = from + 1;
    while (to < sets_.size() && keys[to] == keys[from] && scopes[to] == scopes[from] &&
           sets_[to - 1] <= sets_[to])
      ++to;
    Runs& runs = runs_[{scopes[from], keys[from]}];
    runs.isAscending =
        runs.isAscending && (runs.list.empty() || sets_[runs.list.back().end - 1] <= sets_[from]);
    runs.list.push_back({from, to});
    from = to;
  }
}

std::optional<Args::Value> Args::find(prof::ArgSetId set, prof::StringId key,
                                      prof::ArgScope scope) const {
  if (!set) return std::nullopt;
  const auto found = runs_.find({scope, key});
  if (found == runs_.end()) return std::nullopt;
  const Runs& runs = found->second;
  if (runs.isAscending) {
    const auto run = std::ranges::partition_point(
        runs.list, [&](const Run& r) { return sets_[r.end - 1] < set; });
    return run == runs.list.end() ? std::nullopt : findIn(*run, set);
  }
  for (const Run& run : runs.list) {
    if (const auto value = findIn(run, set)) return value;
  }
  return std::nullopt;
}

std::optional<Args::Value> Args::findIn(const Run& run, prof::ArgSetId set) const {
  const auto part = sets_.subspan(run.begin, run.end - run.begin);
  const auto at = std::ranges::lower_bound(part, set);
  if (at == part.end() || *at != set) return std::nullopt;
  const auto row = run.begin + static_cast<std::size_t>(at - part.begin());
  return Value{types_[row], values_[row]};
}

std::optional<std::string_view> Args::text(prof::ArgSetId set, std::string_view key) const {
  const auto value = find(set, key);
  if (!value || (value->type != prof::ArgType::Text && value->type != prof::ArgType::Json))
    return std::nullopt;
  return store_.text(prof::StringId(static_cast<std::uint32_t>(value->bits)));
}

std::optional<std::int64_t> Args::integer(prof::ArgSetId set, std::string_view key) const {
  const auto value = find(set, key);
  if (!value || value->type != prof::ArgType::I64) return std::nullopt;
  return static_cast<std::int64_t>(value->bits);
}

prof::StringId Args::shape(prof::ArgSetId set) const {
  const auto at = std::ranges::lower_bound(ids_, set);
  if (!set || at == ids_.end() || *at != set) return {};
  return shapes_[static_cast<std::size_t>(at - ids_.begin())];
}

void Args::appendJson(const Value& value, std::string& out) const {
  switch (value.type) {
    case prof::ArgType::Null:
      out += "null";
      return;
    case prof::ArgType::Bool:
      out += value.bits != 0 ? "true" : "false";
      return;
    case prof::ArgType::I64:
      fmt::format_to(std::back_inserter(out), "{}", static_cast<std::int64_t>(value.bits));
      return;
    case prof::ArgType::F64:
      return json::appendNumber(out, std::bit_cast<double>(value.bits));
    case prof::ArgType::Text:
      json::appendQuoted(out, store_.text(prof::StringId(static_cast<std::uint32_t>(value.bits))));
      return;
    case prof::ArgType::Json:
      return json::appendChecked(
          out, store_.wholeText(prof::StringId(static_cast<std::uint32_t>(value.bits))));
  }
  out += "null";
}

}  // namespace lacuna::analyzer
