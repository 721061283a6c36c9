// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lacuna::rt {

/// The code that computes products, convolutions and attention of f32 and bf16 on the CPU. Knob `backend`.
enum class Backend : std::uint8_t {
  Tuned,     ///< oneDNN
  Reference  ///< plain loops, as f64 always: slow, to tell a fault of the library from one's own
};
/// The last choice of setBackend(), else LACUNA_BACKEND (`tuned` or `reference`); Tuned where neither is set.
[[nodiscard]] Backend backend();
/// For all threads. What is enqueued runs first, as it was chosen for.
void setBackend(Backend chosen);

}  // namespace lacuna::rt
