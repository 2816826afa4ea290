"""What starts a pipeline of images or clips, or a transcription: a few lines of Python for the libraries themselves.

As in the documentation of diffusers, transformers and faster-whisper, seen 2026-11-30.
"""

from __future__ import annotations

from cabida import facts
from cabida.facts.media import Pipeline
from cabida.plan import Deployment
from cabida.plan.media import MediaRun
from cabida.plan.speech import SpeechRun

DTYPES = {"bf16": "torch.bfloat16", "fp16": "torch.float16", "fp32": "torch.float32"}
# diffusers, "Reduce memory usage": weights stream in leaf by leaf behind the work; encoders leave with all that rests
OFFLOADS = {
    "model": "enable_model_cpu_offload()",
    "group": "enable_group_offload(torch.device('cuda'), offload_type='leaf_level', use_stream=True)",
}
ENCODERS_LEAVE = [  # encoders stream in for their own work; all else stays on the card
    "for name, part in pipe.components.items():",
    "    if isinstance(part, torch.nn.Module) and name.startswith('text_encoder'):",
    "        apply_group_offloading(part, onload_device=torch.device('cuda'), offload_type='leaf_level')",
    "    elif isinstance(part, torch.nn.Module):",
    "        part.to('cuda')",
]
PICTURED = ("ImageToVideo", "Edit", "ControlNet")  # in the name of a diffusers class that takes a picture
SCRIPT = "make.py"  # where several processes run it: they cannot share what is typed in
QUANTISED = {  # torchao's module and configurations: the chip multiplies in the format, or only stores weights in it
    "fp8": ("quantization", "Float8DynamicActivationFloat8WeightConfig", "Float8WeightOnlyConfig"),
    "int8": ("quantization", "Int8DynamicActivationInt8WeightConfig", "Int8WeightOnlyConfig"),
    "nvfp4": ("prototype.mx_formats", "NVFP4DynamicActivationNVFP4WeightConfig", "NVFP4WeightOnlyConfig"),
}


def making(d: Deployment) -> str:
    """Shell text that makes one item; empty when what it runs on isn't known."""
    if isinstance(d.making, MediaRun):
        return _script(_pipeline(d.making), d.making.accelerators_count)
    return _script(_transcription(d.making), 1) if isinstance(d.making, SpeechRun) else ""


def _script(lines: list[str], count: int) -> str:
    if count == 1:
        return "\n".join(["python - <<'END'", *lines, "END"])
    start = f"torchrun --nproc-per-node {count} {SCRIPT}"
    return "\n".join([f"cat > {SCRIPT} <<'END'", *lines, "END", start])


def _pipeline(run: MediaRun) -> list[str]:
    dtype, pictured = DTYPES[run.precision], any(word in run.pipeline.source.what for word in PICTURED)
    lines = ["import torch", *_loaded(run.pipeline, dtype)]
    if pictured:
        lines.insert(2, "from diffusers.utils import load_image")
    if run.offload == "text":
        lines.insert(2, "from diffusers.hooks import apply_group_offloading")
    networks = [one.architecture for one in facts.components_of(run.pipeline) if one.kind == "denoiser"]
    part = "unet" if "unet" in networks else "transformer"
    if run.weights.id in QUANTISED:
        module, multiplied, stored = QUANTISED[run.weights.id]
        config = multiplied if run.multiplied else stored
        lines[2:2] = [f"from torchao.{module} import {config}", "from torchao.quantization import quantize_"]
        lines.append(f"quantize_(pipe.{part}, {config}())")
    if run.accelerators_count > 1:
        lines += [
            "torch.distributed.init_process_group('nccl')",
            "torch.cuda.set_device(torch.distributed.get_rank())",
            "from diffusers import ContextParallelConfig",
            f"pipe.{part}.enable_parallelism(config=ContextParallelConfig(ulysses_degree={run.accelerators_count}))",
        ]
    moved = f"pipe.{OFFLOADS[run.offload]}" if run.offload in OFFLOADS else "pipe.to('cuda')"
    lines += ENCODERS_LEAVE if run.offload == "text" else [moved]
    if run.vae_tiling:
        lines.append("pipe.vae.enable_tiling()")
    if run.compiled:
        lines.append(f"pipe.{part} = torch.compile(pipe.{part})")
    asked = "image=load_image('picture.png'), " if pictured else ""
    asked += f"num_inference_steps={run.steps_count}, width={run.width_count}, height={run.height_count}"
    if run.pipeline.task == "video":
        asked += f", num_frames={run.frames_count}"
    if run.batch_count > 1:
        made = "videos" if run.pipeline.task == "video" else "images"
        asked += f", num_{made}_per_prompt={run.batch_count}"
    return [*lines, f'pipe(prompt="a lighthouse at dawn", {asked})']


def _repository(pipeline: Pipeline) -> str:
    return next((one for one in pipeline.aliases if "/" in one), pipeline.id)


def _loaded(pipeline: Pipeline, dtype: str) -> list[str]:
    """Imports and the pipeline; a ControlNet is loaded by itself into the pipeline that it steers."""
    steering = {one.id for one in facts.components_of(pipeline) if one.kind == "controlnet"}
    if not steering:
        made = f'pipe = DiffusionPipeline.from_pretrained("{_repository(pipeline)}", torch_dtype={dtype})'
        return ["from diffusers import DiffusionPipeline", "", made]
    steered = tuple(one for one in pipeline.components if one not in steering)
    base = next(one for one in facts.pipelines().values() if one.components == steered)
    kind = next(
        word for word in pipeline.source.what.replace(":", ",").split(", ") if word.endswith("Pipeline")
    )
    return [
        f"from diffusers import ControlNetModel, {kind}",
        "",
        f'control = ControlNetModel.from_pretrained("{_repository(pipeline)}", torch_dtype={dtype})',
        f'pipe = {kind}.from_pretrained("{_repository(base)}", controlnet=control, torch_dtype={dtype})',
    ]


def _transcription(run: SpeechRun) -> list[str]:
    if run.framework == "ctranslate2":
        kind = "int8_float16" if run.weights.family == "int8" else "float16"
        name = run.model.id.rpartition("/")[2].removeprefix("whisper-")
        return [
            "from faster_whisper import WhisperModel",
            "",
            f'model = WhisperModel("{name}", device="cuda", compute_type="{kind}")',
            "segments, _ = model.transcribe('audio.mp3', beam_size=1)",
            "print(' '.join(one.text for one in segments))",
        ]
    return [
        "import torch",
        "from transformers import pipeline",
        "",
        f'listen = pipeline("automatic-speech-recognition", "{run.model.id}", torch_dtype={DTYPES[run.precision]},',
        '                  device="cuda", model_kwargs={"attn_implementation": "flash_attention_2"})',
        f"print(listen('audio.mp3', chunk_length_s=30, batch_size={run.batch_count})['text'])",
    ]
