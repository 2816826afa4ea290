BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0004');
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
CREATE TABLE quotes (
	id INTEGER NOT NULL, 
	digest BLOB NOT NULL, 
	vendor TEXT NOT NULL, 
	quote_id TEXT NOT NULL, 
	purpose TEXT NOT NULL, 
	effective TEXT NOT NULL, 
	expires TEXT NOT NULL, 
	recorded_at TEXT NOT NULL, 
	file_name TEXT NOT NULL, 
	file_sha256 TEXT NOT NULL, 
	form TEXT NOT NULL, 
	content TEXT NOT NULL, 
	seen TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (digest)
);
INSERT INTO "quotes" VALUES(1,X'0E8604AB9F9D2CA918CE024F663EF2E94C71D75C26B97AC77E5CE5C4D43701AD','Aïda','Q-1','buy','2026-12-01','','2026-12-01T04:33:53+00:00','q.yaml','eb1db4b7ec2de6298ed55ef450c5c5ff369f131b0f408f87d22a2e09c94bf568','yaml','# Vendor quote: any kind
# Answer what you can. Leave blank, or write TBD, what isn''t known: a blank is unknown, never zero.
# Money: an amount with its currency, as in 2.10 USD. Write ''included'' or 0 where nothing more is charged.
# Shares: with the sign, as in 99.5 %. Dates: 2026-12-31. Yes or no: yes, no.
# Peak TFLOPS: dense, and in which precision. Memory: what the label says, and what an application can use.
# Unit of the price: gpu_hour, node_hour, gpu_month, node_month, gpu, node ...
# Lines with a quantity and a price go under items.
# Values only: no formulas, no macros, no links to other files.

# ---- Identity and validity

# Quote number. What is the number of this quote?
quote_id: "Q-1"

# Vendor. Who is the vendor?
vendor: "Aïda"

# Vendor''s legal entity. Which legal entity would sign, with its registration and address?
vendor_legal_entity:

# Kind of offer. Is this a rental by use, a reservation, a sale, an API or a cluster? rent, reserve, buy, api, cluster.
purpose: buy

# Issue date. On which date was the quote issued? As 2026-12-31.
issued:

# Valid until. Until which date do these prices hold? As 2026-12-31.
expires:

# Currency. In which currency are all amounts?
currency:

# Taxes. Are taxes (VAT, sales tax) inside the amounts, added to them, or not due? excluded, included, exempt, reverse_charge.
tax_treatment:

# Tax rate. What is the tax rate? With the sign, as 99.5 %.
tax_ratio:

# Exchange-rate clause. Who bears changes of the exchange rate, from which date and rate?
fx_clause:

# Price adjustment clause. May prices change during the term, by which rule?
price_adjustment_clause:

# Most that prices may rise a year. What is the most that prices may rise in a year? With the sign, as 99.5 %.
price_adjustment_limit_ratio_per_year:

# Incoterms. Under which Incoterms and place is it delivered?
incoterms:

# Import duty included. Are import duties and customs inside the price? Yes or no.
import_duty_included:

# Lead time. How many days after the order is it delivered or ready? (days)
lead_time_days:

# Delivery date. On which date is it delivered or ready for use? As 2026-12-31.
delivery_date:

# Penalty for delay. What is owed for each week of delay?
delay_penalty:

# ---- Hardware and topology

# Accelerator. Which exact accelerator is offered (maker, model, form factor, memory)?
accelerator: "l40s"

# Part number. What is the maker''s part or board number?
accelerator_sku:

# Form factor. Is it SXM, PCIe, NVL or OAM? SXM, PCIe, NVL, OAM, other.
form_factor:

# Condition. Is it new, used or refurbished? new, used, refurbished.
condition:

# Number of accelerators. How many accelerators in all?
accelerators_count: 8

# Accelerators per node. How many accelerators does a node have?
accelerators_per_node_count:

# Number of nodes. How many nodes?
nodes_count:

# Memory per accelerator. How much memory does each accelerator have by its label? (GB)
accelerator_memory_gb:

# Usable memory per accelerator. How much of an accelerator''s memory can an application allocate, once your stack is loaded? (GiB)
accelerator_memory_usable_gib:

# Memory bandwidth. What is the memory bandwidth of each accelerator? (GB/s)
memory_bandwidth_gb_per_s:

# Peak TFLOPS. How many TFLOPS, in which precision, dense? (TFLOPS)
tflops:

# Precision of the TFLOPS. In which precision are the TFLOPS given? fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4.
tflops_precision:

# TFLOPS with sparsity. Do the TFLOPS assume structured sparsity? Yes or no.
tflops_sparse:

# Power per accelerator. At which power cap does each accelerator run? (W)
accelerator_power_w:

# NVLink or equal. Are the accelerators of a node joined by NVLink, Infinity Fabric or the like? Yes or no.
nvlink:

# NVLink bandwidth per accelerator. How many GB/s per accelerator, both ways together? (GB/s)
nvlink_gb_per_s:

# Network between nodes. Which network joins the nodes (InfiniBand, RoCE, Ethernet)? infiniband, roce, ethernet, efa, slingshot, none, other.
interconnect:

# Network cards per node. How many network cards for the accelerators does a node have?
nics_per_node_count:

# Speed of a network card. At which speed does each network card run? (Gbit/s)
nic_speed_gbit_per_s:

# Oversubscription. What is the oversubscription between leaf and spine (1 = none)?
oversubscription_factor:

# Rail-optimised network. Is the network rail-optimised? Yes or no.
rail_optimised:

# All nodes under one spine. Are all our nodes under one spine or pod? Yes or no.
same_spine:

# CPU. Which CPU, and how many sockets per node?
cpu:

# CPU cores per node. How many CPU cores per node?
cpu_cores_per_node_count:

# RAM per node. How much RAM per node? (GB)
ram_per_node_gb:

# Local disk per node. How much local NVMe per node? (TB)
local_disk_per_node_tb:

# Cooling. Is it cooled by air or by liquid? air, liquid, immersion.
cooling:

# Cooling of the room. How is the room cooled where it is installed? air, liquid, immersion.
site_cooling:

# Power per node. What is the most power that a node draws? (kW)
node_power_kw:

# Power per rack. What is the most power that a rack draws? (kW)
rack_power_kw:

# ECC on. Is error correction on? Yes or no.
ecc:

# MIG allowed. May we partition accelerators (MIG)? Yes or no.
mig:

# Firmware baseline. Which firmware and BMC versions are delivered, the same on all nodes?
firmware_baseline:

# Burn-in. For how many days is it burnt in before delivery? (days)
burn_in_days:

# Region or data centre. In which region or data centre?
region:

# Country. In which country do machines and data stay?
country:

# ---- Software stack

# Operating system. Which operating system and kernel?
operating_system:

# Driver version. Which driver version, and who updates it?
driver_version:

# CUDA or ROCm version. Which CUDA or ROCm version?
accelerator_stack:

# Orchestration. Which scheduler is offered (Slurm, Kubernetes), managed by whom?
orchestration:

# Images. Which images are offered, and may we bring our own?
images:

# Monitoring. Which metrics do we see (DCGM, network, storage), and how?
monitoring:

# Root access. Do we have root on the nodes? Yes or no.
root_access:

# Licences included. Which software licences are included (NVIDIA AI Enterprise, vGPU ...)?
licences_included:

# Licence per GPU and year. What do licences cost per GPU and year? As 2.10 USD/GPU-year.
licence_price_per_gpu_year:

# Model served. Which model, in which version and precision?
model:

# Model version pinned. Is the version of the model pinned? Yes or no.
model_version_pinned:

# Notice before a model ends. How many days before a model is withdrawn are we told? (days)
deprecation_notice_days:

# Context length. What is the longest context served? (tokens)
context_tokens:

# Requests per minute. How many requests per minute are guaranteed? (1/min)
rate_limit_requests_per_min:

# Tokens per minute. How many tokens per minute are guaranteed? (tokens/min)
rate_limit_tokens_per_min:

# ---- Commercial model

# Unit price. What is the price of one unit, and of which unit? As 2.10 USD.
unit_price: 7100 EUR

# Unit of the price. Is the price per GPU, node or rack, and per hour or month? gpu_hour, node_hour, rack_hour, gpu_month, node_month, rack_month, gpu_year, node_year, gpu, node, rack, system, total.
unit:

# Hours of a month. How many hours does a billed month have (720, 730, 744)? (h)
month_hours:

# Quantity. How many units are priced?
quantity:

# Price per month. What does a month cost in all? As 2.10 USD/month.
monthly_price:

# Total price. What is the total, and what does it cover? As 2.10 USD.
total_price:

# List price of a unit. What is the list price? As 2.10 USD.
list_unit_price:

# Discount. Which discount is applied, and on what? With the sign, as 99.5 %.
discount_ratio:

# Term. For how many months is it? (months)
term_months:

# Minimum term. What is the shortest term? (months)
minimum_term_months:

# Minimum quantity. What is the smallest quantity?
minimum_quantity:

# Minimum spend per month. What is the least that is billed a month, used or not? As 2.10 USD/month.
minimum_commit_per_month:

# Total commitment. What do we commit to in all, over the whole term? As 2.10 USD.
total_commit:

# Billing step. Is use billed by the second, minute, hour or month? (s)
billing_granularity_s:

# Start of billing. From when is it billed: signature, delivery or signed acceptance? signature, delivery, acceptance, first_use.
billing_start:

# Paid upfront. Which part is paid before delivery? With the sign, as 99.5 %.
upfront_ratio:

# Payment terms. Within how many days are invoices paid? (days)
payment_terms_days:

# Ramp-up. In which steps does capacity come and billing grow?
ramp_schedule:

# Renews by itself. Does the contract renew by itself? Yes or no.
auto_renewal:

# Notice to stop renewal. How many days before the end must we say that we don''t renew? (days)
renewal_notice_days:

# Fee to leave early. What is owed to leave before the end? As 2.10 USD.
early_exit_fee:

# Share of the rest owed to leave early. Which share of what remains is owed to leave before the end? With the sign, as 99.5 %.
early_exit_fee_ratio:

# Right to resell or sublet. May we resell or sublet what we don''t use? Yes or no.
resale_right:

# Right to swap to the next generation. May we swap to newer hardware within the term, on which terms? Yes or no.
swap_right:

# Price match. Is a lower price to others, or of others, matched? Yes or no.
price_match:

# Price of more units. At which price can we add units during the term? As 2.10 USD.
expansion_unit_price:

# Price beyond the commitment. What does use beyond the commitment cost? As 2.10 USD.
overage_unit_price:

# Egress per GB. What does data out cost per GB? As 2.10 USD/GB.
egress_price_per_gb:

# Ingress per GB. What does data in cost per GB? As 2.10 USD/GB.
ingress_price_per_gb:

# Storage per GB and month. What does shared storage cost per GB and month? As 2.10 USD/GB-month.
storage_price_per_gb_month:

# Public address per month. What does a public address cost? As 2.10 USD/month.
public_ip_price_per_month:

# Billed while idle. Is a stopped or idle machine billed? Yes or no.
idle_billing:

# Trial. For how many days can we try it free of charge? (days)
trial_days:

# Nodes of the trial. On how many nodes can we try it?
trial_nodes_count:

# Credits granted. Which credits are granted, and until when? As 2.10 USD.
credits:

# Setup fee. What is charged once for setup or installation? As 2.10 USD.
setup_fee:

# Support per month. What does support cost a month? As 2.10 USD/month.
support_fee_per_month:

# Inside the price. What is inside the price (storage, egress, network, support)? Apart by semicolons.
includes:

# Million input tokens. What does a million input tokens cost? As 2.10 USD/million tokens.
input_price_per_million_tokens:

# Million output tokens. What does a million output tokens cost? As 2.10 USD/million tokens.
output_price_per_million_tokens:

# Million cached input tokens. What does a million cached input tokens cost? As 2.10 USD/million tokens.
cached_input_price_per_million_tokens:

# Batch discount. Which discount has batch processing? With the sign, as 99.5 %.
batch_discount_ratio:

# ---- Security and governance

# Isolation between tenants. How are tenants kept apart: bare metal, virtual machines or containers? bare_metal, vm, container, shared.
isolation:

# SOC 2 report. Is there a SOC 2 report, of which type and date? none, type_1, type_2.
soc2:

# ISO 27001. Is the service certified to ISO 27001, with which scope? Yes or no.
iso_27001:

# Firmware attestation. Is firmware attested between tenants? Yes or no.
firmware_attestation:

# Isolation in the network. Are tenants kept apart in the network (PKeys, VXLAN)? Yes or no.
fabric_isolation:

# Who holds the keys. Who holds the encryption keys? provider, customer, hsm.
key_management:

# Encryption at rest. Is data encrypted at rest? Yes or no.
encryption_at_rest:

# Certificate of deletion. Do we get a certificate of deletion at the end? Yes or no.
deletion_certificate:

# Where data stay. In which countries may our data be stored and processed?
data_residency:

# Data processing agreement. Will you sign a data processing agreement? Yes or no.
dpa:

# Sub-processors. Who else processes our data?
sub_processors:

# Our data used for training. Are our prompts or answers used to train or improve anything? Yes or no.
data_used_for_training:

# Retention of prompts and answers. For how many days are prompts and answers kept (0 = not at all)? (days)
retention_days:

# Right to audit. May we, or somebody for us, audit you? Yes or no.
audit_right:

# ---- Reliability and service level

# Uptime promised. Which uptime is promised? With the sign, as 99.5 %.
uptime_ratio:

# Uptime of what. Is it the uptime of a node, the cluster, the service or the job? node, cluster, service, job.
uptime_scope:

# Useful work promised. Which share of job time is useful work (goodput)? With the sign, as 99.5 %.
goodput_ratio:

# Not counted in the uptime. What doesn''t count as downtime?
sla_exclusions:

# Credits for missed uptime. Which share of the month''s fee is credited below which uptime? As < 99.5 %: 10 %; < 99 %: 25 %.
credit_ladder:

# Most that is credited in a month. What is the most that is credited in a month? With the sign, as 99.5 %.
credit_cap_ratio:

# Time to replace a node. Within how many hours is a failed node replaced? (h)
node_replacement_hours:

# Replacement by ourselves. Can we replace a node ourselves, through an API? Yes or no.
replacement_api:

# Hot spares. How many spare nodes are kept ready?
hot_spares_count:

# Spares under the same spine. Are the spare nodes under the same spine as ours? Yes or no.
hot_spares_same_spine:

# Failed nodes don''t come back. How are we kept from getting the same failed node back (serial numbers)? Yes or no.
returned_node_protection:

# Notice of maintenance. How many days before maintenance are we told? (days)
maintenance_notice_days:

# Support hours. At which hours is support there?
support_hours:

# Response to the gravest case. Within how many minutes do you respond to the gravest case? (min)
support_response_minutes:

# Named engineer. Do we have a named engineer? Yes or no.
named_engineer:

# Missed months that let us leave. After how many months of missed uptime may we leave without a fee? (months)
sla_exit_months:

# ---- Acceptance

# Acceptance test. Which tests must pass before we accept?
acceptance_test:

# Days to accept. How many days do we have to test before acceptance? (days)
acceptance_days:

# DCGM level passed. Which level of DCGM diagnostics passes on every node?
dcgm_level:

# Dense TFLOPS guaranteed. How many dense TFLOPS per accelerator do you guarantee in a matrix product? (TFLOPS)
gemm_tflops:

# All-reduce bandwidth guaranteed. Which bus bandwidth of NCCL all-reduce do you guarantee on all nodes? (GB/s)
allreduce_gb_per_s:

# Soak test. For how many hours does the soak test run? (h)
soak_hours:

# Who pays for failed acceptance. Who pays for the time while acceptance fails? vendor, customer, shared.
failed_acceptance_payer:

# ---- Storage

# Kind of storage. Which shared storage (Lustre, Weka, VAST, NFS)?
storage_kind:

# Usable storage. How much shared storage is usable? (TB)
storage_usable_tb:

# Raw storage. How much raw capacity does the shared storage have? (TB)
storage_raw_tb:

# Storage operations. How many operations a second? (1/s)
storage_iops:

# Storage read speed. How fast is the shared storage read? (GB/s)
storage_read_gb_per_s:

# Storage write speed. How fast are checkpoints written to the shared storage? (GB/s)
storage_write_gb_per_s:

# Snapshots. Are there snapshots? Yes or no.
snapshots:

# Migration help. Which tools or people help us to move data in and out?
migration_tooling:

# Overlap when moving region. For how many days are both places free of double charge when we move? (days)
region_move_overlap_days:

# ---- Exit and finance

# Warranty. How many months of warranty, and of what? (months)
warranty_months:

# Replacement sent in advance. Is a replacement sent before the failed part comes back? Yes or no.
advance_replacement:

# Support contract per year. What does the support contract cost a year? As 2.10 USD/year.
support_price_per_year:

# Installation included. Is installation inside the price? Yes or no.
installation_included:

# Licences transferable. Do licences go with the hardware when we sell it? Yes or no.
licences_transferable:

# Buy-back share. For which share of the price do you buy it back? With the sign, as 99.5 %.
buy_back_ratio:

# Buy-back after. After how many months? (months)
buy_back_months:

# Export limits. Do export rules limit where it may be used or sold?
export_control:

# Interest a year. At which yearly rate is it financed? With the sign, as 99.5 %.
financing_rate_per_year:

# Financed over. Over how many months? (months)
financing_months:

# Days to take our data out. For how many days after the end can we take our data out? (days)
data_export_days:

# Governing law. Which law and courts govern the contract?
governing_law:

# Notes. Is there anything else to know?
notes:

# ---- Lines of the quote
items:
#   - what:
#     unit:
#     quantity:
#     unit_price:
#     total:
','{"seen": [{"field": "vendor", "place": "q.yaml:1", "words": "Aïda", "grade": "stated"}, {"field": "quote_id", "place": "q.yaml:2", "words": "Q-1", "grade": "stated"}, {"field": "purpose", "place": "q.yaml:3", "words": "buy", "grade": "stated"}, {"field": "accelerator", "place": "q.yaml:4", "words": "l40s", "grade": "stated"}, {"field": "accelerators_count", "place": "q.yaml:5", "words": "8", "grade": "stated"}, {"field": "unit_price", "place": "q.yaml:6", "words": "7100 EUR", "grade": "stated"}], "left": []}');
INSERT INTO "quotes" VALUES(2,X'99B8346300A966675CDD087D26EE6A3ABE7BF751F32485AFE5258ADA37B7FD0D','Aïda','Q-1','buy','2026-12-01','','2026-12-01T04:33:53+00:00','q.yaml','50d77b1cc7e37bd721b33965485c5ca5ab276ee2b99304d3e73b03c784dc6ba1','yaml','# Vendor quote: any kind
# Answer what you can. Leave blank, or write TBD, what isn''t known: a blank is unknown, never zero.
# Money: an amount with its currency, as in 2.10 USD. Write ''included'' or 0 where nothing more is charged.
# Shares: with the sign, as in 99.5 %. Dates: 2026-12-31. Yes or no: yes, no.
# Peak TFLOPS: dense, and in which precision. Memory: what the label says, and what an application can use.
# Unit of the price: gpu_hour, node_hour, gpu_month, node_month, gpu, node ...
# Lines with a quantity and a price go under items.
# Values only: no formulas, no macros, no links to other files.

# ---- Identity and validity

# Quote number. What is the number of this quote?
quote_id: "Q-1"

# Vendor. Who is the vendor?
vendor: "Aïda"

# Vendor''s legal entity. Which legal entity would sign, with its registration and address?
vendor_legal_entity:

# Kind of offer. Is this a rental by use, a reservation, a sale, an API or a cluster? rent, reserve, buy, api, cluster.
purpose: buy

# Issue date. On which date was the quote issued? As 2026-12-31.
issued:

# Valid until. Until which date do these prices hold? As 2026-12-31.
expires:

# Currency. In which currency are all amounts?
currency:

# Taxes. Are taxes (VAT, sales tax) inside the amounts, added to them, or not due? excluded, included, exempt, reverse_charge.
tax_treatment:

# Tax rate. What is the tax rate? With the sign, as 99.5 %.
tax_ratio:

# Exchange-rate clause. Who bears changes of the exchange rate, from which date and rate?
fx_clause:

# Price adjustment clause. May prices change during the term, by which rule?
price_adjustment_clause:

# Most that prices may rise a year. What is the most that prices may rise in a year? With the sign, as 99.5 %.
price_adjustment_limit_ratio_per_year:

# Incoterms. Under which Incoterms and place is it delivered?
incoterms:

# Import duty included. Are import duties and customs inside the price? Yes or no.
import_duty_included:

# Lead time. How many days after the order is it delivered or ready? (days)
lead_time_days:

# Delivery date. On which date is it delivered or ready for use? As 2026-12-31.
delivery_date:

# Penalty for delay. What is owed for each week of delay?
delay_penalty:

# ---- Hardware and topology

# Accelerator. Which exact accelerator is offered (maker, model, form factor, memory)?
accelerator: "l40s"

# Part number. What is the maker''s part or board number?
accelerator_sku:

# Form factor. Is it SXM, PCIe, NVL or OAM? SXM, PCIe, NVL, OAM, other.
form_factor:

# Condition. Is it new, used or refurbished? new, used, refurbished.
condition:

# Number of accelerators. How many accelerators in all?
accelerators_count: 16

# Accelerators per node. How many accelerators does a node have?
accelerators_per_node_count:

# Number of nodes. How many nodes?
nodes_count:

# Memory per accelerator. How much memory does each accelerator have by its label? (GB)
accelerator_memory_gb:

# Usable memory per accelerator. How much of an accelerator''s memory can an application allocate, once your stack is loaded? (GiB)
accelerator_memory_usable_gib:

# Memory bandwidth. What is the memory bandwidth of each accelerator? (GB/s)
memory_bandwidth_gb_per_s:

# Peak TFLOPS. How many TFLOPS, in which precision, dense? (TFLOPS)
tflops:

# Precision of the TFLOPS. In which precision are the TFLOPS given? fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4.
tflops_precision:

# TFLOPS with sparsity. Do the TFLOPS assume structured sparsity? Yes or no.
tflops_sparse:

# Power per accelerator. At which power cap does each accelerator run? (W)
accelerator_power_w:

# NVLink or equal. Are the accelerators of a node joined by NVLink, Infinity Fabric or the like? Yes or no.
nvlink:

# NVLink bandwidth per accelerator. How many GB/s per accelerator, both ways together? (GB/s)
nvlink_gb_per_s:

# Network between nodes. Which network joins the nodes (InfiniBand, RoCE, Ethernet)? infiniband, roce, ethernet, efa, slingshot, none, other.
interconnect:

# Network cards per node. How many network cards for the accelerators does a node have?
nics_per_node_count:

# Speed of a network card. At which speed does each network card run? (Gbit/s)
nic_speed_gbit_per_s:

# Oversubscription. What is the oversubscription between leaf and spine (1 = none)?
oversubscription_factor:

# Rail-optimised network. Is the network rail-optimised? Yes or no.
rail_optimised:

# All nodes under one spine. Are all our nodes under one spine or pod? Yes or no.
same_spine:

# CPU. Which CPU, and how many sockets per node?
cpu:

# CPU cores per node. How many CPU cores per node?
cpu_cores_per_node_count:

# RAM per node. How much RAM per node? (GB)
ram_per_node_gb:

# Local disk per node. How much local NVMe per node? (TB)
local_disk_per_node_tb:

# Cooling. Is it cooled by air or by liquid? air, liquid, immersion.
cooling:

# Cooling of the room. How is the room cooled where it is installed? air, liquid, immersion.
site_cooling:

# Power per node. What is the most power that a node draws? (kW)
node_power_kw:

# Power per rack. What is the most power that a rack draws? (kW)
rack_power_kw:

# ECC on. Is error correction on? Yes or no.
ecc:

# MIG allowed. May we partition accelerators (MIG)? Yes or no.
mig:

# Firmware baseline. Which firmware and BMC versions are delivered, the same on all nodes?
firmware_baseline:

# Burn-in. For how many days is it burnt in before delivery? (days)
burn_in_days:

# Region or data centre. In which region or data centre?
region:

# Country. In which country do machines and data stay?
country:

# ---- Software stack

# Operating system. Which operating system and kernel?
operating_system:

# Driver version. Which driver version, and who updates it?
driver_version:

# CUDA or ROCm version. Which CUDA or ROCm version?
accelerator_stack:

# Orchestration. Which scheduler is offered (Slurm, Kubernetes), managed by whom?
orchestration:

# Images. Which images are offered, and may we bring our own?
images:

# Monitoring. Which metrics do we see (DCGM, network, storage), and how?
monitoring:

# Root access. Do we have root on the nodes? Yes or no.
root_access:

# Licences included. Which software licences are included (NVIDIA AI Enterprise, vGPU ...)?
licences_included:

# Licence per GPU and year. What do licences cost per GPU and year? As 2.10 USD/GPU-year.
licence_price_per_gpu_year:

# Model served. Which model, in which version and precision?
model:

# Model version pinned. Is the version of the model pinned? Yes or no.
model_version_pinned:

# Notice before a model ends. How many days before a model is withdrawn are we told? (days)
deprecation_notice_days:

# Context length. What is the longest context served? (tokens)
context_tokens:

# Requests per minute. How many requests per minute are guaranteed? (1/min)
rate_limit_requests_per_min:

# Tokens per minute. How many tokens per minute are guaranteed? (tokens/min)
rate_limit_tokens_per_min:

# ---- Commercial model

# Unit price. What is the price of one unit, and of which unit? As 2.10 USD.
unit_price: 7100 EUR

# Unit of the price. Is the price per GPU, node or rack, and per hour or month? gpu_hour, node_hour, rack_hour, gpu_month, node_month, rack_month, gpu_year, node_year, gpu, node, rack, system, total.
unit:

# Hours of a month. How many hours does a billed month have (720, 730, 744)? (h)
month_hours:

# Quantity. How many units are priced?
quantity:

# Price per month. What does a month cost in all? As 2.10 USD/month.
monthly_price:

# Total price. What is the total, and what does it cover? As 2.10 USD.
total_price:

# List price of a unit. What is the list price? As 2.10 USD.
list_unit_price:

# Discount. Which discount is applied, and on what? With the sign, as 99.5 %.
discount_ratio:

# Term. For how many months is it? (months)
term_months:

# Minimum term. What is the shortest term? (months)
minimum_term_months:

# Minimum quantity. What is the smallest quantity?
minimum_quantity:

# Minimum spend per month. What is the least that is billed a month, used or not? As 2.10 USD/month.
minimum_commit_per_month:

# Total commitment. What do we commit to in all, over the whole term? As 2.10 USD.
total_commit:

# Billing step. Is use billed by the second, minute, hour or month? (s)
billing_granularity_s:

# Start of billing. From when is it billed: signature, delivery or signed acceptance? signature, delivery, acceptance, first_use.
billing_start:

# Paid upfront. Which part is paid before delivery? With the sign, as 99.5 %.
upfront_ratio:

# Payment terms. Within how many days are invoices paid? (days)
payment_terms_days:

# Ramp-up. In which steps does capacity come and billing grow?
ramp_schedule:

# Renews by itself. Does the contract renew by itself? Yes or no.
auto_renewal:

# Notice to stop renewal. How many days before the end must we say that we don''t renew? (days)
renewal_notice_days:

# Fee to leave early. What is owed to leave before the end? As 2.10 USD.
early_exit_fee:

# Share of the rest owed to leave early. Which share of what remains is owed to leave before the end? With the sign, as 99.5 %.
early_exit_fee_ratio:

# Right to resell or sublet. May we resell or sublet what we don''t use? Yes or no.
resale_right:

# Right to swap to the next generation. May we swap to newer hardware within the term, on which terms? Yes or no.
swap_right:

# Price match. Is a lower price to others, or of others, matched? Yes or no.
price_match:

# Price of more units. At which price can we add units during the term? As 2.10 USD.
expansion_unit_price:

# Price beyond the commitment. What does use beyond the commitment cost? As 2.10 USD.
overage_unit_price:

# Egress per GB. What does data out cost per GB? As 2.10 USD/GB.
egress_price_per_gb:

# Ingress per GB. What does data in cost per GB? As 2.10 USD/GB.
ingress_price_per_gb:

# Storage per GB and month. What does shared storage cost per GB and month? As 2.10 USD/GB-month.
storage_price_per_gb_month:

# Public address per month. What does a public address cost? As 2.10 USD/month.
public_ip_price_per_month:

# Billed while idle. Is a stopped or idle machine billed? Yes or no.
idle_billing:

# Trial. For how many days can we try it free of charge? (days)
trial_days:

# Nodes of the trial. On how many nodes can we try it?
trial_nodes_count:

# Credits granted. Which credits are granted, and until when? As 2.10 USD.
credits:

# Setup fee. What is charged once for setup or installation? As 2.10 USD.
setup_fee:

# Support per month. What does support cost a month? As 2.10 USD/month.
support_fee_per_month:

# Inside the price. What is inside the price (storage, egress, network, support)? Apart by semicolons.
includes:

# Million input tokens. What does a million input tokens cost? As 2.10 USD/million tokens.
input_price_per_million_tokens:

# Million output tokens. What does a million output tokens cost? As 2.10 USD/million tokens.
output_price_per_million_tokens:

# Million cached input tokens. What does a million cached input tokens cost? As 2.10 USD/million tokens.
cached_input_price_per_million_tokens:

# Batch discount. Which discount has batch processing? With the sign, as 99.5 %.
batch_discount_ratio:

# ---- Security and governance

# Isolation between tenants. How are tenants kept apart: bare metal, virtual machines or containers? bare_metal, vm, container, shared.
isolation:

# SOC 2 report. Is there a SOC 2 report, of which type and date? none, type_1, type_2.
soc2:

# ISO 27001. Is the service certified to ISO 27001, with which scope? Yes or no.
iso_27001:

# Firmware attestation. Is firmware attested between tenants? Yes or no.
firmware_attestation:

# Isolation in the network. Are tenants kept apart in the network (PKeys, VXLAN)? Yes or no.
fabric_isolation:

# Who holds the keys. Who holds the encryption keys? provider, customer, hsm.
key_management:

# Encryption at rest. Is data encrypted at rest? Yes or no.
encryption_at_rest:

# Certificate of deletion. Do we get a certificate of deletion at the end? Yes or no.
deletion_certificate:

# Where data stay. In which countries may our data be stored and processed?
data_residency:

# Data processing agreement. Will you sign a data processing agreement? Yes or no.
dpa:

# Sub-processors. Who else processes our data?
sub_processors:

# Our data used for training. Are our prompts or answers used to train or improve anything? Yes or no.
data_used_for_training:

# Retention of prompts and answers. For how many days are prompts and answers kept (0 = not at all)? (days)
retention_days:

# Right to audit. May we, or somebody for us, audit you? Yes or no.
audit_right:

# ---- Reliability and service level

# Uptime promised. Which uptime is promised? With the sign, as 99.5 %.
uptime_ratio:

# Uptime of what. Is it the uptime of a node, the cluster, the service or the job? node, cluster, service, job.
uptime_scope:

# Useful work promised. Which share of job time is useful work (goodput)? With the sign, as 99.5 %.
goodput_ratio:

# Not counted in the uptime. What doesn''t count as downtime?
sla_exclusions:

# Credits for missed uptime. Which share of the month''s fee is credited below which uptime? As < 99.5 %: 10 %; < 99 %: 25 %.
credit_ladder:

# Most that is credited in a month. What is the most that is credited in a month? With the sign, as 99.5 %.
credit_cap_ratio:

# Time to replace a node. Within how many hours is a failed node replaced? (h)
node_replacement_hours:

# Replacement by ourselves. Can we replace a node ourselves, through an API? Yes or no.
replacement_api:

# Hot spares. How many spare nodes are kept ready?
hot_spares_count:

# Spares under the same spine. Are the spare nodes under the same spine as ours? Yes or no.
hot_spares_same_spine:

# Failed nodes don''t come back. How are we kept from getting the same failed node back (serial numbers)? Yes or no.
returned_node_protection:

# Notice of maintenance. How many days before maintenance are we told? (days)
maintenance_notice_days:

# Support hours. At which hours is support there?
support_hours:

# Response to the gravest case. Within how many minutes do you respond to the gravest case? (min)
support_response_minutes:

# Named engineer. Do we have a named engineer? Yes or no.
named_engineer:

# Missed months that let us leave. After how many months of missed uptime may we leave without a fee? (months)
sla_exit_months:

# ---- Acceptance

# Acceptance test. Which tests must pass before we accept?
acceptance_test:

# Days to accept. How many days do we have to test before acceptance? (days)
acceptance_days:

# DCGM level passed. Which level of DCGM diagnostics passes on every node?
dcgm_level:

# Dense TFLOPS guaranteed. How many dense TFLOPS per accelerator do you guarantee in a matrix product? (TFLOPS)
gemm_tflops:

# All-reduce bandwidth guaranteed. Which bus bandwidth of NCCL all-reduce do you guarantee on all nodes? (GB/s)
allreduce_gb_per_s:

# Soak test. For how many hours does the soak test run? (h)
soak_hours:

# Who pays for failed acceptance. Who pays for the time while acceptance fails? vendor, customer, shared.
failed_acceptance_payer:

# ---- Storage

# Kind of storage. Which shared storage (Lustre, Weka, VAST, NFS)?
storage_kind:

# Usable storage. How much shared storage is usable? (TB)
storage_usable_tb:

# Raw storage. How much raw capacity does the shared storage have? (TB)
storage_raw_tb:

# Storage operations. How many operations a second? (1/s)
storage_iops:

# Storage read speed. How fast is the shared storage read? (GB/s)
storage_read_gb_per_s:

# Storage write speed. How fast are checkpoints written to the shared storage? (GB/s)
storage_write_gb_per_s:

# Snapshots. Are there snapshots? Yes or no.
snapshots:

# Migration help. Which tools or people help us to move data in and out?
migration_tooling:

# Overlap when moving region. For how many days are both places free of double charge when we move? (days)
region_move_overlap_days:

# ---- Exit and finance

# Warranty. How many months of warranty, and of what? (months)
warranty_months:

# Replacement sent in advance. Is a replacement sent before the failed part comes back? Yes or no.
advance_replacement:

# Support contract per year. What does the support contract cost a year? As 2.10 USD/year.
support_price_per_year:

# Installation included. Is installation inside the price? Yes or no.
installation_included:

# Licences transferable. Do licences go with the hardware when we sell it? Yes or no.
licences_transferable:

# Buy-back share. For which share of the price do you buy it back? With the sign, as 99.5 %.
buy_back_ratio:

# Buy-back after. After how many months? (months)
buy_back_months:

# Export limits. Do export rules limit where it may be used or sold?
export_control:

# Interest a year. At which yearly rate is it financed? With the sign, as 99.5 %.
financing_rate_per_year:

# Financed over. Over how many months? (months)
financing_months:

# Days to take our data out. For how many days after the end can we take our data out? (days)
data_export_days:

# Governing law. Which law and courts govern the contract?
governing_law:

# Notes. Is there anything else to know?
notes:

# ---- Lines of the quote
items:
#   - what:
#     unit:
#     quantity:
#     unit_price:
#     total:
','{"seen": [{"field": "vendor", "place": "q.yaml:1", "words": "Aïda", "grade": "stated"}, {"field": "quote_id", "place": "q.yaml:2", "words": "Q-1", "grade": "stated"}, {"field": "purpose", "place": "q.yaml:3", "words": "buy", "grade": "stated"}, {"field": "accelerator", "place": "q.yaml:4", "words": "l40s", "grade": "stated"}, {"field": "accelerators_count", "place": "q.yaml:5", "words": "16", "grade": "stated"}, {"field": "unit_price", "place": "q.yaml:6", "words": "7100 EUR", "grade": "stated"}], "left": []}');
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
CREATE INDEX quotes_by_vendor ON quotes (vendor, quote_id);
CREATE TRIGGER quotes_no_update BEFORE UPDATE ON quotes BEGIN SELECT RAISE(ABORT, 'quotes are only ever added'); END;
CREATE TRIGGER quotes_no_delete BEFORE DELETE ON quotes BEGIN SELECT RAISE(ABORT, 'quotes are only ever added'); END;
COMMIT;
