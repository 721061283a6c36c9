// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QComboBox>
#include <optional>

#include "base/findings.h"
#include "base/trace.h"
#include "lacuna/analyzer/memory.h"

namespace lacuna::gui {

/// The choice of the device whose memory is shown: the one with the highest peak until another is
/// chosen by hand. Hidden where the trace has the memory of one only.
class MemoryDevices : public QComboBox {
  Q_OBJECT

 public:
  explicit MemoryDevices(QWidget* parent);
  /// Forgets the choice; there is no analysis yet.
  void clearChoice();
  void setAnalysis(const TracePtr& trace, const AnalysisPtr& analysis);
  /// None where the trace has only one.
  [[nodiscard]] std::optional<prof::DeviceId> device() const;
  /// The figures of that device, or of all together. Only with an analysis.
  [[nodiscard]] const analyzer::MemoryStats& stats() const;

 Q_SIGNALS:
  /// Another device was chosen by hand.
  void chosen();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void fill(const TracePtr& trace);
  [[nodiscard]] QString nameOf(const TracePtr& trace, prof::DeviceId device) const;

  AnalysisPtr analysis_;
  std::optional<prof::DeviceId> wanted_;  ///< chosen by hand
};

}  // namespace lacuna::gui
