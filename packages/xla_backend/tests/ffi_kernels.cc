// Kernels for test_ffi.py.

#include <cstdint>
#include <string>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error Scale(ffi::AnyBuffer x, double by, ffi::Result<ffi::AnyBuffer> y) {
  if (x.element_type() != ffi::DataType::F64) return ffi::Error::InvalidArgument("scale takes float64 alone");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data<double>()[i] = x.typed_data<double>()[i] * by;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(scale, Scale,
                              ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Attr<double>("by").Ret<ffi::AnyBuffer>());

// The attributes as one number, so that a test sees each of them.
static ffi::Error Attributes(bool flag, int64_t integer, int32_t narrow, uint8_t byte, float single,
                             std::string_view text, ffi::Span<const int64_t> list, ffi::ResultBuffer<ffi::F64> out) {
  double sum = (flag ? 1.0 : 0.0) + integer + narrow + byte + double(single) + text.size();
  for (int64_t element : list) sum += element;
  out->typed_data()[0] = sum;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(attributes, Attributes,
                              ffi::Ffi::Bind()
                                  .Attr<bool>("flag")
                                  .Attr<int64_t>("integer")
                                  .Attr<int32_t>("narrow")
                                  .Attr<uint8_t>("byte")
                                  .Attr<float>("single")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int64_t>>("list")
                                  .Ret<ffi::Buffer<ffi::F64>>());

static int64_t calls = 0;
static ffi::Error Count(ffi::ResultBuffer<ffi::S64> out) {
  out->typed_data()[0] = ++calls;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(count, Count, ffi::Ffi::Bind().Ret<ffi::Buffer<ffi::S64>>());

// Adds one in place: the result is the operand's memory.
static ffi::Error Increment(ffi::Buffer<ffi::F64> x, ffi::ResultBuffer<ffi::F64> y) {
  if (x.typed_data() != y->typed_data()) return ffi::Error::Internal("the memory is not shared");
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] += 1;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(increment, Increment,
                              ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F64>>().Ret<ffi::Buffer<ffi::F64>>());
