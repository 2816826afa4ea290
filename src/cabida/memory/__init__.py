"""Does it fit, and what is left: memory of serving and of training, per accelerator."""

from cabida.memory.params import Params, params
from cabida.memory.serving import ServingMemory, sequences_that_fit, serving, serving_tree

__all__ = [
    "Params",
    "ServingMemory",
    "params",
    "sequences_that_fit",
    "serving",
    "serving_tree",
]
