// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

class QByteArray;
class QFrame;
class QLabel;
class QPainter;
class QWidget;

/// Small parts that pages are put together from.
namespace lacuna::gui {

/// A text that wraps, in the style sheet's role: "title", "heading", "dim", … Plain, as names of kernels may look like
/// tags.
QLabel* label(const QString& text, const char* role, QWidget* parent);
/// The same, to be selected and copied with the mouse.
QLabel* selectableLabel(const QString& text, const char* role, QWidget* parent);
/// Gives a frame the look of a card and lays `content` out in it, below a heading if there is one.
void fillCard(QFrame* frame, const QString& heading, QWidget* content);
/// Device pixels per pixel of what is painted on: a picture may be taken at another scale than the screen's.
double scaleOf(const QPainter& painter);
QFrame* card(const QString& heading, QWidget* content, QWidget* parent);
/// Writes a whole file; what was there before stays until then. Answers nothing, or why it cannot be written.
QString writeFile(const QString& path, const QByteArray& bytes);

}  // namespace lacuna::gui
