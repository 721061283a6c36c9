// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lacuna::rt {

/// Who computes products, convolutions and attention of f32 and bf16 on the CPU. Knob `backend`.
enum class Backend : std::uint8_t {
  Tuned,     ///< oneDNN
  Reference  ///< plain loops, as f64 always: slow, to tell a fault of the library from one's own
};
/// What setBackend() said last, else LACUNA_BACKEND (`tuned` or `reference`); Tuned where neither did.
[[nodiscard]] Backend backend();
/// For all threads. What is enqueued runs first, as it was chosen for.
void setBackend(Backend chosen);

}  // namespace lacuna::rt
