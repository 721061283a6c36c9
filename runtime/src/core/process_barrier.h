// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::rt {

/// A barrier that one thread imposes on all threads of the process: what they pass often then goes
/// without one. False where the system has none, or where a sanitizer would not see it.
bool processBarrierThere();
/// Only where it is there.
void processBarrier();

}  // namespace lacuna::rt
