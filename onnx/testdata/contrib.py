"""Packs tests of onnxruntime's own operators, and of small integers whose sums are large, into
contrib.tar.zst, as nodes.py packs the standard's; the results are onnxruntime's:

    pip install onnx onnxruntime && python3 onnx/testdata/contrib.py    # and the program zstd
"""

import pathlib
from types import SimpleNamespace

import nodes
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

random = np.random.default_rng(5)
DOMAIN = "com.microsoft"


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def integers(dtype, *shape):
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max + 1, shape).astype(dtype)


def f32(*values):
    return np.array(values if len(values) > 1 else values[0], np.float32)


def case(name, operator, inputs, outputs=1, constants=(), domain=DOMAIN, tolerance=1e-5, **attributes):
    """A model of one node. Inputs are arrays or None; those whose index is in constants are its own."""
    inputs = [x if x is None else np.asarray(x) for x in inputs]
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    results = [f"y{i}" if i < outputs else "" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(operator, names, results, domain=domain, **attributes)
    given = [i for i, x in enumerate(inputs) if x is not None and i not in constants]
    kind = lambda x: helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        name,
        [helper.make_tensor_value_info(names[i], kind(inputs[i]), inputs[i].shape) for i in given],
        [helper.make_tensor_value_info(r, TensorProto.FLOAT, None) for r in results if r],
        [numpy_helper.from_array(inputs[i], names[i]) for i in constants],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    for dtype in (TensorProto.FLOAT, TensorProto.UINT8, TensorProto.INT8, TensorProto.INT32):  # of the results
        for o in graph.output:
            o.type.tensor_type.elem_type = dtype
        model.graph.CopyFrom(graph)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
            break
        except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
            last = error
    else:
        raise last
    values = [inputs[i] for i in given]
    answers = session.run(None, {names[i]: inputs[i] for i in given})
    return SimpleNamespace(name=name, model=model, rtol=tolerance, atol=tolerance, data_sets=[(values, answers)])


def lstm(name, batch, steps, directions=1, per_column=False, dtype=np.int8, **attributes):
    width, hidden = 12, 16
    spread = (directions, 4 * hidden) if per_column else (directions,)
    zero = np.zeros(spread, dtype) if dtype == np.int8 else integers(dtype, *spread)
    scale = lambda: (random.random(spread) * 0.01 + 0.005).astype(np.float32)
    inputs = [
        floats(steps, batch, width),
        integers(dtype, directions, width, 4 * hidden),
        integers(dtype, directions, hidden, 4 * hidden),
        floats(directions, 8 * hidden),
        None,
        floats(directions, batch, hidden),
        floats(directions, batch, hidden),
        None,
        scale(),
        zero,
        scale(),
        zero,
    ]
    return case(name, "DynamicQuantizeLSTM", inputs, 3, (1, 2, 3, 8, 9, 10, 11), tolerance=2e-5, hidden_size=hidden, **attributes)


def cases():
    yield lstm("lstm", 1, 1)
    yield lstm("lstm_steps", 1, 6)
    yield lstm("lstm_columns", 1, 3, per_column=True)
    yield lstm("lstm_uint8", 1, 3, dtype=np.uint8)
    yield lstm("lstm_both", 1, 4, 2, direction="bidirectional")
    yield lstm("lstm_reverse", 1, 4, direction="reverse")
    yield lstm("lstm_clip", 1, 2, clip=0.5)
    x, w = floats(3, 40), integers(np.int8, 40, 7)
    yield case("matmul_dynamic", "DynamicQuantizeMatMul", [x, w, f32(0.02), np.int8(3)], constants=(1, 2, 3), tolerance=1e-3)
    columns = [x, w, (random.random(7) * 0.02).astype(np.float32), integers(np.int8, 7), floats(7)]
    yield case("matmul_dynamic_columns", "DynamicQuantizeMatMul", columns, constants=(1, 2, 3, 4), tolerance=1e-3)
    wide = [integers(np.uint8, 4, 900), integers(np.int8, 900, 5), f32(0.01), f32(0.02), np.uint8(7), np.int8(0)]
    yield case("matmul_to_float", "MatMulIntegerToFloat", wide, constants=(1, 3, 5))
    large = [np.full((3, 2000), 255, np.uint8), np.full((2000, 4), 127, np.int8), np.uint8(0), np.int8(-128)]
    yield case("matmul_integer_large", "MatMulInteger", large, domain="", constants=(1, 3))
    yield case("matmul_integer_uint8", "MatMulInteger", [integers(np.uint8, 2, 700), integers(np.uint8, 700, 3), np.uint8(9), np.uint8(200)], domain="")
    image = integers(np.uint8, 1, 80, 6, 7)
    yield case("conv_integer_large", "ConvInteger", [image, integers(np.uint8, 5, 80, 3, 3), np.uint8(3), np.uint8(250)], domain="", pads=[1, 1, 1, 1])
    yield case("conv_integer_groups", "ConvInteger", [image, integers(np.uint8, 4, 40, 3, 3), np.uint8(0), np.uint8(0)], domain="", group=2)
    quantized = [image, f32(0.02), np.uint8(128), integers(np.int8, 6, 80, 3, 3), (random.random(6) * 0.01).astype(np.float32)]
    quantized += [np.zeros(6, np.int8), f32(0.5), np.uint8(100), random.integers(-9999, 9999, 6).astype(np.int32)]
    yield case("qlinear_conv_bias", "QLinearConv", quantized, domain="", constants=(3, 4, 5, 8))
    a, b = integers(np.uint8, 2, 3, 5), integers(np.uint8, 3, 5)
    two = [a, f32(0.1037), np.uint8(120), b, f32(0.0471), np.uint8(3), f32(0.2113), np.uint8(100)]
    yield case("qlinear_add", "QLinearAdd", two)
    yield case("qlinear_mul", "QLinearMul", two)
    yield case("qlinear_sigmoid", "QLinearSigmoid", [a, f32(0.05), np.uint8(120), f32(1 / 256), np.uint8(0)], constants=(1, 2, 3, 4))
    yield case("qlinear_leaky", "QLinearLeakyRelu", [a, f32(0.1), np.uint8(120), f32(0.1), np.uint8(20)], constants=(1, 2, 3, 4), alpha=0.1)
    yield case("qlinear_pool", "QLinearGlobalAveragePool", [image, f32(0.1), np.uint8(12), f32(0.05), np.uint8(20)])
    parts = [f32(0.1), np.uint8(100), a, f32(0.05), np.uint8(120), a, f32(0.2), np.uint8(90)]
    yield case("qlinear_concat", "QLinearConcat", parts, constants=(0, 1, 3, 4, 6, 7), axis=1)
    yield case("fused_matmul", "FusedMatMul", [floats(2, 5, 3), floats(2, 4, 5)], alpha=0.25, transA=1, transB=1)
    yield case("gelu", "Gelu", [floats(4, 5)])
    yield case("bias_gelu", "BiasGelu", [floats(4, 5), floats(5)])
    yield case("fast_gelu", "FastGelu", [floats(4, 5), floats(5)], tolerance=1e-4)
    yield case("quick_gelu", "QuickGelu", [floats(4, 5)], alpha=1.5)
    yield case("skip_norm", "SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)], epsilon=1e-6)
    yield case("fused_conv", "FusedConv", [floats(1, 3, 6, 6), floats(4, 3, 3, 3), floats(4)], activation="Relu")


if __name__ == "__main__":
    nodes.pack(cases(), pathlib.Path(__file__).with_name("contrib.tar.zst"))
