// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

prof::Result<std::shared_ptr<const Store>> Store::open(const std::filesystem::path& path, const OpenOptions&) {
  return prof::Error{fmt::format("{}: not a trace that lacuna knows", path.string())};
}

}  // namespace lacuna::analyzer
