// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace lacuna::rt {

/// Misuse of the runtime, or a failure in a queue: names the operator, what was given and what was
/// expected.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The memory limit was reached. The message lists the largest live tensors by operator and role.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Throws Error("<where>: <what>").
[[noreturn]] void fail(const char* where, const std::string& what);

}  // namespace lacuna::rt
