// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The freedoms of the stand-in for libcupti that belong to no single call of it.

/// The time on the clock of all stamps.
std::uint64_t stampNow();

/// The result with which a call has to fail now, or 0. The driver's calls by their whole name,
/// CUPTI's without "cupti".
int refusalOf(const char* call);

void resetFreedoms();

/// While the process forks, so that the child finds them free. Behind any other lock of ours.
void holdFreedoms();
void releaseFreedoms();

#define FAKE_MAY_FAIL(Result, call) \
  if (const int refused = refusalOf(call); refused != 0) return static_cast<Result>(refused)
