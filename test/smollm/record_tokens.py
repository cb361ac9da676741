#!/usr/bin/env python3
"""Records how the reference tokenizer splits texts, for test/smollm/tokenizer_test.cpp.

usage: record_tokens.py MODEL.gguf OUT.json [PROGRAM]; needs the packages gguf and tokenizers.

OUT.json gets a vocabulary of the first merges of the model, texts, and their tokens by the reference in this small
vocabulary. With PROGRAM (the sample smollm) it also compares the program with the reference in the whole vocabulary, on
these texts and on random ones, and prints what differs.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import token_records  # noqa: E402

MERGES = 600
TEXTS = [
    "", " ", "  ", "a", "Hello, world!", "The quick brown fox jumps over the lazy dog.",
    "it's we're I'll you'd they've I'm don't IT'S", "  two spaces  and\ttabs\t\tand\n\nlines\r\n", "   5 6  78 9.50 -1e10",
    "a1b22c333", "x = [i**2 for i in range(10)]  # comment", "http://example.org/a?b=c&d=e", "!!! ... ??? --- ''' \"\"\"",
    "na\u00efve caf\u00e9 \u00fcber stra\u00dfe \u0141\u00f3d\u017a", "e\u0301 combining", "\u65e5\u672c\u8a9e\u306e\u6587 \u4e2d\u6587",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440", "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd", "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea",
    "\u00b2\u00b3 \u00bd \u2167 \u0663\u0664 \u0967", "\u00a0no-break\u00a0space \u2003em \u3000wide", "\u200bzero width\u200b",
    "<|im_start|>user<|im_end|>", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\x00\x01\x7f", "tail   ", "\n", " \n ", "s 's 'S ' s'",
]


def reference(tokens, merges):
    vocabulary = {token: number for number, token in enumerate(tokens)}
    result = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(merge.split(" ")) for merge in merges]))
    result.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    result.decoder = decoders.ByteLevel()
    return result


def drawn_texts(count):
    ranges = [(32, 126), (32, 126), (32, 126), (9, 13), (160, 1000), (0x300, 0x9FF), (0x2000, 0x2FFF), (0x3000, 0x9FFF),
              (0x1F300, 0x1F6FF)]
    return list(token_records.random_texts(count, 1, ranges, ["", " ", "  ", "\n", "'s"]))


def main():
    reader = gguf.GGUFReader(sys.argv[1])
    all_tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    all_merges = reader.fields["tokenizer.ggml.merges"].contents()
    merges = all_merges[:MERGES]
    parts = {part for merge in merges for part in merge.split(" ")} | {merge.replace(" ", "") for merge in merges}
    tokens = [token for token in all_tokens if len(token) == 1 or token in parts]
    token_records.write_record(sys.argv[2], {"tokens": tokens, "merges": merges}, TEXTS, reference(tokens, merges))
    if len(sys.argv) < 4:
        return 0
    whole, texts = reference(all_tokens, all_merges), TEXTS + drawn_texts(1000)
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, str(number)) for number in range(len(texts))]
        for path, text in zip(paths, texts):
            with open(path, "wb") as file:
                file.write(text.encode())
        output = subprocess.run([sys.argv[3], "--file", sys.argv[1], "--tokens-of", *paths], capture_output=True,
                                text=True, check=True).stdout
    return token_records.compare(texts, output, whole)


if __name__ == "__main__":
    sys.exit(main())
