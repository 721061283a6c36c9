// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/memory_lists.h"

#include <QLabel>
#include <QStackedWidget>
#include <QTabBar>
#include <QTableView>
#include <QVBoxLayout>

#include "base/words.h"
#include "views/memory_edits.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

bool isAboutMemory(const analyzer::Finding& finding) {
  return analyzer::findingArea(finding.id) == analyzer::FindingArea::Memory;
}

}  // namespace

MemoryLists::MemoryLists(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  tabs_ = new QTabBar(this);
  tabs_->setObjectName(QStringLiteral("pages"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("What to list"));
  pages_ = new QStackedWidget(this);
  live_ = new TablePage({}, tr("Nothing is alive here."), pages_);
  leaks_ = new TablePage({}, tr("Nothing grows from step to step."), pages_);
  edits_ = new MemoryEdits(pages_);
  allocator_ = new TablePage(
      {}, tr("This trace does not record the memory that allocators take from the device."),
      pages_);
  advice_ = new QWidget(pages_);
  adviceList_ = new QVBoxLayout(advice_);
  adviceList_->setContentsMargins(4, 12, 4, 0);
  adviceList_->setSpacing(6);
  addTab("alive", tr("Alive"), live_);
  addTab("edits", tr("Lower the peak"), edits_);
  addTab("allocator", tr("Allocator"), allocator_);
  addTab("leaks", tr("Leaks"), leaks_);
  addTab("advice", tr("Advice"), advice_);
  for (TablePage* page : std::initializer_list<TablePage*>{live_, edits_, allocator_, leaks_}) {
    page->layout()->setContentsMargins(0, 8, 0, 0);
    connect(page, &TablePage::message, this, &MemoryLists::message);
  }
  connect(tabs_, &QTabBar::currentChanged, pages_, &QStackedWidget::setCurrentIndex);
  connect(tabs_, &QTabBar::currentChanged, this, &MemoryLists::tabChanged);
  column->addWidget(tabs_);
  column->addWidget(pages_, 1);
}

void MemoryLists::addTab(const char* name, const QString& title, QWidget* page) {
  tabs_->setTabData(tabs_->addTab(title), QString::fromLatin1(name));
  pages_->addWidget(page);
  page->setAccessibleName(title);
  if (auto* table = page->findChild<QTableView*>()) table->setAccessibleName(title);
}

bool MemoryLists::showsEdits() const {
  return pages_->currentWidget() == edits_;
}

void MemoryLists::setAdvice(const AnalysisPtr& analysis) {
  while (QLayoutItem* item = adviceList_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  int count = 0;
  for (std::size_t n = 0; analysis && n < analysis->of<analyzer::Findings>().size(); ++n) {
    const analyzer::Finding& finding = analysis->of<analyzer::Findings>()[n];
    if (!isAboutMemory(finding)) continue;
    adviceList_->addWidget(label(words(finding.title), "heading", advice_));
    adviceList_->addWidget(label(words(finding.advice), "dim", advice_));
    if (!finding.knob.empty()) adviceList_->addWidget(label(words(finding.knob), "knob", advice_));
    adviceList_->addSpacing(10);
    ++count;
  }
  if (count == 0)
    adviceList_->addWidget(label(tr("No rule found anything to improve."), "dim", advice_));
  adviceList_->addStretch();
}

Figures MemoryLists::figures() const {
  const auto* page = qobject_cast<const TablePage*>(pages_->currentWidget());
  return (page != nullptr ? page : live_)->figures();
}

QStringList MemoryLists::tabNames() const {
  QStringList names;
  for (int i = 0; i < tabs_->count(); ++i) names << tabs_->tabData(i).toString();
  return names;
}

bool MemoryLists::showTab(const QString& name) {
  const auto at = static_cast<int>(tabNames().indexOf(name));
  if (at >= 0) tabs_->setCurrentIndex(at);
  return at >= 0;
}

}  // namespace lacuna::gui
