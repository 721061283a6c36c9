// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>

#include "lacuna/analyzer/findings.h"
#include "lacuna/prof/reader.h"
#include "timeline/rows.h"

class QLabel;
class QPushButton;
class QToolButton;

namespace lacuna::gui {

/// Where a finding is shown: what stretch, which rows, and the word that goes with it.
struct FindingPlace {
  prof::TimeWindow window;
  std::vector<RowKey> rows;
  QString what;
};

/// One finding beside its evidence: what it is, the fix, the predicted gain, and the places it was
/// seen at one by one.
class FindingPanel : public QFrame {
  Q_OBJECT

 public:
  explicit FindingPanel(QWidget* parent = nullptr);
  /// `places`: what to show of each evidence. `perStep`: the gain is one of each step, else of the
  /// whole run.
  void setFinding(const analyzer::Finding& finding, std::vector<FindingPlace> places, bool perStep);
  void setDark(bool dark);
  void clear();
  /// The next place, or the one before; after the last comes the first.
  void step(int by);
  /// The same places in another layout of the trace, which has grown.
  void moveTo(const analyzer::TrackSet& from, const analyzer::TrackSet& to);
  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] QPushButton* playButton() const { return play_; }

 Q_SIGNALS:
  void placeWanted(const lacuna::gui::FindingPlace& place);
  /// The finding's change is to be played.
  void playWanted(const QString& knob);
  void closed();

 private:
  static QString gainWords(const analyzer::Finding& finding, bool perStep);
  void showPlace();

  analyzer::Finding finding_;
  std::vector<FindingPlace> places_;
  std::size_t place_ = 0;
  bool dark_ = true;
  QLabel* kind_;
  QLabel* title_;
  QLabel* advice_;
  QLabel* gain_;
  QLabel* where_;
  QToolButton* previous_;
  QToolButton* next_;
  QPushButton* play_;
};

}  // namespace lacuna::gui
