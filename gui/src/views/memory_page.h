// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/desk.h"
#include "base/job.h"
#include "base/page.h"
#include "lacuna/analyzer/memory.h"
#include "models/table_model.h"

class QComboBox;
class QLabel;
class QPushButton;
class QStackedWidget;
class QTabBar;
class QVBoxLayout;

namespace lacuna::gui {

class MemoryChart;
class RoleBar;
class TablePage;
class TreemapView;

/// Memory of a device over time and what is alive at the cursor (at the peak until one is set),
/// what leaks, and what would help. With several devices, it shows the one with the highest peak
/// until another is chosen.
class MemoryPage : public Page {
  Q_OBJECT

 public:
  explicit MemoryPage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  void setGrown(const TracePtr& trace) override;
  void setFindings(const Findings& findings) override;
  void setDark(bool dark) override;
  /// The same cursor as the timeline's.
  void setCursorMark(prof::TimeNs timeNs);
  [[nodiscard]] TablePage* live() const { return live_; }
  [[nodiscard]] TablePage* leaks() const { return leaks_; }
  /// The edits that would bring the peak down. The selected edit's blocks stand out in the areas
  /// and on the curve.
  [[nodiscard]] TablePage* edits() const { return edits_; }
  [[nodiscard]] TablePage* allocator() const { return allocator_; }
  /// The list of the tab in front.
  [[nodiscard]] Figures figures() const override;
  [[nodiscard]] std::vector<Command> commands() override;
  /// "alive", "edits", "allocator", "leaks" or "advice".
  bool showTab(const QString& name);
  [[nodiscard]] QStringList tabNames() const;
  [[nodiscard]] MemoryChart* chart() const { return chart_; }
  [[nodiscard]] TreemapView* map() const { return map_; }
  [[nodiscard]] const std::shared_ptr<const analyzer::MemoryMoment>& moment() const {
    return moment_;
  }
  /// The choice of the device whose memory is shown, where there are several.
  [[nodiscard]] QComboBox* devices() const { return devices_; }
  /// The edits that would bring down the peak of the device that is shown.
  [[nodiscard]] const std::vector<analyzer::PeakEdit>& peakEdits() const { return peakEdits_; }
  [[nodiscard]] bool busy() const override { return job_.busy() || editJob_.busy(); }

 Q_SIGNALS:
  void momentShown();

 private:
  QWidget* makeLower();
  void showPresence();
  void fillDevices();
  /// The figures of the device that is chosen.
  void showDevice();
  void findEdits();
  [[nodiscard]] const analyzer::MemoryStats& stats() const;
  /// None where the trace has only one.
  [[nodiscard]] std::optional<prof::DeviceId> device() const;
  [[nodiscard]] QString nameOf(prof::DeviceId device) const;
  void showAt(prof::TimeNs timeNs);
  /// Shows the surroundings of a moment on the timeline.
  void showOnTimeline(prof::TimeNs timeNs);
  /// The page with the cursor at the peak, where memory was recorded.
  void showPeak();
  /// `live`: the table of what is alive then.
  void showMoment(TableData live);
  void showFacts();
  void fillAdvice();
  void fillEdits();
  void showEdit();
  [[nodiscard]] const analyzer::PeakEdit* selectedEdit() const;
  [[nodiscard]] std::vector<prof::TimeWindow> lifetimesOf(const analyzer::PeakEdit& edit) const;
  void showLifetimes();

  Desk& desk_;
  TracePtr trace_;
  AnalysisPtr analysis_;
  std::shared_ptr<const analyzer::MemoryMoment> moment_;
  bool dark_ = true;
  QLabel* facts_;
  QComboBox* devices_;
  std::optional<prof::DeviceId> wantedDevice_;  ///< chosen by hand
  std::vector<analyzer::PeakEdit> peakEdits_;
  QLabel* empty_;
  QLabel* momentTitle_;
  QLabel* momentFacts_;
  QPushButton* toPeak_;
  QWidget* body_;
  MemoryChart* chart_;
  RoleBar* roles_;
  TreemapView* map_;
  QTabBar* tabs_;
  QStackedWidget* pages_;
  TablePage* live_;
  TablePage* leaks_;
  TablePage* edits_;
  TablePage* allocator_;
  QWidget* advice_;
  QVBoxLayout* adviceList_;
  bool filling_ = false;
  QLabel* why_;
  QString editKey_;  ///< of the edit that was selected last
  Job job_;
  Job editJob_;
};

}  // namespace lacuna::gui
