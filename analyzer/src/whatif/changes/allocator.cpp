// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "lacuna/prof/bounds.h"
#include "whatif/changes/parts.h"
#include "whatif/changes/registry.h"
#include "whatif/edits.h"

namespace lacuna::analyzer {
namespace {

constexpr std::array<std::string_view, 1> kAllocatorWords{"cached"};

}  // namespace

constinit const ChangeType changes::allocator{
    .info = {.name = "allocator",
             .form = "allocator=cached",
             .brief = "driver calls between launches take no time",
             .effect = "driver calls take no time",
             .argument = ChangeArgument::Word,
             .values = kAllocatorWords,
             .error = kNotMeasured},
    .apply =
        [](Scenario& scenario, const Change&, Bound) {
          for (HostItem& item : scenario.items)
            prof::takeFrom(item.gapNs, std::min(item.gapNs, item.driverNs));
        },
    .hastensHost = always,
};

}  // namespace lacuna::analyzer
