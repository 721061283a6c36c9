// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/names_page.h"

namespace lacuna::gui {

/// The kernels of the trace.
class KernelsPage : public NamesPage {
  Q_OBJECT

 public:
  explicit KernelsPage(Desk& desk, QWidget* parent = nullptr);

 protected:
  [[nodiscard]] TableData tableOf(const analyzer::Analysis& analysis) const override;
};

}  // namespace lacuna::gui
