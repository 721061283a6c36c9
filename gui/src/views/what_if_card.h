// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>
#include <vector>

#include "base/findings.h"
#include "base/job.h"

class QLabel;
class QLineEdit;

namespace lacuna::gui {

class ChangeControls;
class StepDrawing;
struct PlayedStep;

/// Plays changes on the model of a trace: controls for the common ones, a field for any other, the
/// step drawn before and after, and the predicted time. Plays off the GUI's thread.
class WhatIfCard : public QFrame {
  Q_OBJECT

 public:
  explicit WhatIfCard(QWidget* parent);
  /// Findings with an analysis. `again`: of a recording that has grown, so what is being played
  /// stays.
  void setFindings(const Findings& findings, bool again);
  /// Nothing can be played until the next findings.
  void clear() { findings_ = {}; }
  void setDark(bool dark);
  /// Plays one change ("loader.workers=4", "fuse=on", "kernel:gelu*0.5") as if its control had been
  /// used.
  void playChange(const QString& change);
  [[nodiscard]] QString prediction() const;
  [[nodiscard]] ChangeControls* controls() const { return controls_; }
  [[nodiscard]] QLineEdit* otherChange() const { return other_; }
  [[nodiscard]] StepDrawing* drawing() const { return drawing_; }
  /// A change is being played.
  [[nodiscard]] bool busy() const { return playing_.busy(); }

 private:
  void play();
  void start(std::vector<analyzer::Change> changes);
  void showPlayed(const PlayedStep& step);

  Findings findings_;
  bool dark_ = true;
  ChangeControls* controls_;
  QLineEdit* other_;
  StepDrawing* drawing_;
  QLabel* prediction_;
  Job playing_;
};

}  // namespace lacuna::gui
