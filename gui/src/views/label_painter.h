// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QStaticText>
#include <unordered_map>
#include <vector>

#include "base/trace.h"

class QPainter;

namespace lacuna::gui {

/// Writes names on events. A name cut to a width is laid out once and kept; the store of them is
/// bounded.
class LabelPainter {
 public:
  LabelPainter();
  void setTrace(TracePtr trace);
  /// The painter draws in logical pixels; labels are in device pixels, `scale` of them to one.
  void paint(QPainter& painter, const std::vector<Label>& labels, double scale);
  /// True when any part of a name lies in this place, in logical pixels.
  [[nodiscard]] bool isWrittenOn(const QRectF& place, const std::vector<Label>& labels,
                                 double scale);

 private:
  /// Null where there is no room for a name.
  const QStaticText* textOn(const Label& label, double scale);
  const QStaticText* textFor(prof::StringId name, int widthSteps);

  TracePtr trace_;
  QFont font_;
  double lineHeight_ = 0;
  std::unordered_map<std::uint32_t, QString> shortNames_;
  std::unordered_map<std::uint64_t, QStaticText> texts_;
};

}  // namespace lacuna::gui
