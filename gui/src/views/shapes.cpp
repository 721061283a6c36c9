// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/shapes.h"

#include <QList>
#include <QPaintEngine>
#include <QPainter>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace lacuna::gui {

namespace {

/// Pixels of one colour beside each other, and the line that the same ones began on.
struct Run {
  int from = 0, to = 0;
  QRgb colour = 0;
  int top = 0;
};

/// Colours that differ by less than 2^dropped in a channel become one, the one in their middle.
QRgb rounded(QRgb colour, int dropped) {
  if (dropped == 0) return colour | 0xFF000000;
  const QRgb low = (1U << dropped) - 1;
  const QRgb mask = ~(low | low << 8 | low << 16);
  const QRgb half = 1U << (dropped - 1);
  return ((colour & mask) | half | half << 8 | half << 16) | 0xFF000000;
}

int bitsToDrop(const QImage& picture) {
  for (int dropped = 0;; dropped = dropped == 0 ? 3 : dropped + 1) {
    std::unordered_set<QRgb> colours;
    for (int y = 0; y < picture.height() && colours.size() <= kMostColours; ++y) {
      const auto* line = reinterpret_cast<const QRgb*>(picture.constScanLine(y));
      for (int x = 0; x < picture.width(); ++x) colours.insert(rounded(line[x], dropped));
    }
    if (colours.size() <= kMostColours) return dropped;
  }
}

std::vector<Run> runsOf(const QRgb* line, int width, int y, int dropped) {
  std::vector<Run> runs;
  for (int x = 0; x < width; ++x) {
    const QRgb colour = rounded(line[x], dropped);
    if (runs.empty() || runs.back().colour != colour) runs.push_back({x, x, colour, y});
    runs.back().to = x + 1;
  }
  return runs;
}

using Rects = std::unordered_map<QRgb, QList<QRect>>;

/// A run that goes on in the next line keeps its top; one that does not is a rectangle.
void close(std::vector<Run>& open, std::vector<Run> next, int y, Rects& rects) {
  auto same = next.begin();
  for (const Run& run : open) {
    while (same != next.end() && same->from < run.from) ++same;
    const bool goesOn = same != next.end() && same->from == run.from && same->to == run.to &&
                        same->colour == run.colour;
    if (goesOn) {
      same->top = run.top;
    } else {
      rects[run.colour].append(QRect(run.from, run.top, run.to - run.from, y - run.top));
    }
  }
  open = std::move(next);
}

Rects rectsOf(const QImage& picture) {
  const int dropped = bitsToDrop(picture);
  Rects rects;
  std::vector<Run> open;
  for (int y = 0; y < picture.height(); ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(picture.constScanLine(y));
    const auto bytes = static_cast<std::size_t>(picture.width()) * sizeof(QRgb);
    if (y > 0 && std::memcmp(line, picture.constScanLine(y - 1), bytes) == 0) continue;
    close(open, runsOf(line, picture.width(), y, dropped), y, rects);
  }
  close(open, {}, picture.height(), rects);
  return rects;
}

}  // namespace

bool keepsShapes(const QPainter& painter) {
  return painter.paintEngine() && painter.paintEngine()->type() == QPaintEngine::SVG;
}

void paintAsRects(QPainter& painter, QPoint at, const QImage& picture) {
  Rects rects = rectsOf(picture);
  const auto area = [](const QList<QRect>& of) {
    qint64 sum = 0;
    for (const QRect& rect : of) sum += qint64{rect.width()} * rect.height();
    return sum;
  };
  QRgb ground = 0;
  qint64 most = 0;
  for (const auto& [colour, of] : rects) {
    if (const qint64 covered = area(of); covered > most) {
      most = covered;
      ground = colour;
    }
  }
  painter.save();
  painter.translate(at);
  painter.setPen(Qt::NoPen);
  if (most > 0) rects[ground] = {picture.rect()};  // the rest lies on it
  const auto paint = [&](QRgb colour) {
    painter.setBrush(QColor::fromRgb(colour));
    painter.drawRects(rects[colour]);
  };
  if (most > 0) paint(ground);
  for (const auto& entry : rects) {
    if (entry.first != ground) paint(entry.first);
  }
  painter.restore();
}

void paintPicture(QPainter& painter, QPoint at, const QImage& picture) {
  if (keepsShapes(painter)) return paintAsRects(painter, at, picture);
  painter.drawImage(at, picture);
}

}  // namespace lacuna::gui
