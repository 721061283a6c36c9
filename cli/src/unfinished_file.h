// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <array>
#include <filesystem>

namespace lacuna::cli {

/// While it lives, SIGHUP, SIGINT and SIGTERM remove the part of a file that
/// prof::writeAtomically() has written so far. Then they end the program as ever. Ignored signals
/// (nohup) stay ignored. One at a time.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::filesystem::path& file);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

 private:
  static constexpr std::array kSignals = {SIGHUP, SIGINT, SIGTERM};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace lacuna::cli
