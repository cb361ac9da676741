// Names the kernels that the build compiles and embeds, one object for each element.
#include <tegula/exporter/exporter.hpp>

#include "kernels.hpp"

using namespace operators;

static exported const softmax_f32("softmax_f32", configuration(softmax_in_tile<float>).up_to(0, 1, chunk),
                                  configuration(softmax_in_chunks<float>));
static exported const softmax_f64("softmax_f64", configuration(softmax_in_tile<double>).up_to(0, 1, chunk),
                                  configuration(softmax_in_chunks<double>));
static exported const softmax_backward_f32("softmax_backward_f32", softmax_backward<float>);
static exported const softmax_backward_f64("softmax_backward_f64", softmax_backward<double>);

static exported const rms_norm_f32("rms_norm_f32", rms_norm<float>);
static exported const rms_norm_f64("rms_norm_f64", rms_norm<double>);
static exported const rms_norm_backward_f32("rms_norm_backward_f32", rms_norm_backward<float>);
static exported const rms_norm_backward_f64("rms_norm_backward_f64", rms_norm_backward<double>);
static exported const rms_norm_parts_f32("rms_norm_parts_f32", rms_norm_parts<float>);
static exported const rms_norm_parts_f64("rms_norm_parts_f64", rms_norm_parts<double>);

static exported const column_sums_bf16("column_sums_bf16", column_sums<bf16>);
static exported const column_sums_f32("column_sums_f32", column_sums<float>);
static exported const column_sums_f64("column_sums_f64", column_sums<double>);

static exported const linear_relu_bf16("linear_relu_bf16", linear_relu<bf16>);
static exported const linear_relu_f32("linear_relu_f32", linear_relu<float>);
static exported const linear_relu_f64("linear_relu_f64", linear_relu<double>);
static exported const relu_backward_bf16("relu_backward_bf16", relu_backward<bf16>);
static exported const relu_backward_f32("relu_backward_f32", relu_backward<float>);
static exported const relu_backward_f64("relu_backward_f64", relu_backward<double>);
static exported const product_bf16("product_bf16", product<bf16, false>);
static exported const product_f32("product_f32", product<float, false>);
static exported const product_f64("product_f64", product<double, false>);
static exported const transposed_product_bf16("transposed_product_bf16", product<bf16, true>);
static exported const transposed_product_f32("transposed_product_f32", product<float, true>);
static exported const transposed_product_f64("transposed_product_f64", product<double, true>);
