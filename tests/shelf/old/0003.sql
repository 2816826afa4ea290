BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0003');
CREATE TABLE api_sightings (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	import_id INTEGER NOT NULL, 
	line INTEGER NOT NULL, 
	recorded_at TEXT NOT NULL, 
	source_id INTEGER NOT NULL, 
	provider TEXT NOT NULL, 
	model TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "api_sightings" VALUES(1,X'87ADD0165C036DA35D5B4829AA570633',1,2,'2026-12-01T04:33:53+00:00',1,'Served','meta-llama/Llama-3.1-8B-Instruct','2026-11-20','{"batch_input_amount": "0.10", "batch_output_amount": null, "cache_write_amount": null, "cached_input_amount": null, "currency": "USD", "effective": "", "elsewhere": [], "hours_utc": "", "input_amount": "0.20", "model": "meta-llama/Llama-3.1-8B-Instruct", "model_name": "llama-8b", "names": [], "notes": "", "output_amount": "0.60", "provider": "Served", "rates": [], "seen": "2026-11-20", "tier_above_tokens": 200000, "tier_input_amount": null, "until": ""}');
INSERT INTO "api_sightings" VALUES(2,X'AD5BD2A7301FB9F05D4FCCABC65A32A5',1,3,'2026-12-01T04:33:53+00:00',1,'Served','café','2026-11-20','{"batch_input_amount": "0.10", "batch_output_amount": null, "cache_write_amount": null, "cached_input_amount": null, "currency": "USD", "effective": "", "elsewhere": [], "hours_utc": "", "input_amount": "0.20", "model": "café", "model_name": "llama-8b", "names": [], "notes": "", "output_amount": "0.60", "provider": "Served", "rates": [], "seen": "2026-11-20", "tier_above_tokens": 200000, "tier_input_amount": null, "until": ""}');
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
CREATE TABLE price_imports (
	id INTEGER NOT NULL, 
	file_sha256 TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	size_bytes INTEGER NOT NULL, 
	format TEXT NOT NULL, 
	rows_count INTEGER NOT NULL, 
	kept_count INTEGER NOT NULL, 
	known_count INTEGER NOT NULL, 
	unread_count INTEGER NOT NULL, 
	first_seen TEXT NOT NULL, 
	content TEXT NOT NULL, 
	tool_version TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "price_imports" VALUES(1,'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','mine.csv',100,'price list',3,5,0,1,'2026-11-20','12c0c21adcec8208cc390444b3078493c495f5c0873fc9288e5899b17fdc1950','0.1.0','2026-12-01T04:33:53+00:00');
INSERT INTO "price_imports" VALUES(2,'cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','mine.csv',100,'price list',2,1,1,0,'2026-11-20','be61647140c7e442e3f9d795054d173fb68f20ee3cbad3afeaf95cae8f8ed792','0.1.0','2026-12-01T04:33:53+00:00');
CREATE TABLE price_sightings (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	import_id INTEGER NOT NULL, 
	line INTEGER NOT NULL, 
	recorded_at TEXT NOT NULL, 
	source_id INTEGER NOT NULL, 
	field_sources TEXT NOT NULL, 
	name TEXT NOT NULL, 
	provider TEXT NOT NULL, 
	provider_kind TEXT NOT NULL, 
	accelerator TEXT NOT NULL, 
	accelerators_count INTEGER NOT NULL, 
	region TEXT NOT NULL, 
	country TEXT NOT NULL, 
	capacity TEXT NOT NULL, 
	term_months INTEGER NOT NULL, 
	upfront_ratio FLOAT NOT NULL, 
	amount TEXT NOT NULL, 
	unit TEXT NOT NULL, 
	currency TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	effective TEXT NOT NULL, 
	sighting TEXT NOT NULL, 
	sample_count INTEGER NOT NULL, 
	low_amount TEXT, 
	high_amount TEXT, 
	condition TEXT NOT NULL, 
	notes TEXT NOT NULL, 
	form_factor TEXT NOT NULL, 
	fraction_ratio FLOAT NOT NULL, 
	node_shape TEXT NOT NULL, 
	minimum_count INTEGER NOT NULL, 
	includes TEXT NOT NULL, 
	median_amount TEXT, 
	until TEXT NOT NULL, 
	tax_ratio FLOAT NOT NULL, 
	more TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "price_sightings" VALUES(1,X'D708A556D018FE8EB387D8CE21E5FCE1',1,2,'2026-12-01T04:33:53+00:00',1,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'eu-1','DE','reserved',12,0.25,'1.2300','accelerator_hour','EUR','2026-11-20','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
INSERT INTO "price_sightings" VALUES(2,X'ED3BE05FCD27F8C8CA6405819CC6B86E',1,3,'2026-12-01T04:33:53+00:00',1,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'eu-1','DE','reserved',12,0.25,'1.2300','accelerator_hour','EUR','','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
INSERT INTO "price_sightings" VALUES(3,X'2F08CB830145F6FEE6E73F7F8F09BE95',1,4,'2026-12-01T04:33:53+00:00',1,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'us-1','US','reserved',12,0.25,'0.000001','accelerator_hour','EUR','2026-11-20','2026-11-01','catalogue',7,'1.1','1.5','new','línea 1
it''s','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
INSERT INTO "price_sightings" VALUES(4,X'D0712D4CDEC842C5285D81685EA3A0CE',2,3,'2026-12-01T04:33:53+00:00',3,'{"amount": ["page 3", "https://example.org", "2026-11-20", "quoted"]}','mine','Mine','neocloud','l40s',8,'eu-1','DE','reserved',12,0.25,'9','accelerator_hour','EUR','2026-11-20','2026-11-01','catalogue',7,'1.1','1.5','new','a; b','PCIe',0.5,'g6e',2,'host
egress','1.25','2027-01-31',0.21,'');
CREATE TABLE price_sources (
	id INTEGER NOT NULL, 
	import_id INTEGER NOT NULL, 
	what TEXT NOT NULL, 
	url TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	grade TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "price_sources" VALUES(1,1,'price list, mine.csv','https://example.org','2026-11-20','quoted');
INSERT INTO "price_sources" VALUES(2,2,'price list, mine.csv','https://example.org','2026-11-20','quoted');
INSERT INTO "price_sources" VALUES(3,2,'otra lista','https://example.org','2026-11-20','quoted');
CREATE TABLE price_unread (
	id INTEGER NOT NULL, 
	import_id INTEGER NOT NULL, 
	line INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	why TEXT NOT NULL, 
	near TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(import_id) REFERENCES price_imports (id)
);
INSERT INTO "price_unread" VALUES(1,1,3,'junk; ''x''','no_price','');
CREATE TABLE tracked_months (
	id INTEGER NOT NULL, 
	decision TEXT NOT NULL, 
	option TEXT NOT NULL, 
	month TEXT NOT NULL, 
	at TEXT NOT NULL, 
	"row" TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "tracked_months" VALUES(1,'dec','opt','2027-02','2026-12-01T04:33:53+00:00','{"month": "2027-02", "n": 1}');
INSERT INTO "tracked_months" VALUES(2,'dec','opt','2027-02','2026-12-01T04:33:53+00:00','{"month": "2027-02", "n": 2.5}');
INSERT INTO "tracked_months" VALUES(3,'dec','opt','2027-03','2026-12-01T04:33:53+00:00','{"month": "2027-03", "text": "año"}');
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
CREATE INDEX ix_price_imports_file_sha256 ON price_imports (file_sha256);
CREATE INDEX price_sightings_by_part ON price_sightings (accelerator, seen);
CREATE INDEX api_sightings_by_model ON api_sightings (model, seen);
CREATE TRIGGER price_imports_no_update BEFORE UPDATE ON price_imports BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_imports_no_delete BEFORE DELETE ON price_imports BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_price_sources_import_id ON price_sources (import_id);
CREATE TRIGGER price_sources_no_update BEFORE UPDATE ON price_sources BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_sources_no_delete BEFORE DELETE ON price_sources BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_price_sightings_import_id ON price_sightings (import_id);
CREATE TRIGGER price_sightings_no_update BEFORE UPDATE ON price_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_sightings_no_delete BEFORE DELETE ON price_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_api_sightings_import_id ON api_sightings (import_id);
CREATE TRIGGER api_sightings_no_update BEFORE UPDATE ON api_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER api_sightings_no_delete BEFORE DELETE ON api_sightings BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX ix_price_unread_import_id ON price_unread (import_id);
CREATE TRIGGER price_unread_no_update BEFORE UPDATE ON price_unread BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE TRIGGER price_unread_no_delete BEFORE DELETE ON price_unread BEGIN SELECT RAISE(ABORT, 'prices are only ever added'); END;
CREATE INDEX tracked_by_decision ON tracked_months (decision, option, month);
CREATE TRIGGER tracked_months_no_update BEFORE UPDATE ON tracked_months BEGIN SELECT RAISE(ABORT, 'tracked months are only ever added'); END;
CREATE TRIGGER tracked_months_no_delete BEFORE DELETE ON tracked_months BEGIN SELECT RAISE(ABORT, 'tracked months are only ever added'); END;
COMMIT;
