// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "lacuna/analyzer/whatif.h"

class QPainter;

namespace lacuna::gui {

/// The effect of a change on the step: as the simulator plays it now, and with the change.
struct PlayedStep {
  analyzer::Prediction prediction;
  analyzer::DrawnStep before, after;
  bool changed = false;
  bool isStep = true;  ///< false: the trace has no steps, and this is the whole run
};

/// The typical step drawn twice on one scale, as it is and as it would be: the host with what it
/// waits for, and the queues with their work. The interval of the prediction lies below.
class StepDrawing : public QWidget {
  Q_OBJECT

 public:
  explicit StepDrawing(QWidget* parent = nullptr);
  void setStep(PlayedStep step, bool dark);
  [[nodiscard]] const PlayedStep& step() const { return step_; }
  /// The name of a lane of a step, as on the timeline where there are several queues; the first is
  /// the host's.
  static QString laneName(const analyzer::DrawnStep& step, std::size_t lane);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] int heightWith(int pitch) const;
  /// From lane to lane: as much as there is room for, within bounds.
  [[nodiscard]] int pitch() const;
  [[nodiscard]] double xOf(std::int64_t ns) const;
  void paintBlock(QPainter& painter, int top, const QString& name, const analyzer::DrawnStep& step,
                  std::int64_t durNs) const;
  void paintInterval(QPainter& painter, int y) const;

  PlayedStep step_;
  std::int64_t scaleNs_ = 1;
  bool dark_ = true;
};

}  // namespace lacuna::gui
