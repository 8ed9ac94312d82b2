"""Writes the sentence encoder all-MiniLM-L6-v2 (Apache 2.0), of which packages have the parameters
alone, as a model with the operators that PyTorch's exporter writes."""

import json

import numpy as np
from onnx import TensorProto, helper, numpy_helper

LAYERS, HEADS, WIDTH = 6, 12, 384


def parameters(raw):
    """The tensors of a safetensors file, as float32."""
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, at in header.items():
        if at["dtype"] == "F32":
            start, end = at["data_offsets"]
            out[name] = np.frombuffer(raw[8 + size + start : 8 + size + end], np.float32).reshape(at["shape"])
    return out


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def __call__(self, operator, *inputs, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [out], **attributes))
        return out

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def weight(self, name, transposed=False):
        value = self.weights[name]
        self.constants[name] = np.ascontiguousarray(value.T) if transposed else value
        return name

    def linear(self, x, name):
        return self("Add", self("MatMul", x, self.weight(name + ".weight", True)), self.weight(name + ".bias"))

    def norm(self, x, name):
        return self("LayerNormalization", x, self.weight(name + ".weight"), self.weight(name + ".bias"), axis=-1, epsilon=1e-12)


def encoder(raw):
    """The model as bytes: ids, mask and types [batch, sequence] -> last_hidden_state and its mean."""
    g = Graph(parameters(raw))
    word = g("Gather", g.weight("embeddings.word_embeddings.weight"), "input_ids")
    kind = g("Gather", g.weight("embeddings.token_type_embeddings.weight"), "token_type_ids")
    length = g("Slice", g("Shape", "input_ids"), g.constant(np.array([1])), g.constant(np.array([2])))
    places = g("Slice", g.weight("embeddings.position_embeddings.weight"), g.constant(np.array([0])), length, g.constant(np.array([0])))
    x = g.norm(g("Add", g("Add", word, kind), places), "embeddings.LayerNorm")
    keep = g("Cast", g("Unsqueeze", "attention_mask", g.constant(np.array([1, 2]))), to=TensorProto.FLOAT)
    mask = g("Mul", g("Sub", g.constant(np.float32(1)), keep), g.constant(np.float32(np.finfo(np.float32).min)))
    split, joined = g.constant(np.array([0, 0, HEADS, WIDTH // HEADS])), g.constant(np.array([0, 0, WIDTH]))
    for i in range(LAYERS):
        at = f"encoder.layer.{i}."

        def heads(name, perm):
            return g("Transpose", g("Reshape", g.linear(x, at + "attention.self." + name), split), perm=perm)

        q, k, v = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
        scores = g("Add", g("Div", g("MatMul", q, k), g.constant(np.float32((WIDTH / HEADS) ** 0.5))), mask)
        context = g("Transpose", g("MatMul", g("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = g.norm(g("Add", g.linear(g("Reshape", context, joined), at + "attention.output.dense"), x), at + "attention.output.LayerNorm")
        h = g.linear(x, at + "intermediate.dense")
        erf = g("Erf", g("Div", h, g.constant(np.float32(2**0.5))))
        h = g("Mul", g("Mul", h, g("Add", erf, g.constant(np.float32(1)))), g.constant(np.float32(0.5)))
        x = g.norm(g("Add", g.linear(h, at + "output.dense"), x), at + "output.LayerNorm")
    g.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    shape = ["batch", "sequence"]
    graph = helper.make_graph(
        g.nodes,
        "minilm",
        [helper.make_tensor_value_info(n, TensorProto.INT64, shape) for n in ("input_ids", "attention_mask", "token_type_ids")],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, WIDTH])],
        [numpy_helper.from_array(v, n) for n, v in g.constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    return model.SerializeToString()
