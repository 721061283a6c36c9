// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "run_description.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <map>
#include <string_view>
#include <utility>

#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/scope.h"

namespace lacuna::cli {
namespace {

constexpr prof::TimeNs kSecondNs = 1'000'000'000;

std::string programOf(const analyzer::Store& store) {
  if (store.rows<prof::Process>() == 0) return {};
  const auto process = store.row<prof::Process>(0);
  const std::string_view line = store.text(process.commandLine);
  return std::string(line.empty() ? store.text(process.name) : line);
}

std::string dateOf(const analyzer::Store& store) {
  const auto sinceEpoch = analyzer::timeOfDay(store);
  if (!sinceEpoch) return {};
  const std::time_t seconds = (*sinceEpoch + store.span().startNs) / kSecondNs;
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&seconds, &parts) == nullptr) return {};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

std::string hostOf(const analyzer::Store& store) {
  std::map<std::string_view, std::string_view> known;
  for (std::uint64_t i = 0; i < store.rows<prof::Environment>(); ++i) {
    const auto row = store.row<prof::Environment>(i);
    if (const std::string_view key = store.text(row.key); key.starts_with("host."))
      known.try_emplace(key, store.text(row.value));
  }
  std::string out;
  for (const auto& [key, unit] : {std::pair("host.name", ""), std::pair("host.cores", " cores"),
                                  std::pair("host.kernel", "")}) {
    const auto found = known.find(key);
    if (found != known.end())
      out += fmt::format("{}{}{}", out.empty() ? "" : ", ", found->second, unit);
  }
  return out;
}

/// "cuda:0 NVIDIA H200"
std::vector<std::string> devicesOf(const analyzer::Store& store) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < store.rows<prof::Device>(); ++i) {
    const auto device = store.row<prof::Device>(i);
    const std::string_view name = store.text(device.name);
    const std::string label = analyzer::deviceLabel(device.kind, device.index);
    out.push_back(name.empty() ? label : fmt::format("{} {}", label, name));
  }
  return out;
}

std::optional<std::size_t> stepsOf(const analyzer::Store& store) {
  if (store.rows<prof::Range>() > kMostRangesForSteps) return std::nullopt;
  const auto steps = analyzer::findSteps(store);
  if (!steps.ok()) return std::nullopt;
  return steps->all.size();
}

}  // namespace

RunDescription describeRun(const analyzer::Store& store) {
  return {.program = programOf(store),
          .processes = store.rows<prof::Process>(),
          .date = dateOf(store),
          .host = hostOf(store),
          .devices = devicesOf(store),
          .steps = stepsOf(store)};
}

}  // namespace lacuna::cli
