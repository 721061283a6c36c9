// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lacuna::prof::recording {

/// True while the process that started at `startTicks` (0 when unknown) lives; a zombie does not.
bool processIsAlive(std::uint32_t osPid, std::uint64_t startTicks);

}  // namespace lacuna::prof::recording
