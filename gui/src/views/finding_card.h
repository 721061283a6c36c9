// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

#include "lacuna/analyzer/findings.h"

class QVBoxLayout;

namespace lacuna::gui {

/// A finding on the overview: what it is, what would help, and what that would gain. Where there is
/// evidence, a click anywhere or Enter asks for its places.
class FindingCard : public QFrame {
  Q_OBJECT

 public:
  /// `playable`: the fix can be simulated. `perStep`: the gain is one of each step, else of the
  /// whole run.
  FindingCard(const analyzer::Finding& finding, bool playable, bool perStep, bool dark,
              QWidget* parent = nullptr);

 Q_SIGNALS:
  void placesWanted();
  void playWanted(const QString& change);

 protected:
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  QVBoxLayout* whatToDo(const analyzer::Finding& finding, bool playable, bool dark);
  QVBoxLayout* whatItGains(const analyzer::Finding& finding, bool perStep);
  bool hasPlaces_;
};

}  // namespace lacuna::gui
