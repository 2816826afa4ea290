"""Logs as the engines' own format strings print them; figures are made up, wording and units are not."""

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
CONFIG = (
    "model='{model}', speculative_config=None, tokenizer='{model}', skip_tokenizer_init=False, "
    "tokenizer_mode=auto, revision=None, dtype=torch.bfloat16, max_seq_len={length}, download_dir=None, "
    "tensor_parallel_size={tp}, pipeline_parallel_size=1, disable_custom_all_reduce=False, "
    "quantization={quant}, enforce_eager=False, kv_cache_dtype={cache}, device_config=cuda, seed=0"
)


def config(model=LLAMA, length=8192, tp=1, quant="None", cache="auto"):
    return CONFIG.format(model=model, length=length, tp=tp, quant=quant, cache=cache)


VLLM_04 = f"""\
INFO 05-12 09:00:00 api_server.py:151] vLLM API server version 0.4.2
INFO 05-12 09:00:00 api_server.py:152] args: Namespace(host=None, port=8000, api_key='abc', model='{LLAMA}', \
max_model_len=8192, block_size=16, gpu_memory_utilization=0.9, max_num_seqs=256, enforce_eager=True)
INFO 05-12 09:00:01 llm_engine.py:100] Initializing an LLM engine (v0.4.2) with config: {config()}
INFO 05-12 09:00:20 model_runner.py:175] Loading model weights took 14.9595 GB
INFO 05-12 09:00:30 gpu_executor.py:114] # GPU blocks: 27994, # CPU blocks: 2048
INFO 05-12 09:00:50 model_runner.py:1057] Graph capturing finished in 20 secs.
"""

VLLM_064 = f"""\
INFO 11-12 09:00:01 llm_engine.py:249] Initializing an LLM engine (v0.6.4.post1) with config: {config()}
INFO 11-12 09:00:20 model_runner.py:1077] Loading model weights took 14.9888 GB
INFO 11-12 09:00:30 worker.py:232] Memory profiling results: total_gpu_memory=44.35GiB initial_memory_usage=15.38GiB \
peak_torch_memory=16.19GiB memory_usage_post_profile=15.47GiB non_torch_memory=0.45GiB kv_cache_size=23.28GiB \
gpu_memory_utilization=0.90
INFO 11-12 09:00:31 gpu_executor.py:113] # GPU blocks: 11919, # CPU blocks: 2048
INFO 11-12 09:00:31 gpu_executor.py:117] Maximum concurrency for 8192 tokens per request: 23.28x
INFO 11-12 09:00:50 model_runner.py:1518] Graph capturing finished in 18 secs, took 0.26 GiB
"""

VLLM_07 = f"""\
INFO 02-12 09:00:00 __init__.py:190] Automatically detected platform cuda.
INFO 02-12 09:00:01 llm_engine.py:234] Initializing a V0 LLM engine (v0.7.3) with config: {config(tp=2)}
INFO 02-12 09:00:20 model_runner.py:1115] Loading model weights took 7.5123 GB
(VllmWorkerProcess pid=7) INFO 02-12 09:00:20 model_runner.py:1115] Loading model weights took 7.5123 GB
(VllmWorkerProcess pid=7) INFO 02-12 09:00:30 worker.py:267] Memory profiling takes 6.02 seconds
(VllmWorkerProcess pid=7) INFO 02-12 09:00:30 worker.py:267] the current vLLM instance can use total_gpu_memory \
(23.58GiB) x gpu_memory_utilization (0.95) = 22.40GiB
(VllmWorkerProcess pid=7) INFO 02-12 09:00:30 worker.py:267] model weights take 7.51GiB; non_torch_memory takes \
0.31GiB; PyTorch activation peak memory takes 1.10GiB; the rest of the memory reserved for KV Cache is 13.48GiB.
INFO 02-12 09:00:30 worker.py:267] Memory profiling takes 6.11 seconds
INFO 02-12 09:00:30 worker.py:267] the current vLLM instance can use total_gpu_memory (23.58GiB) x \
gpu_memory_utilization (0.95) = 22.40GiB
INFO 02-12 09:00:30 worker.py:267] model weights take 7.51GiB; non_torch_memory takes 0.33GiB; PyTorch activation \
peak memory takes 1.22GiB; the rest of the memory reserved for KV Cache is 13.34GiB.
INFO 02-12 09:00:31 executor_base.py:111] # cuda blocks: 13660, # CPU blocks: 4096
INFO 02-12 09:00:31 executor_base.py:116] Maximum concurrency for 8192 tokens per request: 26.68x
INFO 02-12 09:00:55 model_runner.py:1562] Graph capturing finished in 20 secs, took 0.31 GiB
INFO 02-12 09:00:55 llm_engine.py:436] init engine (profile, create kv cache, warmup model) took 35.10 seconds
"""

VLLM_011 = f"""\
(APIServer pid=1) INFO 10-12 09:00:00 [api_server.py:1896] vLLM API server version 0.11.0
(APIServer pid=1) INFO 10-12 09:00:00 [utils.py:328] non-default args: {{'model_tag': '{LLAMA}', 'api_key': \
['sk-not-to-be-kept-0123456789'], 'model': '{LLAMA}', 'max_model_len': 32768, 'tensor_parallel_size': 2, \
'max_num_seqs': 64, 'gpu_memory_utilization': 0.92}}
(EngineCore_DP0 pid=9) INFO 10-12 09:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: \
{config(length=32768, tp=2)}
(Worker_TP0 pid=30) INFO 10-12 09:00:55 [gpu_model_runner.py:2653] Model loading took 7.5124 GiB and 3.2 seconds
(Worker_TP1 pid=31) INFO 10-12 09:00:55 [gpu_model_runner.py:2653] Model loading took 7.5124 GiB and 3.4 seconds
(Worker_TP1 pid=31) INFO 10-12 09:01:05 [gpu_worker.py:298] Available KV cache memory: 62.71 GiB
(Worker_TP0 pid=30) INFO 10-12 09:01:05 [gpu_worker.py:298] Available KV cache memory: 62.10 GiB
(EngineCore_DP0 pid=9) INFO 10-12 09:01:05 [kv_cache_utils.py:1087] GPU KV cache size: 1,017,408 tokens
(EngineCore_DP0 pid=9) INFO 10-12 09:01:05 [kv_cache_utils.py:1091] Maximum concurrency for 32,768 tokens per \
request: 31.05x
(Worker_TP0 pid=30) INFO 10-12 09:01:40 [gpu_model_runner.py:3480] Graph capturing finished in 8 secs, took 0.61 GiB
(Worker_TP0 pid=30) INFO 10-12 09:01:40 [gpu_worker.py:391] Free memory on device (78.66/79.19 GiB) on startup. \
Desired GPU memory utilization is (0.92, 72.85 GiB). Actual usage is 7.51 GiB for weight, 1.97 GiB for peak \
activation, 0.75 GiB for non-torch memory, and 0.61 GiB for CUDAGraph memory. Replace gpu_memory_utilization config \
with `--kv-cache-memory=58333988249` to fit into requested memory.
(EngineCore_DP0 pid=9) INFO 10-12 09:01:41 [core.py:210] init engine (profile, create kv cache, warmup model) took \
46.20 seconds
(APIServer pid=1) INFO:     Application startup complete.
"""

VLLM_022 = f"""\
(EngineCore pid=9) INFO 10-06 17:00:09 [core.py:77] Initializing a V1 LLM engine (v0.22.0) with config: {config()}
(EngineCore pid=9) INFO 10-06 17:00:11 [model_runner.py:407] Model loading took 15.0 GiB memory and 5.420225 seconds
(EngineCore pid=9) INFO 10-06 17:00:20 [gpu_model_runner.py:5000] Estimated CUDA graph memory: 1.10 GiB total
(EngineCore pid=9) INFO 10-06 17:00:33 [gpu_worker.py:692] Available KV cache memory: 55.11 GiB
(EngineCore pid=9) INFO 10-06 17:00:33 [kv_cache_utils.py:2464] GPU KV cache size: 451,488 tokens, Maximum \
concurrency for 8,192 tokens per request: 55.11x
(EngineCore pid=9) INFO 10-06 17:00:41 [gpu_worker.py:793] CUDA graph pool memory: 0.96 GiB (actual), 1.10 GiB \
(estimated), difference: 0.14 GiB (14.6%).
(EngineCore pid=9) INFO 10-06 17:00:41 [gpu_worker.py:955] Free memory on device (78.84/79.25 GiB) on startup. \
Desired GPU memory utilization is (0.92, 72.91 GiB). Actual usage is 15.26 GiB for consumed memory (weights + \
non-torch), 2.54 GiB for peak activation, and 0.96 GiB for CUDAGraph memory.
(EngineCore pid=9) INFO 10-06 17:00:42 [core.py:210] init engine (profile, create kv cache, warmup model) took 9.1 s
"""

VLLM_REFUSED = f"""\
(EngineCore_DP0 pid=9) INFO 10-12 09:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: \
{config(length=131072)}
(EngineCore_DP0 pid=9) INFO 10-12 09:00:55 [gpu_model_runner.py:2653] Model loading took 14.9889 GiB and 3.2 seconds
(EngineCore_DP0 pid=9) INFO 10-12 09:01:05 [gpu_worker.py:298] Available KV cache memory: 4.51 GiB
(EngineCore_DP0 pid=9) ERROR 10-12 09:01:05 [core.py:708] ValueError: To serve at least one request with the \
models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory \
(4.51 GiB). Based on the available memory, the estimated maximum model length is 36944. Try increasing \
`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""

VLLM_BUSY = f"""\
(EngineCore_DP0 pid=9) INFO 10-12 09:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: {config()}
(EngineCore_DP0 pid=9) ERROR 10-12 09:00:10 [core.py:708] ValueError: Free memory on device (30.5/79.19 GiB) on \
startup is less than desired GPU memory utilization (0.9, 71.27 GiB). Decrease GPU memory utilization or reduce GPU \
memory used by other processes.
"""

VLLM_V0_REFUSED = f"""\
INFO 08-12 09:00:01 llm_engine.py:174] Initializing an LLM engine (v0.5.4) with config: {config(length=131072)}
INFO 08-12 09:00:20 model_runner.py:732] Loading model weights took 14.9888 GB
INFO 08-12 09:00:30 gpu_executor.py:102] # GPU blocks: 1662, # CPU blocks: 2048
ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV \
cache (26592). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""

SGLANG = """\
[2025-08-13 14:27:00] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', tokenizer_path='Qwen/Qwen3-8B', \
context_length=None, api_key='k', dtype='auto', quantization=None, kv_cache_dtype='auto', mem_fraction_static=0.85, \
max_running_requests=None, chunked_prefill_size=8192, tp_size=2, pp_size=1, dp_size=1, disable_cuda_graph=False, \
speculative_algorithm=None, enable_dp_attention=False)
[2025-08-13 14:27:06 TP0] Load weight begin. avail mem=78.34 GB
[2025-08-13 14:27:06 TP1] Load weight begin. avail mem=78.30 GB
[2025-08-13 14:27:52 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=70.63 GB, \
mem usage=7.71 GB.
[2025-08-13 14:27:52 TP1] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=70.59 GB, \
mem usage=7.71 GB.
[2025-08-13 14:27:53 TP0] KV Cache is allocated. #tokens: 853512, K size: 29.30 GB, V size: 29.30 GB
[2025-08-13 14:27:53 TP1] KV Cache is allocated. #tokens: 853512, K size: 29.30 GB, V size: 29.30 GB
[2025-08-13 14:27:53 TP0] Memory pool end. avail mem=11.23 GB
[2025-08-13 14:28:20 TP0] Capture cuda graph end. Time elapsed: 24.61 s. mem usage=1.93 GB. avail mem=9.16 GB.
[2025-08-13 14:28:21 TP0] max_total_num_tokens=853512, chunked_prefill_size=8192, max_prefill_tokens=16384, \
max_running_requests=2048, context_len=40960, available_gpu_mem=9.16 GB
[2025-08-13 14:28:25] The server is fired up and ready to roll!
"""

SGLANG_HYBRID = """\
[2026-02-01 00:05:00] server_args=ServerArgs(model_path='ibm-granite/granite-4.0-h-tiny', quantization=None, \
kv_cache_dtype='auto', mem_fraction_static=0.8, tp_size=1)
[2026-02-01 00:05:03] Load weight begin. avail mem=15.24 GB
[2026-02-01 00:05:03] Load weight end. elapsed=1.25 s, type=GraniteMoeHybridForCausalLM, avail mem=2.26 GB, \
mem usage=12.98 GB.
[2026-02-01 00:05:03] Mamba Cache is allocated. max_mamba_cache_size: 38, conv_state size: 0.03GB, ssm_state size: \
0.74GB
[2026-02-01 00:05:03] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 39974, K size: 0.15 GB, V size: 0.15 GB
[2026-02-01 00:05:03] SWAKVPool mem usage: 0.42 GB, swa size: 1024, full size: 39974
"""

SGLANG_OLD = """\
[gpu_id=0] Load weight begin. avail mem=22.95 GB
[gpu_id=0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=15.61 GB
[gpu_id=0] Memory pool end. avail mem=6.12 GB
[gpu_id=0] max_total_num_tokens=116345, max_prefill_tokens=16384, context_len=32768
"""

LLAMA_OLD = """\
Log start
main: build = 1691 (7082d24)
ggml_init_cublas: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
llama_model_loader: loaded meta data with 20 key-value pairs and 291 tensors from ./models/llama-2-7b.Q4_0.gguf \
(version GGUF V3 (latest))
llm_load_print_meta: model ftype      = mostly Q4_0
llm_load_print_meta: general.name     = LLaMA v2
llm_load_tensors: offloaded 33/33 layers to GPU
llm_load_tensors:        CPU buffer size =    70.31 MiB
llm_load_tensors:      CUDA0 buffer size =  3577.56 MiB
llama_new_context_with_model: n_ctx      = 4096
llama_kv_cache_init:      CUDA0 KV buffer size =  2048.00 MiB
llama_new_context_with_model: KV self size  = 2048.00 MiB, K (f16): 1024.00 MiB, V (f16): 1024.00 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =   296.02 MiB
llama_new_context_with_model:  CUDA_Host compute buffer size =    16.02 MiB
"""

LLAMA_NEW = """\
build: 6325 (4d74393b) with cc (Ubuntu 11.4.0) 11.4.0 for x86_64-linux-gnu
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - 23513 MiB free
llama_model_load_from_file_impl: using device CUDA1 (NVIDIA GeForce RTX 4090) (0000:02:00.0) - 23613 MiB free
llama_model_loader: loaded meta data with 36 key-value pairs and 459 tensors from /models/gpt-oss-20b-mxfp4.gguf \
(version GGUF V3 (latest))
print_info: file type   = MXFP4 MoE
print_info: file size   = 11.27 GiB (4.63 BPW)
print_info: general.name     = Gpt Oss 20b
print_info: n_ctx_train      = 131072
load_tensors: offloaded 25/25 layers to GPU
load_tensors:        CUDA0 model buffer size =  5662.50 MiB
load_tensors:        CUDA1 model buffer size =  5374.36 MiB
load_tensors:   CPU_Mapped model buffer size =   586.82 MiB
llama_context: n_seq_max     = 2
llama_context: n_ctx         = 32768
llama_context: n_ctx_per_seq = 16384
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 512
llama_context: flash_attn    = auto
llama_kv_cache_unified_iswa: creating non-SWA KV cache, size = 32768 cells
llama_kv_cache_unified:      CUDA0 KV buffer size =   416.00 MiB
llama_kv_cache_unified:      CUDA1 KV buffer size =   352.00 MiB
llama_kv_cache_unified: size =  768.00 MiB ( 16384 cells,  12 layers,  2/2 seqs), K (f16):  384.00 MiB, V (f16):  \
384.00 MiB
llama_kv_cache_unified:      CUDA0 KV buffer size =    15.00 MiB
llama_kv_cache_unified:      CUDA1 KV buffer size =    15.00 MiB
llama_kv_cache_unified: size =   30.00 MiB (   640 cells,  12 layers,  2/2 seqs), K (f16):   15.00 MiB, V (f16):   \
15.00 MiB
llama_context:      CUDA0 compute buffer size =   398.38 MiB
llama_context:      CUDA1 compute buffer size =   410.11 MiB
llama_context:  CUDA_Host compute buffer size =    76.02 MiB
main: server is listening on http://127.0.0.1:8080 - starting the main loop
"""

LLAMA_OOM = """\
llama_model_loader: loaded meta data with 22 key-value pairs and 723 tensors from ./70B/ggml-model-f16.gguf (version \
GGUF V3 (latest))
load_tensors:        CUDA0 model buffer size = 20062.50 MiB
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 1216.01 MiB on device 0: cudaMalloc failed: out of memory
llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers
"""

OLLAMA = """\
time=2026-05-05T01:30:30.000+08:00 level=INFO source=types.go:42 msg="inference compute" id=GPU-0a filter_id="" \
library=CUDA compute=8.9 name=CUDA0 description="NVIDIA GeForce RTX 4090" libdirs=ollama driver=12.8 total="24.0 GiB"
time=2026-05-05T01:30:31.000+08:00 level=INFO source=ggml.go:136 msg="" architecture=qwen3 file_type=Q4_K_M \
name="Qwen3 8B" description="" num_tensors=399 num_key_values=28
time=2026-05-05T01:30:32.000+08:00 level=INFO source=runner.go:1271 msg=load request="{Operation:commit LoraPath:[] \
Parallel:2 BatchSize:512 FlashAttention:Enabled KvSize:16384 KvCacheType:q8_0 NumThreads:8 GPULayers:37}"
time=2026-05-05T01:30:33.700+08:00 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="3.0 GiB"
time=2026-05-05T01:30:33.796+08:00 level=INFO source=ggml.go:494 msg="offloaded 37/37 layers to GPU"
time=2026-05-05T01:30:33.796+08:00 level=INFO source=device.go:240 msg="model weights" device=CUDA0 size="4.1 GiB"
time=2026-05-05T01:30:33.796+08:00 level=INFO source=device.go:245 msg="model weights" device=CPU size="303.0 MiB"
time=2026-05-05T01:30:33.796+08:00 level=INFO source=device.go:251 msg="kv cache" device=CUDA0 size="1.8 GiB"
time=2026-05-05T01:30:33.796+08:00 level=INFO source=device.go:262 msg="compute graph" device=CUDA0 size="300.0 MiB"
"""

SMI_TABLE = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:18:00.0 Off |                    0 |
| N/A   33C    P0            118W /  700W |   73728MiB /  81559MiB |      0%      Default |
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:2A:00.0 Off |                    0 |
| N/A   31C    P0             70W /  700W |       1MiB /  81559MiB |      0%      Default |
+-----------------------------------------------------------------------------------------+
"""

TRTLLM = """\
[TensorRT-LLM][INFO] Engine version 0.18.1 found in the config file, assuming engine(s) built by new builder API.
[TensorRT-LLM] TensorRT-LLM version: 0.18.1
[TensorRT-LLM][INFO] TRTGptModel maxNumSequences: 256
[TensorRT-LLM][INFO] TRTGptModel maxBeamWidth: 1
[TensorRT-LLM][INFO] Loaded engine size: 7578 MiB
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 902.52 MiB for execution context memory.
[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 23.52 GiB, available: 7.40 GiB
[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 1705
[TensorRT-LLM][INFO] Number of tokens per block: 32.
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 6.66 GiB for max tokens in paged KV cache (54560).
"""

TRTLLM_TORCH = """\
[11/03/2025-03:40:40] [TRT-LLM] [RANK 0] [I] Memory used after loading model weights (inside torch) in memory usage \
profiling: 15.22 GiB
[11/03/2025-03:40:47] [TRT-LLM] [RANK 0] [I] Memory dynamically allocated during inference (inside torch) in memory \
usage profiling: 0.92 GiB
[11/03/2025-03:40:47] [TRT-LLM] [RANK 0] [I] Memory used outside torch (e.g., NCCL and CUDA graphs) in memory usage \
profiling: 1.31 GiB
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 1.10 GiB for max tokens in paged KV cache (9024).
[11/03/2025-03:40:48] [TRT-LLM] [RANK 0] [I] Peak memory during memory usage profiling (torch + non-torch): 17.43 \
GiB, available KV cache memory when calculating max tokens: 55.66 GiB, fraction is set 0.9, kv size is 131072. \
device total memory 79.11 GiB, , tmp kv_mem 1.10 GiB
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 55.66 GiB for max tokens in paged KV cache (455968).
INFO:     Uvicorn running on http://localhost:8000 (Press CTRL+C to quit)
"""

SMI = """\
timestamp, name, index, memory.used [MiB], memory.total [MiB], utilization.gpu [%]
2026/05/01 10:00:00.123, NVIDIA A100-SXM4-80GB, 0, 512 MiB, 81920 MiB, 0 %
2026/05/01 10:00:00.125, NVIDIA A100-SXM4-80GB, 1, 4 MiB, 81920 MiB, 0 %
2026/05/01 10:00:01.123, NVIDIA A100-SXM4-80GB, 0, 73728 MiB, 81920 MiB, 88 %
2026/05/01 10:00:01.125, NVIDIA A100-SXM4-80GB, 1, 71680 MiB, 81920 MiB, 90 %
2026/05/01 10:00:02.123, NVIDIA A100-SXM4-80GB, 0, 70000 MiB, 81920 MiB, 88 %
2026/05/01 10:00:02.125, NVIDIA A100-SXM4-80GB, 1, [N/A], 81920 MiB, 90 %
"""

SMI_APPS = """\
gpu_uuid, pid, process_name, used_gpu_memory [MiB]
GPU-0a, 1234, VLLM::EngineCore, 20480 MiB
GPU-0a, 1300, /usr/bin/python3, 1024 MiB
GPU-0b, 1301, /usr/bin/python3, 2048 MiB
"""

SUMMARY = """\
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 0                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 0            |        cudaMalloc retries: 0         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |  15317 MiB |  20480 MiB |   1127 GiB |   1112 GiB |
|       from large pool |  15300 MiB |  20470 MiB |   1120 GiB |   1105 GiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |  21504 MiB |  22528 MiB |  22528 MiB |   1024 MiB |
|===========================================================================|
"""

OOM_1 = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 23.69 GiB total capacity; 22.04 GiB already "
    "allocated; 10.69 MiB free; 22.09 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try "
    "setting max_split_size_mb to avoid fragmentation.\n"
)
OOM_2 = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacty of "
    "79.15 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 77.89 GiB memory in use. Of "
    "the allocated memory 75.50 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.\n"
)
OOM_3 = (
    "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 191.98 "
    "GiB of which 0 bytes is free. Of the allocated memory 190.00 GiB is allocated by PyTorch, with 1.50 GiB "
    "allocated in private pools (e.g., CUDA Graphs), and 24.00 MiB is reserved by PyTorch but unallocated.\n"
)
OOM_0 = (
    "RuntimeError: CUDA out of memory. Tried to allocate 98.00 MiB (GPU 0; 11.17 GiB total capacity; 10.40 GiB already "
    "allocated; 6.56 MiB free; 10.58 GiB cached)\n"
)
