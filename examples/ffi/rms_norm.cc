// Root-mean-square normalization of the rows of a matrix, and its derivative, as kernels for XLA on the CPU.
//
// y[i] = x[i] / r with r = sqrt(mean(x^2) + eps).  The derivative is symmetric in its two vectors:
// x_bar[i] = (y_bar[i] - y[i] * mean(y * y_bar)) / r.

#include <cmath>
#include <cstdint>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error RmsNorm(double eps, ffi::Buffer<ffi::F64> x, ffi::ResultBuffer<ffi::F64> y,
                          ffi::ResultBuffer<ffi::F64> root) {
  auto shape = x.dimensions();
  if (shape.size() == 0 || shape.back() == 0) return ffi::Error::InvalidArgument("rms_norm needs rows of a number or more");
  int64_t columns = shape.back(), rows = x.element_count() / columns;
  for (int64_t i = 0; i < rows; ++i) {
    const double* in = x.typed_data() + i * columns;
    double* out = y->typed_data() + i * columns;
    double squares = 0;
    for (int64_t j = 0; j < columns; ++j) squares += in[j] * in[j];
    double r = root->typed_data()[i] = std::sqrt(squares / columns + eps);
    for (int64_t j = 0; j < columns; ++j) out[j] = in[j] / r;
  }
  return ffi::Error::Success();
}

static ffi::Error RmsNormBackward(ffi::Buffer<ffi::F64> y, ffi::Buffer<ffi::F64> root, ffi::Buffer<ffi::F64> y_bar,
                                  ffi::ResultBuffer<ffi::F64> x_bar) {
  int64_t columns = y.dimensions().back(), rows = y.element_count() / columns;
  for (int64_t i = 0; i < rows; ++i) {
    const double *v = y.typed_data() + i * columns, *v_bar = y_bar.typed_data() + i * columns;
    double product = 0, r = root.typed_data()[i];
    for (int64_t j = 0; j < columns; ++j) product += v[j] * v_bar[j];
    for (int64_t j = 0; j < columns; ++j) x_bar->typed_data()[i * columns + j] = (v_bar[j] - v[j] * product / columns) / r;
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(rms_norm, RmsNorm,
                              ffi::Ffi::Bind()
                                  .Attr<double>("eps")
                                  .Arg<ffi::Buffer<ffi::F64>>()
                                  .Ret<ffi::Buffer<ffi::F64>>()
                                  .Ret<ffi::Buffer<ffi::F64>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(rms_norm_backward, RmsNormBackward,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F64>>()
                                  .Arg<ffi::Buffer<ffi::F64>>()
                                  .Arg<ffi::Buffer<ffi::F64>>()
                                  .Ret<ffi::Buffer<ffi::F64>>());
