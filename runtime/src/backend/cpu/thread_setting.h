// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::rt {

/// What LACUNA_THREADS says; 0 where it says nothing. Throws Error where that is no number of threads.
int threadsFromEnvironment();

}  // namespace lacuna::rt
