#!/usr/bin/env python3
"""Compares the sample minilm with float64, and its rate with ONNX Runtime's.

usage: compare.py FOLDER PROGRAM [--onnx THREADS]; FOLDER holds the model; needs numpy and tokenizers, and onnx and
onnxruntime for --onnx.

It draws 1000 sentences from the pages of lib/doc by a seed, computes their embeddings with numpy in float64, and prints
the lowest cosine to those of PROGRAM, in f32 and in f16. --onnx also measures ONNX Runtime, with the operators of the
format and with its own fused ones, on batches of sentences of about the same length.
"""
import argparse
import glob
import json
import math
import os
import random
import re
import subprocess
import tempfile
import time

import numpy as np

from record_tokens import reference

HEAD, WIDTH = 32, 384


def sentences(count):
    """Draws sentences of 3 words or more from the pages."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lib", "doc")
    found = set()
    for page in sorted(glob.glob(os.path.join(root, "**", "*.md"), recursive=True)):
        with open(page, encoding="utf-8") as file:
            text = re.sub(r"```.*?```", "", file.read(), flags=re.S)
        for paragraph in re.split(r"\n\s*\n", text):
            for one in re.split(r"(?<=[.:?])\s+", " ".join(paragraph.split())):
                if len(one.split()) >= 3 and not one.startswith(("|", "#")):
                    found.add(one)
    return random.Random(1).sample(sorted(found), count)


def tensors(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    return {name: np.frombuffer(data[one["data_offsets"][0]:one["data_offsets"][1]], np.float32).reshape(one["shape"])
            for name, one in header.items() if name != "__metadata__" and one["dtype"] == "F32"}


def normalized(x, gain, shift, epsilon):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + epsilon) * gain + shift


def embedding(w, tokens, layers, epsilon):
    """Returns the embedding of one sentence in the type of the weights."""
    erf = np.vectorize(math.erf, otypes=[np.float64])
    x = w["embeddings.word_embeddings.weight"][tokens] + w["embeddings.position_embeddings.weight"][:len(tokens)]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = normalized(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"], epsilon)
    for layer in range(layers):
        name = f"encoder.layer.{layer}."

        def linear(a, of):
            return a @ w[name + of + ".weight"].T + w[name + of + ".bias"]

        def norm(a, of):
            return normalized(a, w[name + of + ".LayerNorm.weight"], w[name + of + ".LayerNorm.bias"], epsilon)

        q, k, v = (linear(x, "attention.self." + of).reshape(len(tokens), -1, HEAD).transpose(1, 0, 2)
                   for of in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HEAD)
        p = np.exp(scores - scores.max(-1, keepdims=True))
        o = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(tokens), -1)
        x = norm(x + linear(o, "attention.output.dense"), "attention.output")
        h = linear(x, "intermediate.dense")
        x = norm(x + linear(h * 0.5 * (1 + erf(h / math.sqrt(2))), "output.dense"), "output")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def onnx_model(w, layers, epsilon, fused):
    """Returns a graph of the model; `fused` takes operators of ONNX Runtime alone."""
    from onnx import TensorProto, helper, numpy_helper
    nodes, constants = [], []

    def constant(name, value):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(kind, inputs, domain="", outputs=1, **attributes):
        names = [f"n{len(nodes)}_{i}" for i in range(outputs)]
        nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0]

    def matrix(name):
        return constant(name, w[name + ".weight"].T)

    def norm(x, skip, bias, name):
        gain, shift = constant(name + ".g", w[name + ".LayerNorm.weight"]), constant(name + ".s", w[name + ".LayerNorm.bias"])
        if fused:
            return node("SkipLayerNormalization", [x, skip, gain, shift, bias], "com.microsoft", epsilon=epsilon)
        return node("LayerNormalization", [node("Add", [skip, node("Add", [x, bias])]), gain, shift], axis=-1,
                    epsilon=epsilon)

    words = node("Gather", [constant("words", w["embeddings.word_embeddings.weight"]), "ids"])
    length = node("Slice", [node("Shape", ["ids"]), constant("one", np.array([1])), constant("two", np.array([2]))])
    places = node("Slice", [constant("places", w["embeddings.position_embeddings.weight"] +
                                     w["embeddings.token_type_embeddings.weight"][0]),
                            constant("zero", np.array([0])), length])
    x = node("LayerNormalization", [node("Add", [words, places]), constant("g", w["embeddings.LayerNorm.weight"]),
                                    constant("s", w["embeddings.LayerNorm.bias"])], axis=-1, epsilon=epsilon)
    mask = node("Cast", ["mask"], to=TensorProto.FLOAT)
    hidden = node("Unsqueeze", [node("Mul", [node("Sub", [constant("f1", np.float32(1)), mask]),
                                             constant("low", np.float32(-1e9))]), constant("axes", np.array([1, 2]))])
    mask32 = node("Cast", ["mask"], to=TensorProto.INT32)
    heads = constant("heads", np.array([0, 0, WIDTH // HEAD, HEAD]))
    row = constant("row", np.array([0, 0, WIDTH]))
    for layer in range(layers):
        name = f"encoder.layer.{layer}."
        self = [name + "attention.self." + of for of in ("query", "key", "value")]
        if fused:
            qkv = constant(name + "qkv", np.concatenate([w[of + ".weight"].T for of in self], 1))
            bias = constant(name + "qkv_bias", np.concatenate([w[of + ".bias"] for of in self]))
            o = node("Attention", [x, qkv, bias, mask32], "com.microsoft", num_heads=WIDTH // HEAD)
        else:
            q, k, v = (node("Transpose", [node("Reshape", [node("Add", [node("MatMul", [x, matrix(of)]), constant(
                of + "b", w[of + ".bias"])]), heads])], perm=[0, 2, 3, 1] if of.endswith("key") else [0, 2, 1, 3])
                for of in self)
            scores = node("Add", [node("Mul", [node("MatMul", [q, k]), constant(name + "scale", np.float32(HEAD**-0.5))]), hidden])
            o = node("MatMul", [node("Softmax", [scores], axis=-1), v])
            o = node("Reshape", [node("Transpose", [o], perm=[0, 2, 1, 3]), row])
        x = norm(node("MatMul", [o, matrix(name + "attention.output.dense")]), x,
                 constant(name + "ob", w[name + "attention.output.dense.bias"]), name + "attention.output")
        h, bias = node("MatMul", [x, matrix(name + "intermediate.dense")]), constant(name + "ib", w[name + "intermediate.dense.bias"])
        h = node("BiasGelu", [h, bias], "com.microsoft") if fused else node("Gelu", [node("Add", [h, bias])])
        x = norm(node("MatMul", [h, matrix(name + "output.dense")]), x, constant(name + "db", w[name + "output.dense.bias"]),
                 name + "output")
    last = constant("last", np.array([2]))
    kept = node("Mul", [x, node("Unsqueeze", [mask, last])])
    total = node("ReduceSum", [kept, constant("rows", np.array([1]))], keepdims=0)
    node("LpNormalization", [total], axis=-1, p=2)
    kind = TensorProto.INT64
    graph = helper.make_graph(
        nodes, "minilm", [helper.make_tensor_value_info(of, kind, ["b", "s"]) for of in ("ids", "mask")],
        [helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, ["b", WIDTH])], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)],
                             ir_version=9).SerializeToString()


def measure_onnx(w, layers, epsilon, tokens, expected, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
    for fused in (False, True):
        session = onnxruntime.InferenceSession(onnx_model(w, layers, epsilon, fused), options, ["CPUExecutionProvider"])
        for size in (1, 8, 32, 64):
            batches = []
            for first in range(0, len(order), size):
                some = order[first:first + size]
                longest = max(len(tokens[i]) for i in some)
                ids, mask = (np.zeros((len(some), longest), np.int64) for _ in range(2))
                for row, i in enumerate(some):
                    ids[row, :len(tokens[i])], mask[row, :len(tokens[i])] = tokens[i], 1
                batches.append((some, {"ids": ids, "mask": mask}))
            best, processors, lowest = 1e30, 1e30, 1
            for repeat in range(6):
                start, clock = time.perf_counter(), time.process_time()
                results = [session.run(None, batch)[0] for _, batch in batches]
                if repeat:
                    best = min(best, time.perf_counter() - start)
                    processors = min(processors, time.process_time() - clock)
            for (some, _), result in zip(batches, results):
                lowest = min(lowest, (result * expected[some]).sum(1).min())
            print(f"onnxruntime {onnxruntime.__version__}, {'fused' if fused else 'plain'}, {threads} threads, batches of "
                  f"{size}: {1e3 * best:.1f} ms ({1e3 * processors:.1f} ms of processors): {len(tokens) / best:.0f} "
                  f"sentences/s, lowest cosine {lowest:.7f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("program")
    parser.add_argument("--onnx", type=int, metavar="THREADS")
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    with open(os.path.join(options.folder, "vocab.txt"), encoding="utf-8") as file:
        tokenizer = reference(file.read().split("\n")[:-1])
    with open(os.path.join(options.folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    w = tensors(os.path.join(options.folder, "model.safetensors"))
    texts = sentences(options.count)
    tokens = [tokenizer.encode(text).ids for text in texts]
    layers, epsilon = config["num_hidden_layers"], config["layer_norm_eps"]
    exact = {name: value.astype(np.float64) for name, value in w.items()}
    expected = np.array([embedding(exact, one, layers, epsilon) for one in tokens])
    print(f"{len(texts)} sentences, {sum(map(len, tokens))} tokens, the longest {max(map(len, tokens))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        lines, floats = os.path.join(folder, "lines"), os.path.join(folder, "floats")
        with open(lines, "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(text + "\n" for text in texts))
        command = [options.program, "--model", options.folder, "--file", lines]
        for elements in ("f32", "f16"):
            subprocess.run([*command, "--out", floats, "--elements", elements], check=True)
            found = np.fromfile(floats, np.float32).reshape(-1, WIDTH).astype(np.float64)
            cosines = (found * expected).sum(1) / np.linalg.norm(found, axis=1)
            print(f"minilm, {elements}: lowest cosine {cosines.min():.9f}", flush=True)
        subprocess.run([*command, "--bench"], check=True)
    if options.onnx:
        measure_onnx(w, layers, epsilon, tokens, expected, options.onnx)


if __name__ == "__main__":
    main()
