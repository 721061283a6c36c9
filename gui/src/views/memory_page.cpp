// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_page.h"

#include <QLabel>
#include <QVBoxLayout>

#include "models/analysis_tables.h"
#include "timeline/text.h"
#include "views/charts.h"
#include "views/table_page.h"

namespace lacuna::gui {

MemoryPage::MemoryPage(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("page"));
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(24, 18, 24, 0);
  down->setSpacing(10);
  title_ = new QLabel(tr("Memory"), this);
  title_->setObjectName(QStringLiteral("title"));
  facts_ = new QLabel(this);
  facts_->setObjectName(QStringLiteral("dim"));
  facts_->setWordWrap(true);
  chart_ = new MemoryChart(this);
  roles_ = new RoleBar(this);
  live_ = new TablePage(tr("Alive at the peak"), tr("This trace records no allocations."), this);
  live_->layout()->setContentsMargins(0, 6, 0, 18);
  down->addWidget(title_);
  down->addWidget(facts_);
  down->addWidget(chart_, 2);
  down->addWidget(roles_);
  down->addWidget(live_, 3);
  chart_->clicked = [this](prof::TimeNs at) { Q_EMIT momentWanted(at); };
  setAnalysis(nullptr);
}

void MemoryPage::setAnalysis(std::shared_ptr<const analyzer::Analysis> analysis) {
  analysis_ = std::move(analysis);
  const bool present = analysis_ && analysis_->memory.present;
  chart_->setVisible(present);
  roles_->setVisible(present);
  facts_->setVisible(present);
  chart_->setMemory(analysis_, dark_);
  roles_->setMemory(analysis_, dark_);
  live_->setTable(present ? liveTable(*analysis_) : TableData(), 0);
  if (!present) return;
  const analyzer::MemoryStats& m = analysis_->memory;
  const auto bytes = [](auto v) { return QString::fromStdString(bytesText(static_cast<double>(v))); };
  facts_->setText(tr("Peak %1 of %2 reserved · %3 allocations · growth per step %4")
                      .arg(bytes(m.peakBytes), bytes(m.peakReservedBytes))
                      .arg(m.allocations)
                      .arg(bytes(m.leakBytesPerStep)));
}

void MemoryPage::setDark(bool dark) {
  dark_ = dark;
  chart_->setMemory(analysis_, dark);
  roles_->setMemory(analysis_, dark);
}

}  // namespace lacuna::gui
