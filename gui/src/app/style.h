// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

class QApplication;

namespace lacuna::gui {

/// Colours, fonts and spacing of all widgets.
void applyStyle(QApplication& app, bool dark);

}  // namespace lacuna::gui
