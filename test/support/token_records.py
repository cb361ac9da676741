"""Draws texts, records how a reference tokenizer splits them, and compares a program with it.

For record_tokens.py of test/minilm and test/smollm, which know the models.
"""
import json
import random


def random_texts(count, seed, ranges, between):
    """Yields texts of 1 to 29 words: characters of one of the ranges, then one of the texts `between`."""
    draw = random.Random(seed)
    for _ in range(count):
        text = ""
        for _ in range(draw.randrange(1, 30)):
            low, high = draw.choice(ranges)
            text += "".join(chr(draw.randint(low, high)) for _ in range(draw.randrange(1, 6)))
            text += draw.choice(between)
        yield text


def write_record(path, vocabulary, texts, reference):
    """Writes the parts of a vocabulary, by their names, and each text with its tokens, a line for each."""
    parts = "".join(f'"{name}": {json.dumps(values)},\n' for name, values in vocabulary.items())
    cases = ",\n".join(json.dumps([text, reference.encode(text).ids]) for text in texts)
    with open(path, "w", encoding="ascii") as out:
        out.write(f'{{{parts}"cases": [\n{cases}\n]}}\n')


def compare(texts, output, reference):
    """Names the texts whose line of a program's output is not their tokens by the reference; returns the exit status."""
    wrong = 0
    for text, line in zip(texts, output.split("\n")):
        if [int(token) for token in line.split()] != reference.encode(text).ids:
            wrong += 1
            print(f"differs: {text!r}")
    print(f"{len(texts)} texts, {wrong} differ")
    return 1 if wrong else 0
