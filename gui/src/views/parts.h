// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include "lacuna/prof/place_file.h"

class QByteArray;
class QFile;
class QFrame;
class QImage;
class QLabel;
class QLineEdit;
class QPainter;
class QWidget;

/// Small parts that pages are put together from.
namespace lacuna::gui {

/// A text that wraps, in the style sheet's role: "title", "heading", "dim", … Plain, as names of
/// kernels may look like tags.
QLabel* label(const QString& text, const char* role, QWidget* parent);
/// The same, to be selected and copied with the mouse.
QLabel* selectableLabel(const QString& text, const char* role, QWidget* parent);
/// An empty field that shows what it is for, and can be cleared with a click.
QLineEdit* textField(const QString& what, QWidget* parent);
/// Styles a frame as a card and lays `content` out in it, below a heading if there is one.
void fillCard(QFrame* frame, const QString& heading, QWidget* content);
/// Device pixels per pixel of what is painted on: a picture may be taken at another scale than the
/// screen's.
double scaleOf(const QPainter& painter);
QFrame* card(const QString& heading, QWidget* content, QWidget* parent);
/// From now on this file, a trace that was opened, is never written over. For the GUI's thread, as
/// all of this.
void protectFile(const QString& path);
/// Why this file cannot be written, if it is one of those.
QString whyProtected(const QString& path);
/// Why a write failed that left this errno: Qt keeps no reason for one that a full disk cut short.
QString whyFailed(const QFile& file, int code);
/// Writes a whole file; what was there before stays until then, and for good if it is to be kept:
/// then it is in the way. Answers nothing, or why it cannot be written.
QString writeFile(const QString& path, const QByteArray& bytes,
                  prof::Existing existing = prof::Existing::Replace);
/// The same for a picture, of the kind that the file's name ends with, or a PNG.
QString writePicture(const QString& path, const QImage& picture,
                     prof::Existing existing = prof::Existing::Replace);

}  // namespace lacuna::gui
