// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "lacuna/analyzer/findings.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {
namespace {

std::int64_t after(GainSum::Op op, std::int64_t before, std::int64_t value) {
  switch (op) {
    case GainSum::Op::Start:
      break;
    case GainSum::Op::Minus:
      prof::takeFrom(before, value);
      return before;
    case GainSum::Op::Times:
      return prof::productOf(before, value);
    case GainSum::Op::Over:
      return before / std::max<std::int64_t>(1, value);
    case GainSum::Op::From:
      prof::takeFrom(value, before);
      return value;
  }
  return value;
}

}  // namespace

std::string_view textOf(GainSum::Op op) {
  constexpr std::string_view kNames[]{"start", "minus", "times", "over", "from"};
  return kNames[static_cast<std::size_t>(op)];
}

GainSum& GainSum::atLeast(const GainLimit& limit, std::int64_t least) {
  value_ = limits_.atLeast(limit, value_, least);
  return *this;
}

GainSum& GainSum::atMost(const GainLimit& limit, std::int64_t most) {
  value_ = limits_.atMost(limit, value_, most);
  return *this;
}

const GainLimit* GainSum::decisive() const {
  const GainLimit* last = nullptr;
  for (const GainLimit& limit : limits_.all()) {
    if (limit.isHeld()) last = &limit;
  }
  return last;
}

GainSum& GainSum::add(Op op, std::string_view name, std::int64_t value) {
  value_ = after(op, value_, value);
  terms_.push_back({.op = op, .name = name, .value = value, .after = value_});
  return *this;
}

}  // namespace lacuna::analyzer
