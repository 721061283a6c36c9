// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>

#include "lacuna/runtime/error.h"

namespace lacuna::rt {

/// The switch that an environment variable sets: 1 is on; 0, nothing, and a variable that is not
/// set are off. Throws for anything else, which somebody meant something by.
inline bool switchFromEnvironment(const char* variable) {
  const char* text = std::getenv(variable);
  const std::string value = text != nullptr ? text : "";
  if (!value.empty() && value != "0" && value != "1")
    fail(variable, "'" + value + "' is neither 0 nor 1");
  return value == "1";
}

}  // namespace lacuna::rt
