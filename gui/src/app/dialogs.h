// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QList>

class QAction;
class QString;
class QWidget;

namespace lacuna::gui {

/// All keys, in a window of their own.
void showKeyHelp(QWidget* parent);
/// A text to be read and copied, in a window of its own.
void showText(QWidget* parent, const QString& title, const QString& text);
/// Type a few letters of a command, Enter runs it.
void showCommandPalette(QWidget* parent, const QList<QAction*>& actions);

}  // namespace lacuna::gui
