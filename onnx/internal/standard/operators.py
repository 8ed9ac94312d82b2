"""Writes operators.txt, the operators that the ONNX standard defines, in every version
of each, from the standard's own definitions, and those of the domain com.microsoft, which
quantized models have, from onnxruntime's:

    pip install onnx onnxruntime && python3 onnx/internal/standard/operators.py

A line has a first word and fields separated by tabs. What belongs to an operator follows
its line:

    opset DOMAIN NEWEST
    op    DOMAIN NAME SINCE [deprecated]
    type  NAME TYPE,...          a variable of types, and those it stands for
    in    NAME OPTION TYPE       OPTION is one, optional, variadic, or alike (variadic, all of one type)
    out   NAME OPTION TYPE
    attr  NAME KIND REQUIRED DEFAULT    REQUIRED is 1 or 0; a list is separated by commas
    body  OPSET BASE64           the function that the operator stands for, a FunctionProto
"""

import base64
import pathlib

import onnx
import onnx.defs
import onnxruntime
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

OPTIONS = {"Single": "one", "Optional": "optional", "Variadic": "variadic"}


def option(formal):
    name = OPTIONS[formal.option.name]
    return "alike" if name == "variadic" and formal.is_homogeneous else name


def text(value):
    """Returns an attribute's value as one word or a list of words."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return repr(float(f"{value:.9g}"))
    if isinstance(value, (list, tuple)):
        return ",".join(text(v) for v in value)
    return str(value)


def default(attribute):
    value = attribute.default_value
    if value.type in (onnx.AttributeProto.UNDEFINED, onnx.AttributeProto.TENSOR):
        return ""  # the one default that is a tensor, ConstantOfShape's zero, is in its lowering
    return text(helper.get_attribute_value(value))


def body(function):
    """Returns a function's bytes without what nothing reads."""
    function = onnx.FunctionProto.FromString(function)
    function.ClearField("doc_string")
    for node in function.node:
        node.ClearField("doc_string")
    return base64.b64encode(function.SerializeToString(deterministic=True)).decode()


def lines():
    yield "# Written by operators.py from onnx.defs of onnx " + onnx.__version__ + ". Not edited."
    schemas = onnx.defs.get_all_schemas_with_history()
    newest = {}
    for s in schemas:
        newest[s.domain] = max(newest.get(s.domain, 0), s.since_version)
    newest[""] = onnx.defs.onnx_opset_version()
    for domain in sorted(newest):
        yield f"opset\t{domain}\t{newest[domain]}"
    for s in sorted(schemas, key=lambda s: (s.domain, s.name, s.since_version)):
        yield f"op\t{s.domain}\t{s.name}\t{s.since_version}" + ("\tdeprecated" if s.deprecated else "")
        for t in s.type_constraints:
            yield f"type\t{t.type_param_str}\t{','.join(sorted(t.allowed_type_strs))}"
        for word, formals in (("in", s.inputs), ("out", s.outputs)):
            for f in formals:
                yield f"{word}\t{f.name}\t{option(f)}\t{f.type_str}"
        for name in sorted(s.attributes):
            a = s.attributes[name]
            yield f"attr\t{name}\t{a.type.name}\t{int(a.required)}\t{default(a)}"
        if s.has_function:
            for version in sorted(s.function_opset_versions):
                yield f"body\t{version}\t{body(s.get_function_with_opset_version(version))}"


def contributed():
    """The lines of onnxruntime's own operators, whose schemas have other names for the same."""
    yield "# From onnxruntime " + onnxruntime.__version__
    yield "opset\tcom.microsoft\t1"
    for s in sorted(get_all_operator_schema(), key=lambda s: s.name):
        if s.domain != "com.microsoft":
            continue
        yield f"op\t{s.domain}\t{s.name}\t{s.since_version}"
        for t in s.type_constraints:
            yield f"type\t{t.type_param_str}\t{','.join(sorted(t.allowed_type_strs))}"
        for word, formals in (("in", s.inputs), ("out", s.outputs)):
            for f in formals:
                how = OPTIONS[f.option.name]
                how = "alike" if how == "variadic" and f.isHomogeneous else how
                yield f"{word}\t{f.name}\t{how}\t{f.typeStr}"
        for name in sorted(s.attributes):
            a = s.attributes[name]
            value = onnx.AttributeProto.FromString(a._default_value)
            known = value.type not in (onnx.AttributeProto.UNDEFINED, onnx.AttributeProto.TENSOR)
            yield f"attr\t{name}\t{a.type.name}\t{int(a.required)}\t{text(helper.get_attribute_value(value)) if known else ''}"


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_name("operators.txt")
    path.write_text("\n".join([*lines(), *contributed()]) + "\n")
