"""Builds a small sentence-transformers model with random weights."""

from pathlib import Path

from tests.embeddings.tiny_onnx import WORDS, tokenizer


def build(folder: Path) -> None:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    base = folder.with_name(f"{folder.name}-base")
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **sizes)).save_pretrained(base)
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer(), model_max_length=64, **special).save_pretrained(base)
    transformer = Transformer(str(base))
    SentenceTransformer(modules=[transformer, Pooling(16)]).save(str(folder))
