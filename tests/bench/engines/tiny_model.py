"""A random Llama of a few hundred thousand weights with its tokenizer, made offline: OUT. For the engines' venvs."""

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKS = ["<|pad|>", "<|bos|>", "<|im_start|>", "<|im_end|>"]


def main(out):
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = Tokenizer(models.BPE())
    letters.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters.decoder = decoders.ByteLevel()
    learn = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=MARKS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = sorted(str(one) for one in Path(os.__file__).parent.glob("*.py"))[:20]
    letters.train(texts, learn)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=letters,
        pad_token=MARKS[0],
        bos_token=MARKS[1],
        eos_token=MARKS[3],
        model_max_length=2048,
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(out)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=2048, bos_token_id=1, eos_token_id=3, pad_token_id=0,
        tie_word_embeddings=True, dtype="bfloat16",
    )  # fmt: skip
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(out)


if __name__ == "__main__":
    main(sys.argv[1])
