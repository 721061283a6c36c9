// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>

class QAction;
class QWidget;

namespace lacuna::gui {

/// All keys, in a window of their own.
void showKeyHelp(QWidget* parent);
/// Type a few letters of a command, Enter runs it.
void showCommandPalette(QWidget* parent, const QList<QAction*>& actions);

}  // namespace lacuna::gui
