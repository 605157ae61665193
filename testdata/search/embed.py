"""Serves all-MiniLM-L6-v2 as /v1/embeddings at a port of loopback. Needs numpy.

    python3 embed.py MODEL.zip PORT
"""

import http.server
import json
import struct
import sys
import unicodedata
import zipfile

import numpy as np

MOST = 128  # tokens of a text, as the model was trained
HEADS = 12


def weights(data):
    size = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, at in json.loads(data[8 : 8 + size]).items():
        if at.get("dtype") == "F32":
            begin, end = (8 + size + n for n in at["data_offsets"])
            out[name] = np.frombuffer(data[begin:end], dtype=np.float32).reshape(at["shape"])
    return out


with zipfile.ZipFile(sys.argv[1]) as archive:
    W = weights(archive.read("model.safetensors"))
    VOCAB = json.loads(archive.read("tokenizer.json"))["model"]["vocab"]


def words(text):
    word = ""
    for c in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(c)
        if kind == "Mn":
            continue
        if c.isspace() or kind[0] in "PSC":
            if word:
                yield word
            word = ""
            if kind[0] in "PS":
                yield c
            continue
        word += c
    if word:
        yield word


def pieces(word):
    out, at = [], 0
    while at < len(word):
        for end in range(len(word), at, -1):
            piece = ("##" if at else "") + word[at:end]
            if piece in VOCAB:
                out.append(VOCAB[piece])
                at = end
                break
        else:
            return [VOCAB["[UNK]"]]
    return out


def tokens(text):
    ids = [n for w in words(text) for n in pieces(w)][: MOST - 2]
    return [VOCAB["[CLS]"], *ids, VOCAB["[SEP]"]]


def dense(x, name):
    return x @ W[name + ".weight"].T + W[name + ".bias"]


def norm(x, name):
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * W[name + ".weight"] + W[name + ".bias"]


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def embed(text):
    ids = tokens(text)
    n = len(ids)
    x = W["embeddings.word_embeddings.weight"][ids] + W["embeddings.position_embeddings.weight"][:n]
    x = norm(x + W["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(6):
        at = f"encoder.layer.{layer}."
        q, k, v = (
            dense(x, at + "attention.self." + part).reshape(n, HEADS, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        score = q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5
        score = np.exp(score - score.max(-1, keepdims=True))
        seen = (score / score.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(n, -1)
        x = norm(x + dense(seen, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        more = dense(gelu(dense(x, at + "intermediate.dense")), at + "output.dense")
        x = norm(x + more, at + "output.LayerNorm")
    mean = x.mean(0)
    return (mean / np.linalg.norm(mean)).tolist()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"object": "embedding", "index": i, "embedding": embed(t)} for i, t in enumerate(asked["input"])]
        body = json.dumps({"object": "list", "model": asked["model"], "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
