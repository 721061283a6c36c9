// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>
#include <QPointF>

class QPainter;

/// Pictures that stay sharp at any size: shapes instead of pixels.
namespace lacuna::gui {

/// True when what is painted is kept as shapes and texts, as in an SVG.
bool keepsShapes(const QPainter& painter);
/// Paints a picture of flat areas (Format_RGB32) as rectangles that cover the same pixels. There
/// are at most as many rectangles as the picture has runs of one colour. They have at most
/// kMostColours colours, the nearest to its own.
void paintAsRects(QPainter& painter, QPoint at, const QImage& picture);
inline constexpr std::size_t kMostColours = 600;
/// As it is where pixels are kept.
void paintPicture(QPainter& painter, QPoint at, const QImage& picture);

}  // namespace lacuna::gui
