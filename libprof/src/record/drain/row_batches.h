// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "record/drain/trace_state.h"

namespace lacuna::prof::recording {

/// Collects the rows that come in masses, to hand them to the writer as whole columns.
class RowBatches {
 public:
  explicit RowBatches(TraceState& trace) : trace_(trace) {}

  void add(const Range& row) { add(ranges_, row); }
  void add(const Mark& row) { add(marks_, row); }
  void add(const Allocation& row) { add(allocations_, row); }
  void add(const CounterSample& row) { add(samples_, row); }
  void add(const Kernel& row) { add(kernels_, row); }
  void add(const ApiCall& row) { add(calls_, row); }
  void flush() {
    flush(ranges_);
    flush(marks_);
    flush(allocations_);
    flush(samples_);
    flush(kernels_);
    flush(calls_);
  }

 private:
  static constexpr std::size_t kRows = 8192;
  template <class Row>
  struct Batch {
    using RowType = Row;
    typename Row::Columns columns;
    std::size_t rows = 0;
  };
  template <class B>
  void add(B& batch, const typename B::RowType& row) {
    if (batch.rows == 0) batch.columns.reserve(kRows);
    batch.columns.push(row);
    if (++batch.rows == kRows) flush(batch);
  }
  template <class B>
  void flush(B& batch) {
    if (batch.rows == 0) return;
    trace_.writer().template append<typename B::RowType>(batch.columns);
    trace_.stats().rows += batch.rows;
    batch.columns.clear();
    batch.rows = 0;
  }

  TraceState& trace_;
  Batch<Range> ranges_;
  Batch<Mark> marks_;
  Batch<Allocation> allocations_;
  Batch<CounterSample> samples_;
  Batch<Kernel> kernels_;
  Batch<ApiCall> calls_;
};

}  // namespace lacuna::prof::recording
