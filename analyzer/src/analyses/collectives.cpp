// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/collectives.h"

#include <algorithm>
#include <optional>

#include "lacuna/analyzer/args.h"
#include "lacuna/analyzer/timeline.h"

namespace lacuna::analyzer {
namespace {

/// Of one element, by the name that PyTorch's process groups use.
std::uint64_t bytesOf(std::string_view type) {
  if (type == "Double" || type == "Long") return 8;
  if (type == "Half" || type == "BFloat16" || type == "Short") return 2;
  if (type == "Byte" || type == "Char" || type == "Bool" || type.starts_with("Float8")) return 1;
  return type == "Float" || type == "Int" ? 4 : 0;
}

void describe(const Store& store, const Args& args, prof::ArgSetId set, Collective& out) {
  const auto group = args.text(set, "Process Group Name");
  const auto words = args.text(set, "Process Group Description");
  if (group) out.communicator = out.group = store.find(*group);
  if (words && !words->empty() && *words != "undefined") out.communicator = store.find(*words);
  const auto values = args.integer(set, "In msg nelems");
  const auto type = args.text(set, "dtype");
  if (values && type && *values > 0) out.bytes = static_cast<std::uint64_t>(*values) * bytesOf(*type);
}

}  // namespace

prof::Result<std::vector<Collective>> listCollectives(const Store& store, prof::TimeWindow window) {
  using prof::Kernel;
  std::vector<Collective> found;
  NameClasses classes(store);
  std::optional<Args> args;
  const auto status = store.scan<&Kernel::startNs, &Kernel::durNs, &Kernel::queue, &Kernel::name, &Kernel::args>(
      window, [&](std::uint64_t, auto start, auto dur, auto queue, auto name, auto set) {
        for (std::size_t i = 0; i < start.size(); ++i) {
          if (start[i] < window.startNs || start[i] >= window.endNs) continue;
          if (classes.ofKernel(name[i]) != Work::Communication) continue;
          Collective one{
              .startNs = start[i], .endNs = start[i] + dur[i], .queue = queue[i], .name = name[i], .communicator = {}};
          if (set[i]) {
            if (!args) args.emplace(store);
            describe(store, *args, set[i], one);
          }
          found.push_back(one);
        }
      });
  if (!status) return status.error();
  return found;
}

}  // namespace lacuna::analyzer
