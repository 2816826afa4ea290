"""How fast: the cost of an engine step, queues under load, collectives, and training steps."""

from cabida.timing.devices.collectives import collective_s
from cabida.timing.engine.fluid import fluid
from cabida.timing.engine.serving_trees import simulated_leaves, step_tree
from cabida.timing.engine.steps import StepModel, step_model, step_s
from cabida.timing.queues.simulate import simulate, simulate_trace
from cabida.timing.runs.training import TrainingSpeed, training
from cabida.timing.runs.training_answer import TrainingAnswer, training_answer
from cabida.timing.runs.training_tree import training_tree
from cabida.timing.sizing.capacity import Capacity, first_missed, metric_s
from cabida.timing.speed import Bounds, Distribution, ServingSpeed
from cabida.timing.stages.media import MediaSpeed, media_speed, media_speed_tree
from cabida.timing.stages.speech import SpeechSpeed, speech_speed, speech_speed_tree

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
