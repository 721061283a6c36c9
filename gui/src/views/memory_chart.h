// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "base/trace.h"
#include "lacuna/analyzer/memory.h"
#include "timeline/viewport.h"

namespace lacuna::gui {

/// Memory of one device over time, stacked by role, with its peak and a cursor. A click moves the
/// cursor, the wheel zooms, a double-click asks for the timeline.
class MemoryChart : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryChart(QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. The curve and the marks stay.
  void setGrown(const TracePtr& trace);
  /// The device whose memory is shown: without one, the device that uses most.
  void setDevice(std::optional<prof::DeviceId> device);
  struct Peak {
    prof::TimeNs timeNs = 0;
    std::uint64_t bytes = 0;
  };
  void setPeak(std::optional<Peak> peak);
  /// The most bytes of the curve; 0 without one.
  [[nodiscard]] double highest() const { return total_ ? total_->highest() : 0; }
  void setDark(bool dark);
  /// A moment that is not shown is moved to.
  void setCursorMark(std::optional<prof::TimeNs> timeNs);
  /// A peak that an edit would leave, as a line; `alive` is when the blocks of the edit are.
  struct Foreseen {
    std::uint64_t bytes = 0;
    std::vector<prof::TimeWindow> alive;
  };
  void setForeseen(std::optional<Foreseen> foreseen);
  [[nodiscard]] const std::optional<Foreseen>& foreseen() const { return foreseen_; }
  [[nodiscard]] std::optional<prof::TimeNs> cursorMark() const { return cursor_; }
  [[nodiscard]] const Viewport& viewport() const { return view_; }

 Q_SIGNALS:
  void momentPicked(lacuna::prof::TimeNs timeNs);
  void momentWanted(lacuna::prof::TimeNs timeNs);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  struct Band {
    const analyzer::CounterLane* lane;
    Colour colour[2];  ///< light, dark
  };
  void findLanes();
  [[nodiscard]] QRect plot() const;
  /// For a moment far outside of the plot: some place outside of it.
  [[nodiscard]] double xOf(prof::TimeNs timeNs) const;
  [[nodiscard]] double top() const;
  [[nodiscard]] prof::TimeNs timeAt(double x) const;
  /// When it is and how much there is then.
  [[nodiscard]] QString describe(prof::TimeNs timeNs) const;
  void pick(prof::TimeNs timeNs);
  void zoomAtCursor(double factor);
  void paintBands(QPainter& painter);
  void paintAxes(QPainter& painter);
  void paintMarks(QPainter& painter);
  void paintForeseen(QPainter& painter);

  TracePtr trace_;
  std::optional<prof::DeviceId> device_;
  std::optional<Peak> peak_;
  const analyzer::CounterLane* total_ = nullptr;
  std::vector<Band> bands_;
  Viewport view_;
  std::optional<prof::TimeNs> cursor_;
  std::optional<Foreseen> foreseen_;
  std::optional<double> mouseX_;
  bool dark_ = true;
};

}  // namespace lacuna::gui
