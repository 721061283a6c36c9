// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/label_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>

#include "timeline/text.h"

namespace lacuna::gui {

namespace {
constexpr int kStepPx = 7;  // labels are cut to multiples of this, so that zooming reuses them
constexpr int kLabelMargin = 4;
constexpr int kWidestSteps = 120;
constexpr std::size_t kKept = 20'000;
}  // namespace

LabelPainter::LabelPainter() {
  font_.setPixelSize(11);
  lineHeight_ = QFontMetricsF(font_).height();
}

void LabelPainter::setTrace(TracePtr trace) {
  trace_ = std::move(trace);
  shortNames_.clear();
  texts_.clear();
}

const QStaticText* LabelPainter::textFor(prof::StringId name, int steps) {
  const std::uint64_t key = (std::uint64_t{name.value} << 32) | static_cast<std::uint32_t>(steps);
  if (const auto found = texts_.find(key); found != texts_.end()) return &found->second;
  if (texts_.size() >= kKept) texts_.clear();
  auto [shortName, isNew] = shortNames_.try_emplace(name.value);
  if (isNew)
    shortName->second = QString::fromStdString(gui::shortName(trace_->name(name).toStdString()));
  const QFontMetricsF metrics(font_);
  QString shown = metrics.elidedText(shortName->second, Qt::ElideRight, steps * kStepPx);
  if (shown.size() <= kFewestCharacters && shown.size() < shortName->second.size()) shown.clear();
  QStaticText text(shown);
  text.setTextFormat(Qt::PlainText);
  text.setPerformanceHint(QStaticText::AggressiveCaching);
  text.prepare({}, font_);
  return &texts_.emplace(key, std::move(text)).first->second;
}

const QStaticText* LabelPainter::textOn(const Label& label, double scale) {
  const int steps =
      std::min(kWidestSteps, static_cast<int>(label.width / scale - 2 * kLabelMargin) / kStepPx);
  const QStaticText* text = steps < 2 ? nullptr : textFor(label.name, steps);
  return text != nullptr && !text->text().isEmpty() ? text : nullptr;
}

bool LabelPainter::isWrittenOn(const QRectF& place, const std::vector<Label>& labels,
                               double scale) {
  if (!trace_) return false;
  return std::any_of(labels.begin(), labels.end(), [&](const Label& label) {
    const QRectF event(label.x / scale, label.y / scale, label.width / scale, label.height / scale);
    if (!event.intersects(place)) return false;
    const QStaticText* text = textOn(label, scale);
    return text != nullptr &&
           QRectF(event.x() + kLabelMargin, event.y(), text->size().width(), event.height())
               .intersects(place);
  });
}

void LabelPainter::paint(QPainter& painter, const std::vector<Label>& labels, double scale) {
  if (!trace_) return;
  painter.setFont(font_);
  Colour ink = 0;
  for (const Label& label : labels) {
    const QStaticText* text = textOn(label, scale);
    if (text == nullptr) continue;
    if (ink != label.ink) painter.setPen(QColor::fromRgb(ink = label.ink));
    const double y = (label.y + label.height / 2.0) / scale - lineHeight_ / 2;
    painter.drawStaticText(QPointF(label.x / scale + kLabelMargin, y), *text);
  }
}

}  // namespace lacuna::gui
