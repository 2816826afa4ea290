"""Logs as their documentation writes them, shortened; figures are made up, names and shapes are not."""
# ruff: noqa: E501

import json

SECRET = "the-word-nobody-may-see"
T0 = 1_796_068_800.0  # 2026-11-30T20:00:00Z, a Monday


def iso(offset_s, zone="Z"):
    from datetime import UTC, datetime

    return datetime.fromtimestamp(T0 + offset_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + zone


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def openai_batch():
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(T0),
        "model": "small",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": SECRET}, "finish_reason": "stop"}
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
    }
    good = {
        "id": "b1",
        "custom_id": "r-1",
        "response": {"status_code": 200, "request_id": "q1", "body": body},
        "error": None,
    }
    again = {
        **body,
        "created": int(T0) + 2,
        "usage": {"prompt_tokens": 300, "completion_tokens": 40, "total_tokens": 340},
    }
    more = {
        "id": "b2",
        "custom_id": "r-2",
        "response": {"status_code": 200, "request_id": "q2", "body": again},
        "error": None,
    }
    return lines([good, more])


def openai_pairs():
    def pair(at, text, status, finish="stop", tokens=(50, 10)):
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        return {
            "timestamp": iso(at),
            "request": {"model": "small", "stream": True, "messages": [{"role": "user", "content": text}]},
            "response": {"model": "small", "choices": [{"finish_reason": finish}], "usage": usage},
            "status_code": status,
            "duration_ms": 500,
        }

    return lines(
        [
            pair(0, SECRET, 429, None, (None, None)),
            pair(2, SECRET, 200),
            pair(5, "other words", 200),
            pair(9, "cut words", 200, None),
            pair(11, "other words", 200),
        ]
    )


def litellm_spend():
    row = {
        "call_type": "acompletion",
        "api_key": "hashed",
        "spend": 0.001,
        "model": "openai/small",
        "model_group": "small",
        "metadata": {"additional_usage_values": {"prompt_tokens_details": {"cached_tokens": 30}}},
        "cache_hit": "False",
        "messages": {},
        "response": {},
    }
    good = {**row, "request_id": "a", "prompt_tokens": 60, "completion_tokens": 6, "total_tokens": 66,
            "startTime": iso(0), "endTime": iso(1.5), "completionStartTime": iso(0.5), "status": "success"}  # fmt: skip
    bad = {**row, "request_id": "b", "prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "startTime": iso(3),
           "endTime": iso(3.2), "status": "failure", "metadata": {"error_information": {"error_code": "429"}}}  # fmt: skip
    return json.dumps([good, bad, good], indent=1)


LITELLM_CSV = (
    "request_id,call_type,api_key,spend,total_tokens,prompt_tokens,completion_tokens,startTime,endTime,model,metadata\n"
    'a,acompletion,k,0.1,66,60,6,2026-11-30 20:00:00.000,2026-11-30 20:00:01.500,small,"{""status"": ""success""}"\n'
    "b,acompletion,k,0.1,33,30,3,2026-11-30 20:00:05.000,2026-11-30 20:00:05.500,small,{}\n"
)


def litellm_callback():
    row = {"id": "x1", "trace_id": "t", "call_type": "acompletion", "response_cost": 0.0, "status": "success",
           "total_tokens": 12, "prompt_tokens": 10, "completion_tokens": 2, "startTime": T0, "endTime": T0 + 0.25,
           "completionStartTime": T0 + 0.1, "model": "small", "model_group": "small",
           "messages": [{"role": "user", "content": SECRET}], "response": {"choices": []}}  # fmt: skip
    return lines([row, {**row, "id": "x2", "startTime": T0 + 1, "endTime": T0 + 2}])


def helicone():
    row = {"request_id": "h1", "request_created_at": iso(0), "response_created_at": iso(2), "response_status": 200,
           "delay_ms": 1900, "time_to_first_token": 120, "prompt_tokens": 80, "completion_tokens": 8,
           "prompt_cache_read_tokens": 16, "request_model": "small", "response_model": "small-2026",
           "request_body": {"messages": [{"role": "user", "content": SECRET}]}, "response_body": None}  # fmt: skip
    return json.dumps(
        {"data": [row, {**row, "request_id": "h2", "request_created_at": iso(4), "response_status": 500}]}
    )


def portkey():
    row = {"id": "p1", "trace_id": "t", "created_at": iso(0), "ai_org": "openai", "ai_model": "small", "req_units": 70,
           "res_units": 7, "total_units": 77, "response_time": 800, "response_status_code": 200, "is_success": True,
           "cost": 0.1}  # fmt: skip
    return lines(
        [row, {**row, "id": "p2", "created_at": iso(1), "response_status_code": 503, "is_success": False}]
    )


def langfuse():
    row = {"id": "l1", "traceId": "t1", "type": "GENERATION", "startTime": iso(0), "endTime": iso(1),
           "completionStartTime": iso(0.2), "model": "small", "level": "DEFAULT", "input": SECRET,
           "usageDetails": {"input": 40, "input_cached_tokens": 60, "output": 9, "total": 109}}  # fmt: skip
    span = {**row, "id": "l2", "type": "SPAN"}
    return json.dumps(
        [row, span, {**row, "id": "l3", "startTime": iso(2), "level": "ERROR", "usageDetails": {}}]
    )


OPENROUTER = (
    "generation_id,created_at,cost_total,tokens_prompt,tokens_completion,tokens_cached,model_permaslug,provider_name,"
    "cancelled,streamed,finish_reason_normalized,generation_time_ms,time_to_first_token_ms\n"
    "gen-1,2026-11-30 20:00:00.271,0.01,100,200,50,vendor/small,p,false,true,stop,2500,300\n"
    "gen-2,2026-11-30 20:00:03.271,0.02,150,20,0,vendor/small,p,true,true,,400,300\n"
)


def kong():
    row = {"started_at": int(T0 * 1000), "latencies": {"request": 1500, "kong": 2, "proxy": 1498},
           "request": {"id": "k1", "uri": "/v1/chat/completions", "method": "POST", "size": 323},
           "response": {"status": 200}, "client_ip": "10.0.0.1",
           "ai": {"proxy": {"meta": {"request_model": "small", "response_model": "small-2026"},
                            "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}}}  # fmt: skip
    health = {**row, "request": {"id": "k2", "uri": "/status", "method": "GET"}, "ai": None}
    failed = {**row, "request": {**row["request"], "id": "k3"}, "started_at": int(T0 * 1000) + 2000,
              "response": {"status": 502}, "ai": {}}  # fmt: skip
    return lines([row, health, failed])


def envoy():
    row = {"start_time": iso(0), "method": "POST", "x-envoy-origin-path": "/v1/chat/completions", "response_code": 200,
           "duration": 900, "response_flags": "-", "gen_ai.request.model": "small", "gen_ai.usage.input_tokens": 33,
           "gen_ai.usage.output_tokens": "12", "x-request-id": "e1"}  # fmt: skip
    cut = {
        **row,
        "start_time": iso(1),
        "response_flags": "DC",
        "x-request-id": "e2",
        "gen_ai.usage.output_tokens": "-",
    }
    return lines([row, cut])


def access_json():
    row = {"time_iso8601": "2026-11-30T21:00:02+01:00", "status": "200", "request_time": "1.500",
           "request_method": "POST", "request_uri": "/v1/completions"}  # fmt: skip
    return lines([row, {**row, "request_uri": "/metrics", "request_method": "GET"}, {**row, "status": "429"}])


NGINX = """\
203.0.113.9 - - [30/Nov/2026:21:00:02 +0100] "POST /v1/chat/completions HTTP/1.1" 200 512 "-" "python-httpx/0.27.0"
203.0.113.9 - alice [30/Nov/2026:21:00:05 +0100] "POST /v1/chat/completions HTTP/1.1" 429 91 "-" "curl/8"
203.0.113.9 - - [30/Nov/2026:20:00:07 +0000] "POST /v1/completions?key=the-word-nobody-may-see HTTP/1.1" 499 0 "-" "c"
203.0.113.9 - - [30/Nov/2026:20:00:07 +0000] "GET /health HTTP/1.1" 200 2 "-" "kube-probe/1.30"
203.0.113.9 - - [30/Nov/2026:20:00:08 +0000] "\\x16\\x03\\x01" 400 150 "-" "-"
"""
NGINX_TIMED = """\
10.1.1.1 - - [30/Nov/2026:20:00:10 +0000] "POST /v1/chat/completions HTTP/1.1" 200 5 "-" "x" rt=4.500 urt="4.4"
10.1.1.1 - - [30/Nov/2026:20:00:20 +0000] "POST /v1/chat/completions HTTP/1.1" 200 5 "-" "x" "-" 2.250
10.1.1.1 - - [30/Nov/2026:20:00:30 +0000] "POST /v1/chat/completions HTTP/1.1" 200 5 "-" "x" 1.125 "10.0.0.2:80"
"""
HAPROXY = """\
Nov 30 20:00:01 lb haproxy[14389]: 10.0.1.2:33317 [30/Nov/2026:20:00:00.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "POST /v1/chat/completions HTTP/1.1"
Nov 30 20:00:05 lb haproxy[14389]: 10.0.1.2:33318 [30/Nov/2026:20:00:02.655] http-in pool/s1 0/0/1/40/2100 200 900 - - SD-- 1/1/1/1/0 0/0 "POST /v1/chat/completions HTTP/1.1"
Nov 30 20:00:06 lb haproxy[14389]: 10.0.1.2:33319 [30/Nov/2026:20:00:05.000] http-in pool/<NOSRV> 0/-1/-1/-1/5 503 212 - - SC-- 1/1/0/0/0 0/0 "POST /v1/chat/completions HTTP/1.1"
Nov 30 20:00:06 lb haproxy[14389]: Server pool/s1 is DOWN, reason: Layer4 connection problem, check duration: 0ms.
"""
VLLM = """\
INFO 11-30 19:59:50 [api_server.py:1776] Starting vLLM API server 0 on http://0.0.0.0:8000
INFO 11-30 20:00:00 [logger.py:43] Received request chatcmpl-1: prompt: 'the-word-nobody-may-see, params: x', params: SamplingParams(n=1, max_tokens=100), prompt_token_ids: [1, 2, 3, 4], prompt_embeds shape: None, lora_request: None.
INFO:     127.0.0.1:53526 - "POST /v1/chat/completions HTTP/1.1" 200 OK
INFO 11-30 20:00:01 [logger.py:43] Received request chatcmpl-2: prompt: 'b', params: SamplingParams(n=1), prompt_token_ids: [1, 2], prompt_embeds shape: None, lora_request: None.
INFO 11-30 20:00:03 [logger.py:77] Generated response chatcmpl-1 (streaming complete): output: 'it says finish_reason: length', output_token_ids: [7, 8, 9], finish_reason: stop
INFO 11-30 20:00:10 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%, Prefix cache hit rate: 25.0%
"""
SGLANG = """\
[2026-11-30 20:00:00] Receive: obj=GenerateReqInput(rid='a', text='the-word-nobody-may-see')
[2026-11-30 20:00:02] Finish: obj=GenerateReqInput(rid='a', text="'prompt_tokens': 999999, 'meta_info': {"), out={'text': 'x', 'meta_info': {'id': 'a', 'finish_reason': {'type': 'stop', 'matched': 2}, 'prompt_tokens': 44, 'completion_tokens': 5, 'cached_tokens': 12, 'e2e_latency': 1.5}}
[2026-11-30 20:00:05 TP0] Decode batch. #running-req: 1, #token: 40, token usage: 0.00, gen throughput (token/s): 30
[2026-11-30 20:00:09] Finish: obj=GenerateReqInput(rid='b'), out={'text': '', 'meta_info': {'id': 'b', 'finish_reason': {'type': 'abort', 'message': 'x'}, 'prompt_tokens': 20, 'completion_tokens': 1, 'cached_tokens': 0, 'e2e_latency': 0.5}}
"""
