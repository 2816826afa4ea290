"""What a media brief says that can't be: models that make something else, sizes that no clip or picture has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cabida.brief.jobs import Media

TRANSCRIPTION, AUDIO = "transcription", "audio"


def made_by(name: str, kind: str) -> bool:
    """Whether the pipeline or model called ``name`` makes what ``kind`` says."""
    from cabida.facts.models import find_model
    from cabida.facts.pipelines import find_pipeline

    if kind == TRANSCRIPTION:
        model = find_model(name)
        return model is not None and model.task == "speech"
    pipeline = find_pipeline(name)
    return pipeline is not None and pipeline.task == kind


def faults(media: Media, names: Sequence[str]) -> Iterator[tuple[str, str, dict[str, object]]]:
    """What can't be: (code, path, values)."""
    from cabida.facts.models import find_model
    from cabida.facts.pipelines import find_pipeline
    from cabida.text import tr

    if media.kind == AUDIO:
        return
    for index, name in enumerate(names):
        known = find_pipeline(name) is not None or find_model(name) is not None
        if not made_by(name, media.kind) and (known or media.kind == TRANSCRIPTION):
            yield "CB-B051", f"models[{index}].id", {"name": name, "kind": tr(f"brief.media.{media.kind}")}
    if media.frames_count and media.frames_count > 1 and media.kind == "image":
        yield "CB-B052", "media.frames", {"frames": media.frames_count}
    if media.kind == TRANSCRIPTION:
        sizes = ("width", media.width_count), ("height", media.height_count), ("frames", media.frames_count)
        for key, value in sizes:
            if value:
                yield "CB-B055", f"media.{key}", {"key": key}
