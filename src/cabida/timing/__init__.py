"""How fast: the cost of an engine step, queues under load, collectives, and training steps."""

from cabida.timing.capacity import Capacity, first_missed, metric_s
from cabida.timing.collectives import collective_s
from cabida.timing.fluid import fluid
from cabida.timing.media import MediaSpeed, media_speed, media_speed_tree
from cabida.timing.serving_trees import simulated_leaves, step_tree
from cabida.timing.simulate import simulate, simulate_trace
from cabida.timing.speech import SpeechSpeed, speech_speed, speech_speed_tree
from cabida.timing.speed import Bounds, Distribution, ServingSpeed
from cabida.timing.steps import StepModel, step_model, step_s
from cabida.timing.training import TrainingSpeed, training
from cabida.timing.training_answer import TrainingAnswer, training_answer
from cabida.timing.training_tree import training_tree

__all__ = [
    "Bounds",
    "Capacity",
    "Distribution",
    "MediaSpeed",
    "ServingSpeed",
    "SpeechSpeed",
    "StepModel",
    "TrainingAnswer",
    "TrainingSpeed",
    "collective_s",
    "first_missed",
    "fluid",
    "media_speed",
    "media_speed_tree",
    "metric_s",
    "simulate",
    "simulate_trace",
    "simulated_leaves",
    "speech_speed",
    "speech_speed_tree",
    "step_model",
    "step_s",
    "step_tree",
    "training",
    "training_answer",
    "training_tree",
]
