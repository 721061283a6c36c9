// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lacuna::gui {

inline constexpr int kRulerHeight = 30;
inline constexpr int kPinWidth = 24;

}  // namespace lacuna::gui
