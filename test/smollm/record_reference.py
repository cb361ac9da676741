#!/usr/bin/env python3
"""Records what SmolLM2-135M-Instruct answers in float64, for `./dev smollm --check OUT.json`.

usage: record_reference.py MODEL.gguf OUT.json [PROMPTS [TOKENS]]; needs the packages gguf, numpy and tokenizers.

The weights are the dequantised ones of the file; all arithmetic is numpy's in float64. For each prompt OUT.json gets its
tokens, the tokens of the greedy answer, and for each of them the highest logit, its margin over the next one, and the
logits of two other tokens (see sampled). The end of an answer does not end the record.
"""
import json
import random
import sys

import gguf
import numpy as np

from record_tokens import reference

SUBJECTS = ["rivers", "prime numbers", "the Moon", "bread", "photosynthesis", "chess", "volcanoes", "the French Revolution",
            "electric cars", "honey bees", "sorting algorithms", "jazz", "glass", "vaccines", "the Silk Road"]
QUESTIONS = ["What is the most important thing to know about {}?", "Explain {} to a child in three sentences.",
             "Write a short poem about {}.", "List 5 facts about {}.", "Why do people care about {}?",
             "Write a Python function that has to do with {}."]


def dequantised(tensor):
    shape = [int(extent) for extent in reversed(tensor.shape)]
    data = np.frombuffer(tensor.data.tobytes(), dtype=np.uint8)
    kind = tensor.tensor_type.name
    if kind == "F32":
        return data.view(np.float32).astype(np.float64).reshape(shape)
    if kind == "Q4_1":
        blocks = data.reshape(-1, 20)
        scales = blocks[:, :4].copy().view(np.float16).astype(np.float64)
        bits = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
        return (bits * scales[:, :1] + scales[:, 1:]).reshape(shape)
    blocks = data.reshape(-1, 34)
    return (blocks[:, :2].copy().view(np.float16).astype(np.float64) * blocks[:, 2:].view(np.int8)).reshape(shape)


class Model:
    def __init__(self, reader):
        self.weights = {tensor.name: dequantised(tensor) for tensor in reader.tensors}
        value = lambda key: reader.fields["llama." + key].contents()
        self.layers, self.heads = value("block_count"), value("attention.head_count")
        self.key_heads = value("attention.head_count_kv")
        self.epsilon, self.base = value("attention.layer_norm_rms_epsilon"), value("rope.freq_base")

    def start(self, rows, places):
        self.keys = np.zeros((self.layers, rows, self.key_heads, places, 64))
        self.values = np.zeros_like(self.keys)

    def normalized(self, x, gain):
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.epsilon) * self.weights[gain]

    def rotated(self, x, place):  # (rows, heads, 64)
        angle = place * self.base ** (-np.arange(0, 64, 2) / 64)
        even, odd = x[..., 0::2], x[..., 1::2]
        return np.stack([even * np.cos(angle) - odd * np.sin(angle), even * np.sin(angle) + odd * np.cos(angle)],
                        axis=-1).reshape(x.shape)

    def step(self, tokens, place):
        """Gives the logits behind one more token of each row."""
        rows = len(tokens)
        x = self.weights["token_embd.weight"][tokens]
        for layer in range(self.layers):
            times = lambda name, v: v @ self.weights[f"blk.{layer}.{name}.weight"].T
            a = self.normalized(x, f"blk.{layer}.attn_norm.weight")
            q = self.rotated(times("attn_q", a).reshape(rows, self.heads, 64), place)
            self.keys[layer, :, :, place] = self.rotated(times("attn_k", a).reshape(rows, self.key_heads, 64), place)
            self.values[layer, :, :, place] = times("attn_v", a).reshape(rows, self.key_heads, 64)
            q = q.reshape(rows, self.key_heads, self.heads // self.key_heads, 64)
            scores = q @ self.keys[layer, :, :, : place + 1].swapaxes(-1, -2) / 8
            p = np.exp(scores - scores.max(axis=-1, keepdims=True))
            o = p / p.sum(axis=-1, keepdims=True) @ self.values[layer, :, :, : place + 1]
            x = x + times("attn_output", o.reshape(rows, -1))
            b = self.normalized(x, f"blk.{layer}.ffn_norm.weight")
            gates = times("ffn_gate", b)
            x = x + times("ffn_down", gates / (1 + np.exp(-gates)) * times("ffn_up", b))
        return self.normalized(x, "output_norm.weight") @ self.weights["token_embd.weight"].T


def sampled(number, vocabulary):
    """The tokens whose logits are recorded for the answer's token of that number; samples/smollm/check.hpp has them too."""
    return [(7919 * number + 24593 * k) % vocabulary for k in (1, 2)]


def prompts_of(reader, count):
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    tokenizer = reference(tokens, reader.fields["tokenizer.ggml.merges"].contents())
    start, end = tokens.index("<|im_start|>"), tokens.index("<|im_end|>")
    encode = lambda text: tokenizer.encode(text).ids
    draw = random.Random(44)
    for _ in range(count):
        text = draw.choice(QUESTIONS).format(draw.choice(SUBJECTS))
        system = "system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        yield text, [start, *encode(system), end, *encode("\n"), start, *encode("user\n" + text), end, *encode("\n"),
                     start, *encode("assistant\n")]


def main():
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    answer = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    reader = gguf.GGUFReader(sys.argv[1])
    model, prompts = Model(reader), list(prompts_of(reader, count))
    longest = max(len(prompt) for _, prompt in prompts)
    model.start(count, longest + answer)
    made, highest, margins, others = ([[] for _ in prompts] for _ in range(4))
    for place in range(longest + answer - 1):
        # A row whose answer is complete goes on with token 0, which changes nothing of the record.
        tokens = [prompt[place] if place < len(prompt) else (made[row] + [0] * longest)[place - len(prompt)]
                  for row, (_, prompt) in enumerate(prompts)]
        logits = model.step(tokens, place)
        for row, (_, prompt) in enumerate(prompts):
            if place < len(prompt) - 1 or len(made[row]) == answer:
                continue
            second, first = np.partition(logits[row], -2)[-2:]
            others[row] += [round(float(x), 5) for x in logits[row][sampled(len(made[row]), logits.shape[1])]]
            made[row].append(int(np.argmax(logits[row])))
            highest[row].append(round(float(first), 5))
            margins[row].append(round(float(first - second), 5))
    with open(sys.argv[2], "w", encoding="ascii") as out:
        out.write("[\n" + ",\n".join(json.dumps(
            {"text": text, "prompt": prompt, "answer": made[row], "logits": highest[row], "margins": margins[row], "others": others[row]},
            separators=(",", ":")) for row, (text, prompt) in enumerate(prompts)) + "\n]\n")


if __name__ == "__main__":
    main()
