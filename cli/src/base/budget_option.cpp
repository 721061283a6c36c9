// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "base/budget_option.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdlib>
#include <string>

#include "lacuna/prof/budget.h"

namespace lacuna::cli {
namespace {

void raiseBudget(const std::string& text) {
  prof::Budget budget = prof::Budget::ofProcess();
  if (const auto status = budget.raise(text); !status)
    throw CLI::ValidationError("--budget", status.error().message);
  prof::Budget::setOfProcess(budget);
}

}  // namespace

void addBudget(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--budget", &raiseBudget,
          "what a trace may claim, where it is refused and you trust it: rows, strings, text, "
          "values and tracks, such as rows=20M,text=2G (default: LACUNA_BUDGET)")
      ->type_name("ITEMS");
}

prof::Status checkBudgetOfEnvironment() {
  const char* given = std::getenv("LACUNA_BUDGET");
  if (given == nullptr || *given == '\0') return {};
  if (const auto status = prof::Budget().raise(given); !status) {
    return prof::Error{fmt::format("LACUNA_BUDGET: {}", status.error().message)};
  }
  return {};
}

}  // namespace lacuna::cli
