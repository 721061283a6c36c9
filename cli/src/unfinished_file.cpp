// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "unfinished_file.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "lacuna/prof/place_file.h"

namespace lacuna::cli {
namespace {

/// A name that a signal handler may read: a string would not be there while it is changed.
std::array<char, 4096> unfinished;

void removeAndEnd(int number) {
  ::unlink(unfinished.data());
  ::signal(number, SIG_DFL);
  ::raise(number);  // it comes when this returns
}

}  // namespace

UnfinishedFile::UnfinishedFile(const std::filesystem::path& file) {
  const std::string name = prof::unfinishedName(file).string();
  if (name == file.string() || name.size() >= unfinished.size()) return;
  std::copy(name.c_str(), name.c_str() + name.size() + 1, unfinished.begin());
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = removeAndEnd;
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

UnfinishedFile::~UnfinishedFile() {
  if (unfinished[0] == '\0') return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  unfinished[0] = '\0';
}

}  // namespace lacuna::cli
