// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// A kernel's name without its return type, template arguments and parameters.
std::string plainName(std::string_view kernel);

}  // namespace lacuna::analyzer
