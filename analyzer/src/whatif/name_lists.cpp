// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "whatif/name_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

/// An error stays readable with about this many names in it.
constexpr std::size_t kNamedAtMost = 5;
/// Names of templates are cut here: the head distinguishes kernels.
constexpr std::size_t kNameBytes = 50;

std::string inFewWords(std::string_view name) {
  std::string plain = oneLine(withoutScopes(name));
  return plain.size() <= kNameBytes ? plain : std::string(headOf(plain, kNameBytes)) + "…";
}

template <class Amount>
std::string firstOf(const std::vector<std::pair<Amount, std::string_view>>& order) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(order.size(), kNamedAtMost); ++i)
    names.push_back(inFewWords(order[i].second));
  const std::string more =
      order.size() > names.size() ? fmt::format(", and {} more", order.size() - names.size()) : "";
  return fmt::format("{}{}", fmt::join(names, ", "), more);
}

}  // namespace

std::string costliestKernels(const Simulator::Model& model) {
  std::map<std::string_view, std::int64_t> costs;
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    if (model.nodes[i].work != Work::Copy) costs[model.names[i]] += model.nodes[i].durNs;
  }
  std::vector<std::pair<std::int64_t, std::string_view>> order;
  for (const auto& [name, ns] : costs) order.emplace_back(-ns, name);
  std::ranges::sort(order);
  return firstOf(order);
}

std::string frequentCalls(const Simulator::Model& model) {
  std::map<prof::StringId, std::size_t> counts;
  for (const HostItem& item : model.items) {
    if (!isOfLoader(item.kind)) ++counts[item.call];
  }
  for (const DriverPart& part : model.driverParts) ++counts[part.call];
  std::vector<std::pair<std::size_t, std::string_view>> order;
  for (const auto& [call, count] : counts) order.emplace_back(count, model.callNames.at(call));
  std::ranges::sort(order, std::greater());
  return order.empty() ? std::string("none") : firstOf(order);
}

}  // namespace lacuna::analyzer
