// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/memory/gradient_clearing.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "analyses/work/host_nesting.h"
#include "analyses/work/name_guesses.h"

namespace lacuna::analyzer {
namespace {

enum class Clears : std::uint8_t { Never, Outermost, Always };

Clears clears(std::string_view name) {
  if (clearsGradients(name)) return Clears::Always;
  return writesZeros(name) ? Clears::Outermost : Clears::Never;
}

}  // namespace

std::vector<const HostSpan*> gradientClearing(const Store& store, const Timeline& timeline) {
  std::vector<const HostSpan*> out;
  std::unordered_map<prof::StringId, Clears> names;
  std::unordered_map<prof::ThreadId, std::vector<const HostSpan*>> operators;
  for (const HostSpan& span : timeline.host) {
    if (span.activity != Activity::Annotation && span.activity != Activity::Operator) continue;
    const auto [name, isNew] = names.try_emplace(span.name, Clears::Never);
    if (isNew) name->second = clears(store.text(span.name));
    if (name->second == Clears::Always) out.push_back(&span);
    if (span.activity == Activity::Operator) operators[span.thread].push_back(&span);
  }
  for (auto& [thread, spans] : operators) {
    sortOuterFirst(spans);
    prof::TimeNs endNs = INT64_MIN;
    for (const HostSpan* span : spans) {
      if (span->startNs < endNs) continue;
      endNs = span->endNs;
      if (names.at(span->name) == Clears::Outermost) out.push_back(span);
    }
  }
  return out;
}

}  // namespace lacuna::analyzer
