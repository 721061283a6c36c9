// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/page_list.h"

#include "views/compare_page.h"
#include "views/flame_page.h"
#include "views/kernels_page.h"
#include "views/memory_page.h"
#include "views/operators_page.h"
#include "views/overview_page.h"
#include "views/sql_page.h"
#include "views/steps_page.h"
#include "views/timeline_page.h"

namespace lacuna::gui {

namespace {

template <class OnePage>
Page* makePage(Desk& desk, QWidget* parent) {
  return new OnePage(desk, parent);
}

constexpr PageEntry kAllPages[] = {
    {"overview", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Overview"), makePage<OverviewPage>},
    {"timeline", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Timeline"), makePage<TimelinePage>},
    {"steps", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Steps"), makePage<StepsPage>},
    {"memory", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Memory"), makePage<MemoryPage>},
    {"kernels", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Kernels"), makePage<KernelsPage>},
    {"operators", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Operators"),
     makePage<OperatorsPage>},
    {"flame", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Flame graph"), makePage<FlamePage>},
    {"sql", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "SQL"), makePage<SqlPage>},
    {"compare", QT_TRANSLATE_NOOP("lacuna::gui::MainWindow", "Compare"), makePage<ComparePage>},
};

}  // namespace

std::span<const PageEntry> allPages() {
  return kAllPages;
}

}  // namespace lacuna::gui
