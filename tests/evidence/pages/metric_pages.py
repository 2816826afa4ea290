"""Pages as engines print them, shortened; figures are made up, names and shapes are not."""

VLLM = """\
# HELP python_info Python platform information
# TYPE python_info gauge
python_info{implementation="CPython",major="3",minor="12"} 1.0
process_start_time_seconds 1.79e+09
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="small"} 3.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="small"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="small",reason="capacity"} 2.0
vllm:num_requests_waiting_by_reason{engine="0",model_name="small",reason="deferred"} 0.0
vllm:engine_sleep_state{engine="0",model_name="small",sleep_state="awake"} 1.0
vllm:engine_sleep_state{engine="0",model_name="small",sleep_state="weights_offloaded"} 0.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="small"} 0.25
# TYPE vllm:prefix_cache_queries_total counter
vllm:prefix_cache_queries_total{engine="0",model_name="small"} 400.0
vllm:prefix_cache_queries_created{engine="0",model_name="small"} 1.79e+09
vllm:prefix_cache_hits_total{engine="0",model_name="small"} 100.0
vllm:num_preemptions_total{engine="0",model_name="small"} 1.0
vllm:prompt_tokens_total{engine="0",model_name="small"} 500.0
vllm:generation_tokens_total{engine="0",model_name="small"} 200.0
vllm:request_success_total{engine="0",finished_reason="stop",model_name="small"} 4.0
vllm:request_success_total{engine="0",finished_reason="length",model_name="small"} 6.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1",model_name="small"} 6.0
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf",model_name="small"} 10.0
vllm:time_to_first_token_seconds_count{engine="0",model_name="small"} 10.0
vllm:time_to_first_token_seconds_sum{engine="0",model_name="small"} 1.5
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",gpu_memory_utilization="0.92",\
num_cpu_blocks="None",num_gpu_blocks="1000"} 1.0
"""

VLLM_V0 = """\
vllm:num_requests_running{model_name="old"} 1.0
vllm:num_requests_swapped{model_name="old"} 0.0
vllm:num_requests_waiting{model_name="old"} 0.0
vllm:gpu_cache_usage_perc{model_name="old"} 0.5
vllm:gpu_prefix_cache_hit_rate{model_name="old"} 0.1
vllm:num_preemptions_total{model_name="old"} 0.0
vllm:prompt_tokens_total{model_name="old"} 10.0
vllm:generation_tokens_total{model_name="old"} 20.0
vllm:time_per_output_token_seconds_sum{model_name="old"} 0.2
vllm:time_per_output_token_seconds_count{model_name="old"} 20.0
vllm:time_to_first_token_seconds_sum{model_name="old"} 0.3
vllm:time_to_first_token_seconds_count{model_name="old"} 1.0
vllm:cache_config_info{block_size="16",num_gpu_blocks="500"} 1.0
"""

SGLANG = """\
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 7.0
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="1"} 7.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="",tp_rank="0"} 5.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="1",tp_rank="0"} 3.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",pp_rank="0",priority="2",tp_rank="0"} 2.0
sglang:token_usage{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.5
sglang:full_token_usage{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.6
sglang:cache_hit_rate{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 0.0
sglang:max_total_num_tokens{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 100000.0
sglang:num_retracted_requests_total{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 4.0
sglang:num_retracted_reqs{engine_type="unified",model_name="m",pid="9",tp_rank="0"} 1.0
sglang:prompt_tokens_total{model_name="m"} 1000.0
sglang:cached_tokens_total{model_name="m"} 250.0
sglang:generation_tokens_total{model_name="m"} 300.0
sglang:time_to_first_token_seconds_sum{model_name="m"} 3.0
sglang:time_to_first_token_seconds_count{model_name="m"} 12.0
"""

LLAMA = """\
llamacpp:prompt_tokens_total 30
llamacpp:prompt_tokens_cached_total 10
llamacpp:tokens_predicted_total 60
llamacpp:n_decode_total 66
llamacpp:n_tokens_max 90
llamacpp:prompt_tokens_seconds 35.6
llamacpp:requests_processing 2
llamacpp:requests_deferred 1
llamacpp:n_busy_slots_per_decode 1.5
"""

TRTLLM = """\
trtllm_num_requests_running{engine_type="trtllm",model_name="m"} 4.0
trtllm_num_requests_waiting{engine_type="trtllm",model_name="m"} 1.0
trtllm_kv_cache_utilization{engine_type="trtllm",model_name="m"} 0.3
trtllm_kv_cache_max_blocks{engine_type="trtllm",model_name="m"} 1000.0
trtllm_kv_cache_tokens_per_block{engine_type="trtllm",model_name="m"} 32.0
trtllm_request_success_total{engine_type="trtllm",finished_reason="stop",model_name="m"} 9.0
trtllm_time_to_first_token_seconds_sum{engine_type="trtllm",model_name="m"} 1.0
trtllm_time_to_first_token_seconds_count{engine_type="trtllm",model_name="m"} 4.0
"""

TRITON = """\
nv_inference_request_success{model="tensorrt_llm",version="1"} 8
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="waiting",version="1"} 1
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 3
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="tensorrt_llm",version="1"} 64
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="tensorrt_llm",version="1"} 100
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="free",model="tensorrt_llm",version="1"} 300
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 400
nv_trt_llm_runtime_memory_metrics{memory_type="gpu",model="tensorrt_llm",version="1"} 1610236
"""

TGI = """\
tgi_batch_current_size 5
tgi_queue_size 3
tgi_request_count 150
tgi_request_success 148
tgi_request_duration_sum 30
tgi_request_duration_count 148
"""

DCGM = """\
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="h"} 310.5
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-b",device="nvidia1",Hostname="h"} 9223372036854775794
DCGM_FI_DEV_FB_USED{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="h"} 1024
DCGM_FI_DEV_FB_USED{gpu="1",UUID="GPU-b",device="nvidia1",Hostname="h"} 2048
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="h"} 97
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-b",device="nvidia1",Hostname="h"} 2147483632
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="h"} 5000
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="h"} 1980
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="GPU-a",device="nvidia0",Hostname="h"} 0.5
"""
