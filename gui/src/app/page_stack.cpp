// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/page_stack.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QTabBar>
#include <QVBoxLayout>

#include "base/desk.h"
#include "views/page_list.h"

namespace lacuna::gui {

PageStack::PageStack(Desk& desk, QWidget* parent) : QWidget(parent) {
  auto* down = new QVBoxLayout(this);
  down->setContentsMargins(0, 0, 0, 0);
  down->setSpacing(0);
  auto* top = new QWidget(this);
  top->setObjectName(QStringLiteral("topBar"));
  auto* across = new QHBoxLayout(top);
  across->setContentsMargins(8, 0, 12, 0);
  tabs_ = new QTabBar(top);
  tabs_->setObjectName(QStringLiteral("pages"));
  tabs_->setExpanding(false);
  tabs_->setAccessibleName(tr("Pages"));
  across->addWidget(tabs_);
  across->addStretch();
  pages_ = new QStackedWidget(this);
  down->addWidget(top);
  down->addWidget(pages_, 1);
  addPages(desk);
  connect(tabs_, &QTabBar::currentChanged, this, [this](int index) {
    pages_->setCurrentIndex(index);
    // Keys go to what the page is about, unless it is the tabs that are walked through.
    if (!tabs_->hasFocus()) current()->subject()->setFocus();
  });
}

void PageStack::addPages(Desk& desk) {
  for (const PageEntry& entry : allPages()) all_.push_back(entry.make(desk, pages_));
  for (std::size_t n = 0; n < all_.size(); ++n) {
    const PageEntry& entry = allPages()[n];
    pages_->addWidget(all_[n]);
    const int tab =
        tabs_->addTab(QCoreApplication::translate("lacuna::gui::MainWindow", entry.title));
    tabs_->setTabData(tab, QString::fromLatin1(entry.name));
    connect(all_[n], &Page::wanted, this, [this, tab] { tabs_->setCurrentIndex(tab); });
  }
}

Page* PageStack::current() const {
  return all_[static_cast<std::size_t>(pages_->currentIndex())];
}

QStringList PageStack::names() const {
  QStringList names;
  for (int i = 0; i < tabs_->count(); ++i) names << tabs_->tabData(i).toString();
  return names;
}

QString PageStack::name() const {
  return tabs_->tabData(tabs_->currentIndex()).toString();
}

QString PageStack::titleOf(int index) const {
  return tabs_->tabText(index);
}

void PageStack::show(int index) {
  tabs_->setCurrentIndex(index);
}

bool PageStack::show(const QString& name) {
  const auto at = static_cast<int>(names().indexOf(name));
  if (at >= 0) show(at);
  return at >= 0;
}

}  // namespace lacuna::gui
