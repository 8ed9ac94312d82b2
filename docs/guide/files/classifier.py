import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

weights = {
    "w": np.array([[1, -1], [2, 0], [0, 3]], np.float32),
    "b": np.array([0.5, 0], np.float32),
}
graph = helper.make_graph(
    [
        helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
        helper.make_node("Softmax", ["h"], ["probabilities"]),
    ],
    "classifier",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
    [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 2])],
    [numpy_helper.from_array(v, k) for k, v in weights.items()],
)
save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), "classifier.onnx")
