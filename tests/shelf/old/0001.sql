BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE imports (
	id INTEGER NOT NULL, 
	file_sha256 TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	format TEXT NOT NULL, 
	lines_count INTEGER NOT NULL, 
	unknown_count INTEGER NOT NULL, 
	tool_version TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "imports" VALUES(1,'7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c','vllm.log',2318,'vllm',14,1,'0.1.0','2026-12-01T04:33:53+00:00');
INSERT INTO "imports" VALUES(2,'7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c','vllm.log',2318,'vllm',14,1,'0.1.0','2026-12-01T04:33:53+00:00');
INSERT INTO "imports" VALUES(3,'76d408d63a9b47d9c85627695a16fc681917ced6fc2ed1a54a830faec035f7be','refused.log',1142,'vllm',4,0,'0.1.0','2026-12-01T04:33:53+00:00');
CREATE TABLE marks (
	id INTEGER NOT NULL, 
	observation_id TEXT NOT NULL, 
	mark TEXT NOT NULL, 
	why TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(observation_id) REFERENCES observations (id)
);
INSERT INTO "marks" VALUES(1,'obs-a89205572d23d5b2','superseded','obs-3f5c703037d0fb23','2026-12-01T04:33:53+00:00');
INSERT INTO "marks" VALUES(2,'obs-8104beff4f7d9ee7','forgotten','wrong card','2026-12-01T04:33:53+00:00');
INSERT INTO "marks" VALUES(3,'obs-8104beff4f7d9ee7','restored','','2026-12-01T04:33:53+00:00');
CREATE TABLE observations (
	id TEXT NOT NULL, 
	import_id INTEGER NOT NULL, 
	place INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	engine TEXT NOT NULL, 
	model TEXT NOT NULL, 
	gpu TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(import_id) REFERENCES imports (id)
);
INSERT INTO "observations" VALUES('obs-a89205572d23d5b2',1,0,'memory','vllm','meta-llama/Llama-3.1-8B-Instruct','','{"kind": "memory", "task": "inference", "engine": "vllm", "engine_version": "0.11.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "bf16", "kv_cache": "bf16", "gpu_memory_gib": 79.19, "gpus": 2, "tp": 2, "pp": 1, "args": {"max_model_len": 32768, "max_num_seqs": 64, "gpu_memory_utilization": 0.92}, "measured": {"fits": true, "weights_gib_per_gpu": 7.5124, "kv_cache_gib_per_gpu": 62.1, "kv_cache_tokens": 1017408, "max_concurrency": 31.05, "cuda_graph_gib": 0.61, "free_gib_at_start": 78.66, "non_torch_gib": 0.75, "activation_peak_gib": 1.97}, "unit_as_printed": "GiB (labelled GB before 0.8)", "quality": "A", "source": "vllm.log", "file_sha256": "7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c", "tool_version": "0.1.0"}');
INSERT INTO "observations" VALUES('obs-3f5c703037d0fb23',2,0,'memory','vllm','meta-llama/Llama-3.1-8B-Instruct','h100-sxm-80','{"kind": "memory", "task": "inference", "engine": "vllm", "engine_version": "0.11.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "bf16", "kv_cache": "bf16", "gpu": "h100-sxm-80", "gpu_memory_gib": 79.19, "gpus": 2, "tp": 2, "pp": 1, "args": {"max_model_len": 32768, "max_num_seqs": 64, "gpu_memory_utilization": 0.92}, "measured": {"fits": true, "weights_gib_per_gpu": 7.5124, "kv_cache_gib_per_gpu": 62.1, "kv_cache_tokens": 1017408, "max_concurrency": 31.05, "cuda_graph_gib": 0.61, "free_gib_at_start": 78.66, "non_torch_gib": 0.75, "activation_peak_gib": 1.97}, "unit_as_printed": "GiB (labelled GB before 0.8)", "quality": "A", "source": "vllm.log", "note": "armario 3 – ñ", "file_sha256": "7f66d45d828d5aed126e4c01e96016368d64e1a325bc933c38a1fcc8750f918c", "tool_version": "0.1.0"}');
INSERT INTO "observations" VALUES('obs-8104beff4f7d9ee7',3,0,'memory','vllm','meta-llama/Llama-3.1-8B-Instruct','','{"kind": "memory", "task": "inference", "engine": "vllm", "engine_version": "0.11.0", "model": "meta-llama/Llama-3.1-8B-Instruct", "weights": "bf16", "kv_cache": "bf16", "gpus": 1, "tp": 1, "pp": 1, "args": {"max_model_len": 131072}, "measured": {"fits": false, "weights_gib_per_gpu": 14.9889, "kv_cache_gib_per_gpu": 4.51, "kv_needed_gib": 16.0, "estimated_max_model_len": 36944}, "unit_as_printed": "GiB (labelled GB before 0.8)", "quality": "A", "source": "refused.log", "note": "refused: the cache of one request is larger than what is left", "file_sha256": "76d408d63a9b47d9c85627695a16fc681917ced6fc2ed1a54a830faec035f7be", "tool_version": "0.1.0"}');
CREATE TABLE unknown_lines (
	import_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (import_id, number), 
	FOREIGN KEY(import_id) REFERENCES imports (id)
);
INSERT INTO "unknown_lines" VALUES(1,14,'INFO una línea de mañana; it''s "quoted"');
INSERT INTO "unknown_lines" VALUES(2,14,'INFO una línea de mañana; it''s "quoted"');
CREATE INDEX ix_imports_file_sha256 ON imports (file_sha256);
CREATE INDEX ix_observations_import_id ON observations (import_id);
CREATE INDEX observations_by_setup ON observations (engine, gpu);
CREATE INDEX ix_marks_observation_id ON marks (observation_id);
COMMIT;
