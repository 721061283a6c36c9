// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/step_drawing.h"

#include <QPainter>
#include <algorithm>

#include "base/words.h"

namespace lacuna::gui {

using analyzer::Cause;
using analyzer::DrawnStep;

namespace {

constexpr int kPitch = 18;  // from lane to lane, and at most where there is room
constexpr int kRoomyPitch = 34;
constexpr int kGap = 2;
constexpr int kBetween = 12;
constexpr int kCaptions = 84;
constexpr int kLanesLeft = 168;
constexpr int kLanesRight = 12;
constexpr int kInterval = 20;
/// More queues would push the page apart; their work is in the last one's lane.
constexpr std::size_t kMostQueues = 4;

Cause causeOf(const DrawnStep::Stretch& stretch) {
  switch (stretch.kind) {
    case DrawnStep::Kind::Host:
      return Cause::HostWork;
    case DrawnStep::Kind::LoaderWait:
      return Cause::LoaderWait;
    case DrawnStep::Kind::SyncWait:
      return Cause::Synchronisation;
    case DrawnStep::Kind::Work:
      break;
  }
  return stretch.work == analyzer::Work::Copy            ? Cause::ExposedCopy
         : stretch.work == analyzer::Work::Communication ? Cause::ExposedCommunication
                                                         : Cause::Compute;
}

QString labelOf(const DrawnStep::Stretch& stretch) {
  switch (stretch.kind) {
    case DrawnStep::Kind::Host:
      return {};
    case DrawnStep::Kind::LoaderWait:
      return StepDrawing::tr("waits for the loader");
    case DrawnStep::Kind::SyncWait:
      return StepDrawing::tr("waits for the device");
    case DrawnStep::Kind::Work:
      break;
  }
  return {};
}

std::size_t lanesOf(const DrawnStep& step) {
  return 1 + std::min(step.queues, kMostQueues);
}

int blockHeight(const DrawnStep& step, int pitch) {
  return static_cast<int>(lanesOf(step)) * pitch;
}

}  // namespace

StepDrawing::StepDrawing(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("The step as it is and as it would be"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setMinimumHeight(2 * (2 * kPitch + kBetween) + kInterval);
}

void StepDrawing::setStep(PlayedStep step, bool dark) {
  step_ = std::move(step);
  dark_ = dark;
  const analyzer::Prediction& p = step_.prediction;
  scaleNs_ = std::max({p.measuredNsPerStep, p.predictedNsPerStep, step_.before.durNs,
                       step_.after.durNs, step_.changed ? p.highNsPerStep : 0, std::int64_t{1}});
  setAccessibleDescription(tr("measured %1, predicted %2, likely between %3 and %4")
                               .arg(durationWords(p.measuredNsPerStep),
                                    durationWords(p.predictedNsPerStep),
                                    durationWords(p.lowNsPerStep), durationWords(p.highNsPerStep)));
  setMinimumHeight(heightWith(kPitch));
  update();
}

QString StepDrawing::laneName(const DrawnStep& step, std::size_t lane) {
  if (lane == 0) return tr("host");
  if (step.queues <= 1) return tr("device");
  if (lane == kMostQueues && step.queues > kMostQueues) return tr("others");
  const bool known = lane <= step.queueNames.size() && !step.queueNames[lane - 1].empty();
  return known ? words(step.queueNames[lane - 1]) : tr("other");
}

int StepDrawing::heightWith(int pitch) const {
  const int before = blockHeight(step_.before, pitch) + kBetween;
  return before + (step_.changed ? blockHeight(step_.after, pitch) + kInterval : kPitch);
}

int StepDrawing::pitch() const {
  int pitch = kPitch;
  while (pitch < kRoomyPitch && heightWith(pitch + 1) <= height()) ++pitch;
  return pitch;
}

double StepDrawing::xOf(std::int64_t ns) const {
  return kLanesLeft + static_cast<double>(ns) / static_cast<double>(scaleNs_) *
                          (width() - kLanesLeft - kLanesRight);
}

void StepDrawing::paintBlock(QPainter& painter, int top, const QString& name, const DrawnStep& step,
                             std::int64_t durNs) const {
  const Theme& t = theme(dark_);
  const int pitch = this->pitch();
  const int high = pitch - kGap;
  painter.setPen(rgb(t.dim));
  painter.drawText(QRect(0, top, kCaptions, high), Qt::AlignVCenter, name);
  painter.setPen(rgb(t.text));
  painter.drawText(QRect(0, top + pitch, kCaptions, high), Qt::AlignVCenter, durationWords(durNs));
  const std::size_t lanes = lanesOf(step);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const int y = top + static_cast<int>(lane) * pitch;
    painter.setPen(rgb(t.dim));
    const QRect room(kCaptions, y, kLanesLeft - kCaptions - 8, high);
    painter.drawText(
        room, Qt::AlignVCenter,
        painter.fontMetrics().elidedText(laneName(step, lane), Qt::ElideMiddle, room.width()));
    painter.fillRect(QRectF(kLanesLeft, y, xOf(std::max(durNs, step.durNs)) - kLanesLeft, high),
                     rgb(t.raised));
  }
  for (const DrawnStep::Stretch& stretch : step.stretches) {
    const bool work = stretch.kind == DrawnStep::Kind::Work;
    const auto lane = work ? static_cast<int>(std::min(stretch.queue, kMostQueues - 1)) + 1 : 0;
    const double left = xOf(stretch.startNs);
    // A sliver of a gap keeps pieces of work apart where there is room for it.
    const double w = xOf(stretch.endNs) - left;
    const QRectF at(left, top + lane * pitch, work && w > 3 ? w - 0.7 : w, high);
    const Colour fill = causeColour(causeOf(stretch), dark_);
    painter.fillRect(at, rgb(fill));
    const QString label = labelOf(stretch);
    if (label.isEmpty() || painter.fontMetrics().horizontalAdvance(label) + 12 > at.width())
      continue;
    painter.setPen(rgb(inkOn(fill)));
    painter.drawText(at, Qt::AlignCenter, label);
  }
}

void StepDrawing::paintInterval(QPainter& painter, int y) const {
  const analyzer::Prediction& p = step_.prediction;
  if (!step_.changed || p.highNsPerStep <= p.lowNsPerStep) return;
  const Theme& t = theme(dark_);
  const double low = xOf(p.lowNsPerStep);
  const double high = xOf(p.highNsPerStep);
  painter.fillRect(QRectF(low, y, high - low, 1.5), rgb(t.accent));
  for (const double end : {low, high})
    painter.fillRect(QRectF(end - 0.75, y - 4, 1.5, 9), rgb(t.accent));
  painter.setPen(rgb(t.dim));
  painter.drawText(QRectF(0, y - 9, kLanesLeft - 8, 18), Qt::AlignVCenter, tr("likely range"));
}

void StepDrawing::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  QFont font = painter.font();
  font.setPixelSize(12);
  painter.setFont(font);
  const analyzer::Prediction& p = step_.prediction;
  paintBlock(painter, 0, tr("measured"), step_.before, p.measuredNsPerStep);
  const int second = blockHeight(step_.before, pitch()) + kBetween;
  if (!step_.changed) {
    painter.setPen(rgb(theme(dark_).dim));
    painter.drawText(
        QRect(0, second, width(), kPitch), Qt::AlignVCenter,
        step_.isStep ? tr("The typical step. Change something above to see what it would become.")
                     : tr("The whole run. Change something above to see what it would become."));
    return;
  }
  paintBlock(painter, second, tr("predicted"), step_.after, p.predictedNsPerStep);
  paintInterval(painter, second + blockHeight(step_.after, pitch()) + kInterval / 2 - 2);
}

}  // namespace lacuna::gui
