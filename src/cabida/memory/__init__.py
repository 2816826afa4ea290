"""Does it fit, and what is left: memory of serving and of training, per accelerator."""

from cabida.memory.adapters import ADAPTERS
from cabida.memory.budget import is_unified
from cabida.memory.encoders import EncoderMemory, encoder_tree, encoding, is_decoder
from cabida.memory.index import IndexMemory, index, index_tree
from cabida.memory.media import MediaMemory, media, media_tree
from cabida.memory.optimizers import OPTIMIZERS
from cabida.memory.params import Params, params
from cabida.memory.served import ServingMemory
from cabida.memory.serving import requests_that_fit, sequences_that_fit, serving, serving_tree
from cabida.memory.speech import SpeechMemory, speech, speech_tree
from cabida.memory.training import TrainingMemory, training, training_tree

__all__ = [
    "ADAPTERS",
    "OPTIMIZERS",
    "EncoderMemory",
    "IndexMemory",
    "MediaMemory",
    "Params",
    "ServingMemory",
    "SpeechMemory",
    "TrainingMemory",
    "encoder_tree",
    "encoding",
    "index",
    "index_tree",
    "is_decoder",
    "is_unified",
    "media",
    "media_tree",
    "params",
    "requests_that_fit",
    "sequences_that_fit",
    "serving",
    "serving_tree",
    "speech",
    "speech_tree",
    "training",
    "training_tree",
]
