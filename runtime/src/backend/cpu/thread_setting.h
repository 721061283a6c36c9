// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::rt {

/// The value of LACUNA_THREADS; 0 where it is not set. Throws Error where it is no number of
/// threads.
int threadsFromEnvironment();

}  // namespace lacuna::rt
