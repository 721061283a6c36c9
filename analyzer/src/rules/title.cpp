// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/title.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "lacuna/prof/amounts.h"
#include "lacuna/prof/bounds.h"
#include "rules/places.h"

namespace lacuna::analyzer {
namespace {

class TitleWriter {
 public:
  TitleWriter(const Finding& finding, bool hasSteps)
      : finding_(finding), perStep_(hasSteps ? "a step" : "in all") {}

  [[nodiscard]] std::string write() const {
    return filled(finding_.words, [this](std::string_view name) { return place(name); });
  }

 private:
  [[nodiscard]] std::string place(std::string_view name) const {
    if (name == "cost") return prof::timeText(finding_.costNsPerStep);
    if (name == "share of it") return shareOfIt();
    if (name == "a step") return perStep_;
    if (name == ": cost a step")
      return finding_.costNsPerStep > 0
                 ? fmt::format(": {} {}", prof::timeText(finding_.costNsPerStep), perStep_)
                 : "";
    const auto quantity = std::ranges::find(finding_.quantities, name, &Quantity::name);
    assert(quantity != finding_.quantities.end());
    return quantity == finding_.quantities.end() ? fmt::format("{{{}}}", name) : quantity->text();
  }

  [[nodiscard]] std::string shareOfIt() const {
    const std::string share = prof::shareText(finding_.costShare());
    if (!finding_.coversGaps) return share + " of it";
    return fmt::format("{} of the {} from one step to the next", share,
                       prof::timeText(finding_.fullStepNs));
  }

  const Finding& finding_;
  std::string perStep_;
};

}  // namespace

Quantity Quantity::time(std::string_view name, std::int64_t ns) {
  Quantity quantity{.name = name, .unit = QuantityUnit::Time};
  quantity.amount = ns;
  return quantity;
}

Quantity Quantity::bytes(std::string_view name, std::uint64_t bytes) {
  Quantity quantity{.name = name, .unit = QuantityUnit::Bytes};
  quantity.amount = static_cast<std::int64_t>(bytes);
  return quantity;
}

Quantity Quantity::share(std::string_view name, double share) {
  Quantity quantity{.name = name, .unit = QuantityUnit::Share};
  quantity.value = share;
  return quantity;
}

Quantity Quantity::number(std::string_view name, double value, int decimals) {
  Quantity quantity{.name = name, .unit = QuantityUnit::Number};
  quantity.value = value;
  quantity.decimals = decimals;
  return quantity;
}

Quantity Quantity::counted(std::string_view name, std::uint64_t count, std::string_view one,
                           std::string_view several) {
  Quantity quantity{.name = name,
                    .unit = QuantityUnit::Counted,
                    .words = std::string(one),
                    .plural = std::string(several)};
  quantity.amount = static_cast<std::int64_t>(count);
  return quantity;
}

Quantity Quantity::called(std::string_view name, std::string words) {
  return {.name = name, .unit = QuantityUnit::Name, .words = std::move(words)};
}

std::string Quantity::text() const {
  switch (unit) {
    case QuantityUnit::Name:
      return words;
    case QuantityUnit::Number:
      if (decimals == 0 && value >= 0)
        return prof::countText(prof::wholeOf<std::uint64_t>(std::round(value)));
      return fmt::format("{:.{}f}", value, decimals);
    case QuantityUnit::Counted:
      return prof::countText(static_cast<std::uint64_t>(amount), words, plural);
    case QuantityUnit::Time:
      return prof::timeText(amount);
    case QuantityUnit::Bytes:
      return prof::bytesText(static_cast<std::uint64_t>(amount));
    case QuantityUnit::Share:
      return prof::shareText(value);
  }
  return {};
}

std::string titleOf(const Finding& finding, bool hasSteps) {
  return TitleWriter(finding, hasSteps).write();
}

}  // namespace lacuna::analyzer
