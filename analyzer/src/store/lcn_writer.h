// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

struct LcnWriteOptions {
  /// Convert is not in a hurry: small files are worth the time.
  int zstdLevel = 12;
  std::uint32_t blockRows = 1 << 18;
  Progress progress;
};

/// Writes a store as one .lcn file. Texts that no row mentions are left out; arguments are
/// renumbered in the order of their events, so that they compress. On failure the file is removed.
prof::Status writeLcn(const Store& store, const std::filesystem::path& path,
                      const LcnWriteOptions& options = {});

}  // namespace lacuna::analyzer
