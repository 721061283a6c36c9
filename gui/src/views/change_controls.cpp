// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/change_controls.h"

#include <QCheckBox>
#include <QCoreApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <algorithm>

namespace lacuna::gui {
namespace {

constexpr int kControlsApart = 18;
constexpr int kSliderWidth = 200;
constexpr int kLabelWidth = 150;

/// The analyzer's text for a control.
QString translated(std::string_view text) {
  return QCoreApplication::translate("ChangeControls", std::string(text).c_str());
}

}  // namespace

ChangeControls::ChangeControls(QWidget* parent) : QWidget(parent) {
  auto* across = new QHBoxLayout(this);
  across->setContentsMargins(0, 0, 0, 0);
  across->setSpacing(kControlsApart);
  for (const analyzer::ChangeInfo* info : analyzer::listChanges()) {
    if (info->control == analyzer::ChangeControl::None) continue;
    Control control{.info = info};
    info->control == analyzer::ChangeControl::Slider ? addSlider(control, *across)
                                                     : addCheckBox(control, *across);
    controls_.push_back(control);
  }
  across->addStretch();
}

void ChangeControls::addSlider(Control& control, QHBoxLayout& across) {
  control.label = new QLabel(this);
  control.label->setMinimumWidth(kLabelWidth);
  control.slider = new QSlider(Qt::Horizontal, this);
  control.slider->setRange(0, static_cast<int>(control.info->usualMost));
  control.slider->setFixedWidth(kSliderWidth);
  QString name = translated(control.info->label);
  name[0] = name[0].toUpper();
  control.slider->setAccessibleName(name);
  across.addWidget(control.label);
  across.addWidget(control.slider);
  connect(control.slider, &QSlider::valueChanged, this, [this, info = control.info] {
    setLabel(*controlOf(info->name));
    Q_EMIT changed();
  });
}

void ChangeControls::addCheckBox(Control& control, QHBoxLayout& across) {
  control.checkBox = new QCheckBox(translated(control.info->label), this);
  across.addWidget(control.checkBox);
  connect(control.checkBox, &QCheckBox::toggled, this, &ChangeControls::changed);
}

void ChangeControls::setAnalysis(const analyzer::Analysis& analysis, bool again) {
  for (Control& control : controls_) {
    if (control.slider != nullptr) showRecorded(control, analysis, again);
    if (control.checkBox == nullptr || again) continue;
    const QSignalBlocker blocked(control.checkBox);
    control.checkBox->setChecked(false);
  }
}

void ChangeControls::showRecorded(Control& control, const analyzer::Analysis& analysis,
                                  bool again) {
  QSlider& slider = *control.slider;
  const bool untouched = !again || slider.value() == static_cast<int>(control.recorded.value);
  control.recorded = control.info->recorded(analysis);
  const auto recorded = static_cast<int>(control.recorded.value);
  const int shown = untouched ? recorded : slider.value();
  const QSignalBlocker blocked(slider);
  slider.setRange(recorded > 0 ? static_cast<int>(control.info->least) : 0,
                  std::max({static_cast<int>(control.info->usualMost), recorded, shown}));
  slider.setValue(shown);
  slider.setEnabled(control.recorded.known);
  setLabel(control);
}

void ChangeControls::setLabel(const Control& control) {
  const int value = control.slider->value();
  const bool inWords = value == 0 && !control.recorded.words.empty();
  control.label->setText(
      tr("%1: %2").arg(translated(control.info->label),
                       inWords ? translated(control.recorded.words) : QString::number(value)));
}

std::vector<std::string> ChangeControls::changes() const {
  std::vector<std::string> texts;
  for (const Control& control : controls_) {
    const std::string name = std::string(control.info->name) + "=";
    if (control.slider != nullptr &&
        control.slider->value() != static_cast<int>(control.recorded.value))
      texts.push_back(name + std::to_string(control.slider->value()));
    if (control.checkBox != nullptr && control.checkBox->isChecked())
      texts.push_back(name + std::string(analyzer::kOnWords.front()));
  }
  return texts;
}

bool ChangeControls::canShow(const analyzer::Change& change) const {
  const Control* control = controlOf(change.target);
  if (control == nullptr) return false;
  if (control->checkBox != nullptr) return analyzer::isOneOf(change.value, analyzer::kOnWords);
  return control->slider->isEnabled() && change.factor >= control->slider->minimum() &&
         change.factor <= control->slider->maximum();
}

void ChangeControls::apply(const analyzer::Change& change) {
  const Control& control = *controlOf(change.target);
  if (control.checkBox != nullptr) control.checkBox->setChecked(true);
  if (control.slider != nullptr) control.slider->setValue(static_cast<int>(change.factor));
}

void ChangeControls::reset(std::string_view name) {
  const Control* control = controlOf(name);
  if (control == nullptr) return;
  if (control->checkBox != nullptr) control->checkBox->setChecked(false);
  if (control->slider != nullptr)
    control->slider->setValue(static_cast<int>(control->recorded.value));
}

QSlider* ChangeControls::slider(std::string_view name) const {
  const Control* control = controlOf(name);
  return control == nullptr ? nullptr : control->slider;
}

QCheckBox* ChangeControls::checkBox(std::string_view name) const {
  const Control* control = controlOf(name);
  return control == nullptr ? nullptr : control->checkBox;
}

const ChangeControls::Control* ChangeControls::controlOf(std::string_view name) const {
  const auto found =
      std::ranges::find_if(controls_, [&](const Control& one) { return one.info->name == name; });
  return found == controls_.end() ? nullptr : &*found;
}

}  // namespace lacuna::gui
