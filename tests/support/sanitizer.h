// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::test {

/// Under the thread sanitizer what computes takes ten times as long: less data shows there what
/// more of it shows elsewhere.
#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitized = true;
#else
inline constexpr bool kThreadSanitized = false;
#endif
inline constexpr const char* kSameThreads = "the same threads run shorter in the other tests";

}  // namespace lacuna::test
