// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/whatif.h"

class QCheckBox;
class QHBoxLayout;
class QLabel;
class QSlider;

namespace lacuna::gui {

/// A control for each change that has one in the analyzer's list.
class ChangeControls : public QWidget {
  Q_OBJECT

 public:
  explicit ChangeControls(QWidget* parent = nullptr);
  /// Sliders show the recorded values, unless somebody has moved them and `again` is true: then a
  /// recording has grown.
  void setAnalysis(const analyzer::Analysis& analysis, bool again);
  /// The changes that differ from the recorded run, as parseChange() reads them.
  [[nodiscard]] std::vector<std::string> changes() const;
  [[nodiscard]] bool canShow(const analyzer::Change& change) const;
  /// Sets the change's control; canShow() is true.
  void apply(const analyzer::Change& change);
  /// Sets the control of this change, if there is one, to the recorded run.
  void reset(std::string_view name);
  /// Null where that change has no such control.
  [[nodiscard]] QSlider* slider(std::string_view name) const;
  [[nodiscard]] QCheckBox* checkBox(std::string_view name) const;

 Q_SIGNALS:
  void changed();

 private:
  struct Control {
    const analyzer::ChangeInfo* info = nullptr;
    QSlider* slider = nullptr;
    QLabel* label = nullptr;  ///< of the slider
    QCheckBox* checkBox = nullptr;
    analyzer::RecordedNumber recorded{};
  };
  void addSlider(Control& control, QHBoxLayout& across);
  void addCheckBox(Control& control, QHBoxLayout& across);
  [[nodiscard]] const Control* controlOf(std::string_view name) const;
  static void showRecorded(Control& control, const analyzer::Analysis& analysis, bool again);
  static void setLabel(const Control& control);

  std::vector<Control> controls_;
};

}  // namespace lacuna::gui
