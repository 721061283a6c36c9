// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tune/tuner.h"

/// The result of `lacuna tune` as text, JSON and a page.
namespace lacuna::cli::tune {

/// The program that was tuned, and the runs that took part.
struct Session {
  std::vector<std::string> command;
  std::uint32_t steps = 0, warmUp = 0;
  double seconds = 0;  ///< of the whole session
};

std::string textOf(const Session& session, const Result& result);
/// docs/tune.md describes it.
std::string jsonOf(const Session& session, const Result& result);
/// One self-contained page.
std::string htmlOf(const Session& session, const Result& result);

/// The lines to change in the script, each with its place where that is known: "train.py:57:
/// DataLoader(…, …)".
std::vector<std::string> scriptLines(const Result& result);

}  // namespace lacuna::cli::tune
